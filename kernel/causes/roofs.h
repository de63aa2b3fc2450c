// The rates of one GPU that the cause split and the reading of machine code need, as plain numbers.
//
//   const std::optional<Roofs> roofs = roofs_of(make_machine(catalogue().at("h100-sxm")));
//   roofs->dram_seconds(268e6, 268e6)      // 188 us: what a good copy takes
//
// Limits: only NVIDIA GPUs whose pipes are known (kernel/pipes/pipes.toml).
#pragma once

#include <cstdint>
#include <optional>

#include "model/machine/machine.h"

namespace ridge::kernel {

/// Results per clock of a multiprocessor.
struct PipeLanes {
    double fma = 0.0;
    double alu = 0.0;
    double fp64 = 0.0;
    double xu = 0.0;
    double lsu = 0.0;
    double fp16 = 0.0;
    double uniform = 0.0;
    double mma_share = 1.0;  ///< of the tensor peak that instructions of one warp reach
};

struct Roofs {
    double multiprocessors = 0.0;
    double clock = 0.0;           ///< Hz, the highest
    double schedulers = 4.0;      ///< of a multiprocessor
    double warps = 64.0;          ///< that a multiprocessor can hold
    double l2_bytes_per_s = 0.0;  ///< reached by all multiprocessors
    double line_bytes = 128.0;    ///< that L1 and shared memory deliver in a clock
    double kernel_floor = 0.0;    ///< s, of an empty kernel
    double dram_latency = 0.0;    ///< s, under load
    double idle_latency = 0.0;    ///< s, of one load alone
    PipeLanes lanes{};
    model::MemoryParameters memory{};  ///< sustained rates of DRAM
    std::optional<model::SmLimits> limits{};

    /// What a good stream of these bytes takes. (eq. B1)
    [[nodiscard]] double dram_seconds(double read, double written) const;
};

/// Lanes of an architecture; empty if pipes.toml does not describe it.
[[nodiscard]] std::optional<PipeLanes> lanes_of(std::int32_t compute_capability);

/// Empty if the GPU is not described well enough.
[[nodiscard]] std::optional<Roofs> roofs_of(const model::Machine& machine);

}  // namespace ridge::kernel
