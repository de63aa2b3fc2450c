// Arithmetic ceilings outside the tensor cores: FMA in fp64, fp32 and fp16x2, and ex2.approx.ftz.
//
// Method: each thread runs `chains` independent dependence chains in registers, x = x * 0.75 + 0.5
// (which tends to 2), from start_value(thread, chain); ex2 runs x = 2^-x (which tends to 0.6412).
// The loop does not access memory. Every thread writes the sum of its chains, so nothing can be
// elided; fp16x2 adds the two halves.
//
// Example:
//   const FmaPeak peak{.element = ElementType::float32, .output = out, .plan = {}};
//   launch_of(peak)(stream);
//   // FLOP/s = work_of(peak).flop / time; peak rate at clock f: 132 x 128 x 2 x f
// Units: output has one float (fp64: one double) per thread of the grid.
// Limits: fp64, fp32 and fp16 only (std::invalid_argument). One result per thread limits the size
// of the grid, not the rate.
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/clock_span.h"
#include "measure/cuda/kernels/work.h"

namespace ridge::measure::cuda {

inline constexpr int arithmetic_chains = 8;
inline constexpr int arithmetic_unroll = 16;  // steps of every chain per iteration

struct ArithmeticPlan {
    int threads = 256;
    int multiprocessors = 132;
    int blocks_per_multiprocessor = 4;
    int iterations = 1024;
};

struct FmaPeak {
    ElementType element = ElementType::float32;
    void* output = nullptr;
    ClockSpan* spans = nullptr;
    ArithmeticPlan plan;
};

struct Exp2Peak {
    float* output = nullptr;
    ClockSpan* spans = nullptr;
    ArithmeticPlan plan;
};

// Start of chain `chain` of thread `thread` (in its block); exact in every element type.
[[nodiscard]] __host__ __device__ constexpr float start_value(int thread, int chain) {
    return static_cast<float>((thread * 5 + chain * 3) % 64) / 32.0F;
}

[[nodiscard]] Launch launch_of(const FmaPeak& peak);
[[nodiscard]] Launch launch_of(const Exp2Peak& peak);
[[nodiscard]] bundled::LaunchGrid geometry_of(const FmaPeak& peak);
[[nodiscard]] bundled::LaunchGrid geometry_of(const Exp2Peak& peak);
[[nodiscard]] KernelWork work_of(const FmaPeak& peak);
[[nodiscard]] KernelWork work_of(const Exp2Peak& peak);

}  // namespace ridge::measure::cuda
