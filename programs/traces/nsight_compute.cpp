#include "programs/traces/nsight_compute.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hardware/number_text.h"
#include "programs/traces/csv_lines.h"
#include "programs/traces/nsight_metrics.h"
#include "programs/traces/trace_builder.h"

namespace ridge::programs {
namespace {

constexpr double most_ns = 1e14;
constexpr double most_bytes = 1e18;

std::optional<double> number_of(std::string text) {
    std::erase(text, ',');
    return whole_real(text);
}

/// A unit as a multiple of the base unit (nanoseconds, bytes); empty for another unit.
std::optional<double> factor_of(std::string_view unit, bool time) {
    struct Unit {
        std::string_view name;
        double factor;
    };
    constexpr std::array times{Unit{"nsecond", 1.0}, Unit{"ns", 1.0},      Unit{"usecond", 1e3},
                               Unit{"us", 1e3},      Unit{"msecond", 1e6}, Unit{"ms", 1e6},
                               Unit{"second", 1e9},  Unit{"s", 1e9}};
    constexpr std::array sizes{Unit{"byte", 1.0}, Unit{"Kbyte", 1e3}, Unit{"Mbyte", 1e6},
                               Unit{"Gbyte", 1e9}, Unit{"Tbyte", 1e12}};
    const auto in = [unit](const auto& units) -> std::optional<double> {
        for (const Unit& each : units) {
            if (each.name == unit) return each.factor;
        }
        return {};
    };
    return time ? in(times) : in(sizes);
}

/// "(128, 1, 1)"
std::array<std::int64_t, 3> sizes_of(std::string_view text) {
    std::array<std::int64_t, 3> sizes{};
    std::size_t place = 0;
    const char* at = text.data();
    const char* const end = text.data() + text.size();
    while (at != end && place < sizes.size()) {
        const auto [next, error] = std::from_chars(at, end, sizes.at(place));
        place += error == std::errc{} ? 1 : 0;
        at = next == at ? at + 1 : next;
    }
    return sizes;
}

std::int64_t whole_of(const std::string& text) {
    const double value = number_of(text).value_or(0.0);
    return std::abs(value) < 1e15 ? static_cast<std::int64_t>(value) : 0;
}

/// A kernel whose metrics are still being read.
struct Profiled {
    Kernel kernel{};
    NsightMetrics metrics{};
    bool timed = false;
};

class TableReader {
  public:
    TableReader(Trace& trace, std::vector<std::string> header)
        : trace_(trace), builder_(trace), header_(std::move(header)) {
        id_ = place("ID");
        name_ = place("Kernel Name");
        metric_ = place("Metric Name");
        unit_ = place("Metric Unit");
        value_ = place("Metric Value");
    }

    /// False if the row does not belong to this table.
    bool add(const std::vector<std::string>& fields) {
        if (fields.size() != header_.size()) return false;
        if (units_.empty() && metric_ == no_column && fields[id_].empty()) {
            units_ = fields;
            return true;
        }
        if (fields[id_] != current_id_ || metric_ == no_column) {
            flush();
            start(fields);
        }
        if (metric_ != no_column) {
            set(fields[metric_], fields[unit_], fields[value_]);
        } else {
            for (std::size_t i = 0; i < fields.size(); ++i) {
                set(header_[i], units_.empty() ? "" : units_[i], fields[i]);
            }
        }
        ++trace_.read.events;
        return true;
    }
    void finish() {
        flush();
        builder_.finish();
    }
    [[nodiscard]] bool usable() const {
        const bool wide = metric_ == no_column;
        return id_ != no_column && name_ != no_column &&
               (wide || (unit_ != no_column && value_ != no_column));
    }

  private:
    static constexpr auto no_column = static_cast<std::size_t>(-1);

    [[nodiscard]] std::size_t place(std::string_view column) const {
        const auto found = std::find(header_.begin(), header_.end(), column);
        return found == header_.end() ? no_column
                                      : static_cast<std::size_t>(found - header_.begin());
    }
    [[nodiscard]] std::string text(const std::vector<std::string>& fields,
                                   std::string_view column) const {
        const std::size_t at = place(column);
        return at == no_column ? std::string() : fields[at];
    }

    void start(const std::vector<std::string>& fields) {
        open_ = true;
        current_id_ = fields[id_];
        current_ = {};
        Kernel& kernel = current_.kernel;
        constexpr std::size_t longest_name = std::size_t{1} << 16U;
        kernel.name = builder_.text(std::string_view(fields[name_]).substr(0, longest_name));
        kernel.stream = whole_of(text(fields, "Stream"));
        kernel.device = whole_of(text(fields, "Device"));
        kernel.grid = sizes_of(text(fields, "Grid Size"));
        kernel.block = sizes_of(text(fields, "Block Size"));
        set_capability(device(kernel.device), text(fields, "CC"));
    }

