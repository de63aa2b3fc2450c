// Compares what a kernel wrote with a reference in double precision.
//
// Method: Eigen and plain loops compute the reference on the CPU from the same inputs that the
// device used. Small outputs are compared completely, large ones in a sample of rows and columns
// with the first, the last and random ones. The whole output is searched for NaN and for elements
// that were never written. The result is judged by the Frobenius error. Its tolerance follows from
// the rounding of the output type (root mean square 2^-p / sqrt(3)) and the arithmetic in between.
//
//   Comparison comparison;
//   comparison.add(got, expected);
//   return comparison.verdict(4e-3, unwritten);
//
// Limits: a fault that affects few elements of a large output can be missed. The device tests check
// the complete output of the kernels at many shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/cuda/memory/read_back.h"
#include "measure/record/observation.h"

namespace ridge::measure::cuda {

class Comparison {
  public:
    void add(double got, double expected);
    /// The result is wrong if any elements are `unwritten` (NaN or poison).
    [[nodiscard]] Verification verdict(double tolerance, std::int64_t unwritten) const;

  private:
    double difference_ = 0.0;
    double reference_ = 0.0;
    double largest_difference_ = 0.0;
    double largest_reference_ = 0.0;
    std::int64_t count_ = 0;
};

/// Frobenius tolerance of a result stored in this type after short arithmetic in float.
[[nodiscard]] double rounding_tolerance(StoredType type);

/// Up to `count` of the numbers 0 .. extent - 1, sorted: all of them if there are few, otherwise
/// the first, the last and random ones.
[[nodiscard]] std::vector<std::int64_t> sampled(std::int64_t extent, std::int64_t count,
                                                std::uint64_t seed);

}  // namespace ridge::measure::cuda
