#include <algorithm>

#include "plot/svg.h"
#include "plot/text.h"

namespace ridge::plot {

namespace {

Term coordinate_term(const Axis& axis, double value) {
    const std::string unit = axis.unit.empty() ? "" : " " + axis.unit;
    return {.name = axis.title, .value = number_text(value) + unit};
}

Item item_of(const Mark& mark, const Chart& chart) {
    Item item = {.kind = mark.origin == Origin::measured ? "measured" : "predicted",
                 .name = mark.name,
                 .series = mark.series,
                 .terms = {coordinate_term(chart.x, mark.x), coordinate_term(chart.y, mark.y)}};
    if (mark.low || mark.high) {
        item.terms.push_back({.name = "Range",
                              .value = number_text(mark.low.value_or(mark.y)) + " to " +
                                       number_text(mark.high.value_or(mark.y))});
    }
    item.terms.insert(item.terms.end(), mark.terms.begin(), mark.terms.end());
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
                         .series = {},
                         .terms = curve.terms});
    }
    for (const Annotation& annotation : chart.annotations) {
        items.push_back(
            {.kind = "ridge", .name = annotation.name, .series = {}, .terms = annotation.terms});
    }
    return items;
}

std::string item_text(const Item& item) {
    std::string out = item.name;
    const std::string in_brackets = item.series.empty() || item.series == item.name
                                        ? item.kind
                                        : item.series + ", " + item.kind;
    if (item.kind == "measured" || item.kind == "predicted") out += " (" + in_brackets + ")";
    for (const Term& term : item.terms) out += "\n" + term.name + ": " + term.value;
    return out;
}

}  // namespace ridge::plot
