// Interprets the counters of packed half-precision arithmetic on NVIDIA GPUs, Ampere and newer.
//
// The compiler also uses HFMA2 to build constants. Those always run on the tensor pipe (T), which
// also takes every second HFMA2 of real arithmetic, so of N instructions 2 (N - T) are arithmetic.
// Observed on Hopper: T = N in fp32 kernels, T = N / 2 in a loop of HFMA2.
//
//   packed_arithmetic(1000.0, 500.0);   // 1000: all of it is arithmetic
//   packed_arithmetic(1000.0, 1000.0);  // 0: constants
#pragma once

#include <algorithm>

namespace ridge {

/// How many of `all` packed FMA, in any unit, are arithmetic, when `on_tensor_pipe` ran on that
/// pipe.
[[nodiscard]] inline double packed_arithmetic(double all, double on_tensor_pipe) {
    return std::clamp(2.0 * (all - on_tensor_pipe), 0.0, all);
}

}  // namespace ridge
