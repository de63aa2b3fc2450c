#include "plot/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <numbers>
#include <utility>

#include "plot/chart_json.h"
#include "plot/text.h"

namespace ridge::plot {

namespace {

std::string_view name_of(FontRole role) {
    constexpr std::array<std::string_view, 8> names = {"title", "subtitle", "axis",   "tick",
                                                       "label", "emphasis", "detail", "number"};
    return names.at(static_cast<std::size_t>(role));
}

std::string dash_attribute(Dash dash) {
    switch (dash) {
        case Dash::dashed:
            return R"( stroke-dasharray="7 4")";
        case Dash::dotted:
            return R"( stroke-dasharray="2 3")";
        case Dash::dash_dot:
            return R"( stroke-dasharray="9 3 2 3")";
        case Dash::long_dash:
            return R"( stroke-dasharray="14 4")";
        case Dash::solid:
            break;
    }
    return "";
}

std::string point_text(Vec2 p) {
    return coordinate(p.x) + " " + coordinate(p.y);
}

std::string path_of(const std::vector<Vec2>& points) {
    std::string d;
    for (std::size_t i = 0; i < points.size(); ++i)
        d += (i == 0 ? "M" : "L") + point_text(points[i]);
    return d;
}

std::string line_element(std::string_view classes, const Segment& segment) {
    return fmt::format("<path class=\"{}\" d=\"{}\"/>\n", classes,
                       path_of({segment.from, segment.to}));
}

/// Corners of a regular polygon with the area of a circle of the given radius; angle 0 is up.
std::vector<Vec2> polygon(Vec2 at, double radius, int corners, double turn) {
    const double slice = 2.0 * std::numbers::pi / corners;
    const double reach = radius * std::sqrt(slice / std::sin(slice));
    std::vector<Vec2> out;
    for (int i = 0; i < corners; ++i) {
        const double angle = turn + i * slice;
        out.push_back({at.x + reach * std::sin(angle), at.y - reach * std::cos(angle)});
    }
    return out;
}

/// A star with five points and about the area of a circle of the given radius.
std::vector<Vec2> star(Vec2 at, double radius) {
    std::vector<Vec2> out;
    for (int i = 0; i < 10; ++i) {
        const double angle = i * std::numbers::pi / 5.0;
        const double reach = radius * (i % 2 == 0 ? 1.6 : 0.75);
        out.push_back({at.x + reach * std::sin(angle), at.y - reach * std::cos(angle)});
    }
    return out;
}

std::string marker_path(Marker marker, Vec2 at, double r) {
    constexpr double pi = std::numbers::pi;
    switch (marker) {
        case Marker::square:
            return path_of(polygon(at, r, 4, pi / 4)) + "Z";
        case Marker::triangle:
            return path_of(polygon(at, r, 3, 0.0)) + "Z";
        case Marker::diamond:
            return path_of(polygon(at, r, 4, 0.0)) + "Z";
        case Marker::wedge:
            return path_of(polygon(at, r, 3, pi)) + "Z";
        case Marker::pentagon:
            return path_of(polygon(at, r, 5, 0.0)) + "Z";
        case Marker::star:
            return path_of(star(at, r)) + "Z";
        case Marker::arrow:
            return path_of(polygon(at, r, 3, -pi / 2)) + "Z";
        case Marker::circle:
            break;
    }
    return fmt::format("M{} {}a{r} {r} 0 1 0 {d} 0a{r} {r} 0 1 0 -{d} 0Z", coordinate(at.x - r),
                       coordinate(at.y), fmt::arg("r", coordinate(r)),
                       fmt::arg("d", coordinate(2 * r)));
}

std::string marker_element(const Style& style, Origin origin, Vec2 at, double radius) {
    const bool open = origin == Origin::predicted;
    return fmt::format(R"(<path class="marker s-{0} {1}{2}{3}" d="{4}"/>)", name_of(style.color),
                       open ? "hollow" : "f-", open ? "" : name_of(style.color),
                       origin == Origin::calibrated ? " half" : "",
                       marker_path(style.marker, at, radius));
}

std::string text_element(std::string_view classes, Vec2 at, std::string_view anchor,
                         std::string_view text, std::string_view extra = "") {
    return fmt::format("<text class=\"{}\" x=\"{}\" y=\"{}\"{}{}>{}</text>\n", classes,
                       coordinate(at.x), coordinate(at.y),
                       anchor == "start" ? "" : fmt::format(" text-anchor=\"{}\"", anchor), extra,
                       escape_markup(text));
}

class SvgWriter {
  public:
    SvgWriter(const Chart& chart, PageSize page)
        : chart_(chart), layout_(lay_out(chart, page_of(chart, page))), items_(items_of(chart)) {}

