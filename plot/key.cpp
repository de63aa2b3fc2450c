#include "plot/key.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "plot/font.h"
#include "plot/text.h"

namespace ridge::plot {

namespace {

constexpr double gap = 14.0;            ///< between columns
constexpr double gutter = 34.0;         ///< between tables side by side
constexpr double narrowest_name = 180;  ///< more columns are used only above this width

/// Names broken into lines, and the widths of the columns: number, name, values.
struct Table {
    std::vector<std::vector<std::string>> names = {};
    std::vector<double> widths = {};
    double width = 0.0;
};

bool inside_character(std::string_view text, std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

/// The longest beginning that fits, of whole characters and at least one. The search starts with
/// short beginnings, so that a long word takes time in proportion to its length.
std::size_t fitting_bytes(std::string_view word, const Fits& fits) {
    std::size_t below = 0;
    std::size_t above = 64;
    while (above < word.size() && fits(word.substr(0, above), 0)) {
        below = above;
        above *= 2;
    }
    above = std::min(above, word.size());
    while (above - below > 1) {
        const std::size_t middle = below + (above - below) / 2;
        (fits(word.substr(0, middle), 0) ? below : above) = middle;
    }
    while (below > 0 && inside_character(word, below)) --below;
    if (below > 0) return below;
    std::size_t first = 1;
    while (inside_character(word, first)) ++first;
    return first;
}

/// Breaks at spaces; a word wider than the column is broken inside.
std::vector<std::string> name_lines(const std::string& name, double width) {
    const Fits fits = [width](std::string_view line, std::size_t) {
        return width_of(line, FontRole::detail) <= width;
    };
    std::vector<std::string> out;
    for (std::string rest : wrap_text(clean_text(name), fits)) {
        while (!fits(rest, 0)) {
            const std::size_t end = fitting_bytes(rest, fits);
            out.push_back(rest.substr(0, end));
            rest.erase(0, end);
        }
        out.push_back(std::move(rest));
    }
    return out;
}

Table measured(const Key& key, double usable) {
    Table out;
    out.widths.assign(key.columns.size() + 1, 0.0);
    for (std::size_t c = 0; c < key.columns.size(); ++c) {
        out.widths[c + 1] = width_of(key.columns[c], FontRole::emphasis);
    }
    for (const Key::Row& row : key.rows) {
        out.widths[0] =
            std::max(out.widths[0], width_of(std::to_string(row.number), FontRole::emphasis));
        for (std::size_t c = 0; c < row.cells.size(); ++c) {
            out.widths[c + 1] =
                std::max(out.widths[c + 1], width_of(row.cells[c], FontRole::detail));
        }
    }
    const auto total = [&out] {
        double sum = -gap;
        for (const double width : out.widths) sum += width + gap;
        return sum;
    };
    const double over = total() - usable;
    if (over > 0.0) out.widths[1] = std::max(narrowest_name, out.widths[1] - over);
    for (const Key::Row& row : key.rows) {
        out.names.push_back(name_lines(row.cells.front(), out.widths[1] + 0.5));
    }
    out.width = total();
    return out;
}

class KeyWriter {
  public:
    KeyWriter(Layout& layout, const Key& key, const Table& table)
        : layout_(layout), key_(key), table_(table) {}

    void heading(Vec2 at) {
        double x = at.x + table_.widths[0] + gap;
        for (std::size_t c = 0; c < key_.columns.size(); ++c) {
            const double width = table_.widths[c + 1];
            put(key_.columns[c], {c == 0 ? x : x + width, at.y}, FontRole::emphasis,
                c == 0 ? TextEnd::left : TextEnd::right);
            x += width + gap;
        }
        const double rule = at.y + 5.0;
        layout_.rules.push_back({.from = {at.x, rule}, .to = {at.x + table_.width, rule}});
    }

    void row(std::size_t index, Vec2 at) {
        const Key::Row& row = key_.rows[index];
        put(std::to_string(row.number), {at.x + table_.widths[0], at.y}, FontRole::emphasis,
            TextEnd::right);
        double x = at.x + table_.widths[0] + gap;
        double y = at.y;
        for (const std::string& line : table_.names[index]) {
            put(line, {x, y}, FontRole::detail, TextEnd::left);
            y += line_height;
        }
        x += table_.widths[1];
        for (std::size_t c = 1; c < row.cells.size(); ++c) {
            x += gap + table_.widths[c + 1];
            put(row.cells[c], {x, at.y}, FontRole::detail, TextEnd::right);
        }
    }

  private:
    void put(const std::string& text, Vec2 at, FontRole role, TextEnd anchor) {
        if (text.empty()) return;
        layout_.key.push_back({.at = at, .text = text, .role = role, .anchor = anchor});
    }

    Layout& layout_;
    const Key& key_;
    const Table& table_;
};

}  // namespace

void add_key(Layout& layout, const Key& key) {
    if (key.rows.empty()) return;
    const double usable = layout.page.width - 2 * page_edge;
    const Table table = measured(key, usable);
    const auto side_by_side =
        static_cast<std::size_t>(std::max(1.0, (usable + gutter) / (table.width + gutter)));
    std::size_t lines = 0;
    for (const auto& name : table.names) lines += name.size();
    const std::size_t columns = lines > 8 ? side_by_side : 1;
    const std::size_t lines_each = (lines + columns - 1) / columns;
    KeyWriter writer(layout, key, table);
    const double top = layout.page.height + 10.0;
    const double step = (usable + gutter) / static_cast<double>(columns);
    Vec2 at = {page_edge, top};
    std::size_t used = 0;
    double bottom = top;
    writer.heading(at);
    for (std::size_t i = 0; i < key.rows.size(); ++i) {
        if (used >= lines_each) {
            used = 0;
            at = {at.x + step, top};
            writer.heading(at);
        }
        at.y += line_height + (used == 0 ? 5.0 : 0.0);
        writer.row(i, at);
        used += table.names[i].size();
        at.y += line_height * static_cast<double>(table.names[i].size() - 1);
        bottom = std::max(bottom, at.y);
    }
    layout.page.height = bottom + 14.0;
}

}  // namespace ridge::plot
