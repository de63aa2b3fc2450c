// The columns of a CSV table of shapes, and the values of its rows. `predict --from`, `validate`
// with measured tables, and `fit` read such tables.
//
//   CsvReader reader(stream, "shapes.csv");
//   const ShapeColumns columns(reader, {.names = {"comment"}});
//   while (reader.next()) columns.parameters(kind, reader.cells(), {})
//
// Columns are the field names of the model plus `op` (or `operation`), `gpu`, one measured time, and
// `count` (or `calls`) and `name` of an operation in a sequence. A measured time is named by what it is and its
// unit: measured_us, time_ms, "Duration (ns)", us. A time without a unit is refused, because a
// factor of 1000 would pass in silence, unless the caller gives the unit. Any other column is refused, because it may be a misspelt field, unless the caller
// allows it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/quantity.h"
#include "measure/record/csv_reader.h"
#include "model/core/fields.h"

namespace ridge::measure {

enum class ColumnRole { operation, gpu, field, measured, count, name, other };

/// Columns that may be in a table without being understood. `name`, `source`, `kernel`, `note` and
/// `comment` are always allowed.
struct OtherColumns {
    std::vector<std::string> names;
    bool all = false;
    Time unit{};  ///< of a measured time whose name has none; zero: refused
};

/// The unit in the name of a column of measured times: "time_ms", "Duration [us]", "ns". Zero if the
/// name is that of a time but has no unit; empty for any other name.
[[nodiscard]] std::optional<Time> unit_of_time_column(std::string_view name);

/// Parses "a,b", or "all" for any column.
[[nodiscard]] OtherColumns parse_kept_columns(std::string_view text);

class ShapeColumns {
  public:
    /// Reads the first row. InputError when the table is empty, its header is broken, a column
    /// appears twice, or one is neither known nor in `others`; the message names the nearest
    /// column.
    explicit ShapeColumns(CsvReader& reader, const OtherColumns& others = {});

    /// InputError when the table lacks a column of this role.
    void require(ColumnRole role, std::string_view name, std::string hint) const;

    /// InputError when a column that is to be kept is not in the table.
    void require_kept(const OtherColumns& keep) const;

    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
    [[nodiscard]] bool has(ColumnRole role) const;

    /// The unit of the measured times; zero if the table has none.
    [[nodiscard]] Time measured_unit() const;

    /// The row's cell with this role (not `field`); empty if there is no such column.
    [[nodiscard]] std::string_view cell(const std::vector<std::string_view>& cells,
                                        ColumnRole role) const;
    /// The row's cell in the column of this name; empty if there is no such column.
    [[nodiscard]] std::string_view cell(const std::vector<std::string_view>& cells,
                                        std::string_view name) const;

    /// Fields of the row over `defaults`. Empty cells and cells of other operations are left out.
    /// InputError when the row does not have as many cells as the header.
    [[nodiscard]] model::Parameters parameters(model::OperationKind kind,
                                               const std::vector<std::string_view>& cells,
                                               const model::Parameters& defaults) const;

    /// InputError when the row does not have as many cells as the header.
    void require_whole(const std::vector<std::string_view>& cells) const;

  private:
    struct Column {
        ColumnRole role = ColumnRole::other;
        model::Field field = model::Field::dtype;
        Time unit{};  ///< unit of a measured time
    };

    /// InputError when two columns hold a measured time or name the operation.
    void require_once(ColumnRole role) const;
    [[nodiscard]] Column column_of(std::string_view name, const OtherColumns& others) const;

    std::string file_;
    std::vector<std::string> names_;
    std::vector<Column> columns_;
};

}  // namespace ridge::measure
