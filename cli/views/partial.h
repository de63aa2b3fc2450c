// Sums that lack what is not modelled, as text and JSON: never as a number.
#pragma once

#include "hardware/json.h"
#include "hardware/quantity.h"
#include "model/core/unmodelled.h"

namespace ridge::cli {

/// Adds `not_modelled`, the number of operations that the sum lacks, and if there are any
/// `at_least_us`, the sum without them, and `not_modelled_reasons`.
void add_left_out(Json& json, Time sum, const model::Unmodelled& left_out);

/// A figure in the unit `us`; null if it lacks operations.
[[nodiscard]] Json sum_in_us(Time sum, const model::Unmodelled& left_out);

}  // namespace ridge::cli
