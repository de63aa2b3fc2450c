#include "cli/charts/program_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "cli/charts/roofline_charts.h"
#include "cli/console/table.h"
#include "cli/views/counted.h"
#include "cli/views/program_page.h"
#include "cli/views/trace.h"
#include "hardware/si.h"
#include "hardware/units.h"
#include "kernel/causes/kernel_name.h"
#include "plot/timeline.h"

namespace ridge::cli {
namespace {

using plot::Color;
using programs::Kernel;
using programs::OperatorFamily;
using programs::OperatorRow;

/// Families that share a colour on the timeline.
struct Series {
    const char* name;
    Color color;
};

Series series_of(OperatorFamily family) {
    switch (family) {
        case OperatorFamily::product:
            return {"products", Color::blue};
        case OperatorFamily::attention:
            return {"attention", Color::green};
        case OperatorFamily::softmax:
        case OperatorFamily::normalisation:
        case OperatorFamily::reduction:
        case OperatorFamily::loss:
            return {"norms and reductions", Color::purple};
        case OperatorFamily::pointwise:
        case OperatorFamily::dropout:
            return {"pointwise", Color::sky};
        case OperatorFamily::copy:
        case OperatorFamily::gather:
        case OperatorFamily::fill:
            return {"data movement", Color::orange};
        case OperatorFamily::communication:
            return {"communication", Color::ink};
        case OperatorFamily::optimizer:
        case OperatorFamily::generated:
        case OperatorFamily::other:
            break;
    }
    return {"compiled and other", Color::grey};
}

constexpr std::size_t idle_lane = 0;
constexpr std::size_t most_lanes = 12;
constexpr std::size_t most_bars = 20000;  // a page of about a megabyte

/// The kernels of the trace as lanes and bars.
class TimelineBuilder {
  public:
    TimelineBuilder(const programs::Trace& trace, const programs::TraceReport& report)
        : trace_(trace), report_(report) {
        const std::size_t count = trace.kernels.size();
        const std::size_t shown = std::min(count, most_bars);
        first_ = (count - shown) / 2;
        last_ = first_ + shown;
        out_.title = "Timeline";
        out_.subtitle = "kernels, copies and fills by stream, and when the GPU was idle";
        if (shown < count) {
            out_.notes.push_back(fmt::format("Kernels {} to {} of {}: the middle of the trace.",
                                             first_ + 1, last_, count));
        }
        place_lanes();
        scale();
        for (std::size_t i = first_; i < last_; ++i) add(i);
    }

    [[nodiscard]] plot::Timeline take() { return std::move(out_); }

  private:
    using Stream = std::pair<std::int64_t, std::int64_t>;  // device, stream

    [[nodiscard]] const Kernel& kernel(std::size_t i) const { return trace_.kernels[i]; }

    void place_lanes() {
        std::map<Stream, std::int64_t> busy;
        std::set<std::int64_t> devices;
        for (std::size_t i = first_; i < last_; ++i) {
            busy[{kernel(i).device, kernel(i).stream}] += kernel(i).duration_ns;
            devices.insert(kernel(i).device);
        }
        std::vector<std::pair<Stream, std::int64_t>> order(busy.begin(), busy.end());
        std::stable_sort(order.begin(), order.end(),
                         [](const auto& a, const auto& b) { return a.second > b.second; });
        if (order.size() > most_lanes) {
            out_.notes.push_back(
                fmt::format("The {} busiest of {} streams.", most_lanes, order.size()));
            order.resize(most_lanes);
        }
        out_.lanes.emplace_back("idle");
        for (const auto& [stream, time] : order) {
            lanes_[stream] = out_.lanes.size();
            const std::string device =
                devices.size() > 1 ? fmt::format("GPU {}, ", stream.first) : std::string();
            out_.lanes.push_back(fmt::format("{}stream {}", device, stream.second));
        }
    }

    void scale() {
        if (first_ == last_) return;
        start_ns_ = kernel(first_).start_ns;
        std::int64_t end = start_ns_;
        for (std::size_t i = first_; i < last_; ++i) end = std::max(end, kernel(i).end_ns());
        const auto span = static_cast<double>(end - start_ns_);
        unit_ns_ = span < 1e6 ? 1e3 : span < 1e9 ? 1e6 : 1e9;
        out_.unit = span < 1e6 ? "us" : span < 1e9 ? "ms" : "s";
    }

    [[nodiscard]] double place(std::int64_t time_ns) const {
        return static_cast<double>(time_ns - start_ns_) / unit_ns_;
    }

    void add(std::size_t i) {
        const Kernel& each = kernel(i);
        add_idle(i);
        const auto lane = lanes_.find({each.device, each.stream});
        if (lane == lanes_.end()) return;
        out_.bars.push_back({.from = place(each.start_ns),
                             .to = place(each.end_ns()),
                             .lane = lane->second,
                             .sort = sort_of(i)});
    }

