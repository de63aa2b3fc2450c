#include "plot/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "hardware/error.h"
#include "plot/labels.h"
#include "plot/ticks.h"

namespace ridge::plot {

namespace {

constexpr double edge = 16.0;
constexpr double line_height = 17.0;
constexpr double label_limit = 256.0;  ///< pixels before a label is truncated
constexpr double ridge_radius = 5.0;

double label_height(FontRole role) {
    return font_size(role) * 1.16;
}

double width_of(std::string_view text, FontRole role) {
    return text_width(text, font_size(role), font_weight(role));
}

std::string fitted(std::string_view text, double width, FontRole role) {
    return truncate_to_width(text, width, font_size(role), font_weight(role));
}

/// Breaks a note into lines of at most `width` pixels at its spaces.
std::vector<std::string> wrapped(const std::string& text, double width, FontRole role) {
    std::vector<std::string> lines =
        wrap_text(text, [=](std::string_view line) { return width_of(line, role) <= width; });
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
        place_side();
        place_labels_in_frame();
        return std::move(out_);
    }

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

    [[nodiscard]] double side_width() const {
        double widest = 0.0;
        for (const SideEntry& entry : chart_.side) {
            widest = std::max({widest, width_of(entry.name, FontRole::emphasis),
                               width_of(entry.detail, FontRole::detail)});
        }
        return std::min(widest, label_limit) + sample_width + 26.0;
    }

    void place_frame() {
        const double usable = out_.page.width - 2 * edge;
        std::vector<std::string> lines;
        for (const std::string& note : chart_.notes) {
            std::ranges::move(wrapped(note, usable, FontRole::detail), std::back_inserter(lines));
        }
        double below = 52.0;
        if (!chart_.samples.empty()) below += line_height + 3.0;
        const double notes_height = static_cast<double>(lines.size()) * line_height;
        // Notes beyond four lines lengthen the page instead of squeezing the chart.
        const double inside_notes = std::min(notes_height, 4 * line_height);
        const double chart_bottom = out_.page.height - edge / 2;
        out_.page.height += notes_height - inside_notes;
        out_.frame.top = chart_.subtitle.empty() ? 52.0 : 68.0;
        out_.frame.bottom = chart_bottom - inside_notes - below;
        const int most = most_y_labels();
        double tick_width = 0.0;
        for (const Tick& tick : ticks(chart_.y_range, chart_.y.scale, most)) {
            tick_width = std::max(tick_width, width_of(tick.text, FontRole::tick));
        }
        out_.frame.left = edge + 22.0 + tick_width + 9.0;
        out_.frame.right = out_.page.width - (chart_.side.empty() ? 30.0 : side_width());
        if (chart_.aspect == Aspect::square) {
            out_.frame.right = out_.frame.left + std::min(out_.frame.width(), out_.frame.height());
        }
        double at = out_.frame.bottom + below;
        if (!chart_.samples.empty()) place_samples(out_.frame.bottom + 48.0 + line_height - 2.0);
        for (const std::string& line : lines) {
            out_.notes.push_back({.at = {edge, at + line_height - 6.0},
                                  .text = line,
                                  .full = line,
                                  .role = FontRole::detail});
            at += line_height;
        }
    }

    void place_samples(double baseline) {
        double x = out_.frame.left;
        for (std::size_t i = 0; i < chart_.samples.size(); ++i) {
            out_.samples.push_back({.sample = i, .at = {x, baseline - 4.0}});
            x += sample_width + 6.0 + width_of(chart_.samples[i].text, FontRole::detail) + 22.0;
        }
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
        for (Tick& tick : ticks(chart_.x_range, chart_.x.scale, most_x)) {
            const double at = pixel({.x = tick.value, .y = chart_.y_range.low}).x;
            out_.x_ticks.push_back(
                {.at = at, .text = tick.text, .strong = strong(tick, chart_.x.scale)});
        }
        for (Tick& tick : ticks(chart_.y_range, chart_.y.scale, most_y_labels())) {
            const double at = pixel({.x = chart_.x_range.low, .y = tick.value}).y;
            out_.y_ticks.push_back(
                {.at = at, .text = tick.text, .strong = strong(tick, chart_.y.scale)});
        }
        thin_out();
    }

