// A kernel that no operation of the model describes, by what it keeps busy. (eq. S6)
//
//   const KernelWork turned{.moved = 2 * bytes, .clocks = 0.45 * elements};
//   time_of(turned, machine)->time
//
// Method: the longest of the bytes at what a stream reaches of DRAM, and the work of the multiprocessors: tensor
// FLOP of whole tiles at a share of the peak, and clocks that were measured per element. Blocks that
// do not fill the last wave leave multiprocessors idle; blocks of a chain that is long (one a channel)
// overlap with the others on their multiprocessor but for their own latency.
//
// Limits: shares and clocks come from cuDNN's and PyTorch's kernels on an H200 (docs/model.md); other
// GPUs take them as they are.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/core/data_type.h"
#include "model/machine/machine.h"

namespace ridge::programs {

struct KernelWork {
    double moved = 0.0;        ///< bytes of DRAM
    double clocks = 0.0;       ///< of one multiprocessor, for all blocks together
    double tensor_flop = 0.0;  ///< of whole tiles
    double useful_flop = 0.0;  ///< without what pads them
    double efficiency = 1.0;   ///< of the peak that the multiprocessors' tiles reach
    model::DataType type = model::DataType::bf16;
    std::int64_t tiles = 0;       ///< 0: the work is spread evenly
    std::int64_t chains = 0;      ///< blocks with a chain each
    double chain_clocks = 0.0;    ///< latency of one chain
    double block_clocks = 0.0;    ///< what each chain on a multiprocessor adds
    double longest_clocks = 0.0;  ///< of the longest block: all take no less
    bool growing = false;         ///< blocks grow in their order, so that the longest come last
    double dram_share =
        0.78;             ///< of the DRAM bandwidth, of kernels not written for streaming alone
    double floors = 4.0;  ///< kernels that do nothing, as long as several waves fill and drain
};

struct KernelTime {
    Time time;
    Time lower_bound;
    bool memory_bound = false;  ///< bytes take longer than FLOP, both at their peaks
    bool streams = false;       ///< the time is that of the bytes
};

/// Empty where the machine lacks what it takes: multiprocessors, or a peak of the type.
[[nodiscard]] std::optional<KernelTime> time_of(const KernelWork& kernel,
                                                const model::Machine& machine);

/// One after the other.
[[nodiscard]] std::optional<KernelTime> time_of(std::span<const KernelWork> kernels,
                                                const model::Machine& machine);

}  // namespace ridge::programs
