#include "programs/traces/rocprofv3.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "hardware/byte_source.h"
#include "programs/traces/csv_lines.h"
#include "programs/traces/trace_builder.h"

namespace ridge::programs {
namespace {

constexpr std::string_view kernels_name = "kernel_trace.csv";

/// A row whose fields are asked for by the names of their columns.
class CsvRow {
  public:
    explicit CsvRow(std::vector<std::string> header) : header_(std::move(header)) {}

    [[nodiscard]] bool has(std::string_view column) const { return place(column) < header_.size(); }
    /// False if the fields are not one for each column.
    bool take(std::vector<std::string> fields) {
        fields_ = std::move(fields);
        return fields_.size() == header_.size();
    }
    /// Empty if there is no such column.
    [[nodiscard]] std::string_view text(std::string_view column) const {
        const std::size_t at = place(column);
        return at < header_.size() ? std::string_view(fields_[at]) : std::string_view();
    }
    /// Empty unless the field is a whole number within 62 bits.
    [[nodiscard]] std::optional<std::int64_t> whole(std::string_view column) const {
        const std::string_view field = text(column);
        std::int64_t value = 0;
        const char* const end = field.data() + field.size();
        const auto [last, error] = std::from_chars(field.data(), end, value);
        constexpr std::int64_t most = std::int64_t{1} << 62U;  // differences still fit
        if (error != std::errc{} || last != end || value > most || value < -most) return {};
        return value;
    }

  private:
    [[nodiscard]] std::size_t place(std::string_view column) const {
        const auto found = std::find(header_.begin(), header_.end(), column);
        return static_cast<std::size_t>(found - header_.begin());
    }

    std::vector<std::string> header_;
    std::vector<std::string> fields_;
};

/// "GPU 0": the first GPU; "Agent 2" and "2": the agent with this logical number.
struct AgentName {
    std::int64_t number = 0;
    bool among_gpus = false;
};

AgentName agent_of(std::string_view text) {
    AgentName agent{.among_gpus = text.starts_with("GPU ")};
    const std::size_t space = text.rfind(' ');
    const std::string_view digits = space == text.npos ? text : text.substr(space + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), agent.number);
    return agent;
}

class RocprofReader {
  public:
    explicit RocprofReader(Trace& trace) : trace_(trace), builder_(trace) {}

    /// The tables beside that of the kernels; those that are not there are left out.
    void read_beside(const std::string& file) {
        const std::filesystem::path path(file);
        const std::string name = path.filename().string();
        if (!name.ends_with(kernels_name)) return;
        const std::string prefix = name.substr(0, name.size() - kernels_name.size());
        const auto beside = [&](std::string_view kind, auto add) {
            const std::filesystem::path other = path.parent_path() / (prefix + std::string(kind));
            std::error_code error;
            if (!std::filesystem::is_regular_file(other, error)) return;
            ByteSource source(other.string());
            const std::string damage = read(source, add);
            if (!damage.empty()) {
                trace_.notes.push_back(other.filename().string() + ": " + damage);
            }
        };
        beside("agent_info.csv", [this](const CsvRow& row) { return add_agent(row); });
        beside("hip_api_trace.csv", [this](const CsvRow& row) { return add_call(row); });
        beside("marker_api_trace.csv", [this](const CsvRow& row) { return add_range(row); });
        beside("memory_copy_trace.csv", [this](const CsvRow& row) { return add_copy(row); });
    }

    /// Returns what is damaged, and where; empty: nothing.
    std::string read_kernels(ByteSource& source) {
        return read(source, [this](const CsvRow& row) { return add_kernel(row); });
    }
    void finish() { builder_.finish(); }

  private:
    /// Adds each row until one cannot be; `add` returns the column that it cannot use.
    template <class Add>
    std::string read(ByteSource& source, const Add& add) {
        CsvLines lines(source);
        std::string line;
        if (!lines.next(line)) return lines.damage();
        CsvRow row(csv_fields(line));
        std::string damage;
        while (damage.empty() && lines.next(line)) {
            if (line.empty()) continue;
            if (!lines.whole() || !row.take(csv_fields(line))) {
                damage = "a row whose columns do not match the header";
            } else if (const std::string_view column = add(row); !column.empty()) {
                damage = std::string(column) + ": '" + std::string(row.text(column).substr(0, 40)) +
                         "' is no number";
            } else {
                ++trace_.read.events;
            }
        }
        trace_.read.bytes += lines.bytes();
        if (damage.empty()) damage = lines.damage();
        return damage.empty() ? damage : damage + " at byte " + std::to_string(lines.bytes());
    }

    struct Times {
        std::int64_t start_ns = 0;
        std::int64_t duration_ns = 0;
    };
    static std::string_view times_of(const CsvRow& row, Times& times) {
        constexpr std::int64_t longest_ns = 100'000'000'000'000;  // more than a day
        const auto start = row.whole("Start_Timestamp");
        if (!start) return "Start_Timestamp";
        const auto end = row.whole("End_Timestamp");
        if (!end) return "End_Timestamp";
        times = {.start_ns = *start,
                 .duration_ns = std::clamp<std::int64_t>(*end - *start, 0, longest_ns)};
        return {};
    }