    /// Takes the text off x marks that would run into the one before; decades win.
    void thin_out() {
        const auto clashes = [](const PlacedTick& a, const PlacedTick& b) {
            const double room =
                (width_of(a.text, FontRole::tick) + width_of(b.text, FontRole::tick)) / 2 + 7.0;
            return !a.text.empty() && !b.text.empty() && std::abs(a.at - b.at) < room;
        };
        const bool crowded =
            std::ranges::adjacent_find(out_.x_ticks, clashes) != out_.x_ticks.end();
        if (!crowded) return;
        const bool log = chart_.x.scale == Scale::log;
        for (std::size_t i = 0; i < out_.x_ticks.size(); ++i) {
            const bool weak = log ? !out_.x_ticks[i].strong : i % 2 == 1;
            if (weak) out_.x_ticks[i].text.clear();
        }
    }

    void place_shapes() {
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

    [[nodiscard]] static double side_height(const SideEntry& entry) {
        return entry.detail.empty() ? 22.0 : 38.0;
    }

    /// Entries in the order of their anchors, moved apart where they would collide.
    void place_side() {
        const auto anchor_y = [this](std::size_t i) {
            const auto& anchor = chart_.side[i].anchor;
            return anchor ? std::clamp(pixel(*anchor).y, out_.frame.top, out_.frame.bottom) : 0.0;
        };
        std::vector<std::size_t> order(chart_.side.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, {}, anchor_y);
        std::vector<double> tops;
        double next = out_.frame.top;
        for (const std::size_t i : order) {
            tops.push_back(std::max(next, anchor_y(i) - 11.0));
            next = tops.back() + side_height(chart_.side[i]);
        }
        double limit = out_.frame.bottom + 8.0;
        for (std::size_t k = order.size(); k-- > 0;) {
            tops[k] = std::min(tops[k], limit - side_height(chart_.side[order[k]]));
            limit = tops[k];
        }
        for (std::size_t k = 0; k < order.size(); ++k) {
            if (tops[k] < out_.frame.top - 12.0) {
                overflow_.push_back(chart_.side[order[k]].name);
            } else {
                add_side(order[k], tops[k] + 11.0);
            }
        }
    }

    void add_side(std::size_t i, double y) {
        const SideEntry& entry = chart_.side[i];
        const double x = out_.frame.right + 14.0;
        const double room = out_.page.width - x - sample_width - 8.0;
        PlacedSide placed = {.entry = i,
                             .at = {x, y},
                             .name = fitted(entry.name, room, FontRole::emphasis),
                             .detail = fitted(entry.detail, room, FontRole::detail),
                             .leader = {}};
        if (entry.anchor && out_.frame.contains(pixel(*entry.anchor))) {
            placed.leader = Segment{.from = pixel(*entry.anchor), .to = {x - 3.0, y}};
        }
        out_.side.push_back(std::move(placed));
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

    void request_beside(PlacedLabel label, Vec2 at, double radius, double weight) {
        label.text = fitted(label.full, label_limit, label.role);
        const double width = width_of(label.text, label.role);
        request(label,
                {.candidates = candidates_beside(at, radius, width, label_height(label.role)),
                 .weight = weight});
    }

    void request_curve_labels() {
        for (const PlacedCurve& placed : out_.curves) {
            const Curve& curve = chart_.curves[placed.curve];
            if (curve.lettering == Lettering::none || placed.parts.empty()) continue;
            PlacedLabel label = {.text = fitted(curve.name, label_limit, FontRole::label),
                                 .full = curve.name,
                                 .color = curve.style.color,
                                 .owner = LabelOwner::curve,
                                 .index = placed.curve};
            const double width = width_of(label.text, label.role);
            const double height = label_height(label.role);
            LabelRequest wanted = {.candidates = {}, .weight = 3.0};
            for (const std::vector<Vec2>& part : placed.parts) {
                std::ranges::move(candidates_along(part, curve.prefer, 4.5, width, height),
                                  std::back_inserter(wanted.candidates));
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

    /// Marks with a label that fall on the same pixel as this one.
    [[nodiscard]] std::vector<std::size_t> labelled_at(Vec2 at) const {
        std::vector<std::size_t> out;
        for (std::size_t i = 0; i < chart_.marks.size(); ++i) {
            const bool near = length(out_.marks[i].at - at) < 1.0;
            if (near && chart_.marks[i].labelled) out.push_back(i);
        }
        return out;
    }

    /// A name per mark; where many marks coincide one label counts them and the key names them.
    void request_mark_labels() {
        constexpr std::size_t crowd = 4;
        for (std::size_t i = 0; i < chart_.marks.size(); ++i) {
            const Mark& mark = chart_.marks[i];
            if (!mark.labelled) continue;
            PlacedLabel label = {
                .text = {}, .full = mark.name, .owner = LabelOwner::mark, .index = i};
            const std::vector<std::size_t> here = labelled_at(out_.marks[i].at);
            if (here.size() >= crowd) {
                overflow_.push_back(mark.name + where(mark));
                if (i != here.front()) continue;
                label.full = fmt::format("{} points, listed below", here.size());
            }
            request_beside(label, out_.marks[i].at, mark.radius, 1.0);
        }
    }

    [[nodiscard]] static std::string where(const Mark& mark) {
        return fmt::format(" ({}, {})", number_text(mark.x), number_text(mark.y));
    }

    void place_labels_in_frame() {
        request_curve_labels();
        request_annotation_labels();
        request_mark_labels();
        Obstacles fixed = obstacles();
        const std::vector<PlacedLabel> homeless = settle(fixed);
        place_key(homeless, fixed);
    }

    /// Places what is pending and returns what found no place; the boxes become obstacles.
    std::vector<PlacedLabel> settle(Obstacles& fixed) {
        const auto chosen = place_labels(requests_, fixed);
        std::vector<PlacedLabel> homeless;
        for (std::size_t i = 0; i < pending_.size(); ++i) {
            if (!chosen[i]) {
                homeless.push_back(pending_[i]);
                continue;
            }
            const LabelCandidate& candidate = requests_[i].candidates[*chosen[i]];
            pending_[i].box = candidate.box;
            pending_[i].leader = candidate.leader;
            fixed.boxes.push_back(candidate.box);
            if (candidate.leader) fixed.lines.push_back(*candidate.leader);
            out_.labels.push_back(pending_[i]);
        }
        pending_.clear();
        requests_.clear();
        return homeless;
    }

    [[nodiscard]] static std::string key_letter(std::size_t i) {
        const auto letter = static_cast<char>('a' + i % 26);
        return i < 26 ? std::string(1, letter) : fmt::format("{}{}", letter, i / 26);
    }

    /// Letters for labels without a place, explained beneath the chart with their coordinates.
    void place_key(const std::vector<PlacedLabel>& homeless, Obstacles& fixed) {
        std::vector<std::string> entries = overflow_;
        std::size_t letters = 0;
        for (const PlacedLabel& label : homeless) {
            if (label.owner == LabelOwner::annotation) continue;
            const std::string letter = key_letter(letters++);
            Vec2 at;
            double radius = 1.0;
            std::string place;
            if (label.owner == LabelOwner::mark) {
                const Mark& mark = chart_.marks[label.index];
                at = out_.marks[label.index].at;
                radius = mark.radius;
                place = where(mark);
            } else {
                const auto& part = out_.curves[label.index].parts.front();
                at = 0.5 * (part.front() + part.back());
            }
            PlacedLabel keyed = label;
            keyed.full = letter;
            keyed.role = FontRole::emphasis;
            request_beside(keyed, at, radius, 1.0);
            entries.push_back(fmt::format(
                "{}  {}{}", letter, fitted(label.full, label_limit, FontRole::detail), place));
        }
        settle(fixed);
        list_key(entries);
    }

    void list_key(const std::vector<std::string>& entries) {
        if (entries.empty()) return;
        constexpr std::size_t columns = 3;
        const double column_width = (out_.page.width - 2 * edge) / columns;
        const std::size_t rows = (entries.size() + columns - 1) / columns;
        for (std::size_t i = 0; i < entries.size(); ++i) {
            const std::size_t column = i / rows;
            const std::size_t row = i % rows;
            const Vec2 at = {edge + static_cast<double>(column) * column_width,
                             out_.page.height + static_cast<double>(row) * line_height + 6.0};
            out_.key.push_back({.at = at,
                                .text = fitted(entries[i], column_width - 12.0, FontRole::detail),
                                .full = entries[i],
                                .role = FontRole::detail});
        }
        out_.page.height += static_cast<double>(rows) * line_height + 4.0;
    }

    const Chart& chart_;
    Layout out_;
    std::vector<PlacedLabel> pending_;
    std::vector<LabelRequest> requests_;
    std::vector<std::string> overflow_;
};

}  // namespace

Layout lay_out(const Chart& chart, PageSize page) {
    RIDGE_CONTRACT(page.width >= 320.0 && page.height >= 240.0);
    return PageLayout(chart, page).finish();
}

}  // namespace ridge::plot
