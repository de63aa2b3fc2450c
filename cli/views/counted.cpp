#include "cli/views/counted.h"

#include <algorithm>
#include <ostream>
#include <string>

#include "cli/console/format.h"
#include "cli/console/table.h"
#include "cli/views/prediction.h"
#include "hardware/units.h"

namespace ridge::cli {
namespace {

using programs::DeviceSample;
using programs::KernelCounters;
using programs::OperatorRow;

/// Bytes or FLOP of one launch over its time in the free run; "-" if they were not counted.
Reached rate_of(double amount, Time each, bool flop) {
    if (amount < 0.0 || each <= Time{}) return {.text = "-"};
    const double rate = amount / each.base();
    if (amount == 0.0) return {.text = "0", .value = 0.0};
    return {.text = flop ? format(FlopRate::from_base(rate)) : format(Bandwidth::from_base(rate)),
            .value = rate};
}

Reached intensity_of(const KernelCounters& counters) {
    const double bytes = counters.dram_bytes();
    const double flop = counters.flop();
    if (bytes <= 0.0 || flop < 0.0) return {.text = "-"};
    return {.text = format_number(flop / bytes, 3), .value = flop / bytes};
}

/// The samples within one slice of the span, weighted by their length.
struct Slice {
    double seconds = 0.0;
    double read = 0.0;
    double write = 0.0;
    double sm_active = 0.0;
    double tensor_active = 0.0;

    void add(const DeviceSample& sample) {
        const double length = static_cast<double>(sample.duration_ns) * 1e-9;
        seconds += length;
        read += std::max(sample.dram_read_bytes, 0.0);
        write += std::max(sample.dram_write_bytes, 0.0);
        sm_active += std::max(sample.sm_active, 0.0) * length;
        tensor_active += std::max(sample.tensor_active, 0.0) * length;
    }
    [[nodiscard]] std::vector<std::string> row(Time begin) const {
        const Time span = seconds * units::s;
        const auto percent = [this](double sum) {
            return format_number(100.0 * sum / seconds, 3) + " %";
        };
        return {"  " + format(begin), rate_of(read, span, false).text,
                rate_of(write, span, false).text, percent(sm_active), percent(tensor_active)};
    }
};

}  // namespace

void write_samples(const Context& context, const programs::TraceReport& report) {
    if (report.samples.empty()) return;
    const auto by_start = [](const DeviceSample& a, const DeviceSample& b) {
        return a.start_ns < b.start_ns;
    };
    const auto [first, last] =
        std::minmax_element(report.samples.begin(), report.samples.end(), by_start);
    constexpr std::int64_t most = 20;
    const std::int64_t begin = first->start_ns;
    const std::int64_t step = (last->start_ns - begin) / most + 1;
    std::vector<Slice> slices(static_cast<std::size_t>(most));
    for (const DeviceSample& sample : report.samples) {
        slices[static_cast<std::size_t>((sample.start_ns - begin) / step)].add(sample);
    }
    Table table{.columns = {{"  from", Align::right},
                            {"DRAM read", Align::right},
                            {"DRAM write", Align::right},
                            {"SMs busy", Align::right},
                            {"tensor pipe", Align::right}},
                .rows = {}};
    for (std::size_t i = 0; i < slices.size(); ++i) {
        if (slices[i].seconds <= 0.0) continue;
        table.rows.push_back(slices[i].row(programs::time_of(static_cast<std::int64_t>(i) * step)));
    }
    context.out << "\nCounters over time, " << report.samples.size() << " samples\n";
    write_text(context.out, table);
}

Json to_json(const std::vector<DeviceSample>& samples) {
    Json list = Json::array();
    for (const DeviceSample& sample : samples) {
        list.push_back({{"device", sample.device},
                        {"start_ns", sample.start_ns},
                        {"duration_ns", sample.duration_ns},
                        {"dram_read_bytes", sample.dram_read_bytes},
                        {"dram_write_bytes", sample.dram_write_bytes},
                        {"sm_active", sample.sm_active},
                        {"tensor_active", sample.tensor_active}});
    }
    return list;
}

Time time_of_counted(const OperatorRow& row) {
    constexpr double apart = 1.2;
    const Time mean = row.measured / static_cast<double>(row.kernels);
    const Time own = row.counters->duration_ns * units::ns;
    const bool other = own > mean * apart || (own > Time{} && own * apart < mean);
    return other ? own : mean;
}

std::array<Reached, reached_columns.size()> reached(const OperatorRow& row) {
    const KernelCounters& counted = *row.counters;
    const Time each = time_of_counted(row);
    return {rate_of(counted.dram_bytes(), each, false), rate_of(counted.l2_bytes, each, false),
            rate_of(counted.shared_bytes, each, false), rate_of(counted.flop(), each, true),
            intensity_of(counted)};
}

void write_counted(const Context& context, const programs::TraceReport& report, std::size_t rows) {
    Table table;
    for (const std::string_view column : reached_columns) {
        table.columns.push_back(
            {(table.columns.empty() ? "  " : "") + std::string(column), Align::right});
    }
    table.columns.push_back({"kernel"});
    constexpr std::size_t other_columns = 62;
    constexpr std::size_t narrowest = 18;
    const auto width = static_cast<std::size_t>(std::max(40, context.width));
    const std::size_t room = std::max(narrowest, width - std::min(width, other_columns));
    for (const OperatorRow& row : report.operators) {
        if (!row.counters || row.kernels < 1) continue;
        if (rows != 0 && table.rows.size() == rows) break;
        std::string name = printable(row.kernel);
        if (display_width(name) > room) name = name.substr(0, room - 3) + "...";
        std::vector<std::string> cells;
        for (const Reached& one : reached(row)) {
            cells.push_back((cells.empty() ? "  " : "") + one.text);
        }
        cells.push_back(std::move(name));
        table.rows.push_back(std::move(cells));
    }
    if (table.rows.empty()) return;
    context.out << "\nMeasured rooflines: counted bytes and FLOP over the time without counters\n";
    write_text(context.out, table);
}

Json to_json(const KernelCounters& counters) {
    Json json{{"launches", counters.launches}, {"passes", counters.passes}};
    const auto add = [&json](std::string_view name, double value) {
        if (value >= 0.0) json[name] = value;
    };
    add("duration_ns", counters.duration_ns);
    add("dram_read_bytes", counters.dram_read_bytes);
    add("dram_write_bytes", counters.dram_write_bytes);
    add("l2_bytes", counters.l2_bytes);
    add("shared_bytes", counters.shared_bytes);
    add("tensor_flop", counters.tensor_flop);
    add("vector_flop", counters.vector_flop);
    add("special_results", counters.special_results);
    add("occupancy", counters.occupancy);
    add("tensor_active", counters.tensor_active);
    if (!counters.metrics.empty()) {
        Json metrics = Json::object();
        for (const auto& [name, value] : counters.metrics) metrics[name] = value;
        json["metrics"] = std::move(metrics);
    }
    return json;
}

}  // namespace ridge::cli
