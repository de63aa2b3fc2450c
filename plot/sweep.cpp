#include "plot/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "hardware/algorithms.h"
#include "plot/text.h"
#include "plot/ticks.h"

namespace ridge::plot {

namespace {

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

/// Positions of all points that can be drawn.
std::vector<double> places_of(const Sweep& sweep) {
    std::vector<double> places;
    for (const Series& series : sweep.series) {
        for (const SeriesPoint& point : series.points) {
            if (drawable(point.x, sweep.x.scale)) places.push_back(point.x);
        }
    }
    return places;
}

/// One line per run, in the order of the points; of several points at the same x, the first.
std::vector<std::vector<Vertex>> joined(const Series& series, const Chart& chart) {
    std::map<std::size_t, std::vector<Vertex>> runs;
    for (const SeriesPoint& point : series.points) {
        if (!drawable(point.x, chart.x.scale) || !drawable(point.y, chart.y.scale)) continue;
        std::vector<Vertex>& line = runs[point.run];
        if (series.drawing == Drawing::steps && !line.empty()) {
            line.push_back({.x = point.x, .y = line.back().y});
        } else if (!line.empty() && line.back().x == point.x) {
            continue;
        }
        line.push_back({.x = point.x, .y = point.y});
    }
    std::vector<std::vector<Vertex>> out;
    out.reserve(runs.size());
    for (auto& [run, line] : runs) out.push_back(std::move(line));
    return out;
}

void add_marks(Chart& chart, const Series& series, const Style& style) {
    const double radius = series.points.size() > 60 ? 2.6 : 4.0;
    for (const SeriesPoint& point : series.points) {
        std::string name = point.name.empty() ? name_at(chart.x, point.x) : point.name;
        if (name.empty()) name = fmt::format("{} = {}", chart.x.title, number_text(point.x));
        chart.marks.push_back({.name = name,
                               .series = series.name,
                               .x = point.x,
                               .y = point.y,
                               .low = point.low,
                               .high = point.high,
                               .origin = point.origin.value_or(series.origin),
                               .style = style,
                               .radius = radius,
                               .labelled = point.labelled,
                               .order = point.order,
                               .terms = point.terms,
                               .kind = series.kind});
    }
}

/// The legend entry with this name; created if there is none.
LegendEntry& legend_entry(Chart& chart, const Series& series, const Style& style) {
    const auto known = algorithms::find(chart.legend, series.name, &LegendEntry::name);
    if (known != chart.legend.end()) return *known;
    chart.legend.push_back({.name = series.name, .detail = series.detail, .style = style});
    return chart.legend.back();
}

Style style_of(const Series& series, const Chart& chart) {
    const auto known = algorithms::find(chart.legend, series.name, &LegendEntry::name);
    if (series.style) return *series.style;
    return known != chart.legend.end() ? known->style : class_style(chart.legend.size());
}

Origin weakest_origin(const Series& series) {
    Origin weakest = series.points.empty() ? series.origin : Origin::measured;
    for (const SeriesPoint& point : series.points) {
        weakest = std::min(weakest, point.origin.value_or(series.origin));
    }
    return weakest;
}

void add_series(Chart& chart, const Series& series) {
    const Style style = style_of(series, chart);
    const bool is_line = series.drawing != Drawing::scatter;
    const bool marked = series.markers == Markers::shown || !is_line;
    LegendEntry& entry = legend_entry(chart, series, style);
    entry.line = entry.line || is_line;
    // If a class has predicted and measured points, the filled sample stands for both.
    if (marked && entry.marker != Origin::measured) entry.marker = weakest_origin(series);
    for (std::vector<Vertex>& line : joined(series, chart)) {
        if (is_line || !entry.anchor) entry.anchor = line.back();
        if (!is_line || line.size() < 2) continue;
        chart.curves.push_back({.role = CurveRole::series,
                                .name = series.name,
                                .series = series.name,
                                .origin = series.origin,
                                .vertices = std::move(line),
                                .style = style,
                                .terms = {}});
    }
    if (marked) add_marks(chart, series, style);
}

/// Explains lines and the fill of marks if a chart contains predictions and measurements, or if the
/// evidence of its points is known.
void add_samples(Chart& chart, const Sweep& sweep) {
    const auto has_series = [&sweep](Origin origin) {
        return algorithms::any_of(
            sweep.series, [origin](const Series& series) { return series.origin == origin; });
    };
    const auto has_mark = [&chart](Origin origin) {
        return algorithms::any_of(chart.marks,
                                  [origin](const Mark& mark) { return mark.origin == origin; });
    };
    const bool graded = algorithms::any_of(sweep.series, [](const Series& series) {
        return algorithms::any_of(
            series.points, [](const SeriesPoint& point) { return point.origin.has_value(); });
    });
    const bool measured = has_series(Origin::measured);
    if (graded || (measured && has_series(Origin::predicted))) {
        if (measured) chart.samples.push_back({.name = "measured", .marker = Origin::measured});
        if (has_mark(Origin::calibrated)) {
            chart.samples.push_back({.name = "calibrated", .marker = Origin::calibrated});
        }
        const bool line = algorithms::any_of(
            chart.curves, [](const Curve& c) { return c.role == CurveRole::series; });
        const bool hollow = has_mark(Origin::predicted);
        if (line || hollow) {
            chart.samples.push_back(
                {.name = "predicted",
                 .line = line,
                 .marker = hollow ? std::optional(Origin::predicted) : std::nullopt});
        }
        if (has_mark(Origin::calibrated)) chart.samples.push_back({.name = calibrated_words});
    }
    chart.samples.insert(chart.samples.end(), sweep.samples.begin(), sweep.samples.end());
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
    if (chart.x.scale == Scale::log) chart.x.doubling = doubling_of(places_of(sweep));
    const Ranges automatic = automatic_ranges(sweep);
    chart.x_range = resolved(chart.x, automatic.x);
    chart.y_range = resolved(chart.y, automatic.y);
    add_guides(chart, sweep);
    for (const Series& series : sweep.series) add_series(chart, series);
    add_samples(chart, sweep);
    chart.notes = sweep.notes;
    return without_undrawable(std::move(chart));
}

}  // namespace ridge::plot
