// The exponential of the row kernels: ex2.approx.ftz, one special-function instruction, relative
// error about 2^-22.
#pragma once

namespace ridge::measure::cuda {

inline constexpr float log2_of_e = 1.4426950408889634F;

__device__ __forceinline__ float exp2_approximate(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
    return result;
}

}  // namespace ridge::measure::cuda
