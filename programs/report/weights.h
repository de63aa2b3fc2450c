// Which arguments of a program's calls are weights, as far as shapes and places tell.
//
//   const WeightShapes weights = weights_of(rows);
//   weights.contains({50257, 768});   // a matrix that a product takes, or its transpose
//
// Method. Weights are the second operand of a product of the forward pass, the table of an embedding, and what a
// convolution is given second (its gradient third).
//
// Limits: a product of two activations in the forward pass (scores of one head) counts as one with weights.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "programs/report/operator_rows.h"

namespace ridge::programs {

using WeightShapes = std::set<std::vector<std::int64_t>>;

/// Of filters, and of matrices with their dimensions in both orders.
[[nodiscard]] WeightShapes weights_of(const Rows& rows);
/// Whether an argument of a call that is no product holds weights.
[[nodiscard]] bool holds_weights(const Call& call, std::size_t argument);
/// Where a product's first operand stands, before its second; empty for other calls.
[[nodiscard]] std::optional<std::size_t> first_operand(const Call& call);

}  // namespace ridge::programs
