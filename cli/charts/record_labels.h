// Operations on charts: short labels, memory traffic counted, and what a tooltip says.
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

/// Short and yet one of its kind: "matmul bf16 wgmma 4096x4096x4096", "attention bf16 flash2
/// 32x4096x128 causal". The implementation is left out where it was not asked for.
[[nodiscard]] std::string label_of(const model::Operation& operation,
                                   const model::Execution& execution);
[[nodiscard]] std::string label_of(const measure::Question& question);

/// Predicted, measured where there is a record, and attainable performance, the times, the error,
/// the band, bound and limiter, and the intensities.
[[nodiscard]] std::vector<plot::Term> terms_of(const model::Prediction& prediction,
                                               const std::optional<Time>& measured);

/// The error of a predicted time, as `validate` signs it.
[[nodiscard]] plot::Term error_term(Time predicted, Time measured);

/// DRAM bytes of the record's counters, where they can be compared with a prediction
/// (`measure/judge/validate.h`).
[[nodiscard]] std::optional<Bytes> counted_dram(const measure::Comparison& comparison,
                                                const measure::Record& record);

}  // namespace ridge::cli
