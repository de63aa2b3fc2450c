// The columns of a CSV table of shapes, and what a row says: `predict --from` and measured tables.
//
//   CsvReader reader(stream, "shapes.csv");
//   const ShapeColumns columns(reader);
//   while (reader.next()) columns.parameters(kind, reader.cells(), {})
//
// Columns are the field names of the model plus `op`, `gpu` and `measured_us`; a column of another
// name is passed over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/input/csv_reader.h"
#include "model/core/fields.h"

namespace ridge::cli {

enum class ColumnRole { operation, gpu, field, measured, other };

class ShapeColumns {
  public:
    /// Reads the first row. InputError when the table is empty or a column stands twice.
    explicit ShapeColumns(CsvReader& reader);

    /// InputError when the table lacks a column of this role.
    void require(ColumnRole role, std::string_view name, std::string hint) const;

    [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
    [[nodiscard]] bool has(ColumnRole role) const;

    /// The row's cell of this role (not `field`); empty when there is no such column.
    [[nodiscard]] std::string_view cell(const std::vector<std::string_view>& cells,
                                        ColumnRole role) const;

    /// Fields of the row over `defaults`; cells that are empty or not of the operation are left
    /// out. InputError when the row has another number of cells than the header.
    [[nodiscard]] model::Parameters parameters(model::OperationKind kind,
                                               const std::vector<std::string_view>& cells,
                                               const model::Parameters& defaults) const;

    /// InputError when the row has another number of cells than the header.
    void require_whole(const std::vector<std::string_view>& cells) const;

  private:
    struct Column {
        ColumnRole role = ColumnRole::other;
        model::Field field = model::Field::dtype;
    };

    std::string file_;
    std::vector<std::string> names_;
    std::vector<Column> columns_;
};

}  // namespace ridge::cli