    /// Adds the gap between the end of all kernels so far and this one, in two parts.
    void add_idle(std::size_t i) {
        const Kernel& each = kernel(i);
        const auto [busy, first] = busy_until_.emplace(each.device, each.end_ns());
        if (!first && each.start_ns > busy->second) {
            const std::int64_t late =
                i < report_.timeline.late_ns.size() ? report_.timeline.late_ns[i] : 0;
            const std::int64_t ready = std::min(each.start_ns, busy->second + late);
            add_gap(busy->second, ready, "idle: waiting for the host", Color::vermillion);
            add_gap(ready, each.start_ns, "idle", Color::silver);
        }
        busy->second = std::max(busy->second, each.end_ns());
    }
    void add_gap(std::int64_t from, std::int64_t to, const char* name, Color color) {
        if (to <= from) return;
        const auto [sort, added] = gaps_.emplace(name, out_.sorts.size());
        if (added) {
            out_.sorts.push_back({.name = name, .series = name, .color = color, .terms = {}});
        }
        out_.bars.push_back(
            {.from = place(from), .to = place(to), .lane = idle_lane, .sort = sort->second});
    }

    /// The sort of kernel i: one for all launches of a kernel by an operator with equal arguments.
    std::size_t sort_of(std::size_t i) {
        const std::int32_t row = report_.row_of[i];
        const auto [place, added] =
            sorts_.emplace(std::pair(row, kernel(i).name), out_.sorts.size());
        if (!added) return place->second;
        const OperatorRow& op = report_.operators[static_cast<std::size_t>(row)];
        const Series series = series_of(op.family);
        plot::SpanSort sort{
            .name = operator_name(op), .series = series.name, .color = series.color, .terms = {}};
        constexpr std::size_t longest = 160;
        sort.terms.push_back(
            {.name = "kernel", .value = trace_.text(kernel(i).name).substr(0, longest)});
        const auto calls = static_cast<double>(std::max<std::int64_t>(1, op.count));
        if (op.kernels > op.count) {
            sort.terms.push_back(
                {.name = "operator, measured", .value = format(op.measured / calls)});
        }
        sort.terms.push_back({.name = "operator, predicted",
                              .value = op.predicted ? format(*op.predicted / calls) : op.reason});
        if (!op.bound.empty()) sort.terms.push_back({.name = "bound", .value = op.bound});
        out_.sorts.push_back(std::move(sort));
        return place->second;
    }

