#include "plot/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "plot/text.h"
#include "plot/ticks.h"

namespace ridge::plot {

namespace {

struct Ranges {
    Range x;
    Range y;
};

Ranges automatic_ranges(const Sweep& sweep) {
    std::vector<double> xs;
    std::vector<double> ys;
    for (const Series& series : sweep.series) {
        for (const SeriesPoint& point : series.points) {
            if (!drawable(point.x, sweep.x.scale) || !drawable(point.y, sweep.y.scale)) continue;
            xs.push_back(point.x);
            ys.push_back(point.y);
            if (point.low) ys.push_back(*point.low);
            if (point.high) ys.push_back(*point.high);
        }
    }
    for (const Limit& limit : sweep.limits) ys.push_back(limit.y);
    for (const Interval& interval : sweep.intervals) {
        ys.push_back(interval.low);
        ys.push_back(interval.high);
    }
    Range y = range_of(ys, sweep.y.scale);
    if (sweep.y.scale == Scale::linear && y.low > 0.0) y.low = 0.0;
    y.high = padded(y, sweep.y.scale, 0.06).high;
    if (sweep.y.scale == Scale::log) y.low = padded(y, Scale::log, 0.06).low;
    Range x = range_of(xs, sweep.x.scale);
    if (x.low < x.high) x = padded(x, sweep.x.scale, 0.015);
    const bool x_point = !(x.low < x.high);
    return {.x = x_point ? rounded_out(x, sweep.x.scale) : x, .y = rounded_out(y, sweep.y.scale)};
}

std::vector<Vertex> joined(const Series& series, const Chart& chart) {
    std::vector<Vertex> out;
    for (const SeriesPoint& point : series.points) {
        if (!drawable(point.x, chart.x.scale) || !drawable(point.y, chart.y.scale)) continue;
        if (series.drawing == Drawing::steps && !out.empty()) {
            out.push_back({.x = point.x, .y = out.back().y});
        }
        out.push_back({.x = point.x, .y = point.y});
    }
    return out;
}

void add_marks(Chart& chart, const Series& series, const Style& style) {
    const double radius = series.points.size() > 60 ? 2.6 : 4.0;
    for (const SeriesPoint& point : series.points) {
        const std::string name = point.name.empty()
                                     ? fmt::format("{} = {}", chart.x.title, number_text(point.x))
                                     : point.name;
        chart.marks.push_back({.name = name,
                               .series = series.name,
                               .x = point.x,
                               .y = point.y,
                               .low = point.low,
                               .high = point.high,
                               .origin = series.origin,
                               .style = style,
                               .radius = radius,
                               .labelled = point.labelled,
                               .terms = point.terms});
    }
}

void add_series(Chart& chart, const Series& series, std::size_t index) {
    const Style style = series.style.value_or(class_style(index));
    std::vector<Vertex> line = joined(series, chart);
    const bool is_line = series.drawing != Drawing::scatter;
    const bool marked = series.markers == Markers::shown || !is_line;
    SideEntry entry = {.name = series.name,
                       .detail = series.detail,
                       .style = style,
                       .line = is_line,
                       .marker = marked,
                       .origin = series.origin,
                       .anchor = {}};
    if (!line.empty()) entry.anchor = line.back();
    if (is_line && line.size() > 1) {
        chart.curves.push_back({.role = CurveRole::series,
                                .name = series.name,
                                .vertices = std::move(line),
                                .style = style,
                                .terms = {}});
    }
    if (marked) add_marks(chart, series, style);
    chart.side.push_back(std::move(entry));
}

void add_guides(Chart& chart, const Sweep& sweep) {
    const Range& x = chart.x_range;
    for (const Interval& interval : sweep.intervals) {
        chart.bands.push_back(
            {.name = interval.name,
             .low = {{.x = x.low, .y = interval.low}, {.x = x.high, .y = interval.low}},
             .high = {{.x = x.low, .y = interval.high}, {.x = x.high, .y = interval.high}},
             .color = Color::grey,
             .opacity = 0.12});
    }
    for (const Limit& limit : sweep.limits) {
        chart.curves.push_back(
            {.role = CurveRole::reference,
             .name = limit.name,
             .vertices = {{.x = x.low, .y = limit.y}, {.x = x.high, .y = limit.y}},
             .style = {.color = Color::ink, .dash = Dash::long_dash, .width = 1.2},
             .lettering = Lettering::along,
             .prefer = 0.02,
             .terms = {}});
    }
}

}  // namespace

Chart sweep_chart(const Sweep& sweep) {
    Chart chart;
    chart.title = sweep.title;
    chart.subtitle = sweep.subtitle;
    chart.x = sweep.x;
    chart.y = sweep.y;
    const Ranges automatic = automatic_ranges(sweep);
    chart.x_range = resolved(chart.x, automatic.x);
    chart.y_range = resolved(chart.y, automatic.y);
    add_guides(chart, sweep);
    for (std::size_t i = 0; i < sweep.series.size(); ++i) add_series(chart, sweep.series[i], i);
    chart.notes = sweep.notes;
    return without_undrawable(std::move(chart));
}

}  // namespace ridge::plot
