#include "programs/traces/nsight_systems.h"

#include <algorithm>
#include <unordered_map>

#include "hardware/error.h"
#include "programs/traces/sqlite.h"
#include "programs/traces/trace_builder.h"

namespace ridge::programs {
namespace {

constexpr std::int64_t longest_ns = 100'000'000'000'000;  // more than a day; sums stay in range
constexpr std::int64_t latest_ns = 4'000'000'000'000'000'000;

/// A correlation is unique within a process; bits 24 to 47 of a global id identify the process.
std::int64_t key_of(std::int64_t correlation, std::int64_t global_id) {
    constexpr unsigned thread_bits = 24;
    constexpr std::int64_t pid_mask = 0xffffff;
    if (correlation <= 0) return -1;
    const std::int64_t process = (global_id >> thread_bits) & pid_mask;
    return (process << 32U) | (correlation & 0xffffffff);
}

class NsightReader {
  public:
    NsightReader(const std::string& file, Trace& trace)
        : database_(file), trace_(trace), builder_(trace) {}

    void read() {
        read_devices();
        read_texts();
        read_launches("CUPTI_ACTIVITY_KIND_RUNTIME");
        read_launches("CUPTI_ACTIVITY_KIND_DRIVER");
        read_ranges();
        read_kernels();
        read_moves("CUPTI_ACTIVITY_KIND_MEMCPY", ActivityKind::copy);
        read_moves("CUPTI_ACTIVITY_KIND_MEMSET", ActivityKind::fill);
        read_graphs();
        trace_.read.damage = database_.failure();
        builder_.finish();
    }

  private:
    /// The column, if the table has it; otherwise 0.
    std::string column(const std::string& table, const std::string& name) {
        return database_.has(table, name) ? name : "0";
    }
    std::string columns(const std::string& table, std::initializer_list<const char*> names) {
        std::string list;
        for (const char* name : names) list += (list.empty() ? "" : ", ") + column(table, name);
        return "SELECT " + list + " FROM " + table;
    }
    /// Calls `use` for every row of a table; a missing table has no rows.
    template <class Use>
    void each(const std::string& table, std::initializer_list<const char*> names, const Use& use) {
        if (!database_.has(table, "1")) return;
        auto rows = database_.query(columns(table, names));
        if (!rows) return;
        while (rows->next()) {
            ++trace_.read.events;
            use(*rows);
        }
    }

    static std::int64_t time(std::int64_t value) {
        return std::clamp(value, -latest_ns, latest_ns);
    }
    static std::int64_t duration(std::int64_t start, std::int64_t end) {
        return std::clamp<std::int64_t>(time(end) - time(start), 0, longest_ns);
    }

    TextId named(std::int64_t id) const {
        const auto found = texts_.find(id);
        return found == texts_.end() ? TextId::empty : found->second;
    }

