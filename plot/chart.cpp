#include "plot/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "hardware/algorithms.h"
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

std::string value_of(const Mark& mark, const std::string& term) {
    const auto found = algorithms::find(mark.terms, term, &Term::name);
    return found == mark.terms.end() ? std::string() : found->value;
}

}  // namespace

Style class_style(std::size_t index) {
    constexpr std::array colors = {Color::blue,   Color::vermillion, Color::green, Color::purple,
                                   Color::orange, Color::sky,        Color::ink};
    constexpr std::array dashes = {Dash::solid, Dash::dashed, Dash::dash_dot, Dash::dotted,
                                   Dash::long_dash};
    constexpr std::array markers = {Marker::circle,  Marker::square, Marker::triangle,
                                    Marker::diamond, Marker::wedge,  Marker::pentagon,
                                    Marker::star,    Marker::arrow};
    return {.color = colors.at(index % colors.size()),
            .dash = dashes.at(index % dashes.size()),
            .marker = markers.at(index % markers.size()),
            .width = 1.5};
}

std::string axis_text(const Axis& axis) {
    return axis.unit.empty() ? axis.title : fmt::format("{} ({})", axis.title, axis.unit);
}

void number_all(Chart& chart) {
    struct Entry {
        std::vector<std::size_t> marks;
        double order = 0.0;
    };
    std::map<std::string_view, Entry> by_name;
    for (std::size_t i = 0; i < chart.marks.size(); ++i) {
        Entry& entry = by_name[chart.marks[i].name];
        if (entry.marks.empty() || chart.marks[i].labelled) entry.order = chart.marks[i].order;
        entry.marks.push_back(i);
    }
    std::erase_if(by_name, [&chart](const auto& entry) {
        return algorithms::none_of(entry.second.marks,
                                   [&](std::size_t i) { return chart.marks[i].labelled; });
    });
    std::vector<const Entry*> sorted;
    sorted.reserve(by_name.size());
    for (const auto& [name, entry] : by_name) sorted.push_back(&entry);
    algorithms::stable_sort(sorted, std::less<>(), &Entry::order);
    if (chart.key.columns.empty()) chart.key.columns = {"name"};
    for (const Entry* const entry : sorted) {
        const int number = static_cast<int>(chart.key.rows.size()) + 1;
        const Mark& first = chart.marks[entry->marks.front()];
        Key::Row row = {.number = number, .cells = {first.name}};
        for (std::size_t c = 1; c < chart.key.columns.size(); ++c) {
            row.cells.push_back(value_of(first, chart.key.columns[c]));
        }
        chart.key.rows.push_back(std::move(row));
        for (const std::size_t i : entry->marks) chart.marks[i].number = number;
    }
}

void number_marks(Chart& chart, const std::vector<std::string>& columns) {
    chart.key.columns = {"operation"};
    chart.key.columns.insert(chart.key.columns.end(), columns.begin(), columns.end());
    std::set<std::string_view> names;
    for (const Mark& mark : chart.marks) {
        if (mark.labelled) names.insert(mark.name);
    }
    if (names.size() > most_named) number_all(chart);
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
