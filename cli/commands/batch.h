// `ridge predict --from shapes.csv`: one prediction per row of a CSV.
//
// Columns are the field names of the model plus `op`, `gpu`, and, for a sequence, `count` and
// `name`. Columns that the model does not use pass through if they are known (`measured_us`,
// `source`, `kernel`, `note`, `comment`) or named by `--keep`; any other name is an error. Columns
// of an earlier result are replaced. An empty cell takes the field's default, and cells of fields
// that the row's operation does not have are ignored. A row that cannot be predicted gets the
// reason in `error`, and the other rows continue. If reading fails, the predictions made so far are
// written and the failure is an InputError.
//
// Several threads predict CSV and JSON; the output keeps the order of the input, with the same
// bytes for any number of threads. One thread makes a text table, which is a sequence with shares
// and a total (`views/sequence.h`), or a Markdown table; both are kept in memory.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "cli/console/context.h"
#include "cli/console/format.h"
#include "cli/options/gpu_options.h"
#include "measure/record/shape_columns.h"
#include "model/core/fields.h"

namespace ridge::cli {

/// Largest number of threads of a batch.
constexpr int most_jobs = 256;

struct BatchOptions {
    std::string file;                               ///< "-" reads the context's input
    std::string gpu;                                ///< for rows without one; may be empty
    std::optional<model::OperationKind> operation;  ///< for rows without `op`
    model::Parameters defaults;                     ///< fields for rows that leave them empty
    Format format = Format::csv;
    measure::OtherColumns keep;  ///< columns that pass through
    std::optional<int> jobs;     ///< threads, at most `most_jobs`; default: one per core
};

struct BatchResult {
    std::int64_t rows = 0;
    std::int64_t failed = 0;
    bool decimal_prefix = false;  ///< a count was written with k, M or G
};

/// Streams the rows to `context.out` until they end or the output is closed. InputError when the
/// file cannot be read, is empty or has a broken header (a column twice, no `op`, no GPU anywhere).
BatchResult predict_batch(const Context& context, Machines& machines, const BatchOptions& options);

}  // namespace ridge::cli
