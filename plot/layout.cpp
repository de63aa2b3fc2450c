#include "plot/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "hardware/algorithms.h"
#include "hardware/error.h"
#include "plot/font.h"
#include "plot/key.h"
#include "plot/labels.h"
#include "plot/span_layout.h"
#include "plot/ticks.h"

namespace ridge::plot {

namespace {

constexpr double edge = page_edge;
constexpr double axis_height = 52.0;   ///< of the tick labels and the title below the frame
constexpr double label_limit = 300.0;  ///< pixels; a wider name goes to the key or the legend
constexpr double ridge_radius = 5.0;

double label_height(FontRole role) {
    return font_size(role) * 1.16;
}

std::string fitted(std::string_view text, double width, FontRole role) {
    return truncate_to_width(text, width, font_size(role), font_weight(role));
}

/// Breaks a note into lines of at most `width` pixels at its spaces.
std::vector<std::string> wrapped(const std::string& text, double width, FontRole role) {
    std::vector<std::string> lines = wrap_text(
        text, [=](std::string_view line, std::size_t) { return width_of(line, role) <= width; });
    for (std::string& each : lines) each = fitted(each, width, role);
    return lines;
}

class PageLayout {
  public:
    PageLayout(const Chart& chart, PageSize page) : chart_(chart) { out_.page = page; }

    Layout finish() {
        place_frame();
        place_ticks();
        place_shapes();
        place_legend();
        place_labels_in_frame();
        add_key(out_, chart_.key);
        return std::move(out_);
    }

    /// Whether a name found no place next to its mark.
    [[nodiscard]] bool nameless() const { return nameless_; }

  private:
    [[nodiscard]] Vec2 pixel(const Vertex& vertex) const {
        const Rect& frame = out_.frame;
        const double u = position(vertex.x, chart_.x_range, chart_.x.scale);
        const double v = position(vertex.y, chart_.y_range, chart_.y.scale);
        return {frame.left + u * frame.width(), frame.bottom - v * frame.height()};
    }

    [[nodiscard]] std::vector<Vec2> pixels(const std::vector<Vertex>& vertices) const {
        std::vector<Vec2> out;
        for (const Vertex& vertex : vertices) {
            if (drawable(vertex.x, chart_.x.scale) && drawable(vertex.y, chart_.y.scale)) {
                out.push_back(pixel(vertex));
            }
        }
        return out;
    }

    [[nodiscard]] double legend_width() const {
        double widest = 0.0;
        for (const LegendEntry& entry : chart_.legend) {
            widest = std::max({widest, width_of(entry.name, FontRole::emphasis),
                               width_of(entry.detail, FontRole::detail)});
        }
        return std::min(widest, 0.36 * out_.page.width) + sample_width + 26.0;
    }

    void place_frame() {
        const double usable = out_.page.width - 2 * edge;
        std::vector<std::string> lines;
        for (const std::string& note : chart_.notes) {
            for (std::string& line : wrapped(note, usable, FontRole::detail)) {
                lines.push_back(std::move(line));
            };
        }
        const double notes_height = static_cast<double>(lines.size()) * line_height;
        // More than four lines of notes make the page longer instead of the chart smaller.
        const double inside_notes = std::min(notes_height, 4 * line_height);
        out_.frame.top = place_headlines(usable);
        const double names_height = turned_height();
        out_.page.height += names_height;
        const double samples_height = chart_.samples.empty() ? 0.0 : line_height + 3.0;
        // More lines of the title also make the page longer.
        out_.page.height += std::max(0.0, out_.frame.top - 68.0);
        out_.frame.bottom = out_.page.height - edge / 2 - inside_notes - axis_height -
                            names_height - samples_height;
        const int most = most_y_labels();
        double tick_width = 0.0;
        for (const Tick& tick : axis_ticks(chart_.y, chart_.y_range, most)) {
            tick_width = std::max(tick_width, width_of(tick.text, FontRole::tick));
        }
        out_.frame.left = edge + 22.0 + tick_width + 9.0;
        out_.frame.right = out_.page.width - (chart_.legend.empty() ? 30.0 : legend_width());
        if (chart_.aspect == Aspect::square) {
            out_.frame.right = out_.frame.left + std::min(out_.frame.width(), out_.frame.height());
        }
        out_.x_title = out_.frame.bottom + names_height + 41.0;
        double at = place_samples(out_.frame.bottom + names_height + axis_height);
        for (const std::string& line : lines) {
            out_.notes.push_back({.at = {edge, at + line_height - 6.0}, .text = line});
            at += line_height;
        }
        out_.page.height = std::max(out_.page.height, at + edge / 2);
    }

