// `ridge predict --from shapes.csv`: one prediction per row of a CSV.
//
// Columns are the field names of the model plus `op`, `gpu`, and `count` and `name` of an operation in
// a sequence. Columns that say nothing to the model pass through when they are known (`measured_us`,
// `source`, `kernel`, `note`, `comment`) or named by `--keep`; another name is an error. Columns of an
// earlier result are replaced. An empty cell takes the field's default, and cells of fields that the
// row's operation does not have are ignored. A row that cannot be predicted gets the reason in
// `error` and the rest go on. Where reading fails, what was predicted before is written and the
// failure is an InputError.
//
// CSV and JSON are predicted by several threads and written in the order of the input: the same bytes
// for any number of them. A text table, which is that of a sequence with shares and a total
// (`views/sequence.h`), and a Markdown table are kept in memory and made by one.
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

/// Threads that a batch may have.
constexpr int most_jobs = 256;

struct BatchOptions {
    std::string file;                               ///< "-" is the context's input
    std::string gpu;                                ///< for rows without one; may be empty
    std::optional<model::OperationKind> operation;  ///< for rows without `op`
    model::Parameters defaults;                     ///< fields for rows that leave them empty
    Format format = Format::csv;
    measure::OtherColumns keep;  ///< columns that pass through
    std::optional<int> jobs;     ///< threads, at most `most_jobs`; all cores when not given
};

struct BatchResult {
    std::int64_t rows = 0;
    std::int64_t failed = 0;
    bool decimal_prefix = false;  ///< a count was written with k, M or G
};

/// Streams the rows to `context.out`, until they end or it takes no more. InputError when the file
/// cannot be read, is empty or its header is broken (a column twice, no `op`, no GPU anywhere).
BatchResult predict_batch(const Context& context, Machines& machines, const BatchOptions& options);

}  // namespace ridge::cli
