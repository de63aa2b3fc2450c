#include "plot/timeline.h"

#include <algorithm>
#include <cmath>

#include "hardware/algorithms.h"
#include "hardware/error.h"

namespace ridge::plot {
namespace {

constexpr double bar_width = 9.0;  // of a series in the legend: a bar

void check(const TimelineBar& bar, const Timeline& timeline) {
    if (bar.lane >= timeline.lanes.size())
        throw InputError("timeline: a bar's lane does not exist");
    if (bar.sort >= timeline.sorts.size())
        throw InputError("timeline: a bar's sort does not exist");
    if (!std::isfinite(bar.from) || !std::isfinite(bar.to) || bar.to < bar.from) {
        throw InputError("timeline: a bar ends before it starts");
    }
}

}  // namespace

Chart timeline_chart(const Timeline& timeline) {
    Chart chart;
    chart.title = timeline.title;
    chart.subtitle = timeline.subtitle;
    chart.notes = timeline.notes;
    chart.x = {.title = "Time", .unit = timeline.unit};
    chart.span_sorts = timeline.sorts;
    const std::size_t lanes = timeline.lanes.size();
    for (std::size_t i = 0; i < lanes; ++i) {
        chart.y.names.push_back(timeline.lanes[lanes - 1 - i]);
    }
    chart.y_range = {.low = 0.4,
                     .high = static_cast<double>(std::max<std::size_t>(1, lanes)) + 0.6};
    double first = 0.0;
    double last = 0.0;
    for (const TimelineBar& bar : timeline.bars) {
        check(bar, timeline);
        first = chart.spans.empty() ? bar.from : std::min(first, bar.from);
        last = chart.spans.empty() ? bar.to : std::max(last, bar.to);
        chart.spans.push_back({.from = bar.from,
                               .to = bar.to,
                               .lane = static_cast<double>(lanes - bar.lane),
                               .sort = bar.sort});
    }
    algorithms::stable_sort(chart.spans, std::less<>(), &Span::from);
    chart.x_range = {.low = first, .high = last > first ? last : first + 1.0};
    for (const SpanSort& sort : timeline.sorts) {
        const bool known = algorithms::any_of(
            chart.samples, [&sort](const LegendEntry& entry) { return entry.name == sort.series; });
        if (known || sort.series.empty()) continue;
        chart.samples.push_back({.name = sort.series,
                                 .style = {.color = sort.color, .width = bar_width},
                                 .line = true});
    }
    return chart;
}

}  // namespace ridge::plot