    /// Everything within the page, without the enclosing element.
    std::string body() {
        headlines();
        bands();
        grid();
        spans();
        curves();
        links_and_errors();
        annotations();
        marks();
        labels();
        legend();
        below();
        return std::move(out_);
    }

    [[nodiscard]] PageSize page() const { return layout_.page; }

  private:
    void headlines() {
        for (const PlacedText& line : layout_.headlines) {
            out_ += text_element(fmt::format("font-{}", name_of(line.role)), line.at, "start",
                                 line.text);
        }
    }

    void bands() {
        for (const PlacedBand& placed : layout_.bands) {
            const Band& band = chart_.bands[placed.band];
            out_ +=
                fmt::format(R"(<path class="band f-{}" fill-opacity="{}" d="{}Z">)",
                            name_of(band.color), coordinate(band.opacity), path_of(placed.outline));
            out_ += fmt::format("<title>{}</title>", escape_markup(band.name));
            out_ += "</path>\n";
        }
    }

    void grid() {
        const Rect& frame = layout_.frame;
        out_ += "<g class=\"axes\">\n";
        for (const PlacedTick& tick : layout_.x_ticks) {
            out_ += line_element(tick.strong ? "grid grid-strong" : "grid",
                                 {.from = {tick.at, frame.top}, .to = {tick.at, frame.bottom}});
            if (tick.text.empty()) continue;
            const Vec2 at = {tick.at, frame.bottom + (layout_.x_turned ? 15.0 : 18.0)};
            const std::string turn =
                layout_.x_turned ? fmt::format(" transform=\"rotate(-45 {})\"", point_text(at))
                                 : "";
            out_ +=
                text_element("font-tick", at, layout_.x_turned ? "end" : "middle", tick.text, turn);
        }
        for (const PlacedTick& tick : layout_.y_ticks) {
            out_ += line_element(tick.strong ? "grid grid-strong" : "grid",
                                 {.from = {frame.left, tick.at}, .to = {frame.right, tick.at}});
            if (tick.text.empty()) continue;
            out_ += text_element("font-tick", {frame.left - 7.0, tick.at + 4.3}, "end", tick.text);
        }
        out_ +=
            fmt::format("<rect class=\"frame\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                        coordinate(frame.left), coordinate(frame.top), coordinate(frame.width()),
                        coordinate(frame.height()));
        const double size = font_size(FontRole::axis);
        const Vec2 below = {(frame.left + frame.right) / 2, layout_.x_title};
        out_ += text_element("font-axis", below, "middle",
                             truncate_to_width(axis_text(chart_.x), frame.width(), size));
        const Vec2 beside = {layout_.notes_left + 12.0, (frame.top + frame.bottom) / 2};
        out_ += text_element("font-axis", beside, "middle",
                             truncate_to_width(axis_text(chart_.y), frame.height(), size),
                             fmt::format(" transform=\"rotate(-90 {})\"", point_text(beside)));
        out_ += "</g>\n";
    }

    /// Opens a group for an item, with its text as the title that viewers show.
    [[nodiscard]] std::string open_item(std::string_view classes, std::size_t item) const {
        return fmt::format("<g class=\"{}\"><title>{}</title>", classes,
                           escape_markup(item_text(items_[item])));
    }

    /// One path per colour: a timeline has thousands of bars.
    void spans() {
        std::map<Color, std::string> paths;
        for (const PlacedSpan& span : layout_.spans) {
            paths[span.color] += fmt::format(
                "M{} {}H{}V{}H{}Z", coordinate(span.box.left), coordinate(span.box.top),
                coordinate(span.box.right), coordinate(span.box.bottom), coordinate(span.box.left));
        }
        for (const auto& [color, d] : paths) {
            out_ += fmt::format("<path class=\"span f-{}\" d=\"{}\"/>\n", name_of(color), d);
        }
    }

    void curves() {
        std::size_t item = chart_.marks.size();
        for (const PlacedCurve& placed : layout_.curves) {
            const Curve& curve = chart_.curves[placed.curve];
            const bool is_item =
                curve.role == CurveRole::roof || curve.role == CurveRole::reference;
            std::string d;
            for (const std::vector<Vec2>& part : placed.parts) d += path_of(part);
            constexpr std::array<std::string_view, 4> roles = {"roof", "envelope", "series",
                                                               "reference"};
            const auto role = roles.at(static_cast<std::size_t>(curve.role));
            out_ += is_item ? open_item(role, item++) : "<g>";
            out_ += fmt::format(R"(<path class="line {}s-{}" stroke-width="{}"{} d="{}"/>)",
                                is_item ? "" : fmt::format("{} ", role), name_of(curve.style.color),
                                coordinate(curve.style.width), dash_attribute(curve.style.dash), d);
            out_ += "</g>\n";
        }
    }

