#include "plot/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "hardware/algorithms.h"
#include "plot/geometry.h"
#include "plot/text.h"
#include "plot/ticks.h"

namespace ridge::plot {

namespace {

constexpr int number_width = 11;  ///< of a column in the list

struct CellAt {
    int column = 0;
    int row = 0;
};

/// 'a' to 'z', then '*' for all others; digits label lines.
std::string key_of(std::size_t index, Origin origin) {
    if (index < 26) {
        return {
            static_cast<char>((origin == Origin::measured ? 'A' : 'a') + static_cast<int>(index))};
    }
    return "*";
}

class TerminalWriter {
  public:
    TerminalWriter(const Chart& chart, const TerminalOptions& options)
        : chart_(chart),
          options_(options),
          y_ticks_(y_ticks()),
          canvas_(canvas_columns(), rows()) {}

    std::string write() {
        draw_curves();
        draw_series_keys();
        draw_marks();
        draw_annotations();
        letter_curves();
        letter_annotations();
        heading();
        drawing();
        list_unlettered();
        list_samples();
        if (chart_.legend.empty()) {
            list_marks();
        } else {
            list_legend();
        }
        for (const std::string& note : chart_.notes) wrapped_line(note);
        return std::move(out_);
    }

  private:
    [[nodiscard]] int width() const { return std::max(40, options_.columns); }
    [[nodiscard]] int rows() const { return std::max(6, options_.rows); }
    [[nodiscard]] bool is_ascii() const { return options_.charset == Charset::ascii; }

    [[nodiscard]] std::vector<Tick> y_ticks() const {
        return axis_ticks(chart_.y, chart_.y_range, std::max(2, rows() / 2));
    }

    [[nodiscard]] int margin() const {
        int widest = 1;
        for (const Tick& tick : y_ticks_) widest = std::max(widest, text_columns(shown(tick.text)));
        return widest + 1;
    }

    [[nodiscard]] int canvas_columns() const { return width() - margin() - 2; }

    [[nodiscard]] std::string shown(std::string_view text) const {
        return is_ascii() ? to_ascii(text) : clean_text(text);
    }

    /// Appends a line, cut to the width.
    void line(std::string_view text) {
        std::string fit = truncate_to_columns(shown(text), width(), is_ascii() ? "~" : "…");
        while (!fit.empty() && fit.back() == ' ') fit.pop_back();
        out_ += fit + "\n";
    }

    void wrapped_line(std::string_view text) {
        const auto fits = [this](std::string_view part, std::size_t) {
            return text_columns(part) <= width();
        };
        for (const std::string& part : wrap_text(text, fits)) line(part);
    }

    [[nodiscard]] Vec2 dots(const Vertex& vertex) const {
        const double u = position(vertex.x, chart_.x_range, chart_.x.scale);
        const double v = position(vertex.y, chart_.y_range, chart_.y.scale);
        return {u * (2.0 * canvas_.columns() - 1.0), (1.0 - v) * (4.0 * canvas_.rows() - 1.0)};
    }

    [[nodiscard]] CellAt cell_of(const Vertex& vertex) const {
        const Vec2 at = dots(vertex);
        return {.column = std::clamp(static_cast<int>(at.x / 2.0), 0, canvas_.columns() - 1),
                .row = std::clamp(static_cast<int>(at.y / 4.0), 0, canvas_.rows() - 1)};
    }

    [[nodiscard]] std::vector<Segment> visible(const Curve& curve) const {
        const Rect frame = {.left = 0.0,
                            .top = 0.0,
                            .right = 2.0 * canvas_.columns() - 1.0,
                            .bottom = 4.0 * canvas_.rows() - 1.0};
        std::vector<Segment> out;
        for (std::size_t i = 1; i < curve.vertices.size(); ++i) {
            const auto piece =
                clip({.from = dots(curve.vertices[i - 1]), .to = dots(curve.vertices[i])}, frame);
            if (piece) out.push_back(*piece);
        }
        return out;
    }

