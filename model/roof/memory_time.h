// Time of one memory-bound kernel of an eager framework: streams (elementwise, copy, gather) and
// row kernels (softmax, normalisation, sums). Bundled kernels are in block_time.h.
//
// Method (equations B1 to B8 of docs/model.md). A kernel is described by what it moves and what it
// keeps in flight, a GPU by its memory levels (`MemoryParameters`):
//   pipes   = p-norm(dram, l2, fma, special)
//   time    = p-norm(pipes, latency) + drain
//   dram    = bytes that miss / (bandwidth x efficiency of the read and write mix)
//   latency = rounds of resident threads (or rows) x loaded latency of what they wait for
// A warm L2 serves a share of the accesses that falls from 1 to 0 as the footprint passes its size.
// A row kernel that reads its row again finds it to the extent that the resident rows fit on chip.
//
//   const KernelTime t = stream_time(memory, {.read = 450 * MB, .write = 450 * MB, ...},
//                                    {.threads_per_block = 256, .blocks_per_sm = 8,
//                                     .bytes_per_thread = 32 * B}, L2State::cold);
//   t.total   // about 240 us on an H200; t.dram, t.l2, t.latency say why
//
// Limits: one kernel at a time, without its launch (`launch.h`). The values of the data do not
// matter, since these kernels stay below the power limit.
#pragma once

#include "model/core/implementation.h"
#include "model/machine/memory_parameters.h"

namespace ridge::model {

/// What one kernel moves and computes.
struct StreamWork {
    Bytes read{};  ///< footprint: each input once, in whole sectors
    Bytes write{};
    Bytes l2_read{};  ///< between the L2 and the multiprocessors
    Bytes l2_write{};
    double slots = 0.0;    ///< issue slots of the vector pipe (eq. B5)
    double special = 0.0;  ///< special-function results
    double lanes = 0.0;    ///< of the vector pipe, per cycle and multiprocessor
};

/// How a streaming kernel is written. `bytes_per_thread` counts the reads and writes that one
/// thread has in flight together.
struct StreamKernel {
    double threads_per_block = 256.0;
    double blocks_per_sm = 8.0;
    Bytes bytes_per_thread{};
};

/// How a kernel along rows is written.
struct RowKernel {
    double rows_per_sm = 1.0;  ///< resident
    double read_passes = 1.0;  ///< later passes find rows in L1 or L2 to the extent that they stay
                               ///< there
    double trips = 1.0;        ///< dependent loads of a thread in one pass
    Time reductions{};         ///< per row, including start and end of the block
    double reuse = 1.0;        ///< share of all L1 and of the L2 that rows between two passes may
                               ///< fill
};

/// The shape of one row kernel; `work.read` and `work.write` are those of all rows together.
struct RowShape {
    double rows = 0.0;
    StreamWork work{};
};

struct KernelTime {
    Time dram{};
    Time l2{};
    Time fma{};
    Time special{};
    Time latency{};  ///< including the drain of a row kernel
    Time total{};
    Bytes dram_read{};  ///< predicted traffic
    Bytes dram_write{};
    Bytes l2_traffic{};
    double results = 0.0;  ///< of the special-function units
    double rounds = 0.0;   ///< waves of threads or rows, not rounded up
};

/// Time that DRAM needs for a mix of reads and writes. (eq. B2)
[[nodiscard]] Time dram_time(const MemoryParameters& memory, Bytes read, Bytes write);

/// Time on the L2 and on the ports of the multiprocessors that have work. (eq. B3)
[[nodiscard]] Time l2_time(const MemoryParameters& memory, Bytes read, Bytes write,
                           double busy_sms);

/// Time of one streaming kernel. (eq. B6)
[[nodiscard]] KernelTime stream_time(const MemoryParameters& memory, const StreamWork& work,
                                     const StreamKernel& kernel, L2State l2);

/// Time of one kernel along rows. (eq. B7)
[[nodiscard]] KernelTime row_time(const MemoryParameters& memory, const RowShape& shape,
                                  const RowKernel& kernel, L2State l2);

/// What an eager framework adds to kernels that take `kernel` each without their floor: the floors,
/// and the gaps of a graph or the events and the dispatch around the calls. (eq. B8)
[[nodiscard]] Time framework_launch_time(const MemoryParameters& memory, Time kernel,
                                         double kernels, LaunchMode mode);

}  // namespace ridge::model
