// Rows of a table stored for another thread, with all it needs to predict and write them.
//
//   RowBlock block;
//   while (!block.full() && reader.next()) block.add(row_of(reader));
//   for (std::size_t i = 0; i < block.size(); ++i) block.row(i, cells);
//
// Method: one buffer of text and positions in it, so that reusing a block allocates nothing. A cell
// that is part of the row as it was read is not copied a second time.
//
// Limits: a block is full after 512 rows or 256 KiB, and one row is at most about 2 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "measure/record/csv_reader.h"

namespace ridge::cli {

/// One row as it was read; what it refers to lives until its reader or block changes.
struct Row {
    const std::vector<std::string_view>& cells;
    std::string_view raw;
    std::string_view problem;
    std::int64_t line = 0;
};

[[nodiscard]] Row row_of(const measure::CsvReader& reader);

class RowBlock {
  public:
    void add(const Row& row);
    void clear();

    /// Whether the block has enough rows for a hand-over. Many full blocks still fit into memory.
    [[nodiscard]] bool full() const;
    [[nodiscard]] std::size_t size() const { return rows_.size(); }

    /// The row at `index`; fills `cells`, which the row refers to.
    [[nodiscard]] Row row(std::size_t index, std::vector<std::string_view>& cells) const;

  private:
    struct Span {
        std::size_t begin = 0;
        std::size_t size = 0;
    };
    struct Stored {
        Span raw;
        Span problem;
        Span cells;  ///< of `cells_`
        std::int64_t line = 0;
    };

    [[nodiscard]] Span keep(std::string_view text);
    [[nodiscard]] std::string_view view(Span span) const;

    std::string text_;
    std::vector<Span> cells_;
    std::vector<Stored> rows_;
};

}  // namespace ridge::cli
