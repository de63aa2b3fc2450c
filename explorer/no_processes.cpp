// A page starts no programs and loads no libraries: the C library of Emscripten leaves out posix_spawnp and
// ends the module in dlopen, so here they fail. What needs them (PNG, SQLite) then says so.
#include <spawn.h>

#include <cerrno>

extern "C" {

int posix_spawnp(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                 char* const[], char* const[]) {
    return ENOSYS;
}

void* dlopen(const char*, int) {
    return nullptr;
}

}  // extern "C"
