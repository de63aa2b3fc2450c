#include "plot/chart.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <utility>

#include "plot/ticks.h"

namespace ridge::plot {

namespace {

bool within(double value, const Range& range) {
    const double slack = 1e-9;
    return value >= range.low - slack * std::abs(range.low) &&
           value <= range.high + slack * std::abs(range.high);
}

bool has_place(const Mark& mark, const Chart& chart) {
    return drawable(mark.x, chart.x.scale) && drawable(mark.y, chart.y.scale) &&
           within(mark.x, chart.x_range) && within(mark.y, chart.y_range);
}

}  // namespace

Style class_style(std::size_t index) {
    constexpr std::array colors = {Color::blue,   Color::vermillion, Color::green, Color::purple,
                                   Color::orange, Color::sky,        Color::ink};
    constexpr std::array dashes = {Dash::solid, Dash::dashed, Dash::dash_dot, Dash::dotted,
                                   Dash::long_dash};
    constexpr std::array markers = {Marker::circle,  Marker::square, Marker::triangle,
                                    Marker::diamond, Marker::wedge,  Marker::pentagon,
                                    Marker::plus,    Marker::cross};
    return {.color = colors.at(index % colors.size()),
            .dash = dashes.at(index % dashes.size()),
            .marker = markers.at(index % markers.size()),
            .width = 1.5};
}

std::string axis_text(const Axis& axis) {
    return axis.unit.empty() ? axis.title : fmt::format("{} ({})", axis.title, axis.unit);
}

Chart without_undrawable(Chart chart) {
    constexpr std::size_t gone = std::numeric_limits<std::size_t>::max();
    std::vector<std::size_t> moved(chart.marks.size(), gone);
    std::vector<Mark> kept;
    for (std::size_t i = 0; i < chart.marks.size(); ++i) {
        if (!has_place(chart.marks[i], chart)) continue;
        moved[i] = kept.size();
        kept.push_back(std::move(chart.marks[i]));
    }
    std::vector<Link> links;
    for (const Link& link : chart.links) {
        const std::size_t from = moved.at(link.from);
        const std::size_t to = moved.at(link.to);
        if (from != gone && to != gone) links.push_back({.from = from, .to = to});
    }
    const std::size_t dropped = moved.size() - kept.size();
    chart.marks = std::move(kept);
    chart.links = std::move(links);
    if (dropped > 0) {
        chart.notes.push_back(fmt::format("{} point{} not drawn: outside the axes.", dropped,
                                          dropped == 1 ? " is" : "s are"));
    }
    return chart;
}

}  // namespace ridge::plot