    /// Names of the x axis are turned if they do not fit side by side; returns the height that this
    /// takes below the frame.
    [[nodiscard]] double turned_height() {
        double widest = 0.0;
        for (const std::string& name : chart_.x.names) {
            widest = std::max(widest, width_of(name, FontRole::tick));
        }
        const double side = chart_.legend.empty() ? 30.0 : legend_width();
        const double room = out_.page.width - 80.0 - side;
        const auto count = static_cast<double>(chart_.x.names.size());
        out_.x_turned = (widest + 8.0) * count > room;
        return out_.x_turned ? 0.72 * widest : 0.0;
    }

    /// Title and subtitle, each on as many lines as needed; returns where the frame begins.
    double place_headlines(double width) {
        double baseline = 31.0;
        for (const std::string& line : wrapped(chart_.title, width, FontRole::title)) {
            out_.headlines.push_back(
                {.at = {edge, baseline}, .text = line, .role = FontRole::title});
            baseline += 22.0;
        }
        if (chart_.subtitle.empty()) return baseline;
        for (const std::string& line : wrapped(chart_.subtitle, width, FontRole::subtitle)) {
            out_.headlines.push_back(
                {.at = {edge, baseline}, .text = line, .role = FontRole::subtitle});
            baseline += 18.0;
        }
        return baseline - 3.0;
    }

    /// Number of legend entries that fit in the right margin; the others go below the chart.
    [[nodiscard]] std::size_t margin_holds() const {
        double room = out_.frame.height() + 18.0;
        std::size_t count = 0;
        for (const LegendEntry& entry : chart_.legend) {
            room -= entry_height(entry);
            if (room < 0.0) break;
            ++count;
        }
        return count;
    }

    /// Samples in rows from `top` on, as many per row as fit; returns where the rows end.
    double place_samples(double top) {
        std::vector<LegendEntry> entries = chart_.samples;
        for (std::size_t i = margin_holds(); i < chart_.legend.size(); ++i) {
            entries.push_back(chart_.legend[i]);
            if (!entries.back().detail.empty()) entries.back().name += ", " + entries.back().detail;
        }
        double x = out_.frame.left;
        double y = top + line_height / 2;
        for (LegendEntry& entry : entries) {
            const bool drawn = entry.line || entry.marker;
            const double width =
                (drawn ? sample_width + 6.0 : 0.0) + width_of(entry.name, FontRole::detail);
            if (x > out_.frame.left && x + width > out_.page.width - edge) {
                x = out_.frame.left;
                y += line_height + 1.0;
            }
            out_.samples.push_back({.entry = std::move(entry), .at = {x, y}, .leader = {}});
            x += width + 20.0;
        }
        return entries.empty() ? top : y + line_height / 2 + 4.0;
    }

    [[nodiscard]] int most_y_labels() const {
        const double room = chart_.y.scale == Scale::log ? 26.0 : 40.0;
        return std::max(2, static_cast<int>(out_.frame.height() / room));
    }

    void place_ticks() {
        const int most_x = std::max(2, static_cast<int>(out_.frame.width() / 44.0));
        const auto strong = [](const Tick& tick, Scale scale) {
            return scale == Scale::linear || tick.decade;
        };
        for (Tick& tick : axis_ticks(chart_.x, chart_.x_range, most_x)) {
            const double at = pixel({.x = tick.value, .y = chart_.y_range.low}).x;
            out_.x_ticks.push_back(
                {.at = at, .text = tick.text, .strong = strong(tick, chart_.x.scale)});
        }
        for (Tick& tick : axis_ticks(chart_.y, chart_.y_range, most_y_labels())) {
            const double at = pixel({.x = chart_.x_range.low, .y = tick.value}).y;
            out_.y_ticks.push_back(
                {.at = at, .text = tick.text, .strong = strong(tick, chart_.y.scale)});
        }
        thin_out();
    }