    /// The entry of a device, made when it first occurs.
    TraceDevice& device(std::int64_t id) {
        auto& devices = trace_.header.devices;
        const auto known = std::find_if(devices.begin(), devices.end(),
                                        [id](const TraceDevice& each) { return each.id == id; });
        if (known != devices.end()) return *known;
        return devices.emplace_back(TraceDevice{.id = id, .name = {}});
    }

    /// From "9.0".
    static void set_capability(TraceDevice& device, std::string_view text) {
        const std::size_t point = text.find('.');
        if (device.major > 0 || point == text.npos) return;
        device.major = whole_of(std::string(text.substr(0, point)));
        device.minor = whole_of(std::string(text.substr(point + 1)));
    }

    void set(std::string_view metric, std::string_view unit, const std::string& value) {
        if (metric == "gpu__time_duration.sum") {
            const auto number = scaled(unit, value, true);
            if (!number || *number < 0.0) return;
            current_.metrics.set(metric, *number);
            current_.kernel.duration_ns = static_cast<std::int64_t>(std::min(*number, most_ns));
            current_.timed = true;
        } else if (metric == "dram__bytes.sum") {
            if (const auto number = scaled(unit, value, false)) {
                current_.kernel.dram_bytes = static_cast<std::int64_t>(*number);
            }
        } else if (metric == "launch__registers_per_thread") {
            current_.kernel.registers = whole_of(value);
        } else if (metric.starts_with("launch__shared_mem_per_block_")) {
            const auto number = scaled(unit.substr(0, unit.find('/')), value, false);
            const bool part = metric.ends_with("_static") || metric.ends_with("_dynamic");
            if (part && number) {
                current_.kernel.shared_bytes += static_cast<std::int64_t>(*number);
            }
        } else if (metric == "device__attribute_display_name") {
            TraceDevice& on = device(current_.kernel.device);
            if (on.name.empty()) on.name = value;
        } else if (const auto number = number_of(value)) {
            const bool bytes = unit.ends_with("byte");
            const auto base = bytes ? scaled(unit, value, false) : number;
            if (base) current_.metrics.set(metric, *base);
        }
    }
    static std::optional<double> scaled(std::string_view unit, const std::string& value,
                                        bool time) {
        const auto number = number_of(value);
        const auto factor = factor_of(unit, time);
        if (!number || !factor || *number < 0.0) return {};
        return std::min(*number * *factor, most_bytes);
    }

    void flush() {
        if (!open_) return;
        open_ = false;
        if (!current_.timed) return;
        Kernel kernel = current_.kernel;
        if (current_.metrics.any()) {
            const KernelCounters counted = current_.metrics.counters();
            if (kernel.dram_bytes < 0 && counted.dram_bytes() >= 0.0) {
                kernel.dram_bytes = static_cast<std::int64_t>(counted.dram_bytes());
            }
            kernel.counters = static_cast<std::int32_t>(trace_.counters.size());
            trace_.counters.push_back(counted);
        }
        constexpr std::int64_t latest = 4'000'000'000'000'000'000;
        kernel.start_ns = clock_ns_;
        clock_ns_ = std::min(latest, clock_ns_ + kernel.duration_ns);
        builder_.add(kernel, {});
    }

    Trace& trace_;
    TraceBuilder builder_;
    std::vector<std::string> header_;
    std::vector<std::string> units_;
    std::size_t id_ = no_column, name_ = no_column, metric_ = no_column, unit_ = no_column,
                value_ = no_column;
    bool open_ = false;
    std::string current_id_;
    Profiled current_;
    std::int64_t clock_ns_ = 0;
};

}  // namespace

bool is_nsight_compute_header(std::string_view line) {
    return line.starts_with("\"ID\",") && line.find("\"Kernel Name\"") != line.npos;
}

void read_nsight_compute(ByteSource& source, Trace& trace) {
    trace.recorder = TraceSource::nsight_compute;
    CsvLines lines(source);
    std::string line;
    bool found = false;
    while (!found && lines.next(line)) found = is_nsight_compute_header(line);
    if (found) {
        TableReader table(trace, csv_fields(line));
        if (!table.usable()) {
            trace.read.damage = "the header lacks ID, Kernel Name or the metric's unit and value";
        }
        while (trace.read.damage.empty() && lines.next(line)) {
            if (line.empty() || line.starts_with("==")) continue;  // messages of the profiler
            if (!lines.whole() || !table.add(csv_fields(line))) {
                trace.read.damage = "a row whose columns do not match the header";
            }
        }
        table.finish();
    }
    trace.read.bytes = lines.bytes();
    if (trace.read.damage.empty()) trace.read.damage = lines.damage();
    if (!trace.read.damage.empty()) {
        trace.read.damage += " at byte " + std::to_string(trace.read.bytes);
    }
}

}  // namespace ridge::programs
