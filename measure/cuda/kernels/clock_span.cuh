// Records a ClockSpan inside a kernel; see clock_span.h.
#pragma once

#include "measure/cuda/kernels/clock_span.h"

namespace ridge::measure::cuda {

__device__ __forceinline__ std::int64_t cycle_now() {
    std::int64_t value;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(value)::"memory");
    return value;
}

__device__ __forceinline__ std::int64_t nanosecond_now() {
    std::int64_t value;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
    return value;
}

// Call at the start, by all threads of a block.
__device__ __forceinline__ ClockSpan open_span() {
    ClockSpan span;
    if (threadIdx.x == 0) {
        span.first_nanosecond = nanosecond_now();
        span.first_cycle = cycle_now();
    }
    __syncthreads();
    return span;
}

// Call at the end, by all threads of a block; `spans` has one entry per block, or is null.
__device__ __forceinline__ void close_span(ClockSpan span, ClockSpan* spans) {
    __syncthreads();
    if (threadIdx.x != 0 || spans == nullptr) return;
    span.last_cycle = cycle_now();
    span.last_nanosecond = nanosecond_now();
    spans[blockIdx.x] = span;
}

}  // namespace ridge::measure::cuda
