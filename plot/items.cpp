#include <algorithm>

#include "hardware/algorithms.h"
#include "plot/svg.h"
#include "plot/text.h"
#include "plot/ticks.h"

namespace ridge::plot {

namespace {

Term coordinate_term(const Axis& axis, double value) {
    const std::string unit = axis.unit.empty() ? "" : " " + axis.unit;
    return {.name = axis.title, .value = number_text(value) + unit, .number = value};
}

/// Equal except for the case of ASCII letters.
bool same_words(std::string_view a, std::string_view b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return algorithms::equal(a, b, lower);
}

std::string kind_of(const Mark& mark) {
    if (!mark.kind.empty()) return mark.kind;
    return mark.origin == Origin::measured ? "measured" : "predicted";
}

/// Coordinates come first; if a term gives the same quantity as a coordinate, its text is used.
Item item_of(const Mark& mark, const Chart& chart) {
    Item item = {.kind = kind_of(mark),
                 .name = mark.name,
                 .series = mark.series,
                 .level = mark.level,
                 .terms = {}};
    const std::string place = name_at(chart.x, mark.x);
    if (chart.x.names.empty()) {
        item.terms.push_back(coordinate_term(chart.x, mark.x));
    } else if (!chart.x.title.empty() && !place.empty() && place != mark.name) {
        item.terms.push_back({.name = chart.x.title, .value = place});
    }
    if (chart.y.names.empty()) item.terms.push_back(coordinate_term(chart.y, mark.y));
    if (mark.low || mark.high) {
        item.terms.push_back({.name = "Range",
                              .value = number_text(mark.low.value_or(mark.y)) + " to " +
                                       number_text(mark.high.value_or(mark.y))});
    }
    const auto coordinates = static_cast<std::ptrdiff_t>(item.terms.size());
    for (const Term& term : mark.terms) {
        const auto end = item.terms.begin() + coordinates;
        const auto same = std::find_if(item.terms.begin(), end, [&term](const Term& each) {
            return same_words(each.name, term.name);
        });
        if (same == end) {
            item.terms.push_back(term);
        } else {
            same->value = term.value;
        }
    }
    return item;
}

}  // namespace

std::vector<Item> items_of(const Chart& chart) {
    std::vector<Item> items;
    for (const Mark& mark : chart.marks) items.push_back(item_of(mark, chart));
    for (const Curve& curve : chart.curves) {
        if (curve.role != CurveRole::roof && curve.role != CurveRole::reference) continue;
        items.push_back({.kind = curve.role == CurveRole::roof ? "roof" : "reference",
                         .name = curve.name,
                         .terms = curve.terms});
    }
    for (const Annotation& annotation : chart.annotations) {
        items.push_back({.kind = "ridge", .name = annotation.name, .terms = annotation.terms});
    }
    return items;
}

std::string item_text(const Item& item) {
    std::string out = item.name;
    if (item.kind != "roof" && item.kind != "reference" && item.kind != "ridge") {
        std::string in_brackets;
        if (item.series != item.name && !item.series.empty()) in_brackets += item.series + ", ";
        if (!item.level.empty()) in_brackets += item.level + ", ";
        out += " (" + in_brackets + item.kind + ")";
    }
    for (const Term& term : item.terms) out += "\n" + term.name + ": " + term.value;
    return out;
}

}  // namespace ridge::plot
