// Measured times with their operations, from CSV tables of public measurements or records of ridge.
//
//   for (const MeasuredRow& row : read_rows("elementwise.csv"))
//       predict(row.operation, row.execution, machine)   // against row.measured
//
// A table has the columns `gpu`, `op` and `measured_us`. A column named like a field of the
// operation (`fields.h`) sets that field. Other columns are refused, except remarks and those named
// in `keep`. In NCCL tables by aiconfigurator, message sizes count elements, whatever the heading
// says (int8 with twice the count takes half the time); they become bytes here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/quantity.h"
#include "measure/record/shape_columns.h"
#include "model/core/fields.h"
#include "model/core/implementation.h"
#include "model/core/operation.h"

namespace ridge::measure {

struct MeasuredRow {
    std::string gpu;
    model::OperationKind kind = model::OperationKind::matmul;
    model::Operation operation;
    model::Execution execution;
    Time measured{};
    std::optional<std::uint64_t> seed{};  ///< seed of the random shapes that include the record
    std::string file;
    std::int64_t line = 0;
};

/// Gives the catalogue's name of a GPU for the name that its driver reports in a record.
using GpuNames = std::function<std::string(const std::string& driver_name)>;

/// The measured records in files or folders, except those of compiled products, whose time is that
/// of several kernels. A row names the file and line of its record. InputError when a path cannot
/// be read or no path holds such a record.
[[nodiscard]] std::vector<MeasuredRow> read_record_rows(const std::vector<std::string>& paths,
                                                        const GpuNames& gpu_name);

/// Reads one table. InputError with file and line when it cannot be read, a column is missing or is
/// neither known nor in `keep`, or a cell cannot be understood. Rows without a GPU belong to `gpu`,
/// if given.
[[nodiscard]] std::vector<MeasuredRow> read_rows(const std::string& path,
                                                 const OtherColumns& keep = {},
                                                 const std::string& gpu = {});

/// Reads a folder of tables (`read_folder`) or one table. From a single table, only rows of the
/// operations named by the prefixes count ("attention_prefill": attention; "collectives": all
/// collectives); without prefixes, all rows do.
[[nodiscard]] std::vector<MeasuredRow> read_tables(const std::string& path,
                                                   const std::vector<std::string>& prefixes,
                                                   const OtherColumns& keep = {},
                                                   const std::string& gpu = {});

/// The rows that tables with these prefixes would hold, out of rows of any operations; all without
/// prefixes.
[[nodiscard]] std::vector<MeasuredRow> rows_named(std::vector<MeasuredRow> rows,
                                                  const std::vector<std::string>& prefixes);

/// The rows of all tables NAME*.csv in a folder whose names begin with one of `prefixes`, in order
/// of the names; `gpu`: of tables without a column `gpu`. InputError when there is no such table.
[[nodiscard]] std::vector<MeasuredRow> read_folder(const std::string& folder,
                                                   const std::vector<std::string>& prefixes,
                                                   const OtherColumns& keep = {},
                                                   const std::string& gpu = {});

}  // namespace ridge::measure
