// A page loads no libraries: without this, Emscripten's dlopen ends the module. What needs one (SQLite) then says so.
mergeInto(LibraryManager.library, {
  _dlopen_js: function() {
    return 0;
  },
});
