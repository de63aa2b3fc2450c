// libFuzzer: a SQLite file of any bytes, or a valid one with any values in the tables of Nsight
// Systems, gives a trace, damaged or not, or an InputError. The trace keeps its promises
// (trace_promises.h).
//
// Input that begins as a SQLite file is used as it is. SQLite itself, loaded as the reader loads
// it, makes a file of other input: the first byte says which tables are left out, the rest are
// values, row by row.
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "hardware/error.h"
#include "programs/traces/trace.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/trace_promises.h"

namespace {

struct Table {
    const char* name;
    const char* columns;
    int count;
};

constexpr std::array tables{
    Table{"StringIds", "id INTEGER PRIMARY KEY, value", 2},
    Table{"TARGET_INFO_GPU", "id, name, totalMemory, smCount, computeMajor, computeMinor, cuDevice",
          7},
    Table{"CUPTI_ACTIVITY_KIND_RUNTIME", "start, end, globalTid, correlationId, nameId", 5},
    Table{"NVTX_EVENTS", "start, end, eventType, text, globalTid, textId", 6},
    Table{"CUPTI_ACTIVITY_KIND_KERNEL",
          "start, end, deviceId, streamId, correlationId, globalPid, demangledName, gridX, blockX, "
          "registersPerThread, staticSharedMemory, dynamicSharedMemory",
          12},
    Table{"CUPTI_ACTIVITY_KIND_MEMCPY",
          "start, end, deviceId, streamId, correlationId, globalPid, bytes, copyKind", 8},
    Table{"CUPTI_ACTIVITY_KIND_MEMSET",
          "start, end, deviceId, streamId, correlationId, globalPid, bytes", 7},
    Table{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
          "start, end, deviceId, streamId, correlationId, globalPid", 6}};

/// Takes the input apart. After its end come zeros.
class Values {
  public:
    explicit Values(std::string_view bytes) : rest_(bytes) {}
    [[nodiscard]] bool empty() const { return rest_.empty(); }
    std::uint8_t byte() { return static_cast<std::uint8_t>(bytes(1)[0]); }
    std::string bytes(std::size_t count) {
        std::string taken(rest_.substr(0, count));
        rest_.remove_prefix(taken.size());
        taken.resize(count, '\0');
        return taken;
    }
    template <class Number>
    Number number() {
        Number value{};
        std::memcpy(&value, bytes(sizeof value).data(), sizeof value);
        return value;
    }

  private:
    std::string_view rest_;
};

/// Functions that write a database, from the library that the reader loads.
struct Writer {
    int (*open)(const char*, void**) = nullptr;
    int (*close)(void*) = nullptr;
    int (*exec)(void*, const char*, void*, void*, void*) = nullptr;
    int (*prepare)(void*, const char*, int, void**, const char**) = nullptr;
    int (*step)(void*) = nullptr;
    int (*finalize)(void*) = nullptr;
    int (*bind_int64)(void*, int, std::int64_t) = nullptr;
    int (*bind_double)(void*, int, double) = nullptr;
    int (*bind_text)(void*, int, const char*, int, void*) = nullptr;
    int (*bind_blob)(void*, int, const void*, int, void*) = nullptr;
    unsigned char* (*serialize)(void*, const char*, std::int64_t*, unsigned) = nullptr;
    void (*free)(void*) = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) std::abort();
}

const Writer& writer() {
    static const Writer found = [] {
        void* const library = dlopen("libsqlite3.so.0", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) std::abort();
        Writer made;
        find(library, "sqlite3_open", made.open);
        find(library, "sqlite3_close", made.close);
        find(library, "sqlite3_exec", made.exec);
        find(library, "sqlite3_prepare_v2", made.prepare);
        find(library, "sqlite3_step", made.step);
        find(library, "sqlite3_finalize", made.finalize);
        find(library, "sqlite3_bind_int64", made.bind_int64);
        find(library, "sqlite3_bind_double", made.bind_double);
        find(library, "sqlite3_bind_text", made.bind_text);
        find(library, "sqlite3_bind_blob", made.bind_blob);
        find(library, "sqlite3_serialize", made.serialize);
        find(library, "sqlite3_free", made.free);
        return made;
    }();
    return found;
}

void bind(void* statement, int place, Values& values) {
    enum : std::uint8_t { null, small, whole, real, text, blob, kinds };
    void* const copied = reinterpret_cast<void*>(-1);  // SQLITE_TRANSIENT
    const auto kind = values.byte() % kinds;
    if (kind == small) writer().bind_int64(statement, place, values.byte());
    if (kind == whole) writer().bind_int64(statement, place, values.number<std::int64_t>());
    if (kind == real) writer().bind_double(statement, place, values.number<double>());
    if (kind != text && kind != blob) return;
    const std::string bytes = values.bytes(values.byte());
    const int size = static_cast<int>(bytes.size());
    if (kind == text) writer().bind_text(statement, place, bytes.data(), size, copied);
    if (kind == blob) writer().bind_blob(statement, place, bytes.data(), size, copied);
}

/// Makes a table and fills it with one to four rows of the values.
void fill(void* database, const Table& table, Values& values) {
    const std::string name = table.name;
    writer().exec(database, ("CREATE TABLE " + name + "(" + table.columns + ")").c_str(), nullptr,
                  nullptr, nullptr);
    std::string places = "?";
    for (int i = 1; i < table.count; ++i) places += ",?";
    for (int rows = 1 + values.byte() % 4; rows > 0 && !values.empty(); --rows) {
        void* statement = nullptr;
        writer().prepare(database, ("INSERT INTO " + name + " VALUES(" + places + ")").c_str(), -1,
                         &statement, nullptr);
        for (int i = 1; i <= table.count; ++i) bind(statement, i, values);
        writer().step(statement);
        writer().finalize(statement);
    }
}

std::string made_of(Values values) {
    void* database = nullptr;
    if (writer().open(":memory:", &database) != 0) std::abort();
    writer().exec(database, "PRAGMA page_size = 512", nullptr, nullptr, nullptr);
    const unsigned left_out = values.byte();
    for (std::size_t i = 0; i < tables.size(); ++i) {
        if ((left_out >> i & 1U) == 0) fill(database, tables.at(i), values);
    }
    std::int64_t size = 0;
    unsigned char* const bytes = writer().serialize(database, "main", &size, 0);
    std::string file;
    if (bytes != nullptr) {
        file.assign(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
    }
    writer().free(bytes);
    writer().close(database);
    return file;
}

}  // namespace

// The name is libFuzzer's. NOLINTNEXTLINE(readability-identifier-naming)
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ridge;
    constexpr std::size_t longest_input = std::size_t{1} << 18;
    if (size > longest_input) return 0;
    std::string bytes(reinterpret_cast<const char*>(data), size);
    if (!bytes.starts_with("SQLite format 3")) bytes = made_of(Values(bytes));
    const test::MemoryFile file(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    try {
        const programs::Trace trace = programs::read_trace(file.path());
        test::check_promises(trace);
    } catch (const InputError&) {
        return 0;
    }
    return 0;
}
