#include "cli/input/row_block.h"

#include <functional>

namespace ridge::cli {
namespace {

constexpr std::size_t most_rows = 512;
constexpr std::size_t most_text = std::size_t{1} << 18;

/// Whether `part` points into `whole`, rather than only having equal characters.
bool stands_in(std::string_view part, std::string_view whole) {
    constexpr std::less_equal<> not_behind;
    return not_behind(whole.data(), part.data()) &&
           not_behind(part.data() + part.size(), whole.data() + whole.size());
}

}  // namespace

Row row_of(const measure::CsvReader& reader) {
    return {.cells = reader.cells(),
            .raw = reader.raw(),
            .problem = reader.problem(),
            .line = reader.line()};
}

void RowBlock::add(const Row& row) {
    Stored stored;
    stored.raw = keep(row.raw);
    stored.problem = keep(row.problem);
    stored.cells = {.begin = cells_.size(), .size = row.cells.size()};
    stored.line = row.line;
    for (const std::string_view cell : row.cells) {
        if (stands_in(cell, row.raw)) {
            const auto offset = static_cast<std::size_t>(cell.data() - row.raw.data());
            cells_.push_back({.begin = stored.raw.begin + offset, .size = cell.size()});
        } else {
            cells_.push_back(keep(cell));
        }
    }
    rows_.push_back(stored);
}

void RowBlock::clear() {
    text_.clear();
    cells_.clear();
    rows_.clear();
}

bool RowBlock::full() const {
    return rows_.size() >= most_rows || text_.size() >= most_text;
}

Row RowBlock::row(std::size_t index, std::vector<std::string_view>& cells) const {
    const Stored& stored = rows_[index];
    cells.clear();
    for (std::size_t i = 0; i < stored.cells.size; ++i) {
        cells.push_back(view(cells_[stored.cells.begin + i]));
    }
    return {.cells = cells,
            .raw = view(stored.raw),
            .problem = view(stored.problem),
            .line = stored.line};
}

RowBlock::Span RowBlock::keep(std::string_view text) {
    const Span span{.begin = text_.size(), .size = text.size()};
    text_ += text;
    return span;
}

std::string_view RowBlock::view(Span span) const {
    return std::string_view(text_).substr(span.begin, span.size);
}

}  // namespace ridge::cli