    const programs::Trace& trace_;
    const programs::TraceReport& report_;
    plot::Timeline out_;
    std::size_t first_ = 0;
    std::size_t last_ = 0;
    std::int64_t start_ns_ = 0;
    double unit_ns_ = 1e6;
    std::map<Stream, std::size_t> lanes_;
    std::map<std::int64_t, std::int64_t> busy_until_;  ///< of each GPU
    std::map<std::string, std::size_t> gaps_;
    std::map<std::pair<std::int32_t, programs::TextId>, std::size_t> sorts_;
};

/// The part of a call that takes longest, and its share of the call's prediction.
std::pair<std::size_t, double> main_part(const OperatorRow& row) {
    std::size_t main = 0;
    Time longest;
    for (std::size_t i = 0; i < row.answer.parts.size(); ++i) {
        const auto& part = std::get<model::Prediction>(row.answer.parts[i]);
        if (part.time > longest) {
            longest = part.time;
            main = i;
        }
    }
    return {main, row.answer.time > Time{} ? longest / row.answer.time : 1.0};
}

/// Whether the hardware counted FLOP and DRAM bytes of the row's kernel.
bool counts_arithmetic(const OperatorRow& row) {
    return row.counters && row.kernels > 0 && row.counters->flop() > 0.0 &&
           row.counters->dram_bytes() > 0.0;
}

RooflineCharts::CountedKernel counted_kernel(const OperatorRow& row, double radius) {
    const auto launches = static_cast<double>(row.kernels);
    return {.name = operator_name(row),
            .flop = Flop::from_base(row.counters->flop()),
            .tensor = row.counters->tensor_flop > 0.0,
            .dram = Bytes::from_base(row.counters->dram_bytes()),
            .measured = time_of_counted(row),
            .predicted = row.predicted ? std::optional(*row.predicted / launches) : std::nullopt,
            .evidence = row.evidence,
            .radius = radius};
}

/// If an operator's mark on the roofline is "(from L2)", its row takes that mark's name.
void join_rows(plot::Report& page, const std::vector<plot::Chart>& charts) {
    std::set<std::string> marks;
    for (const plot::Chart& chart : charts) {
        for (const plot::Mark& mark : chart.marks) marks.insert(mark.name);
    }
    for (plot::ReportBlock& block : page.blocks) {
        auto* const table = std::get_if<plot::ReportTable>(&block);
        if (table == nullptr) continue;
        for (plot::ReportRow& row : table->rows) {
            const std::string from_l2 = row.mark + " (from L2)";
            if (!row.mark.empty() && marks.contains(from_l2)) row.mark = from_l2;
        }
    }
}

}  // namespace

plot::Chart ProgramCharts::timeline() const {
    return plot::timeline_chart(TimelineBuilder(trace_, report_).take());
}

plot::Chart ProgramCharts::roofline() const {
    constexpr std::size_t most = 30;
    constexpr double smallest = 3.5;
    constexpr double largest = 15.0;
    RooflineCharts charts(machine_, gpu_, Levels::dram);
    std::size_t shown = 0;
    std::size_t left_out = 0;
    std::size_t without_flop = 0;
    const Time least = programs::time_of(report_.timeline.kernel_ns) * 2e-3;
    std::optional<Time> longest;
    std::set<std::string> names;
    for (const OperatorRow& row : report_.operators) {
        const bool modelled =
            row.predicted && !row.answer.parts.empty() && row.basis != programs::Basis::counters;
        const auto [main, share] = main_part(row);
        const auto* const part =
            modelled ? &std::get<model::Prediction>(row.answer.parts[main]) : nullptr;
        const bool drawable = modelled ? part->algorithmic > Intensity{} : counts_arithmetic(row);
        const bool counted = row.basis == programs::Basis::counters;
        if (counted && !(row.counters && row.counters->flop() >= 0.0)) ++without_flop;
        if (!drawable || row.measured <= least) continue;
        if (shown >= most || !names.insert(operator_name(row)).second) {
            ++left_out;
            continue;
        }
        if (!longest) longest = row.measured;
        const double radius = std::max(smallest, largest * std::sqrt(row.measured / *longest));
        if (modelled) {
            charts.add(operator_name(row), row.steps[main].operation, *part,
                       row.measured * (share / static_cast<double>(row.count)), radius);
        } else {
            charts.add(counted_kernel(row, radius));
        }
        ++shown;
    }
    plot::Chart chart = charts.finish(model::DataType::bf16).front();
    chart.title = "Roofline of the program on " + machine_.title;
    chart.notes.emplace_back(
        "Filled: measured; half filled and hollow: predicted. The area of a mark is proportional "
        "to the time of "
        "all "
        "calls.");
    if (without_flop > 0) {
        chart.notes.push_back(fmt::format(
            "{} kernels have no place here: the report does not count their FLOP.", without_flop));
    }
    if (left_out > 0) {
        chart.notes.push_back(fmt::format("{} with less time are left out.", left_out));
    }
    return chart;
}

std::optional<plot::Chart> ProgramCharts::kernel_roofline(const OperatorRow& row) const {
    if (!row.counters || row.counters->flop() <= 0.0) return std::nullopt;
    const programs::KernelCounters& counters = *row.counters;
    const Time time = time_of_counted(row);
    if (time <= Time{}) return std::nullopt;
    const bool tensor = counters.tensor_flop > 0.0;
    const auto type = tensor ? model::DataType::fp16 : model::DataType::fp32;
    plot::Roofline chart = roofs_alone(machine_, gpu_, {type}, type);
    chart.title = printable(kernel::short_kernel_name(row.kernel));
    chart.subtitle = "the same FLOP over the bytes of each level";
    const auto add = [&](plot::Resource level, double bytes) {
        if (bytes <= 0.0) return;
        chart.points.push_back({.name = std::string(name_of(level)),
                                .level = level,
                                .x = counters.flop() / bytes,
                                .y = counters.flop() / time.base() / si::tera,
                                .origin = plot::Origin::measured,
                                .order = bytes});
    };
    add(plot::Resource::dram, counters.dram_bytes());
    add(plot::Resource::l2, counters.l2_bytes);
    add(plot::Resource::shared, counters.shared_bytes);
    if (chart.points.empty()) return std::nullopt;
    return plot::roofline_chart(chart);
}

std::vector<plot::Chart> ProgramCharts::charts() const {
    std::vector<plot::Chart> out;
    if (trace_.kernels.empty()) return out;
    if (trace_.has_timeline()) out.push_back(timeline());
    out.push_back(roofline());
    return out;
}

plot::Report ProgramCharts::page() const {
    plot::Report page =
        program_page(report_, [this](const OperatorRow& row) { return kernel_roofline(row); });
    std::vector<plot::Chart> all = charts();
    join_rows(page, all);
    // What fits on a screen comes first: the timeline and the savings; then the long table.
    if (!all.empty()) page.blocks.emplace_back(std::move(all.back()));
    if (all.size() > 1) page.blocks.emplace(page.blocks.begin(), std::move(all.front()));
    return page;
}

}  // namespace ridge::cli