    /// Dashes distinguish roofs only if both kinds are drawn.
    [[nodiscard]] Dash dash_of(const Curve& curve) const {
        if (curve.role != CurveRole::roof) {
            return curve.role == CurveRole::reference ? curve.style.dash : Dash::solid;
        }
        const bool any_solid = algorithms::any_of(chart_.curves, [](const Curve& other) {
            return other.role == CurveRole::roof && other.style.dash == Dash::solid;
        });
        return any_solid ? curve.style.dash : Dash::solid;
    }

    void draw_curves() {
        for (const Curve& curve : chart_.curves) {
            int phase = 0;
            for (const Segment& piece : visible(curve)) {
                phase = canvas_.line(piece, curve.style.color, dash_of(curve), phase);
                if (curve.role != CurveRole::envelope) continue;
                const Vec2 below = {0.0, 1.0};
                canvas_.line({.from = piece.from + below, .to = piece.to + below},
                             curve.style.color, Dash::solid);
            }
        }
    }

    /// Letters on the lines of a sweep, spread so that the letters of two series do not coincide.
    void draw_series_keys() {
        std::size_t index = 0;
        for (const LegendEntry& entry : chart_.legend) {
            const std::size_t series = index++;
            if (!entry.line) continue;
            const auto curve = algorithms::find_if(chart_.curves, [&entry](const Curve& each) {
                return each.role == CurveRole::series && each.name == entry.name;
            });
            if (curve == chart_.curves.end()) continue;
            const std::string key = key_of(series, Origin::predicted);
            const std::size_t count = curve->vertices.size();
            for (std::size_t part = 1; part <= 4; ++part) {
                const std::size_t shift =
                    series * count / (4 * std::max<std::size_t>(1, chart_.legend.size()));
                const std::size_t at = std::min(count - 1, part * count / 4 + shift);
                const CellAt cell = cell_of(curve->vertices[at]);
                canvas_.put(cell.column, cell.row, key, entry.style.color);
            }
        }
    }

    [[nodiscard]] std::optional<std::size_t> legend_index(const Mark& mark) const {
        const auto entry = algorithms::find(chart_.legend, mark.series, &LegendEntry::name);
        if (entry == chart_.legend.end()) return std::nullopt;
        return static_cast<std::size_t>(entry - chart_.legend.begin());
    }

    struct ListRow {
        std::string keys = {};
        std::string name = {};
        std::string hidden_by = {};
        double x = 0.0;
        std::optional<double> predicted = {};
        std::optional<double> measured = {};
        std::string evidence = {};
    };

