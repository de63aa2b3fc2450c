// A kernel that no operation of the model describes, given by the resources that it uses. (eq. S6)
//
//   const KernelWork turned{.moved = 2 * bytes, .clocks = 0.45 * elements};
//   time_of(turned, machine)->time
//
// Method: the time is the longer of two: the bytes at the share of the DRAM bandwidth that a stream
// reaches, and the work of the SMs, which is tensor FLOP of whole tiles at a share of the peak plus
// clocks that were measured per element. Blocks that do not fill the last wave leave SMs idle.
// Blocks with a long chain of work (one per channel) overlap with the other blocks on their SM,
// except for their own latency.
//
// Limits: shares and clocks come from cuDNN's and PyTorch's kernels on an H200 (docs/model.md);
// other GPUs use the same values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "model/core/data_type.h"
#include "model/machine/machine.h"
#include "programs/graph/costs.h"

namespace ridge::programs {

/// Sums whose parts lie far apart: how many blocks share one depends on the GPU. (eq. S6)
struct SplitSums {
    std::int64_t results = 0;
    std::int64_t parts = 0;  ///< of a result
};

struct KernelWork {
    double moved = 0.0;        ///< DRAM bytes
    double clocks = 0.0;       ///< of one SM, for all blocks together
    double tensor_flop = 0.0;  ///< of whole tiles
    double useful_flop = 0.0;  ///< without padding
    double efficiency = 1.0;   ///< share of the peak that the SMs' tiles reach
    model::DataType type = model::DataType::bf16;
    std::int64_t tiles = 0;       ///< 0: the work is spread evenly
    std::int64_t chains = 0;      ///< blocks that each work through a chain
    double chain_clocks = 0.0;    ///< latency of one chain
    double block_clocks = 0.0;    ///< what each chain adds on its SM
    double longest_clocks = 0.0;  ///< of the longest block: the kernel takes no less
    bool growing = false;         ///< blocks get longer in launch order, so the longest come last
    double dram_share = cost("work.dram_share");  ///< share of the DRAM bandwidth that is reached
    double floors = cost("work.floors");  ///< kernels that do nothing: waves that fill and drain
    std::optional<SplitSums> sums{};      ///< its chains are those of these sums
};

struct KernelTime {
    Time time;
    Time lower_bound;
    bool memory_bound = false;  ///< bytes take longer than FLOP, both at their peaks
    bool streams = false;       ///< the time is set by the bytes
};

/// Empty if the machine lacks what is needed: SMs, or a peak of the type.
[[nodiscard]] std::optional<KernelTime> time_of(const KernelWork& kernel,
                                                const model::Machine& machine);

/// The time of several kernels, one after another.
[[nodiscard]] std::optional<KernelTime> time_of(std::span<const KernelWork> kernels,
                                                const model::Machine& machine);

}  // namespace ridge::programs
