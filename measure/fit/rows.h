// Measured times as operations: from CSV tables of public measurements, or from records of ridge.
//
//   for (const MeasuredRow& row : read_rows("elementwise.csv"))
//       predict(row.operation, row.execution, machine)   // against row.measured
//
// A table has the columns `gpu`, `op` and `measured_us`; columns named like a field of the
// operation (`fields.h`) set it; others are refused but for remarks and what `keep` names. Message
// sizes of NCCL tables by aiconfigurator count elements, whatever their heading says (int8 at twice
// the count takes the time of half), and become bytes here.
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
    std::optional<std::uint64_t> seed{};  ///< of the random shapes that a record was drawn among
    std::string file;
    std::int64_t line = 0;
};

/// The catalogue's name of a GPU that a record names as its driver does.
using GpuNames = std::function<std::string(const std::string& driver_name)>;

/// The measured records in files or folders but those of compiled products, whose time is that of
/// several kernels; the position among the records stands for the line. InputError when a path cannot
/// be read, or when it holds no such record.
[[nodiscard]] std::vector<MeasuredRow> read_record_rows(const std::vector<std::string>& paths,
                                                        const GpuNames& gpu_name);

/// InputError with file and line: cannot be read, a column is missing or neither known nor in
/// `keep`, a cell cannot be understood. Rows without a GPU are of `gpu`, where that is given.
[[nodiscard]] std::vector<MeasuredRow> read_rows(const std::string& path,
                                                 const OtherColumns& keep = {},
                                                 const std::string& gpu = {});

/// `path` is a folder of tables (`read_folder`) or one table, of which the rows of those operations
/// count that the prefixes begin with ("attention_prefill": attention; "collectives": all of them);
/// without prefixes all rows of a table do.
[[nodiscard]] std::vector<MeasuredRow> read_tables(const std::string& path,
                                                   const std::vector<std::string>& prefixes,
                                                   const OtherColumns& keep = {},
                                                   const std::string& gpu = {});

/// Of rows of any operations those that such tables would hold; all without prefixes.
[[nodiscard]] std::vector<MeasuredRow> rows_named(std::vector<MeasuredRow> rows,
                                                  const std::vector<std::string>& prefixes);

/// The rows of all tables NAME*.csv of a folder whose name begins with one of `prefixes`, in the
/// order of their names. InputError when there is none.
[[nodiscard]] std::vector<MeasuredRow> read_folder(const std::string& folder,
                                                   const std::vector<std::string>& prefixes,
                                                   const OtherColumns& keep = {});

}  // namespace ridge::measure
