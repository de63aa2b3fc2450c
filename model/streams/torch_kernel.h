// Time of one kernel of PyTorch, from what it moves, what it issues, and what its threads wait for.
//
//   TorchKernel kernel{.dram_read = bytes, .l2_read = bytes, .missing = 1.0};
//   torch_kernel_time(memory, kernel, smooth).total
//
// Method (equation B31 of docs/model.md):
//   life       = first load + further loads, one after the other + dependent clocks
//   throughput = 3-norm(dram, l2, slots)
//   time       = empty kernel + life + p-norm(rounds x life, throughput)
// Limits: one kernel at a time; needs `model.torch`.
#pragma once

#include "model/core/implementation.h"
#include "model/machine/memory_parameters.h"
#include "model/roof/memory_time.h"
#include "model/roof/overlap.h"

namespace ridge::model {

/// How far rounds of blocks overlap with throughput, which depends on how the kernel is written.
using OverlapOf = double OverlapCode::*;
inline constexpr OverlapOf in_step = &OverlapCode::in_step;
inline constexpr OverlapOf reducing = &OverlapCode::reducing;
inline constexpr OverlapOf free_running = &OverlapCode::free_running;

[[nodiscard]] inline Overlap overlap_of(const MemoryParameters& memory, OverlapOf kernel) {
    return Overlap{memory.torch->code.overlap.*kernel};
}

struct TorchKernel {
    Bytes dram_read{};
    Bytes dram_write{};
    Bytes l2_read{};
    Bytes l2_write{};
    double slots = 0.0;    ///< lane slots of the vector pipes, all threads
    double chain = 0.0;    ///< dependent clocks of a thread, beside its loads
    double steps = 0.0;    ///< loads that wait for a previous one
    double missing = 1.0;  ///< share of the first loads that come from DRAM
    double rounds = 0.0;   ///< rounds of resident blocks after the first
    double busy = 1.0;     ///< share of the multiprocessors that have blocks
};

/// Threads of a block of PyTorch's pointwise and copying kernels.
inline constexpr double pointwise_block_threads = 128.0;

/// `kernel` plus the cost of the loop over `elements`, with `items` per thread, in `blocks`. (eq.
/// B32)
[[nodiscard]] TorchKernel looping(const MemoryParameters& memory, TorchKernel kernel,
                                  const ElementLoop& loop, double elements, double items,
                                  double blocks);

/// Bytes of one kernel for the given state of the L2. (eq. H2, H3)
[[nodiscard]] TorchKernel moving(const MemoryParameters& memory, Bytes read, Bytes write,
                                 L2State l2);

/// Rounds of `blocks` after the first, with `resident` on each multiprocessor.
[[nodiscard]] double further_rounds(const MemoryParameters& memory, double blocks, double resident);

/// Share of the multiprocessors that `blocks` keep busy.
[[nodiscard]] double busy_share(const MemoryParameters& memory, double blocks);

/// Times of the first load of a thread, and of one that waits for another.
[[nodiscard]] Time first_load_of(const MemoryParameters& memory, double missing);
[[nodiscard]] Time step_of(const MemoryParameters& memory, double missing);

/// Time including the floor of an empty kernel. The machine must have `torch`. (eq. B31)
[[nodiscard]] KernelTime torch_kernel_time(const MemoryParameters& memory,
                                           const TorchKernel& kernel, OverlapOf overlap);

/// The time of clocks of one multiprocessor.
[[nodiscard]] Time clocks_of(const MemoryParameters& memory, double clocks);

}  // namespace ridge::model