    std::string_view add_agent(const CsvRow& row) {
        if (row.text("Agent_Type") != "GPU") return {};
        const auto number = row.whole("Logical_Node_Id");
        if (!number) return "Logical_Node_Id";
        gpus_.push_back(*number);
        trace_.header.devices.push_back({.id = *number,
                                         .name = std::string(row.text("Product_Name")),
                                         .multiprocessors = row.whole("Cu_Count").value_or(0)});
        return {};
    }

    [[nodiscard]] std::int64_t device_of(std::string_view text) const {
        const AgentName agent = agent_of(text);
        const auto number = static_cast<std::size_t>(std::max<std::int64_t>(0, agent.number));
        return agent.among_gpus && number < gpus_.size() ? gpus_[number] : agent.number;
    }

    std::string_view add_kernel(const CsvRow& row) {
        Times times;
        if (const std::string_view column = times_of(row, times); !column.empty()) return column;
        constexpr std::array<std::array<std::string_view, 2>, 3> sizes{
            {{"Grid_Size_X", "Workgroup_Size_X"},
             {"Grid_Size_Y", "Workgroup_Size_Y"},
             {"Grid_Size_Z", "Workgroup_Size_Z"}}};
        Kernel kernel{.name = builder_.text(row.text("Kernel_Name").substr(0, longest_text)),
                      .start_ns = times.start_ns,
                      .duration_ns = times.duration_ns,
                      .device = device_of(row.text("Agent_Id")),
                      .stream = row.whole("Queue_Id").value_or(0),
                      .registers = row.whole("VGPR_Count").value_or(0)};
        for (std::size_t i = 0; i < sizes.size(); ++i) {
            const std::int64_t items = row.whole(sizes[i][0]).value_or(0);
            const std::int64_t group =
                std::max<std::int64_t>(1, row.whole(sizes[i][1]).value_or(1));
            kernel.block[i] = group;
            kernel.grid[i] = items / group + (items % group > 0 ? 1 : 0);
        }
        const char* const shared =
            row.has("LDS_Block_Size") ? "LDS_Block_Size" : "Group_Segment_Size";
        kernel.shared_bytes = row.whole(shared).value_or(0);
        builder_.add(kernel, {.correlation = row.whole("Correlation_Id").value_or(-1)});
        return {};
    }

    std::string_view add_copy(const CsvRow& row) {
        Times times;
        if (const std::string_view column = times_of(row, times); !column.empty()) return column;
        const std::string_view direction = row.text("Direction");
        const bool to_device = direction.ends_with("HOST_TO_DEVICE");
        const bool to_host = direction.ends_with("DEVICE_TO_HOST");
        const char* const name = to_device ? "Memcpy HtoD"
                                 : to_host ? "Memcpy DtoH"
                                           : "Memcpy DtoD";
        const char* const agent = to_host ? "Source_Agent_Id" : "Destination_Agent_Id";
        constexpr std::int64_t engine = -1;  // copies run beside the queues
        builder_.add(Kernel{.name = builder_.text(name),
                            .kind = ActivityKind::copy,
                            .start_ns = times.start_ns,
                            .duration_ns = times.duration_ns,
                            .device = device_of(row.text(agent)),
                            .stream = engine},
                     {.correlation = row.whole("Correlation_Id").value_or(-1)});
        return {};
    }

    std::string_view add_call(const CsvRow& row) {
        Times times;
        if (const std::string_view column = times_of(row, times); !column.empty()) return column;
        builder_.add(Launch{.name = builder_.text(row.text("Function").substr(0, longest_text)),
                            .thread = row.whole("Thread_Id").value_or(0),
                            .start_ns = times.start_ns,
                            .end_ns = times.start_ns + times.duration_ns},
                     row.whole("Correlation_Id").value_or(-1));
        return {};
    }

    std::string_view add_range(const CsvRow& row) {
        Times times;
        if (const std::string_view column = times_of(row, times); !column.empty()) return column;
        if (times.duration_ns == 0) return {};  // a mark
        builder_.add(Operator{.name = builder_.text(row.text("Function").substr(0, longest_text)),
                              .thread = row.whole("Thread_Id").value_or(0),
                              .start_ns = times.start_ns,
                              .end_ns = times.start_ns + times.duration_ns,
                              .range = true});
        return {};
    }

    Trace& trace_;
    TraceBuilder builder_;
    std::vector<std::int64_t> gpus_;  ///< logical numbers
};

}  // namespace

bool is_rocprofv3_header(std::string_view line) {
    const std::vector<std::string> columns = csv_fields(line);
    const auto has = [&columns](std::string_view column) {
        return std::find(columns.begin(), columns.end(), column) != columns.end();
    };
    return has("Kind") && has("Kernel_Name") && has("Start_Timestamp") && has("End_Timestamp");
}

void read_rocprofv3(const std::string& file, ByteSource& source, Trace& trace) {
    trace.recorder = TraceSource::rocprofv3;
    RocprofReader reader(trace);
    reader.read_beside(file);
    trace.read.damage = reader.read_kernels(source);
    reader.finish();
}

}  // namespace ridge::programs
