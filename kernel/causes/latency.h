// What the warps wait for while no resource is busy: the stall reasons of the warp schedulers,
// shared out among causes.
//
// Method (equations KC10 to KC14 of docs/kernel.md). A stall reason belongs to one cause or is
// divided by its own counters: waiting for memory by local loads, atomics and what would let more
// bytes be in flight (wider accesses, more warps, more loads of a warp, fewer sectors), each in
// proportion to the logarithm of the factor that it could gain. Reasons without a rule stay
// unexplained.
//
//   const LatencyShares shares = latency_of(counted, loads, roofs);
//   shares.of.at(Cause::barriers)       // 0.7: of the time that no resource explains
//   shares.unexplained                  // 0.05
#pragma once

#include <map>
#include <string>

#include "kernel/causes/loads.h"
#include "model/machine/occupancy.h"

namespace ridge::kernel {

/// How many warps a multiprocessor holds, and why not more.
struct Residency {
    double possible = 0.0;   ///< warps, by registers, shared memory and block
    double from_grid = 0.0;  ///< warps, if the grid has fewer blocks than fit
    model::OccupancyLimiter limiter = model::OccupancyLimiter::threads;
    bool is_known = false;
};

[[nodiscard]] Residency residency_of(const Counted& counted, const Roofs& roofs);

struct LatencyShares {
    std::map<Cause, double> of;  ///< shares of the time that no resource explains
    double unexplained = 1.0;
    /// By how much each could raise the bytes in flight, as the logarithm to the base 2.
    std::map<Cause, double> gains;
    std::string pipe;              ///< the pipe of `pipe_pressure`
    double loads_in_flight = 0.0;  ///< of a waiting warp, as far as known; 0: not known
};

/// Whether stall reasons were counted, without which a split says little.
[[nodiscard]] bool has_stall_reasons(const Counted& counted);

[[nodiscard]] LatencyShares latency_of(const Counted& counted, const Loads& loads,
                                       const Roofs& roofs);

}  // namespace ridge::kernel