    void read_devices() {
        const std::string table = "TARGET_INFO_GPU";
        const char* const id = database_.has(table, "cuDevice") ? "cuDevice" : "id";
        each(table, {id, "name", "smCount", "totalMemory", "computeMajor", "computeMinor"},
             [this](const SqliteRows& row) {
                 trace_.header.devices.push_back({.id = row.whole(0),
                                                  .name = std::string(row.text(1)),
                                                  .multiprocessors = row.whole(2),
                                                  .memory_bytes = row.whole(3),
                                                  .major = row.whole(4),
                                                  .minor = row.whole(5)});
             });
    }
    void read_texts() {
        each("StringIds", {"id", "value"}, [this](const SqliteRows& row) {
            texts_[row.whole(0)] = builder_.text(row.text(1).substr(0, longest_text));
        });
    }
    void read_launches(const std::string& table) {
        each(table, {"start", "end", "nameId", "globalTid", "correlationId"},
             [this](const SqliteRows& row) {
                 const std::int64_t start = time(row.whole(0));
                 builder_.add(Launch{.name = named(row.whole(2)),
                                     .thread = row.whole(3),
                                     .start_ns = start,
                                     .end_ns = start + duration(start, row.whole(1))},
                              key_of(row.whole(4), row.whole(3)));
             });
    }
    void read_ranges() {
        each("NVTX_EVENTS", {"start", "end", "text", "textId", "globalTid", "eventType"},
             [this](const SqliteRows& row) {
                 constexpr std::int64_t push_pop = 59;
                 constexpr std::int64_t start_end = 60;
                 const std::int64_t type = row.whole(5);
                 if ((type != push_pop && type != start_end) || row.null(1)) return;
                 const std::string_view own = row.text(2);
                 const TextId name = own.empty() || own == "0"
                                         ? named(row.whole(3))
                                         : builder_.text(own.substr(0, longest_text));
                 const std::int64_t start = time(row.whole(0));
                 Operator op{.name = name,
                             .thread = row.whole(4),
                             .start_ns = start,
                             .end_ns = start + duration(start, row.whole(1)),
                             .range = true};
                 const std::string text = trace_.text(name);
                 const RangeOperator found = operator_in(text);
                 if (!found.name.empty()) {
                     op.name = builder_.text(found.name);
                     if (!found.inputs.empty()) op.inputs = builder_.text(found.inputs);
                     op.range = false;
                 }
                 builder_.add(op);
             });
    }
    void read_kernels() {
        const std::string table = "CUPTI_ACTIVITY_KIND_KERNEL";
        const char* const name =
            database_.has(table, "demangledName") ? "demangledName" : "shortName";
        each(table,
             {"start", "end", name, "deviceId", "streamId", "correlationId", "globalPid", "gridX",
              "gridY", "gridZ", "blockX", "blockY", "blockZ", "registersPerThread",
              "staticSharedMemory", "dynamicSharedMemory"},
             [this](const SqliteRows& row) {
                 const std::int64_t start = time(row.whole(0));
                 const auto bytes = [&row](int column) {
                     return std::clamp<std::int64_t>(row.whole(column), 0, 1 << 30);
                 };
                 builder_.add(Kernel{.name = named(row.whole(2)),
                                     .start_ns = start,
                                     .duration_ns = duration(start, row.whole(1)),
                                     .device = row.whole(3),
                                     .stream = row.whole(4),
                                     .grid = {row.whole(7), row.whole(8), row.whole(9)},
                                     .block = {row.whole(10), row.whole(11), row.whole(12)},
                                     .registers = row.whole(13),
                                     .shared_bytes = bytes(14) + bytes(15)},
                              {.correlation = key_of(row.whole(5), row.whole(6))});
             });
    }
    void read_moves(const std::string& table, ActivityKind kind) {
        each(table,
             {"start", "end", "bytes", "deviceId", "streamId", "correlationId", "globalPid",
              "copyKind"},
             [this, kind](const SqliteRows& row) {
                 const std::int64_t start = time(row.whole(0));
                 const std::string_view name = kind == ActivityKind::fill ? "Memset"
                                               : row.whole(7) == 1        ? "Memcpy HtoD"
                                               : row.whole(7) == 2        ? "Memcpy DtoH"
                                               : row.whole(7) == 10       ? "Memcpy PtoP"
                                                                          : "Memcpy DtoD";
                 builder_.add(Kernel{.name = builder_.text(name),
                                     .kind = kind,
                                     .start_ns = start,
                                     .duration_ns = duration(start, row.whole(1)),
                                     .device = row.whole(3),
                                     .stream = row.whole(4),
                                     .bytes = row.whole(2)},
                              {.correlation = key_of(row.whole(5), row.whole(6))});
             });
    }
    /// Graphs that were recorded only as a whole (`--cuda-graph-trace=graph`).
    void read_graphs() {
        each("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
             {"start", "end", "deviceId", "streamId", "correlationId", "globalPid"},
             [this](const SqliteRows& row) {
                 const std::int64_t start = time(row.whole(0));
                 builder_.add(Kernel{.name = builder_.text("CUDA graph, recorded as a whole"),
                                     .start_ns = start,
                                     .duration_ns = duration(start, row.whole(1)),
                                     .device = row.whole(2),
                                     .stream = row.whole(3)},
                              {.correlation = key_of(row.whole(4), row.whole(5))});
             });
    }

    SqliteDatabase database_;
    Trace& trace_;
    TraceBuilder builder_;
    std::unordered_map<std::int64_t, TextId> texts_;
};

/// The list that starts at the first `[`, up to its end; empty if there is none.
std::string_view list_at(std::string_view text) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '[') ++depth;
        if (text[i] == ']' && --depth == 0) return text.substr(0, i + 1);
        if (depth == 0) return {};
    }
    return {};
}

}  // namespace

RangeOperator operator_in(std::string_view range) {
    constexpr std::string_view sizes = ", sizes = ";
    const std::size_t end = range.find(", ");
    const std::string_view name = range.substr(0, end);
    const bool numbered =
        range.find(", op_id = ") != range.npos || range.find(", seq = ") != range.npos;
    if (name.find("::") == name.npos || (!numbered && !name.starts_with("aten::"))) return {};
    RangeOperator found{.name = name, .inputs = {}};
    const std::size_t at = range.find(sizes);
    if (at == range.npos) return found;
    const std::string_view list = list_at(range.substr(at + sizes.size()));
    if (list.size() < 2) return found;
    // One type per argument: types were not recorded, so they come from the kernel's name.
    std::string types;
    int depth = 0;
    for (const char letter : list) {
        if (letter == '[' && ++depth == 2) types += types.empty() ? R"("?")" : R"(,"?")";
        if (letter == ']') --depth;
    }
    found.inputs = "[" + types + "]|" + std::string(list) + "||";
    return found;
}

void read_nsight_systems(const std::string& file, Trace& trace) {
    trace.recorder = TraceSource::nsight_systems;
    NsightReader(file, trace).read();
    if (!trace.kernels.empty()) return;
    throw InputError(
        trace.read.damage.empty() ? "contains no kernel, copy or fill" : trace.read.damage,
        {.file = file}, "nsys profile --trace=cuda,nvtx ..., then nsys export --type sqlite");
}

}  // namespace ridge::programs
