#include "plot/scatter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <utility>

#include "hardware/algorithms.h"
#include "hardware/error.h"
#include "plot/text.h"
#include "plot/ticks.h"

namespace ridge::plot {

namespace {

constexpr std::size_t most_bars = 60;  ///< with more points, bands are not drawn as error bars

std::size_t points_of(const Scatter& scatter) {
    std::size_t count = 0;
    for (const Series& group : scatter.groups) count += group.points.size();
    return count;
}

/// Contains every point and the tolerances.
Ranges automatic_ranges(const Scatter& scatter) {
    std::vector<double> xs;
    Range y = {.low = 0.8, .high = 1.25};
    for (const double tolerance : scatter.tolerances) {
        y.high = std::max(y.high, 1.04 * (1.0 + tolerance));
        if (tolerance < 0.9) y.low = std::min(y.low, (1.0 - tolerance) / 1.04);
    }
    const bool bars = points_of(scatter) <= most_bars;
    const auto include = [&y](double ratio) {
        if (!drawable(ratio, Scale::log)) return;
        y = {.low = std::min(y.low, ratio / 1.04), .high = std::max(y.high, ratio * 1.04)};
    };
    for (const Series& group : scatter.groups) {
        for (const SeriesPoint& point : group.points) {
            if (!drawable(point.x, Scale::log) || !drawable(point.y, Scale::log)) continue;
            xs.push_back(point.x);
            include(point.y);
            if (bars) include(point.low.value_or(point.y));
            if (bars) include(point.high.value_or(point.y));
        }
    }
    Range x = range_of(xs, Scale::log);
    if (x.low < x.high) x = padded(x, Scale::log, 0.04);
    return {.x = rounded_out(x, Scale::log), .y = y};
}

std::vector<Vertex> level(const Chart& chart, double y) {
    return {{.x = chart.x_range.low, .y = y}, {.x = chart.x_range.high, .y = y}};
}

void add_line(Chart& chart, double y, std::string name, const Style& style, double prefer) {
    chart.curves.push_back({.role = CurveRole::reference,
                            .name = std::move(name),
                            .vertices = level(chart, y),
                            .style = style,
                            .lettering = Lettering::along,
                            .prefer = prefer,
                            .terms = {}});
}

void add_tolerances(Chart& chart, const std::vector<double>& tolerances) {
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
                               .low = level(chart, 1.0 - tolerance),
                               .high = level(chart, 1.0 + tolerance),
                               .color = Color::blue,
                               .opacity = 0.07});
        const Style style = {
            .color = Color::grey, .dash = dashes.at(i % dashes.size()), .width = 1.2};
        add_line(chart, 1.0 + tolerance, "+" + percent, style, 0.99);
        add_line(chart, 1.0 - tolerance, "−" + percent, style, 0.99);
    }
    add_line(chart, 1.0, "predicted = measured", {.color = Color::ink, .width = 1.2}, 0.99);
}

/// Smaller if there are more points, so that thousands form a cloud and not a stripe.
double radius_for(std::size_t points) {
    if (points > 2000) return 1.5;
    if (points > 600) return 2.4;
    return points > 60 ? 3.4 : 4.2;
}

/// Interleaves the points of all groups in proportion to their numbers, so that no group hides
/// another.
struct Place {
    double share = 0.0;  ///< share of its group that comes before it
    std::size_t group = 0;
    std::size_t point = 0;
};

std::vector<Place> interleaved(const std::vector<Series>& groups) {
    std::vector<Place> out;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const auto count = static_cast<double>(groups[g].points.size());
        for (std::size_t i = 0; i < groups[g].points.size(); ++i) {
            out.push_back(
                {.share = (static_cast<double>(i) + 0.5) / count, .group = g, .point = i});
        }
    }
    algorithms::stable_sort(out, std::less<>(), &Place::share);
    return out;
}

void add_points(Chart& chart, const std::vector<Series>& groups) {
    const std::vector<Place> places = interleaved(groups);
    const bool bars = places.size() <= most_bars;
    for (const Place& place : places) {
        const Series& group = groups[place.group];
        const SeriesPoint& point = group.points[place.point];
        chart.marks.push_back({.name = point.name.empty() ? group.name : point.name,
                               .series = group.name,
                               .x = point.x,
                               .y = point.y,
                               .low = bars ? point.low : std::nullopt,
                               .high = bars ? point.high : std::nullopt,
                               .origin = group.origin,
                               .style = group.style.value_or(class_style(place.group)),
                               .radius = radius_for(places.size()),
                               .labelled = point.labelled,
                               .order = point.order,
                               .terms = point.terms});
    }
    for (std::size_t i = 0; i < groups.size(); ++i) {
        chart.legend.push_back({.name = groups[i].name,
                                .detail = groups[i].detail,
                                .style = groups[i].style.value_or(class_style(i)),
                                .marker = groups[i].origin,
                                .anchor = {}});
    }
}

}  // namespace

Chart scatter_chart(const Scatter& scatter) {
    Chart chart;
    chart.title = scatter.title;
    chart.subtitle = scatter.subtitle;
    chart.x = scatter.x;
    chart.y = scatter.y;
    chart.x.scale = chart.y.scale = Scale::log;
    const Ranges automatic = automatic_ranges(scatter);
    chart.x_range = resolved(chart.x, automatic.x);
    chart.y_range = resolved(chart.y, automatic.y);
    add_tolerances(chart, scatter.tolerances);
    add_points(chart, scatter.groups);
    const bool bars =
        algorithms::any_of(chart.marks, [](const Mark& mark) { return mark.low.has_value(); });
    if (bars) {
        chart.samples.push_back({.name = "bar: the prediction's band over the measured time"});
    }
    chart.notes = scatter.notes;
    return without_undrawable(std::move(chart));
}

}  // namespace ridge::plot
