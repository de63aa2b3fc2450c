// The rate of the tensor cores when nothing else limits them: the ceiling by which a compute-bound
// kernel is judged.
//
// Method: every multiprocessor issues matrix instructions back to back on operands that stay in
// place (in registers for mma.sync, in shared memory for wgmma), without a load in the loop.
// mma.sync: 8 warps per block, 2 blocks per multiprocessor, 8 independent accumulators per warp.
// wgmma: 2 warpgroups per multiprocessor, m64n256, four instructions per group, one group in
// flight. Operands are random normal values by default, because power, and with it the clock,
// depends on the data.
//
//     const TensorPeak peak = tensor_peak({.path = TensorPath::wgmma, .iterations = 2000,
//                                          .sink = sink, .cycles = cycles});
//     peak.launch(stream);
//
// The rate is peak.flop over the measured time. FLOP per clock and multiprocessor is peak.flop over
// the number of multiprocessors and the largest of `cycles`, at any clock.
//
// Limits: mma.sync takes bfloat16, float16, tfloat32, int8 (sm_80) and float8_e4m3 (sm_89 and
// newer; Hopper converts it to float16); wgmma takes the same five types on sm_90a. Integer
// operations count like FLOP: 2 per multiply-add.
#pragma once

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

enum class TensorPath { mma_sync, wgmma };
enum class OperandPattern { random_normal, zeros };

struct TensorPeakProblem {
    TensorPath path = TensorPath::mma_sync;
    ElementType type = ElementType::bfloat16;
    std::int64_t iterations = 1000;
    OperandPattern pattern = OperandPattern::random_normal;
    float* sink = nullptr;        // device memory, tensor_peak_sink_elements() floats; receives
                                  // accumulators so that the work is kept
    long long* cycles = nullptr;  // device memory, a value per block, or null; receives the SM
                                  // cycles that each block's loop took; of blocks that share a
                                  // multiprocessor the longest counts
};

struct TensorPeak {
    Launch launch;
    double flop = 0.0;  // FLOP of one launch
};

[[nodiscard]] std::int64_t tensor_peak_sink_elements(int multiprocessors);
[[nodiscard]] TensorPeak tensor_peak(const TensorPeakProblem& problem);

// The two paths; tensor_peak checks the problem and calls one of them.
[[nodiscard]] TensorPeak tensor_peak_mma_sync(const TensorPeakProblem& problem,
                                              int multiprocessors);
[[nodiscard]] TensorPeak tensor_peak_wgmma(const TensorPeakProblem& problem, int multiprocessors);

}  // namespace ridge::measure::cuda
