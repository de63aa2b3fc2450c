// What counters say of packed half-precision arithmetic on NVIDIA's GPUs from Ampere on.
//
// The compiler also builds constants with HFMA2, always on the tensor pipe (T), where it puts every
// second one of real arithmetic; so of N instructions 2 (N - T) are arithmetic. Seen on Hopper: T = N in
// fp32 kernels, T = N / 2 in a loop of HFMA2.
//
//   packed_arithmetic(1000.0, 500.0);   // 1000: all of it is arithmetic
//   packed_arithmetic(1000.0, 1000.0);  // 0: constants
#pragma once

#include <algorithm>

namespace ridge {

/// Of `all` packed FMA, in any unit, those that are arithmetic, when so many ran on the tensor pipe.
[[nodiscard]] inline double packed_arithmetic(double all, double on_tensor_pipe) {
    return std::clamp(2.0 * (all - on_tensor_pipe), 0.0, all);
}

}  // namespace ridge
