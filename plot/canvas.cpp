#include "plot/canvas.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "plot/text.h"

namespace ridge::plot {

namespace {

unsigned dot_bit(int x, int y) {
    constexpr std::array<std::array<unsigned, 4>, 2> bits = {
        {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
    return bits.at(static_cast<std::size_t>(x)).at(static_cast<std::size_t>(y));
}

/// U+2800 plus the dots, as UTF-8.
std::string braille(unsigned dots) {
    return {static_cast<char>(0xE2), static_cast<char>(0xA0 | (dots >> 6U)),
            static_cast<char>(0x80 | (dots & 0x3FU))};
}

/// Lowest and highest dot of one column of a cell; -1 if it has none.
struct Extent {
    int top = -1;
    int bottom = -1;
};

Extent extent(unsigned dots, int x) {
    Extent out;
    for (int y = 0; y < 4; ++y) {
        if ((dots & dot_bit(x, y)) == 0) continue;
        if (out.top < 0) out.top = y;
        out.bottom = y;
    }
    return out;
}

std::string ascii_shape(unsigned dots) {
    const Extent left = extent(dots, 0);
    const Extent right = extent(dots, 1);
    if (left.top < 0 || right.top < 0) {
        const Extent only = left.top < 0 ? right : left;
        if (only.bottom - only.top >= 1) return "|";
        return only.top >= 2 ? "." : "'";
    }
    const int rise = (left.top + left.bottom) - (right.top + right.bottom);
    if (rise >= 2) return "/";
    if (rise <= -2) return "\\";
    return left.top == 3 ? "_" : "-";
}

bool draws(Dash dash, int step) {
    switch (dash) {
        case Dash::dashed:
        case Dash::long_dash:
            return step % 9 < 5;
        case Dash::dotted:
            return step % 4 == 0;
        case Dash::dash_dot:
            return step % 9 < 5 || step % 9 == 7;
        case Dash::solid:
            break;
    }
    return true;
}

std::string_view color_code(Color color) {
    constexpr std::array<std::string_view, 8> codes = {
        "1", "38;5;32", "38;5;166", "38;5;36", "38;5;175", "38;5;178", "38;5;75", "38;5;245"};
    return codes.at(static_cast<std::size_t>(color));
}

}  // namespace

int Canvas::line(const Segment& dots, Color color, Dash dash, int phase) {
    const Vec2 step = dots.to - dots.from;
    const int steps =
        std::max(1, static_cast<int>(std::ceil(std::max(std::abs(step.x), std::abs(step.y)))));
    for (int i = 0; i <= steps; ++i) {
        if (!draws(dash, phase + i)) continue;
        const Vec2 at = dots.from + (static_cast<double>(i) / steps) * step;
        const int x = static_cast<int>(std::floor(at.x));
        const int y = static_cast<int>(std::floor(at.y));
        if (x < 0 || y < 0 || !holds(x / 2, y / 4)) continue;
        Cell& target = cell(x / 2, y / 4);
        target.dots |= dot_bit(x % 2, y % 4);
        target.color = color;
    }
    return phase + steps;
}

bool Canvas::put(int column, int row, std::string_view glyph, Color color) {
    if (!holds(column, row) || !cell(column, row).glyph.empty()) return false;
    cell(column, row).glyph = glyph;
    cell(column, row).color = color;
    return true;
}

bool Canvas::write(int column, int row, std::string_view text, Color color) {
    const int width = text_columns(text);
    if (column < 0 || column + width > columns_ || row < 0 || row >= rows_) return false;
    for (int at = column - 1; at <= column + width; ++at) {
        if (holds(at, row) && !is_blank(at, row)) return false;
    }
    // A wide character occupies two cells: the first holds its text, the second stays empty.
    int at = column;
    std::string_view rest = text;
    while (!rest.empty()) {
        std::size_t length = 1;
        while (length < rest.size() &&
               (static_cast<unsigned char>(rest[length]) & 0xC0U) == 0x80U) {
            ++length;
        }
        const std::string_view character = rest.substr(0, length);
        const int wide = text_columns(character);
        if (wide == 0 && at > column) {
            cell(at - 1, row).glyph += character;
        } else if (wide > 0) {
            cell(at, row).glyph = character;
            cell(at, row).color = color;
            if (wide == 2) cell(at + 1, row).glyph = std::string(1, '\0');
            at += wide;
        }
        rest.remove_prefix(length);
    }
    return true;
}

std::string_view Canvas::glyph(int column, int row) const {
    return holds(column, row) ? std::string_view(cell(column, row).glyph) : std::string_view{};
}

std::string Canvas::row_text(int row, Charset charset, Ink ink) const {
    int last = columns_ - 1;
    while (last >= 0 && is_blank(last, row)) --last;
    std::string out;
    std::string run;
    Color run_color = Color::ink;
    const auto flush = [&] {
        if (!run.empty()) out += inked(run, run_color, ink);
        run.clear();
    };
    for (int column = 0; column <= last; ++column) {
        const Cell& at = cell(column, row);
        if (is_blank(column, row)) {
            flush();
            out += ' ';
            continue;
        }
        if (at.color != run_color) flush();
        run_color = at.color;
        if (!at.glyph.empty()) {
            if (at.glyph.front() != '\0')
                run += charset == Charset::ascii ? to_ascii(at.glyph) : at.glyph;
        } else {
            run += charset == Charset::ascii ? ascii_shape(at.dots) : braille(at.dots);
        }
    }
    flush();
    return out;
}

bool Canvas::is_blank(int column, int row) const {
    return cell(column, row).dots == 0 && cell(column, row).glyph.empty();
}

Canvas::Cell& Canvas::cell(int column, int row) {
    return cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                  static_cast<std::size_t>(column)];
}

const Canvas::Cell& Canvas::cell(int column, int row) const {
    return cells_[static_cast<std::size_t>(row) * static_cast<std::size_t>(columns_) +
                  static_cast<std::size_t>(column)];
}

std::string inked(std::string_view text, Color color, Ink ink) {
    if (ink == Ink::plain) return std::string(text);
    return "\x1b[" + std::string(color_code(color)) + "m" + std::string(text) + "\x1b[0m";
}

}  // namespace ridge::plot