    /// Removes the text of x ticks that would overlap the one before; decades have priority.
    void thin_out() {
        const auto clashes = [](const PlacedTick& a, const PlacedTick& b) {
            const double room =
                (width_of(a.text, FontRole::tick) + width_of(b.text, FontRole::tick)) / 2 + 7.0;
            return !a.text.empty() && !b.text.empty() && std::abs(a.at - b.at) < room;
        };
        const bool crowded = !out_.x_turned &&
                             algorithms::adjacent_find(out_.x_ticks, clashes) != out_.x_ticks.end();
        if (!crowded) return;
        const bool log = chart_.x.scale == Scale::log;
        for (std::size_t i = 0; i < out_.x_ticks.size(); ++i) {
            const bool weak = log ? !out_.x_ticks[i].strong : i % 2 == 1;
            if (weak) out_.x_ticks[i].text.clear();
        }
    }

    void place_shapes() {
        out_.spans = place_spans(chart_, out_.frame);
        for (std::size_t i = 0; i < chart_.bands.size(); ++i) {
            std::vector<Vec2> outline = pixels(chart_.bands[i].low);
            const std::vector<Vec2> high = pixels(chart_.bands[i].high);
            outline.insert(outline.end(), high.rbegin(), high.rend());
            outline = clip_polygon(std::move(outline), out_.frame);
            if (outline.size() > 2)
                out_.bands.push_back({.band = i, .outline = std::move(outline)});
        }
        for (std::size_t i = 0; i < chart_.curves.size(); ++i) {
            auto parts = clip_line(pixels(chart_.curves[i].vertices), out_.frame);
            out_.curves.push_back({.curve = i, .parts = std::move(parts)});
        }
        for (const Mark& mark : chart_.marks) {
            out_.marks.push_back(
                {.at = pixel({.x = mark.x, .y = mark.y}), .error = error_bar(mark)});
        }
        for (const Annotation& annotation : chart_.annotations) {
            const Vec2 at = pixel({.x = annotation.x, .y = annotation.y});
            out_.annotations.push_back(at);
            if (annotation.drop_line) {
                out_.drop_lines.push_back({.from = at, .to = {at.x, out_.frame.bottom}});
            }
        }
    }

    [[nodiscard]] std::optional<Segment> error_bar(const Mark& mark) const {
        if (!mark.low && !mark.high) return std::nullopt;
        const auto inside_axis = [this](double value) {
            if (!drawable(value, chart_.y.scale)) return chart_.y_range.low;
            return std::clamp(value, chart_.y_range.low, chart_.y_range.high);
        };
        return Segment{.from = pixel({.x = mark.x, .y = inside_axis(mark.low.value_or(mark.y))}),
                       .to = pixel({.x = mark.x, .y = inside_axis(mark.high.value_or(mark.y))})};
    }

    [[nodiscard]] static double entry_height(const LegendEntry& entry) {
        return entry.detail.empty() ? 22.0 : 38.0;
    }

    [[nodiscard]] double anchor_y(const LegendEntry& entry) const {
        return std::clamp(pixel(*entry.anchor).y, out_.frame.top, out_.frame.bottom);
    }

    /// A few entries are placed at the heights of their anchors, moved apart if they would collide,
    /// as long as the anchors have the order of the list; otherwise the entries are listed one
    /// below another.
    void place_legend() {
        constexpr std::size_t most_anchored = 8;
        const std::size_t count = margin_holds();
        bool anchored = count == chart_.legend.size() && count <= most_anchored;
        for (std::size_t i = 0; i < count && anchored; ++i) {
            anchored = chart_.legend[i].anchor.has_value() &&
                       (i == 0 || anchor_y(chart_.legend[i - 1]) <= anchor_y(chart_.legend[i]));
        }
        std::vector<double> tops;
        double next = out_.frame.top;
        for (std::size_t i = 0; i < count; ++i) {
            const LegendEntry& entry = chart_.legend[i];
            tops.push_back(anchored ? std::max(next, anchor_y(entry) - 11.0) : next);
            next = tops.back() + entry_height(entry);
        }
        double limit = out_.frame.bottom + 18.0;
        for (std::size_t i = count; i-- > 0;) {
            tops[i] = std::min(tops[i], limit - entry_height(chart_.legend[i]));
            limit = tops[i];
        }
        for (std::size_t i = 0; i < count; ++i) {
            add_entry(chart_.legend[i], tops[i] + 11.0, anchored);
        }
    }

