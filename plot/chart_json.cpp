#include "plot/chart_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <vector>

#include "plot/text.h"
#include "plot/ticks.h"

namespace ridge::plot {

namespace {

std::string text_of(std::string_view text) {
    return script_json_string(text);
}

std::string number_of(double value) {
    return std::isfinite(value) ? fmt::format("{}", value) : "null";
}

template <class Each, class Write>
std::string list_of(const std::vector<Each>& values, const Write& write) {
    std::string out = "[";
    for (std::size_t i = 0; i < values.size(); ++i) {
        out += (i == 0 ? "" : ",") + write(values[i], i);
    }
    return out + "]";
}

std::string terms_of(const std::vector<Term>& terms) {
    return list_of(terms, [](const Term& term, std::size_t) {
        return fmt::format("[{},{}]", text_of(term.name), text_of(term.value));
    });
}

std::string path_of(const std::vector<Vertex>& vertices) {
    return list_of(vertices, [](const Vertex& v, std::size_t) {
        return fmt::format("[{},{}]", number_of(v.x), number_of(v.y));
    });
}

std::string axis_of(const Axis& axis, const Range& range) {
    const std::string names =
        list_of(axis.names, [](const std::string& name, std::size_t) { return text_of(name); });
    return fmt::format(
        R"({{"title":{},"unit":{},"log":{},"range":[{},{}],"names":{},"doubling":{}}})",
        text_of(axis.title), text_of(axis.unit), axis.scale == Scale::log, range.low, range.high,
        names, axis.doubling ? number_of(*axis.doubling) : "null");
}

std::string style_of(const Style& style) {
    return fmt::format(R"("color":"{}","dash":"{}","marker":"{}","width":{})", name_of(style.color),
                       name_of(style.dash), name_of(style.marker), style.width);
}

std::string mark_of(const Mark& mark, std::size_t item) {
    std::string out = fmt::format(
        R"({{"item":{},"name":{},"n":{},"series":{},"level":{},"origin":"{}","x":{},"y":{},"r":{},"labelled":{},{})",
        item, text_of(mark.name), mark.number, text_of(mark.series), text_of(mark.level),
        name_of(mark.origin), mark.x, mark.y, mark.radius, mark.labelled, style_of(mark.style));
    if (mark.low || mark.high) {
        out += fmt::format(R"(,"low":{},"high":{})", number_of(mark.low.value_or(mark.y)),
                           number_of(mark.high.value_or(mark.y)));
    }
    return out + "}";
}

/// Roofs and reference lines are items; they follow the marks, in order.
std::string curves_of(const Chart& chart, std::size_t item) {
    constexpr std::array<std::string_view, 4> roles = {"roof", "envelope", "series", "reference"};
    return list_of(chart.curves, [&](const Curve& curve, std::size_t) {
        const bool is_item = curve.role == CurveRole::roof || curve.role == CurveRole::reference;
        std::vector<Vertex> drawn;
        for (const Vertex& v : curve.vertices) {
            if (drawable(v.x, chart.x.scale) && drawable(v.y, chart.y.scale)) drawn.push_back(v);
        }
        return fmt::format(
            R"({{"role":"{}","name":{},"series":{},"origin":"{}","label":{},"prefer":{}{},{},"xy":{}}})",
            roles.at(static_cast<std::size_t>(curve.role)), text_of(curve.name),
            text_of(curve.series), curve.origin ? name_of(*curve.origin) : "",
            curve.lettering == Lettering::along, curve.prefer,
            is_item ? fmt::format(",\"item\":{}", item++) : "", style_of(curve.style),
            path_of(drawn));
    });
}

/// One [from, to, lane, sort] per bar; empty if there are none.
std::string spans_of(const Chart& chart) {
    if (chart.spans.empty()) return "";
    std::string out =
        ",\n\"sorts\":" + list_of(chart.span_sorts, [](const SpanSort& sort, std::size_t) {
            return fmt::format(R"({{"name":{},"series":{},"color":"{}","terms":{}}})",
                               text_of(sort.name), text_of(sort.series), name_of(sort.color),
                               terms_of(sort.terms));
        });
    return out + ",\n\"spans\":" + list_of(chart.spans, [](const Span& span, std::size_t) {
               return fmt::format("[{:.7g},{:.7g},{},{}]", span.from, span.to, span.lane,
                                  span.sort);
           });
}

std::string legend_of(const std::vector<LegendEntry>& entries) {
    return list_of(entries, [](const LegendEntry& entry, std::size_t) {
        return fmt::format(R"({{"name":{},"detail":{},"line":{},"origin":"{}",{}}})",
                           text_of(entry.name), text_of(entry.detail), entry.line,
                           entry.marker ? name_of(*entry.marker) : "", style_of(entry.style));
    });
}

}  // namespace

std::string_view name_of(Color color) {
    constexpr std::array<std::string_view, 9> names = {
        "ink", "blue", "vermillion", "green", "purple", "orange", "sky", "grey", "silver"};
    return names.at(static_cast<std::size_t>(color));
}

std::string_view name_of(Dash dash) {
    constexpr std::array<std::string_view, 5> names = {"solid", "dashed", "dotted", "dash_dot",
                                                       "long_dash"};
    return names.at(static_cast<std::size_t>(dash));
}

std::string_view name_of(Marker marker) {
    constexpr std::array<std::string_view, 8> names = {"circle", "square",   "triangle", "diamond",
                                                       "wedge",  "pentagon", "star",     "arrow"};
    return names.at(static_cast<std::size_t>(marker));
}

std::string_view name_of(Origin origin) {
    constexpr std::array<std::string_view, 3> names = {"predicted", "calibrated", "measured"};
    return names.at(static_cast<std::size_t>(origin));
}

std::string to_json(const Chart& chart, std::size_t first) {
    std::string out =
        fmt::format(R"({{"title":{},"subtitle":{},"description":{},"x":{},"y":{})",
                    text_of(chart.title), text_of(chart.subtitle), text_of(description_of(chart)),
                    axis_of(chart.x, chart.x_range), axis_of(chart.y, chart.y_range));
    out += ",\"bands\":" + list_of(chart.bands, [](const Band& band, std::size_t) {
               return fmt::format(R"({{"color":"{}","opacity":{},"low":{},"high":{}}})",
                                  name_of(band.color), band.opacity, path_of(band.low),
                                  path_of(band.high));
           });
    out += ",\n\"marks\":" + list_of(chart.marks, [first](const Mark& mark, std::size_t i) {
               return mark_of(mark, first + i);
           });
    out += ",\n\"curves\":" + curves_of(chart, first + chart.marks.size());
    out += spans_of(chart);
    out += ",\"links\":" + list_of(chart.links, [](const Link& link, std::size_t) {
               return fmt::format("[{},{}]", link.from, link.to);
           });
    out += ",\"annotations\":" +
           list_of(chart.annotations, [](const Annotation& annotation, std::size_t) {
               return fmt::format(R"({{"text":{},"x":{},"y":{},"drop":{}}})",
                                  text_of(annotation.text), number_of(annotation.x),
                                  number_of(annotation.y), annotation.drop_line);
           });
    out += ",\"legend\":" + legend_of(chart.legend) + ",\"samples\":" + legend_of(chart.samples);
    out += ",\"notes\":" +
           list_of(chart.notes, [](const std::string& note, std::size_t) { return text_of(note); });
    return out + "}";
}

std::string to_json(const Item& item) {
    return fmt::format(R"({{"kind":{},"name":{},"series":{},"level":{},"terms":{}}})",
                       text_of(item.kind), text_of(item.name), text_of(item.series),
                       text_of(item.level), terms_of(item.terms));
}

}  // namespace ridge::plot