    void links_and_errors() {
        for (const Link& link : chart_.links) {
            out_ += line_element(
                "link", {.from = layout_.marks[link.from].at, .to = layout_.marks[link.to].at});
        }
        for (const PlacedMark& mark : layout_.marks) {
            if (!mark.error) continue;
            const auto cap = [](Vec2 at) { return path_of({at - Vec2{3, 0}, at + Vec2{3, 0}}); };
            out_ += fmt::format("<path class=\"error\" d=\"{}{}{}\"/>\n",
                                path_of({mark.error->from, mark.error->to}), cap(mark.error->from),
                                cap(mark.error->to));
        }
    }

    void annotations() {
        for (const Segment& line : layout_.drop_lines) out_ += line_element("drop", line);
        for (std::size_t i = 0; i < layout_.annotations.size(); ++i) {
            const Annotation& annotation = chart_.annotations[i];
            const std::size_t item = items_.size() - layout_.annotations.size() + i;
            out_ += open_item("ridge", item);
            out_ += marker_element(annotation.style, Origin::measured, layout_.annotations[i],
                                   annotation.drop_line ? 4.5 : 3.2);
            out_ += "</g>\n";
        }
    }

    void marks() {
        for (std::size_t i = 0; i < layout_.marks.size(); ++i) {
            const Mark& mark = chart_.marks[i];
            out_ += open_item(fmt::format("point {}", items_[i].kind), i);
            out_ += marker_element(mark.style, mark.origin, layout_.marks[i].at, mark.radius);
            out_ += "</g>\n";
        }
    }

    void labels() {
        for (const PlacedLabel& label : layout_.labels) {
            if (label.leader) out_ += line_element("leader", *label.leader);
        }
        for (const PlacedLabel& label : layout_.labels) {
            // The baseline is a third of the font size below the middle of the box.
            const double drop = font_size(label.role) * 0.34;
            const double angle = label.box.angle * std::numbers::pi / 180.0;
            const Vec2 at =
                label.box.center + Vec2{-std::sin(angle) * drop, std::cos(angle) * drop};
            const std::string turn = label.box.angle == 0.0
                                         ? ""
                                         : fmt::format(" transform=\"rotate({} {})\"",
                                                       coordinate(label.box.angle), point_text(at));
            constexpr std::array<std::string_view, 3> owners = {"of-curve", "of-point", "of-ridge"};
            out_ += text_element(fmt::format("label {} font-{} t-{}",
                                             owners.at(static_cast<std::size_t>(label.owner)),
                                             name_of(label.role), name_of(label.color)),
                                 at, "middle", label.text, turn);
        }
    }

    void sample_line(const Style& style, Vec2 at) {
        out_ += fmt::format("<path class=\"line s-{}\" stroke-width=\"{}\"{} d=\"{}\"/>\n",
                            name_of(style.color), coordinate(style.width),
                            dash_attribute(style.dash), path_of({at, at + Vec2{sample_width, 0}}));
    }

    void sample_marker(const Style& style, Origin origin, Vec2 at) {
        out_ += marker_element(style, origin, at + Vec2{sample_width / 2, 0}, 4.2) + "\n";
    }

    void draw_sample(const LegendEntry& entry, Vec2 at) {
        if (entry.line) sample_line(entry.style, at);
        if (entry.marker) sample_marker(entry.style, *entry.marker, at);
    }

    void legend() {
        for (const PlacedEntry& placed : layout_.legend) {
            const LegendEntry& entry = placed.entry;
            out_ += fmt::format("<g class=\"side\"><title>{}</title>\n", escape_markup(entry.name));
            if (placed.leader) out_ += line_element("leader", *placed.leader);
            draw_sample(entry, placed.at);
            const Vec2 text = placed.at + Vec2{sample_width + 6.0, 4.5};
            out_ += text_element(fmt::format("font-emphasis t-{}", name_of(entry.style.color)),
                                 text, "start", entry.name);
            if (!entry.detail.empty()) {
                out_ += text_element("font-detail", text + Vec2{0, 16}, "start", entry.detail);
            }
            out_ += "</g>\n";
        }
    }

