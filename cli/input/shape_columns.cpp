#include "cli/input/shape_columns.h"

#include <algorithm>
#include <set>

#include "hardware/error.h"

namespace ridge::cli {

ShapeColumns::ShapeColumns(CsvReader& reader) : file_(reader.file()) {
    if (!reader.next()) throw InputError("the file is empty", {file_, 1, 1});
    std::set<std::string_view> seen;
    for (const std::string_view name : reader.cells()) {
        if (!seen.insert(name).second) {
            throw InputError("column '" + std::string(name) + "' stands twice", {file_, 1, 1});
        }
        Column column;
        if (name == "op") {
            column.role = ColumnRole::operation;
        } else if (name == "gpu") {
            column.role = ColumnRole::gpu;
        } else if (name == "measured_us") {
            column.role = ColumnRole::measured;
        } else if (const auto field = model::find_field(name)) {
            column = {.role = ColumnRole::field, .field = *field};
        }
        columns_.push_back(column);
        names_.emplace_back(name);
    }
}

bool ShapeColumns::has(ColumnRole role) const {
    return std::any_of(columns_.begin(), columns_.end(),
                       [role](const Column& column) { return column.role == role; });
}

void ShapeColumns::require(ColumnRole role, std::string_view name, std::string hint) const {
    if (has(role)) return;
    throw InputError("no column '" + std::string(name) + "'", {file_, 1, 1}, std::move(hint));
}

std::string_view ShapeColumns::cell(const std::vector<std::string_view>& cells,
                                    ColumnRole role) const {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (columns_[i].role == role) return cells[i];
    }
    return {};
}

void ShapeColumns::require_whole(const std::vector<std::string_view>& cells) const {
    if (cells.size() == columns_.size()) return;
    throw InputError("the row has " + std::to_string(cells.size()) + " cells, the header " +
                     std::to_string(columns_.size()));
}

model::Parameters ShapeColumns::parameters(model::OperationKind kind,
                                           const std::vector<std::string_view>& cells,
                                           const model::Parameters& defaults) const {
    model::Parameters parameters = defaults;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        const Column& column = columns_[i];
        if (column.role == ColumnRole::field && !cells[i].empty() && applies(kind, column.field)) {
            parameters.set(column.field, cells[i]);
        }
    }
    return parameters;
}

}  // namespace ridge::cli
