#include "cli/charts/diagnosis_chart.h"

#include <algorithm>
#include <array>

#include "hardware/units.h"
#include "plot/timeline.h"

namespace ridge::cli {
namespace {

using answers::Case;
using answers::Verdict;

constexpr std::size_t most_rows_drawn = 16;
constexpr std::size_t longest_name = 34;

struct BarUnit {
    const char* name;
    Time unit;
};

BarUnit bar_unit(Time longest) {
    constexpr std::array units_of_time{BarUnit{"s", units::s}, BarUnit{"ms", units::ms},
                                       BarUnit{"us", units::us}};
    for (const BarUnit& each : units_of_time) {
        if (longest >= each.unit) return each;
    }
    return {.name = "ns", .unit = units::ns};
}

/// The beginning and the end, because shapes, which tell rows apart, stand at the end.
std::string short_name(const std::string& name) {
    if (name.size() <= longest_name) return name;
    constexpr std::size_t kept_end = 18;
    return name.substr(0, longest_name - 3 - kept_end) + "..." +
           name.substr(name.size() - kept_end);
}

}  // namespace

plot::Chart diagnosis_chart(const answers::Report& report) {
    plot::Timeline bars{.title = "Where the measured time goes",
                        .subtitle = "time of all calls; rows in the order of the table"};
    bars.sorts = {{.name = "least the hardware allows",
                   .series = "least the hardware allows",
                   .color = plot::Color::blue},
                  {.name = "such kernels beyond that",
                   .series = "such kernels beyond that",
                   .color = plot::Color::silver},
                  {.name = "to win", .series = "to win", .color = plot::Color::vermillion}};
    std::vector<const Case*> shown;
    Time longest{};
    for (const Case& one : report.cases) {
        if (!one.expected || one.verdict == Verdict::impossible) continue;
        if (shown.size() == most_rows_drawn) break;
        shown.push_back(&one);
        longest = std::max(longest, one.total());
    }
    const BarUnit unit = bar_unit(longest);
    bars.unit = unit.name;
    for (const Case* one : shown) {
        const std::size_t lane = bars.lanes.size();
        bars.lanes.push_back(short_name(one->row.name));
        const double whole = one->total() / unit.unit;
        const double kept = (one->total() - one->to_win) / unit.unit;
        const double roof = static_cast<double>(one->row.count) * one->roof / unit.unit;
        const double least = std::min(kept, roof);
        const std::array ends{least, kept, whole};
        double from = 0.0;
        for (std::size_t i = 0; i < ends.size(); ++i) {
            if (ends[i] > from) {
                bars.bars.push_back({.from = from, .to = ends[i], .lane = lane, .sort = i});
            }
            from = std::max(from, ends[i]);
        }
    }
    plot::Chart chart = plot::timeline_chart(bars);
    chart.x.title = "Measured time";
    chart.x_range = {.low = 0.0, .high = 1.03 * longest / unit.unit};
    return chart;
}

}  // namespace ridge::cli
