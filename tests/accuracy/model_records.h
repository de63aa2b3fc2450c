// Tables under records, as the scripts wrote them.
//
//   for (const ModelRow& row : model_rows("h200")) row.number("time_us");
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "programs/software/request.h"

namespace ridge::test {

struct CsvRow {
    std::vector<std::string> cells;
    std::string text;  ///< the line
};

/// Rows of a file under records, the header first. Lines that begin with '#' are comments.
[[nodiscard]] std::vector<CsvRow> csv_rows(const std::string& file);

/// Rows of a file in records/published, without the header. Each row must have `count`
/// cells.
[[nodiscard]] std::vector<std::vector<std::string>> published_cells(const std::string& file,
                                                                    std::size_t count);

/// A row of records/torch-models.
struct ModelRow {
    std::map<std::string, std::string> cells;

    [[nodiscard]] std::int64_t count(const std::string& name) const;
    [[nodiscard]] double number(const std::string& name) const;
};

/// Rows of the file NAME.csv.
[[nodiscard]] std::vector<ModelRow> model_rows(const std::string& name);
/// The phase named "train", "decode" or "prefill".
[[nodiscard]] programs::Phase phase_of(const std::string& word);
/// The step that the row measured: its phase, batch and length.
[[nodiscard]] programs::Request request_of(
    const ModelRow& row, programs::Software software = programs::Software::transformers);
/// Mean of the absolute values, in per cent.
[[nodiscard]] double mean_percent(const std::vector<double>& errors);

}  // namespace ridge::test
