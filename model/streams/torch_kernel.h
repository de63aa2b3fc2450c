// Time of one kernel of PyTorch: what it moves, what it issues, what its threads wait for.
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

/// How far rounds of blocks overlap with throughput, by how the kernel is written.
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
    double steps = 0.0;    ///< loads that wait for one before them
    double missing = 1.0;  ///< share of the first loads that come from DRAM
    double rounds = 0.0;   ///< of resident blocks, behind the first
    double busy = 1.0;     ///< share of the multiprocessors that have blocks
};

/// Threads of a block of PyTorch's pointwise and copying kernels.
inline constexpr double pointwise_block_threads = 128.0;

/// `kernel` with what the loop costs over `elements`, `items` a thread, in `blocks`. (eq. B32)
[[nodiscard]] TorchKernel looping(const MemoryParameters& memory, TorchKernel kernel,
                                  const ElementLoop& loop, double elements, double items,
                                  double blocks);

/// Bytes of one kernel at the state of the L2. (eq. H2, H3)
[[nodiscard]] TorchKernel moving(const MemoryParameters& memory, Bytes read, Bytes write,
                                 L2State l2);

/// Rounds of `blocks` behind the first, `resident` on each multiprocessor.
[[nodiscard]] double further_rounds(const MemoryParameters& memory, double blocks, double resident);

/// Share of the multiprocessors that `blocks` keep busy.
[[nodiscard]] double busy_share(const MemoryParameters& memory, double blocks);

/// First load of a thread, and one that waits for another.
[[nodiscard]] Time first_load_of(const MemoryParameters& memory, double missing);
[[nodiscard]] Time step_of(const MemoryParameters& memory, double missing);

/// With the floor of an empty kernel; the machine has `torch`. (eq. B31)
[[nodiscard]] KernelTime torch_kernel_time(const MemoryParameters& memory,
                                           const TorchKernel& kernel, OverlapOf overlap);

/// Clocks of one multiprocessor as a time.
[[nodiscard]] Time clocks_of(const MemoryParameters& memory, double clocks);

}  // namespace ridge::model