    void below() {
        for (const PlacedEntry& placed : layout_.samples) {
            const bool drawn = placed.entry.line || placed.entry.marker;
            draw_sample(placed.entry, placed.at);
            out_ +=
                text_element("font-detail", placed.at + Vec2{drawn ? sample_width + 6.0 : 0.0, 4.3},
                             "start", placed.entry.name);
        }
        for (const Segment& rule : layout_.rules) out_ += line_element("leader", rule);
        const auto texts = [this](std::string_view name, const std::vector<PlacedText>& lines) {
            for (const PlacedText& line : lines) {
                out_ += text_element(fmt::format("{} font-{}", name, name_of(line.role)), line.at,
                                     line.anchor == TextEnd::right ? "end" : "start", line.text);
            }
        };
        texts("note", layout_.notes);
        texts("key", layout_.key);
    }

    const Chart& chart_;
    Layout layout_;
    std::vector<Item> items_;
    std::string out_;
};

}  // namespace

std::string description_of(const Chart& chart) {
    std::string out = fmt::format("{} against {}: {} {}", axis_text(chart.y), axis_text(chart.x),
                                  chart.spans.empty() ? chart.marks.size() : chart.spans.size(),
                                  chart.spans.empty() ? "points" : "bars");
    for (const Curve& curve : chart.curves) {
        if (curve.role == CurveRole::roof) out += "; roof " + curve.name;
    }
    for (const Annotation& note : chart.annotations) {
        out += fmt::format("; {} at {} {}", note.name, number_text(note.x), chart.x.unit);
    }
    return out + ".";
}

namespace {

/// Positions of charts on a page, and the size of the page.
struct Arrangement {
    std::vector<Vec2> corners = {};
    std::size_t columns = 1;
    PageSize page = {};
};

/// Each chart goes to the column that is shortest so far.
Arrangement in_columns(std::span<const PageSize> charts, double width, std::size_t columns) {
    Arrangement out{.columns = columns};
    std::vector<double> heights(columns, 0.0);
    for (const PageSize& chart : charts) {
        const auto shortest = std::min_element(heights.begin(), heights.end());
        out.corners.push_back({width * static_cast<double>(shortest - heights.begin()), *shortest});
        *shortest += chart.height;
    }
    out.page = {.width = width * static_cast<double>(columns),
                .height = *std::max_element(heights.begin(), heights.end())};
    return out;
}

/// Up to three charts one below another; more so that the longer side of the page is as short as
/// possible.
Arrangement arranged(std::span<const PageSize> charts, double width) {
    constexpr std::size_t most_stacked = 3;
    Arrangement best = in_columns(charts, width, 1);
    if (charts.size() <= most_stacked) return best;
    const auto longer_side = [](const Arrangement& each) {
        return std::max(each.page.width, each.page.height);
    };
    for (std::size_t columns = 2; columns <= charts.size(); ++columns) {
        Arrangement next = in_columns(charts, width, columns);
        if (longer_side(next) < longer_side(best)) best = std::move(next);
    }
    return best;
}

}  // namespace

SvgPage render_svg_page(std::span<const Chart> charts, SvgUse use, PageSize page) {
    std::vector<SvgWriter> writers;
    std::vector<PageSize> sizes;
    std::string title;
    std::string description;
    for (const Chart& chart : charts) {
        writers.emplace_back(chart, page);
        sizes.push_back(writers.back().page());
        title += (title.empty() ? "" : "; ") + chart.title;
        description += (description.empty() ? "" : " ") + description_of(chart);
    }
    const Arrangement arrangement = arranged(sizes, page.width);
    std::string body;
    for (std::size_t i = 0; i < writers.size(); ++i) {
        body += charts.size() == 1
                    ? writers[i].body()
                    : fmt::format("<g transform=\"translate({})\">\n{}</g>\n",
                                  point_text(arrangement.corners[i]), writers[i].body());
    }
    std::string out;
    if (use == SvgUse::file) out += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
    const std::string width = coordinate(arrangement.page.width);
    const std::string height = coordinate(arrangement.page.height);
    out += fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ridge-chart\" viewBox=\"0 0 {0} {1}\" "
        "width=\"{0}\" height=\"{1}\" style=\"max-width:100%;height:auto\" role=\"img\" "
        "aria-label=\"{2}\">\n<title>{2}</title>\n<desc>{3}</desc>\n",
        width, height, escape_markup(title), escape_markup(description));
    if (use == SvgUse::file) out += fmt::format("<style>{}</style>\n", light_style_sheet());
    out += fmt::format("<rect class=\"page\" width=\"{}\" height=\"{}\"/>\n", width, height);
    return {.text = out + body + "</svg>\n", .columns = arrangement.columns};
}

std::string render_svg(std::span<const Chart> charts, SvgUse use, PageSize page) {
    return render_svg_page(charts, use, page).text;
}

std::string render_svg(const Chart& chart, SvgUse use, PageSize page) {
    return render_svg(std::span(&chart, 1), use, page);
}

}  // namespace ridge::plot
