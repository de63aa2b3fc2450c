#include "plot/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "hardware/error.h"
#include "plot/text.h"
#include "plot/ticks.h"

namespace ridge::plot {

namespace {

Range shared_range(const Scatter& scatter) {
    std::vector<double> values;
    for (const Series& group : scatter.groups) {
        for (const SeriesPoint& point : group.points) {
            if (!drawable(point.x, Scale::log) || !drawable(point.y, Scale::log)) continue;
            values.push_back(point.x);
            values.push_back(point.y);
        }
    }
    Range range = range_of(values, Scale::log);
    if (range.low < range.high) range = padded(range, Scale::log, 0.04);
    return rounded_out(range, Scale::log);
}

/// The line y = factor * x across the chart.
std::vector<Vertex> ray(const Chart& chart, double factor) {
    const Range& x = chart.x_range;
    return {{.x = x.low, .y = factor * x.low}, {.x = x.high, .y = factor * x.high}};
}

void add_ray(Chart& chart, double factor, std::string name, const Style& style, double prefer) {
    chart.curves.push_back({.role = CurveRole::reference,
                            .name = std::move(name),
                            .vertices = ray(chart, factor),
                            .style = style,
                            .lettering = Lettering::along,
                            .prefer = prefer,
                            .terms = {}});
}

void add_bands(Chart& chart, const std::vector<double>& tolerances) {
    std::vector<double> sorted = tolerances;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    constexpr std::array dashes = {Dash::dashed, Dash::dotted, Dash::dash_dot};
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const double tolerance = sorted[i];
        if (!(tolerance > 0.0 && tolerance < 1.0)) {
            throw InputError(fmt::format("a tolerance of {} is not between 0 and 1", tolerance));
        }
        const std::string percent = number_text(tolerance * 100.0) + " %";
        chart.bands.push_back({.name = "±" + percent,
                               .low = ray(chart, 1.0 - tolerance),
                               .high = ray(chart, 1.0 + tolerance),
                               .color = Color::blue,
                               .opacity = 0.07});
        const Style style = {
            .color = Color::grey, .dash = dashes.at(i % dashes.size()), .width = 1.0};
        const double along = i % 2 == 0 ? 0.06 : 0.16;
        add_ray(chart, 1.0 + tolerance, "+" + percent, style, along);
        add_ray(chart, 1.0 - tolerance, "−" + percent, style, along);
    }
    add_ray(chart, 1.0, "y = x", {.color = Color::ink, .width = 1.2}, 0.95);
}

/// Smaller where there are more points, so that thousands stay a cloud and not a stripe.
double radius_for(std::size_t points) {
    if (points > 1000) return 1.3;
    if (points > 200) return 2.2;
    return points > 30 ? 3.2 : 4.0;
}

void add_group(Chart& chart, const Series& group, std::size_t index) {
    const Style style = group.style.value_or(class_style(index));
    const double radius = radius_for(group.points.size());
    for (const SeriesPoint& point : group.points) {
        chart.marks.push_back({.name = point.name.empty() ? group.name : point.name,
                               .series = group.name,
                               .x = point.x,
                               .y = point.y,
                               .low = point.low,
                               .high = point.high,
                               .origin = group.origin,
                               .style = style,
                               .radius = radius,
                               .labelled = point.labelled,
                               .terms = point.terms});
    }
    chart.side.push_back({.name = group.name,
                          .detail = group.detail,
                          .style = style,
                          .line = false,
                          .marker = true,
                          .origin = group.origin,
                          .anchor = {}});
}

}  // namespace

Chart scatter_chart(const Scatter& scatter) {
    Chart chart;
    chart.title = scatter.title;
    chart.subtitle = scatter.subtitle;
    chart.x = scatter.x;
    chart.y = scatter.y;
    chart.x.scale = chart.y.scale = Scale::log;
    chart.aspect = Aspect::square;
    const Range range = shared_range(scatter);
    chart.x_range = resolved(chart.x, range);
    chart.y_range = resolved(chart.y, range);
    add_bands(chart, scatter.tolerances);
    for (std::size_t i = 0; i < scatter.groups.size(); ++i) add_group(chart, scatter.groups[i], i);
    chart.notes = scatter.notes;
    return without_undrawable(std::move(chart));
}

}  // namespace ridge::plot
