// Reads times that were measured elsewhere from a CSV table. `validate` and the charts read such
// tables beside the records of `ridge measure`.
//
// Columns are those of `ridge predict --from`, with `op`, `gpu` and the time in `measured_us`,
// `measured_ms`, `measured_s` or `measured_ns`, above zero. Charts name the row by `name`. An
// implementation that the model does not know is kept as a word: the row is drawn, not predicted.
// Result columns, which `predict --from` adds to its input, and columns that `--keep` names are
// allowed and ignored. A row becomes a record with one time, without samples or counters.
#pragma once

#include <string>

#include "measure/record/record.h"
#include "measure/record/shape_columns.h"

namespace ridge::cli {

/// Whether the path names such a table: it ends in ".csv".
[[nodiscard]] bool is_measured_table(const std::string& path);

/// Rows that cannot be understood are reported as damaged, with their line. Rows that name no GPU
/// take `usual_gpu`. InputError if the file cannot be read, or a column is missing or not known.
[[nodiscard]] measure::RecordFile read_measured_table(const std::string& path,
                                                      const std::string& usual_gpu,
                                                      const measure::OtherColumns& keep = {});

}  // namespace ridge::cli