    void add_entry(const LegendEntry& entry, double y, bool anchored) {
        const double x = out_.frame.right + 14.0;
        const double room = out_.page.width - x - sample_width - 8.0;
        PlacedEntry placed = {.entry = entry, .at = {x, y}, .leader = {}};
        placed.entry.name = fitted(entry.name, room, FontRole::emphasis);
        placed.entry.detail = fitted(entry.detail, room, FontRole::detail);
        if (anchored && entry.anchor && out_.frame.contains(pixel(*entry.anchor))) {
            placed.leader = Segment{.from = pixel(*entry.anchor), .to = {x - 3.0, y}};
        }
        out_.legend.push_back(std::move(placed));
    }

    [[nodiscard]] Obstacles obstacles() const {
        Obstacles out;
        out.frame = {.left = out_.frame.left + 2.0,
                     .top = out_.frame.top + 2.0,
                     .right = out_.frame.right - 2.0,
                     .bottom = out_.frame.bottom - 2.0};
        for (const PlacedCurve& curve : out_.curves) {
            for (const std::vector<Vec2>& part : curve.parts) {
                for (std::size_t i = 1; i < part.size(); ++i) {
                    out.lines.push_back({.from = part[i - 1], .to = part[i]});
                }
            }
        }
        for (std::size_t i = 0; i < out_.marks.size(); ++i) {
            const double reach = chart_.marks[i].radius + 1.0;
            out.boxes.push_back(
                {.center = out_.marks[i].at, .half_width = reach, .half_height = reach});
            if (out_.marks[i].error) out.lines.push_back(*out_.marks[i].error);
        }
        for (const Vec2& at : out_.annotations) {
            out.boxes.push_back(
                {.center = at, .half_width = ridge_radius, .half_height = ridge_radius});
        }
        for (const Link& link : chart_.links) {
            out.lines.push_back({.from = out_.marks[link.from].at, .to = out_.marks[link.to].at});
        }
        out.lines.insert(out.lines.end(), out_.drop_lines.begin(), out_.drop_lines.end());
        return out;
    }

    void request(PlacedLabel label, LabelRequest candidates) {
        if (label.text.empty()) return;
        pending_.push_back(std::move(label));
        requests_.push_back(std::move(candidates));
    }

    void request_beside(PlacedLabel label, Vec2 at, double radius, double weight,
                        double reach = 220.0) {
        label.text = fitted(label.full, label_limit, label.role);
        const double width = width_of(label.text, label.role);
        request(label, {.candidates =
                            candidates_beside(at, radius, width, label_height(label.role), reach),
                        .weight = weight});
    }

    void request_curve_labels() {
        for (const PlacedCurve& placed : out_.curves) {
            const Curve& curve = chart_.curves[placed.curve];
            if (curve.lettering == Lettering::none || placed.parts.empty()) continue;
            if (width_of(curve.name, FontRole::label) > label_limit) continue;
            PlacedLabel label = {.text = curve.name,
                                 .full = curve.name,
                                 .color = curve.style.color,
                                 .owner = LabelOwner::curve,
                                 .index = placed.curve};
            const double width = width_of(label.text, label.role);
            const double height = label_height(label.role);
            LabelRequest wanted = {.candidates = {}, .weight = 3.0};
            for (const std::vector<Vec2>& part : placed.parts) {
                for (LabelCandidate& along :
                     candidates_along(part, curve.prefer, 4.5, width, height)) {
                    wanted.candidates.push_back(std::move(along));
                }
                const Vec2 middle = 0.5 * (part.front() + part.back());
                for (LabelCandidate& free : candidates_beside(middle, 1.0, width, height)) {
                    free.cost += 8.0;
                    wanted.candidates.push_back(free);
                }
            }
            request(std::move(label), std::move(wanted));
        }
    }

