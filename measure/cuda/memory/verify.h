// Comparing what a kernel wrote with a reference in double precision.
//
// Method: the reference is computed by Eigen and plain loops on the CPU from the very inputs that
// the device used. Small outputs are compared whole, large ones in a sample of rows and columns
// that holds the first, the last and random ones; the whole output is searched for NaN and for
// elements that nobody wrote. The verdict is on the Frobenius error; its tolerance follows from the
// rounding of the output type (root mean square 2^-p / sqrt(3)) and the arithmetic in between.
//
//   Comparison comparison;
//   comparison.add(got, expected);
//   return comparison.verdict(4e-3, unwritten);
//
// Limits: a fault that touches few elements of a large output can be missed; the device tests check
// the kernels whole at many shapes.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/cuda/memory/read_back.h"
#include "measure/record/observation.h"

namespace ridge::measure::cuda {

class Comparison {
  public:
    void add(double got, double expected);
    /// `unwritten` elements that are NaN or poison make the result wrong.
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

/// Up to `count` of the numbers 0 .. extent - 1, sorted: all when they are few, else the first, the
/// last and random ones.
[[nodiscard]] std::vector<std::int64_t> sampled(std::int64_t extent, std::int64_t count,
                                                std::uint64_t seed);

}  // namespace ridge::measure::cuda
