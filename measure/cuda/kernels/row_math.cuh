// Small arithmetic that the attention kernels share: the fast exponential, and reductions over the
// lanes that share a row.
//
// In the accumulators of mma.sync and wgmma, four neighbouring lanes hold the columns of a row, so
// two shuffles among them complete a row's maximum or sum.
#pragma once

#include <cuda_runtime.h>

namespace ridge::measure::cuda {

// 2^x by the special function unit: relative error about 2^-22, denormal results are zero (PTX ISA,
// ex2.approx.ftz).
__device__ __forceinline__ float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float quad_max(float value) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 1));
    return fmaxf(value, __shfl_xor_sync(0xffffffffU, value, 2));
}

__device__ __forceinline__ float quad_sum(float value) {
    value += __shfl_xor_sync(0xffffffffU, value, 1);
    return value + __shfl_xor_sync(0xffffffffU, value, 2);
}

}  // namespace ridge::measure::cuda