    void request_annotation_labels() {
        for (std::size_t i = 0; i < chart_.annotations.size(); ++i) {
            const Annotation& annotation = chart_.annotations[i];
            const Vec2 at = out_.annotations[i];
            const FontRole role = annotation.drop_line ? FontRole::emphasis : FontRole::label;
            const PlacedLabel label = {.text = {},
                                       .full = annotation.text,
                                       .role = role,
                                       .owner = LabelOwner::annotation,
                                       .index = i};
            request_beside(label, at, ridge_radius, annotation.drop_line ? 4.0 : 2.0);
            if (annotation.drop_line) request_drop_labels(annotation, at, i);
        }
    }

    /// "memory-bound" and "compute-bound" on either side of the foot of the drop line.
    void request_drop_labels(const Annotation& annotation, Vec2 at, std::size_t index) {
        const auto beside = [&](const std::string& text, double side) {
            PlacedLabel label = {.text = fitted(text, label_limit, FontRole::detail),
                                 .full = text,
                                 .role = FontRole::detail,
                                 .color = Color::grey,
                                 .owner = LabelOwner::annotation,
                                 .index = index};
            const double width = width_of(label.text, label.role);
            LabelRequest wanted = {.candidates = {}, .weight = 0.1};
            for (const double up : {12.0, 30.0, 50.0, 75.0}) {
                const Box box = {
                    .center = {at.x + side * (width / 2 + 8.0), out_.frame.bottom - up},
                    .half_width = width / 2,
                    .half_height = label_height(label.role) / 2};
                wanted.candidates.push_back({.box = box, .leader = {}, .cost = up});
            }
            request(std::move(label), std::move(wanted));
        };
        beside(annotation.left_of_drop, -1.0);
        beside(annotation.right_of_drop, 1.0);
    }

    /// Requests a number, or a name, for each labelled mark.
    void request_mark_labels() {
        const double reach = chart_.key.rows.size() > 60 ? 45.0 : 95.0;
        for (std::size_t i = 0; i < chart_.marks.size(); ++i) {
            const Mark& mark = chart_.marks[i];
            if (!mark.labelled) continue;
            PlacedLabel label = {
                .text = {}, .full = mark.name, .owner = LabelOwner::mark, .index = i};
            if (width_of(mark.name, FontRole::label) > label_limit && mark.number == 0) {
                label.text = mark.name;
                request(std::move(label), {});
            } else if (mark.number == 0) {
                request_beside(label, out_.marks[i].at, mark.radius, 1.0);
            } else {
                label.full = std::to_string(mark.number);
                label.role = FontRole::number;
                request_beside(label, out_.marks[i].at, mark.radius, 1.0, reach);
            }
        }
    }

    void place_labels_in_frame() {
        request_curve_labels();
        request_annotation_labels();
        request_mark_labels();
        place_pending();
    }

    /// Labels without a free place are left out: curves are in the legend, numbers in the key, and
    /// names are counted.
    void place_pending() {
        const auto chosen = place_labels(requests_, obstacles());
        for (std::size_t i = 0; i < pending_.size(); ++i) {
            const bool is_name = pending_[i].owner == LabelOwner::mark &&
                                 chart_.marks[pending_[i].index].number == 0;
            if (!chosen[i]) {
                nameless_ = nameless_ || is_name;
                continue;
            }
            const LabelCandidate& candidate = requests_[i].candidates[*chosen[i]];
            pending_[i].box = candidate.box;
            pending_[i].leader = candidate.leader;
            out_.labels.push_back(pending_[i]);
        }
    }

    const Chart& chart_;
    Layout out_;
    std::vector<PlacedLabel> pending_;
    std::vector<LabelRequest> requests_;
    bool nameless_ = false;
};

}  // namespace

Layout lay_out(const Chart& chart, PageSize page) {
    RIDGE_CONTRACT(page.width >= 320.0 && page.height >= least_page_height);
    PageLayout named(chart, page);
    Layout out = named.finish();
    if (!named.nameless()) return out;
    Chart numbered = chart;
    number_all(numbered);
    return PageLayout(numbered, page).finish();
}

}  // namespace ridge::plot
