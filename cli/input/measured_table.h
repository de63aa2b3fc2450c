// Times that somebody else measured, as a CSV table: what `validate` and the charts read beside the
// records of `ridge measure`.
//
// Columns are those of `ridge predict --from`, with `op`, `gpu` and the time in `measured_us`,
// `measured_ms`, `measured_s` or `measured_ns`, above zero. `name` is what charts call the row. An
// implementation that the model does not know is kept as a word: the row is drawn, not predicted.
// Columns of a result, which `predict --from` adds to its input, may stand
// there too, and others that `--keep` names. A row becomes a record with that one time: no samples, no counters.
#pragma once

#include <string>

#include "measure/record/record.h"
#include "measure/record/shape_columns.h"

namespace ridge::cli {

/// Whether the path is taken for such a table: it ends in ".csv".
[[nodiscard]] bool is_measured_table(const std::string& path);

/// Rows that cannot be understood are reported as damaged, with their line; `usual_gpu` is that of
/// rows without one. InputError when the file cannot be read, or a column is missing or not known.
[[nodiscard]] measure::RecordFile read_measured_table(const std::string& path,
                                                      const std::string& usual_gpu,
                                                      const measure::OtherColumns& keep = {});

}  // namespace ridge::cli
