// Rows for people and for programs: each cell has its text, and its number in base units.
//
//   Rows rows{.columns = {{"name"}, {"flop_per_s", "performance"}}};
//   rows.rows.push_back({{"bf16 tensor"}, {"989 TFLOP/s", 9.894e14}});
//   write_rows(context, rows, Format::csv);      // name,flop_per_s / bf16 tensor,9.894e+14
//
// A terminal and Markdown show titles and texts. CSV and JSON have names and numbers, in the fewest
// digits that read back exactly. JSON is a list of objects without the empty cells. Output for
// people leaves out columns in which every cell is empty.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/console/table.h"
#include "hardware/json.h"

namespace ridge::cli {

struct Cell {
    std::string text = {};
    std::optional<double> number = {};
};

/// When people see a column. If the terminal is too narrow, `where_room` columns go, last first.
enum class Shown { always, where_room, never };

struct Rows {
    struct Column {
        std::string name;        ///< for programs
        std::string title = {};  ///< for people; the name if empty
        Shown shown = Shown::always;
    };
    std::vector<Column> columns = {};
    std::vector<std::vector<Cell>> rows = {};  ///< one cell per column
};

void write_rows(const Context& context, const Rows& rows, Format format);

/// A list of objects.
[[nodiscard]] Json to_json(const Rows& rows);

}  // namespace ridge::cli
