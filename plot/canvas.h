// A grid of character cells to draw on: braille dots for lines, glyphs for points, text for labels.
//
// Each cell holds 2 x 4 dots. Without Unicode a cell's dots become the ASCII character nearest to
// their shape. A glyph hides the dots of its cell.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "plot/chart.h"
#include "plot/geometry.h"

namespace ridge::plot {

enum class Charset { unicode, ascii };

/// Whether colours are written as ANSI escape sequences; the caller knows the terminal.
enum class Ink { plain, ansi };

class Canvas {
  public:
    Canvas(int columns, int rows) : columns_(columns), rows_(rows) {
        cells_.resize(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows));
    }

    [[nodiscard]] int columns() const { return columns_; }
    [[nodiscard]] int rows() const { return rows_; }

    /// Draws a segment given in dots (2 per column, 4 per row); returns the phase of the dashes.
    int line(const Segment& dots, Color color, Dash dash, int phase = 0);

    /// Puts a one-column glyph into a cell; false if the cell already has one.
    bool put(int column, int row, std::string_view glyph, Color color);

    /// Writes text if all its cells are free, with one free cell at either end; false otherwise.
    bool write(int column, int row, std::string_view text, Color color);

    /// The glyph of a cell; empty if there is none.
    [[nodiscard]] std::string_view glyph(int column, int row) const;

    /// One row as text without trailing blanks.
    [[nodiscard]] std::string row_text(int row, Charset charset, Ink ink) const;

  private:
    struct Cell {
        std::string glyph = {};
        unsigned dots = 0;
        Color color = Color::ink;
    };

    [[nodiscard]] bool holds(int column, int row) const {
        return column >= 0 && column < columns_ && row >= 0 && row < rows_;
    }
    [[nodiscard]] bool is_blank(int column, int row) const;
    [[nodiscard]] Cell& cell(int column, int row);
    [[nodiscard]] const Cell& cell(int column, int row) const;

    int columns_;
    int rows_;
    std::vector<Cell> cells_;
};

/// The text between the escape sequences of a colour, or only the text without colours.
[[nodiscard]] std::string inked(std::string_view text, Color color, Ink ink);

}  // namespace ridge::plot
