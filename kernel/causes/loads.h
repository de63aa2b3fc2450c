// How long each resource of the GPU is busy with a kernel, and how much of that the kernel needs.
//
// Method (equations KC2 to KC9 of docs/kernel.md). Every resource has a full-rate time: what was
// counted over the rate of the resource. Parts of it are waste with a known cause: sectors of which
// the threads asked for a part, DRAM bytes beyond the memory that the arguments reach, wavefronts of
// bank conflicts, lanes that are off, local memory. Only DRAM, L2 and the arithmetic of the result
// are roofs that a kernel should meet; a pipe that is busier than they are is pressure.
//
//   const Loads loads = loads_of(counted, roofs);
//   loads.ideal                                    // s: the largest roof without waste
//   loads.busiest().resource                       // Resource::dram
//
// Limits: counters do not show which FLOP the result needs. Bytes that the copy engine (TMA) moves
// count as needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/causes/cause.h"
#include "kernel/causes/counted.h"
#include "kernel/causes/roofs.h"

namespace ridge::kernel {

enum class Resource : std::uint8_t { dram, l2, l1, fma, alu, fp64, xu, lsu, issue, tensor, atomic };
[[nodiscard]] std::string_view name_of(Resource resource);

/// Seconds that a cause adds to a resource.
struct Waste {
    Cause cause = Cause::uncoalesced;
    double seconds = 0.0;
};

struct Load {
    Resource resource = Resource::dram;
    double seconds = 0.0;                   ///< full-rate time of what was counted
    double needed = 0.0;                    ///< without the waste
    bool is_roof = false;                   ///< `needed` is part of the ideal
    Cause pressure = Cause::pipe_pressure;  ///< the cause of `needed` beyond the ideal
    std::vector<Waste> wastes{};

    void waste(Cause cause, double amount);
};

struct Loads {
    std::vector<Load> all;
    double ideal = 0.0;  ///< s
    Resource roof = Resource::dram;
    double clock = 0.0;               ///< Hz while it was counted
    double lanes_on = 1.0;            ///< share of the lanes of executed instructions
    double lanes_active = 1.0;        ///< the same, of lanes on this path, whatever their predicate
    double shared_atomics = 0.0;      ///< share of the instructions on shared memory
    double conflicts = 0.0;           ///< share of the wavefronts of shared memory
    double scattered = 0.0;           ///< share of global sectors' bytes that nobody asked for
    double scattered_far = 0.0;       ///< the same of what L1 did not hold
    double repeated = 0.0;            ///< share of asked bytes beyond the memory of the arguments
    double local_share = 0.0;         ///< of the sectors
    double atomic_share = 0.0;        ///< of the memory instructions
    double bytes_per_access = 16.0;   ///< of a thread
    double skipped = 0.0;             ///< share of the accesses of which no lane was on
    Cause skips = Cause::divergence;  ///< the cause of these
    double slipped = 0.0;  ///< share of the instructions that are fp64 by a slip of the type
    bool knows_flop = false;

    [[nodiscard]] const Load& of(Resource resource) const;
};

[[nodiscard]] Loads loads_of(const Counted& counted, const Roofs& roofs);

}  // namespace ridge::kernel
