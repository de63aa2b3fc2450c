#include "programs/traces/sqlite.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "hardware/error.h"

namespace ridge::programs {
namespace {

// Part of SQLite's C interface, which has been stable since 2004:
// https://sqlite.org/c3ref/intro.html
constexpr int ok = 0;
constexpr int row = 100;
constexpr int done = 101;
constexpr int null_type = 5;
constexpr int open_read_only = 1;
constexpr int longest_value = 0;  // an id for sqlite3_limit
constexpr int authorize_read = 20;
constexpr int authorize_select = 21;
constexpr int deny = 1;

using Authorizer = int (*)(void*, int, const char*, const char*, const char*, const char*);

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
    int (*limit)(void*, int, int) = nullptr;
    int (*set_authorizer)(void*, Authorizer, void*) = nullptr;
    bool complete = false;
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
    // POSIX: dlsym returns functions as void*.
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast)
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
                     find(library, "sqlite3_db_handle", found.db_handle) &&
                     find(library, "sqlite3_limit", found.limit) &&
                     find(library, "sqlite3_set_authorizer", found.set_authorizer);
    return found;
}

const Library& sqlite() {
    static const Library library = load();
    return library;
}

/// Allows reading columns of tables; refuses views, functions and recursion.
int plain_reads_alone(void*, int action, const char*, const char*, const char*, const char* view) {
    const bool plain = action == authorize_read || action == authorize_select;
    return plain && view == nullptr ? ok : deny;
}

/// A row takes 4 bytes and a 2-byte pointer to them; a 2-byte character of UTF-16 may become 3
/// bytes.
constexpr std::int64_t least_row = 6;
constexpr std::int64_t most_per_byte = 2;

}  // namespace

SqliteRows::SqliteRows(SqliteRows&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)), reading_(other.reading_) {}

SqliteRows::~SqliteRows() {
    if (statement_ != nullptr) sqlite().finalize(statement_);
}

bool SqliteRows::next() {
    const int code = sqlite().step(statement_);
    reading_->bytes_left -= least_row;
    if (code == row && reading_->bytes_left >= 0) return true;
    if (code != done && reading_->failure.empty()) {
        reading_->failure = code == row ? "contains more rows than its size allows"
                                        : sqlite().errmsg(sqlite().db_handle(statement_));
    }
    return false;
}

std::int64_t SqliteRows::whole(int column) const {
    return sqlite().column_int64(statement_, column);
}

std::string_view SqliteRows::text(int column) const {
    const unsigned char* const text = sqlite().column_text(statement_, column);
    if (text == nullptr) return {};
    const int size = sqlite().column_bytes(statement_, column);
    reading_->bytes_left -= size;
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): SQLite's characters are bytes
    return {reinterpret_cast<const char*>(text), static_cast<std::size_t>(size)};
}

bool SqliteRows::null(int column) const {
    return sqlite().column_type(statement_, column) == null_type;
}

SqliteDatabase::SqliteDatabase(const std::string& file)
    : reading_(std::make_unique<SqliteRows::Reading>()) {
    if (!sqlite().complete) {
        throw InputError("is a SQLite file, but the SQLite library is not installed",
                         {.file = file},
                         "Debian and Ubuntu: libsqlite3-0, Fedora: sqlite-libs, macOS: built in");
    }
    if (sqlite().open_v2(file.c_str(), &handle_, open_read_only, nullptr) != ok) {
        const std::string reason = handle_ != nullptr ? sqlite().errmsg(handle_) : "out of memory";
        sqlite().close(handle_);
        throw InputError("cannot be opened as a SQLite file: " + reason, {.file = file});
    }
    std::error_code unknown;
    const std::uintmax_t size = std::filesystem::file_size(file, unknown);
    constexpr std::uintmax_t largest = std::numeric_limits<int>::max();
    reading_->bytes_left =
        unknown ? 0 : static_cast<std::int64_t>(std::min(size, largest * largest)) * most_per_byte;
    sqlite().limit(handle_, longest_value, unknown ? 0 : static_cast<int>(std::min(size, largest)));
    sqlite().set_authorizer(handle_, plain_reads_alone, nullptr);
}

SqliteDatabase::~SqliteDatabase() {
    sqlite().close(handle_);
}

std::optional<SqliteRows> SqliteDatabase::query(const std::string& sql) {
    void* statement = nullptr;
    const int code = sqlite().prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr);
    constexpr int no_such_thing = 1;  // SQLITE_ERROR
    constexpr int denied = 23;        // SQLITE_AUTH
    if (code == ok && statement != nullptr) return SqliteRows(statement, *reading_);
    if (code != no_such_thing && reading_->failure.empty()) {
        reading_->failure = code == denied
                                ? "contains a view or a computed value, which is not read"
                                : sqlite().errmsg(handle_);
    }
    return {};
}

bool SqliteDatabase::has(const std::string& table, const std::string& column) {
    return query("SELECT " + column + " FROM " + table + " LIMIT 1").has_value();
}

}  // namespace ridge::programs
