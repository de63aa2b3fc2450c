// Which measured rows no fit of an engine's kernels sees, so that they can judge it.
//
//   if (is_left_out(row.operation)) ...          // in the fit; the accuracy tests use exactly these
//
// Method: by a hash of the shape, so that a shape is on one side for every GPU, engine and type. Of
// products, a fifth of the pairs of n and k is left out whole, and a fifth of the other shapes; of
// attention a fifth of the heads with their head dimension, and of the other shapes; of other operations
// a fifth of the shapes.
#pragma once

#include <cstdint>
#include <string>

#include "measure/fit/rows.h"
#include "model/core/operation.h"

namespace ridge::measure {

enum class Side : std::uint8_t {
    fitted,
    left_out,      ///< the shape alone
    pair_left_out  ///< its whole pair of n and k is left out, or its heads and head dimension
};

[[nodiscard]] Side side_of(const model::Operation& operation);

[[nodiscard]] inline bool is_left_out(const model::Operation& operation) {
    return side_of(operation) != Side::fitted;
}

/// Rows with the same key are held out together: products by n and k, attention by its heads, others by their shape.
[[nodiscard]] std::string fold_of_shape(const MeasuredRow& row);

}  // namespace ridge::measure
