#include "programs/traces/sqlite.h"

#include <dlfcn.h>

#include <array>
#include <utility>

#include "hardware/error.h"

namespace ridge::programs {
namespace {

// Of SQLite's C interface, which has been stable since 2004: https://sqlite.org/c3ref/intro.html
constexpr int ok = 0;
constexpr int row = 100;
constexpr int done = 101;
constexpr int null_type = 5;
constexpr int open_read_only = 1;

struct Library {
    int (*open_v2)(const char*, void**, int, const char*) = nullptr;
    int (*close)(void*) = nullptr;
    int (*prepare_v2)(void*, const char*, int, void**, const char**) = nullptr;
    int (*step)(void*) = nullptr;
    int (*finalize)(void*) = nullptr;
    std::int64_t (*column_int64)(void*, int) = nullptr;
    const unsigned char* (*column_text)(void*, int) = nullptr;
    int (*column_bytes)(void*, int) = nullptr;
    int (*column_type)(void*, int) = nullptr;
    const char* (*errmsg)(void*) = nullptr;
    void* (*db_handle)(void*) = nullptr;
    bool complete = false;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
    // POSIX: dlsym gives functions as void*. NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

Library load() {
    Library found;
    void* library = nullptr;
    for (const char* name : {"libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib"}) {
        library = library == nullptr ? dlopen(name, RTLD_NOW | RTLD_LOCAL) : library;
    }
    found.complete = library != nullptr && find(library, "sqlite3_open_v2", found.open_v2) &&
                     find(library, "sqlite3_close", found.close) &&
                     find(library, "sqlite3_prepare_v2", found.prepare_v2) &&
                     find(library, "sqlite3_step", found.step) &&
                     find(library, "sqlite3_finalize", found.finalize) &&
                     find(library, "sqlite3_column_int64", found.column_int64) &&
                     find(library, "sqlite3_column_text", found.column_text) &&
                     find(library, "sqlite3_column_bytes", found.column_bytes) &&
                     find(library, "sqlite3_column_type", found.column_type) &&
                     find(library, "sqlite3_errmsg", found.errmsg) &&
                     find(library, "sqlite3_db_handle", found.db_handle);
    return found;
}

const Library& sqlite() {
    static const Library library = load();
    return library;
}

}  // namespace

SqliteRows::SqliteRows(SqliteRows&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)), failure_(other.failure_) {}

SqliteRows::~SqliteRows() {
    if (statement_ != nullptr) sqlite().finalize(statement_);
}

bool SqliteRows::next() {
    const int code = sqlite().step(statement_);
    if (code == row) return true;
    if (code != done && failure_->empty()) {
        *failure_ = sqlite().errmsg(sqlite().db_handle(statement_));
    }
    return false;
}

std::int64_t SqliteRows::whole(int column) const {
    return sqlite().column_int64(statement_, column);
}

std::string_view SqliteRows::text(int column) const {
    const unsigned char* const text = sqlite().column_text(statement_, column);
    if (text == nullptr) return {};
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): SQLite's letters are bytes
    return {reinterpret_cast<const char*>(text),
            static_cast<std::size_t>(sqlite().column_bytes(statement_, column))};
}

bool SqliteRows::null(int column) const {
    return sqlite().column_type(statement_, column) == null_type;
}

SqliteDatabase::SqliteDatabase(const std::string& file)
    : failure_(std::make_unique<std::string>()) {
    if (!sqlite().complete) {
        throw InputError("is a SQLite file, and the library that reads those is not installed",
                         {.file = file},
                         "Debian and Ubuntu: libsqlite3-0, Fedora: sqlite-libs, macOS: built in");
    }
    if (sqlite().open_v2(file.c_str(), &handle_, open_read_only, nullptr) == ok) return;
    const std::string reason = handle_ != nullptr ? sqlite().errmsg(handle_) : "out of memory";
    sqlite().close(handle_);
    throw InputError("cannot be opened as a SQLite file: " + reason, {.file = file});
}

SqliteDatabase::~SqliteDatabase() {
    sqlite().close(handle_);
}

std::optional<SqliteRows> SqliteDatabase::query(const std::string& sql) {
    void* statement = nullptr;
    const int code = sqlite().prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr);
    constexpr int no_such_thing = 1;  // SQLITE_ERROR
    if (code == ok && statement != nullptr) return SqliteRows(statement, *failure_);
    if (code != no_such_thing && failure_->empty()) *failure_ = sqlite().errmsg(handle_);
    return {};
}

bool SqliteDatabase::has(const std::string& table, const std::string& column) {
    return query("SELECT " + column + " FROM " + table + " LIMIT 1").has_value();
}

}  // namespace ridge::programs
