// Rows of measure/records/torch-models, as the scripts wrote them.
//
//   for (const ModelRow& row : model_rows("h200")) row.number("time_us");
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "programs/software/request.h"

namespace ridge::test {

struct ModelRow {
    std::map<std::string, std::string> cells;

    [[nodiscard]] std::int64_t count(const std::string& name) const;
    [[nodiscard]] double number(const std::string& name) const;
};

/// Rows of the file NAME.csv. Lines that begin with '#' are comments.
[[nodiscard]] std::vector<ModelRow> model_rows(const std::string& name);
/// The phase named "train", "decode" or "prefill".
[[nodiscard]] programs::Phase phase_of(const std::string& word);
/// Mean of the absolute values, in per cent.
[[nodiscard]] double mean_percent(const std::vector<double>& errors);

}  // namespace ridge::test
