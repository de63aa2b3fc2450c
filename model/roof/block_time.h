// Time of one bundled kernel that streams its data: a grid of blocks that load, compute and store.
//
// Method (equations B10 and B15 to B18 of docs/model.md). The whole `life` of a multiprocessor's
// first block is visible: start, first load, dependent work. After that the kernel is limited by
// the largest of its pipes or, if the blocks come in several rounds, by the rounds:
//   time = empty kernel + life + p-norm(pipes, (rounds - 1) life)
// The pipes see the imbalance of few blocks: 136 blocks on 132 multiprocessors take twice as long
// as 132. `stream_traffic` gives the share of the traffic that reaches DRAM, from what the L2 still
// holds.
//
//   const BlockTraffic moved = stream_traffic(memory, read, write, L2State::warm);
//   block_time(memory, {.traffic = moved, .blocks = 2048,
//                        .life = first_load(memory, moved.missing)}).total
//
// Limits: one kernel at a time; launches are in `launch.h`.
#pragma once

#include "model/core/implementation.h"
#include "model/roof/memory_time.h"

namespace ridge::model {

/// Bytes between DRAM and L2, and between L2 and the multiprocessors.
struct BlockTraffic {
    Bytes dram_read{};
    Bytes dram_write{};
    Bytes l2_read{};
    Bytes l2_write{};
    double missing = 0.0;  ///< share of the reads that DRAM serves
};

struct BlockKernel {
    BlockTraffic traffic{};
    double slots = 0.0;    ///< issue slots of the vector pipe, all lanes
    double special = 0.0;  ///< special-function results
    double lanes = 0.0;    ///< of the vector pipe, per cycle and multiprocessor
    double blocks = 1.0;
    /// Rounds in which the blocks come if each round waits for the previous one; 1 if blocks follow
    /// each other one by one and their loads keep the memory busy.
    double rounds = 1.0;
    Time life{};  ///< of one block, including its first load
};

/// One kernel that reads and writes each byte once, and starts with its own data in the L2 or a
/// flushed L2.
[[nodiscard]] BlockTraffic stream_traffic(const MemoryParameters& memory, Bytes read, Bytes write,
                                          L2State l2);

/// Start of a block including its first load: from L2, from DRAM or in between.
[[nodiscard]] Time first_load(const MemoryParameters& memory, double missing);

/// Multiprocessors that `blocks` keep busy to the end: all of them if the blocks divide evenly.
[[nodiscard]] double even_share(const MemoryParameters& memory, double blocks);

/// Whole rounds of `blocks` if a multiprocessor holds `blocks_per_sm` of them. (eq. B17)
[[nodiscard]] double whole_rounds(const MemoryParameters& memory, double blocks,
                                  double blocks_per_sm);

/// Time of one kernel, including the empty kernel that any duration contains. (eq. B18)
[[nodiscard]] KernelTime block_time(const MemoryParameters& memory, const BlockKernel& kernel);

/// Adds the time of a kernel that follows.
KernelTime& operator+=(KernelTime& sum, const KernelTime& further);

/// Registers per thread up to which threads alone limit what a multiprocessor holds.
inline constexpr double few_registers = 32.0;

/// Blocks of `threads` threads that a multiprocessor holds.
[[nodiscard]] double resident_blocks(const MemoryParameters& memory, double threads,
                                     double registers);

}  // namespace ridge::model