    void draw_marks() {
        if (!chart_.legend.empty()) {
            draw_classes();
            return;
        }
        std::vector<std::optional<std::size_t>> partner(chart_.marks.size());
        std::vector<bool> is_second(chart_.marks.size(), false);
        for (const Link& link : chart_.links) {
            partner[link.from] = link.to;
            is_second[link.to] = true;
        }
        // Numbered marks in the order of the key, which is the order of the time.
        std::vector<std::size_t> order(chart_.marks.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        algorithms::stable_sort(order, std::less<>(),
                                [this](std::size_t i) { return chart_.marks[i].number; });
        for (const std::size_t i : order) {
            if (is_second[i]) continue;
            ListRow row = {.keys = {}, .name = chart_.marks[i].name, .x = chart_.marks[i].x};
            draw_keyed(chart_.marks[i], row);
            if (partner[i]) draw_keyed(chart_.marks[*partner[i]], row);
            list_.push_back(std::move(row));
        }
    }

    void draw_keyed(const Mark& mark, ListRow& row) {
        const std::string key = key_of(list_.size(), mark.origin);
        row.keys += key;
        (mark.origin == Origin::measured ? row.measured : row.predicted) = mark.y;
        const auto evidence =
            algorithms::find(mark.terms, std::string_view("evidence"), &Term::name);
        if (evidence != mark.terms.end()) row.evidence = evidence->value;
        const CellAt cell = cell_of({.x = mark.x, .y = mark.y});
        if (canvas_.put(cell.column, cell.row, key, mark.style.color)) return;
        row.hidden_by = canvas_.glyph(cell.column, cell.row);
    }

    /// Points of a sweep or a scatter chart. If lines are drawn, the lines already show them.
    void draw_classes() {
        for (const Mark& mark : chart_.marks) {
            const auto index = legend_index(mark);
            const bool on_line = mark.origin != Origin::measured;
            if (!index || (chart_.legend[*index].line && on_line)) continue;
            const CellAt cell = cell_of({.x = mark.x, .y = mark.y});
            canvas_.put(cell.column, cell.row, key_of(*index, mark.origin), mark.style.color);
        }
    }

    void draw_annotations() {
        for (const Annotation& annotation : chart_.annotations) {
            const CellAt at = cell_of({.x = annotation.x, .y = annotation.y});
            canvas_.put(at.column, at.row, is_ascii() ? "#" : "◆", annotation.style.color);
        }
    }

    void letter_annotations() {
        for (const Annotation& annotation : chart_.annotations) {
            const CellAt at = cell_of({.x = annotation.x, .y = annotation.y});
            const std::string text = shown(annotation.text);
            const int size = text_columns(text);
            const std::array<CellAt, 7> places = {
                {{.column = at.column - size / 2, .row = at.row - 1},
                 {.column = at.column - size, .row = at.row - 1},
                 {.column = at.column, .row = at.row - 1},
                 {.column = at.column - size - 1, .row = at.row - 1},
                 {.column = at.column + 2, .row = at.row + 1},
                 {.column = at.column - size / 2, .row = at.row - 2},
                 {.column = at.column + 3, .row = at.row + 2}}};
            const bool placed = algorithms::any_of(places, [&](const CellAt& place) {
                return canvas_.write(place.column, place.row, text, annotation.style.color);
            });
            if (!placed && annotation.drop_line)
                unlettered_.push_back({.key = is_ascii() ? "#" : "◆", .name = annotation.text});
        }
    }

    /// Writes each curve's name next to it, as near as possible to the preferred position.
    void letter_curves() {
        for (const Curve& curve : chart_.curves) {
            if (curve.lettering == Lettering::none) continue;
            const std::vector<Segment> pieces = visible(curve);
            if (!pieces.empty() && !letter(curve, pieces)) number(curve, pieces.front());
        }
    }

    /// Puts a digit on a line whose name has no room next to it; the list explains the digit.
    void number(const Curve& curve, const Segment& piece) {
        std::string key = numbered_ < 9 ? std::string(1, static_cast<char>('1' + numbered_)) : "+";
        ++numbered_;
        for (const double at : {0.3, 0.4, 0.2, 0.5, 0.6, 0.1, 0.7, 0.8, 0.9, 0.05, 0.95}) {
            const Vec2 dot = piece.from + at * (piece.to - piece.from);
            const auto column = static_cast<int>(dot.x / 2.0);
            if (canvas_.put(column, static_cast<int>(dot.y / 4.0), key, curve.style.color)) break;
        }
        unlettered_.push_back({.key = std::move(key), .name = curve.name});
    }

    [[nodiscard]] bool letter(const Curve& curve, const std::vector<Segment>& pieces) {
        const std::string text = shown(curve.name);
        if (text_columns(text) > canvas_.columns() / 2) return false;
        const int size = text_columns(text);
        const Segment& piece = pieces.front();
        const bool rising = piece.from.y - piece.to.y > 2.0;
        for (const double offset : {0.0, -0.1, 0.1, -0.2, 0.2, -0.3, 0.3, -0.4, 0.4, -0.5, 0.5}) {
            const double at = curve.prefer + offset;
            if (at < 0.0 || at > 1.0) continue;
            const Vec2 dot = piece.from + at * (piece.to - piece.from);
            const int column = static_cast<int>(dot.x / 2.0);
            const int row = static_cast<int>(dot.y / 4.0);
            const int before = column - size;
            const int centred = std::clamp(column - size / 2, 0, canvas_.columns() - size);
            const std::array<CellAt, 5> beside = {{{.column = before - 1, .row = row},
                                                   {.column = before, .row = row - 1},
                                                   {.column = column + 3, .row = row},
                                                   {.column = column + 1, .row = row + 1},
                                                   {.column = before - 2, .row = row}}};
            const std::array<CellAt, 5> over = {{{.column = centred, .row = row - 1},
                                                 {.column = centred, .row = row + 1},
                                                 {.column = centred, .row = row - 2},
                                                 {.column = centred, .row = row + 2},
                                                 {.column = before, .row = row - 1}}};
            for (const CellAt& place : rising ? beside : over) {
                if (canvas_.write(place.column, place.row, text, curve.style.color)) return true;
            }
        }
        return false;
    }

    void heading() {
        if (!chart_.title.empty()) line(chart_.title);
        if (!chart_.subtitle.empty()) wrapped_line(chart_.subtitle);
        line(axis_text(chart_.y));
    }

    void drawing() {
        const int left = margin();
        std::vector<std::string> y_texts(static_cast<std::size_t>(canvas_.rows()));
        for (const Tick& tick : y_ticks_) {
            const CellAt at = cell_of({.x = chart_.x_range.low, .y = tick.value});
            std::string& text = y_texts[static_cast<std::size_t>(at.row)];
            if (text.empty()) text = shown(tick.text);
        }
        for (int row = 0; row < canvas_.rows(); ++row) {
            const std::string& text = y_texts[static_cast<std::size_t>(row)];
            out_ += std::string(static_cast<std::size_t>(left - text_columns(text)), ' ') + text;
            const std::string_view bar =
                text.empty() ? (is_ascii() ? "|" : "│") : (is_ascii() ? "+" : "┤");
            out_ += bar;
            out_ += canvas_.row_text(row, options_.charset, options_.ink);
            out_ += '\n';
        }
        x_axis(left);
    }

    void x_axis(int left) {
        const auto columns = static_cast<std::size_t>(canvas_.columns());
        std::vector<bool> marked(columns, false);
        std::string labels(static_cast<std::size_t>(width()), ' ');
        int free_from = 0;
        for (const Tick& tick :
             axis_ticks(chart_.x, chart_.x_range, std::max(2, canvas_.columns() / 8))) {
            if (tick.text.empty()) continue;
            // Superscripts take several bytes, so the row of labels is built in ASCII.
            const std::string text = to_ascii(tick.text);
            const int at = cell_of({.x = tick.value, .y = chart_.y_range.low}).column;
            const int size = static_cast<int>(text.size());
            const int start = std::min(left + 1 + at - size / 2, width() - size);
            if (start < free_from) continue;
            labels.replace(static_cast<std::size_t>(start), text.size(), text);
            free_from = start + size + 1;
            marked[static_cast<std::size_t>(at)] = true;
        }
        out_ += std::string(static_cast<std::size_t>(left), ' ') + (is_ascii() ? "+" : "└");
        for (const bool mark : marked)
            out_ += mark ? (is_ascii() ? "+" : "┬") : (is_ascii() ? "-" : "─");
        out_ += '\n';
        line(labels);
        const std::string title = shown(axis_text(chart_.x));
        const int indent = std::max(0, left + 1 + (canvas_.columns() - text_columns(title)) / 2);
        line(std::string(static_cast<std::size_t>(indent), ' ') + title);
    }

    void list_unlettered() {
        for (const Unlettered& entry : unlettered_) line(" " + entry.key + "  " + entry.name);
    }

    void list_samples() {
        const auto any_mark = [this](Origin origin) {
            return algorithms::any_of(chart_.marks,
                                      [origin](const Mark& mark) { return mark.origin == origin; });
        };
        const auto any_roof = [this](bool solid) {
            return algorithms::any_of(chart_.curves, [solid](const Curve& curve) {
                return curve.role == CurveRole::roof && (curve.style.dash == Dash::solid) == solid;
            });
        };
        if (any_mark(Origin::measured)) {
            const bool both =
                any_mark(Origin::predicted) || any_mark(Origin::calibrated) || draws_series();
            line(both ? "lower case: predicted, upper case: measured" : "upper case: measured");
        }
        if (any_roof(true)) {
            line(any_roof(false) ? "solid lines: measured roofs, broken lines: datasheet roofs"
                                 : "solid lines: measured roofs");
        }
    }

    [[nodiscard]] bool draws_series() const {
        return algorithms::any_of(
            chart_.curves, [](const Curve& curve) { return curve.role == CurveRole::series; });
    }

    void list_legend() {
        for (std::size_t i = 0; i < chart_.legend.size(); ++i) {
            const LegendEntry& entry = chart_.legend[i];
            const std::string key = key_of(i, entry.marker.value_or(Origin::predicted));
            const std::string detail = entry.detail.empty() ? "" : "  " + entry.detail;
            const std::string text = truncate_to_columns(shown(entry.name + detail), width() - 4);
            out_ += " " + inked(key, entry.style.color, options_.ink) + "  " + text + "\n";
        }
    }

    void list_marks() {
        if (list_.empty()) return;
        const bool predicted =
            algorithms::any_of(list_, [](const ListRow& row) { return row.predicted.has_value(); });
        const bool measured =
            algorithms::any_of(list_, [](const ListRow& row) { return row.measured.has_value(); });
        const bool evidence =
            algorithms::any_of(list_, [](const ListRow& row) { return !row.evidence.empty(); });
        const int numbers = 1 + (predicted ? 1 : 0) + (measured ? 1 : 0) + (evidence ? 1 : 0);
        const int name_width = width() - 5 - numbers * number_width;
        const auto right = [](std::string_view text) {
            const std::string fit = truncate_to_columns(text, number_width - 1);
            return std::string(static_cast<std::size_t>(number_width - text_columns(fit)), ' ') +
                   fit;
        };
        std::string header(static_cast<std::size_t>(5 + name_width), ' ');
        header += right(chart_.x.unit);
        if (predicted) header += right("predicted");
        if (measured) header += right("measured");
        if (evidence) header += right("evidence");
        line(header);
        const auto number = [&](const std::optional<double>& value) {
            return right(value ? shown(number_text(*value)) : "-");
        };
        for (const ListRow& row : list_) {
            const std::string hidden =
                row.hidden_by.empty() ? "" : fmt::format(" (under {})", shown(row.hidden_by));
            // A name too long for its column gets its own line.
            std::string text = fmt::format(" {:<4}{}", row.keys, shown(row.name) + hidden);
            if (text_columns(text) > 5 + name_width) {
                wrapped_line(text);
                text.clear();
            }
            text += std::string(
                static_cast<std::size_t>(std::max(0, 5 + name_width - text_columns(text))), ' ');
            text += number(row.x);
            if (predicted) text += number(row.predicted);
            if (measured) text += number(row.measured);
            if (evidence) text += right(row.evidence.empty() ? "-" : row.evidence);
            line(text);
        }
    }

    struct Unlettered {
        std::string key;
        std::string name;
    };

    const Chart& chart_;
    TerminalOptions options_;
    std::vector<Tick> y_ticks_;
    Canvas canvas_;
    std::vector<ListRow> list_;
    std::vector<Unlettered> unlettered_;
    int numbered_ = 0;
    std::string out_;
};

}  // namespace

std::string render_terminal(const Chart& chart, const TerminalOptions& options) {
    return TerminalWriter(chart, options).write();
}

}  // namespace ridge::plot
