// Operations on charts: short labels, counted memory traffic, and the text of tooltips.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware/quantity.h"
#include "measure/judge/validate.h"
#include "measure/record/record.h"
#include "model/core/prediction.h"
#include "plot/chart.h"

namespace ridge::cli {

/// A short but unique label: "matmul bf16 wgmma 4096x4096x4096", "attention bf16 flash2 32x4096x128
/// causal". Leaves the implementation out if none was asked for.
[[nodiscard]] std::string label_of(const model::Operation& operation,
                                   const model::Execution& execution);
[[nodiscard]] std::string label_of(const measure::Question& question);

/// The performance predicted, measured (if there is a record) and attainable, the times, the error,
/// the band, bound and limiter, and the intensities.
[[nodiscard]] std::vector<plot::Term> terms_of(const model::Prediction& prediction,
                                               const std::optional<Time>& measured);

/// The error of a predicted time, with the sign that `validate` uses.
[[nodiscard]] plot::Term error_term(Time predicted, Time measured);

/// DRAM bytes of the record's counters, if they can be compared with a prediction
/// (`measure/judge/validate.h`).
[[nodiscard]] std::optional<Bytes> counted_dram(const measure::Comparison& comparison,
                                                const measure::Record& record);

}  // namespace ridge::cli
