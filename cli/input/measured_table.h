// Times that somebody else measured, as a CSV table: what `validate` and the charts read beside the
// records of `ridge measure`.
//
// Columns are those of `ridge predict --from`, with `op`, `gpu` and the time in `measured_us`
// (microseconds, above zero). Columns of a result, which `predict --from` adds to its input, may stand
// there too, and others that `--keep` names. A row becomes a record with that one time: no samples, no counters.
#pragma once

#include <string>

#include "measure/record/record.h"
#include "measure/record/shape_columns.h"

namespace ridge::cli {

/// Whether the path is taken for such a table: it ends in ".csv".
[[nodiscard]] bool is_measured_table(const std::string& path);

/// Rows that cannot be understood are reported as damaged, with their line. InputError when the
/// file cannot be read, or a column is missing or not known.
[[nodiscard]] measure::RecordFile read_measured_table(const std::string& path,
                                                      const measure::OtherColumns& keep = {});

}  // namespace ridge::cli
