// The roofline: what bounds a piece of work at a GPU's datasheet rates.
//
//   const Roofs roofs = roofs_of(machine, DataType::bf16);
//   Prediction p = roofline(work, roofs, machine);
//   p.ridge, p.algorithmic, p.attainable, p.bound, p.lower_bound, p.terms
//
// Method: each resource needs amount / rate, and no run is faster than the largest of these times
// (docs/model.md R1 to R4, after Williams, Waterman and Patterson 2009). Calibrated time models
// start from `counted` and set their own time, terms and band.
#pragma once

#include <optional>

#include "model/core/prediction.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// Rates of one element type on one machine. A rate that the machine does not have is absent.
struct Roofs {
    std::optional<FlopRate> tensor;
    std::optional<FlopRate> vector;
    std::optional<double> special;  ///< results per second
    Bandwidth dram;
    std::optional<Bandwidth> l2;
    std::optional<Bandwidth> shared;
};

/// Tensor rate of `type`; vector rate of the type that the vector pipe computes in (fp32 for the
/// 16- and 8-bit types, whose elementwise arithmetic is done in fp32).
[[nodiscard]] Roofs roofs_of(const Machine& machine, DataType type);

/// Fills in work, peak, bandwidth, ridge point and compulsory bytes, from which every time model
/// starts.
[[nodiscard]] Prediction counted(const Work& work, const Roofs& roofs);
/// The same in a prediction that exists already, since predictions are long to copy.
void set_counted(Prediction& prediction, const Work& work, const Roofs& roofs);

/// Adds the terms of the roofline and their time, if there is no other model.
void add_roofline(Prediction& prediction, const Roofs& roofs, const Machine& machine);

/// Fills in work, terms, ridge point and lower bound. `time` is the lower bound plus the launch
/// floor of each kernel (R5). The caller sets the band; `settle_account` sets intensities, bound
/// and limiter.
[[nodiscard]] Prediction roofline(const Work& work, const Roofs& roofs, const Machine& machine);

/// What launching adds to short kernels (B8): `launch_overhead` with the machine's costs.
[[nodiscard]] Time launch_gaps(const Machine& machine, LaunchMode mode, std::int32_t kernels);

/// The same for library kernels whose parameters were fitted to replayed graphs of public tables.
/// It uses the gap of those tables, `model.library.graph_gap`.
[[nodiscard]] Time library_gaps(const Machine& machine, LaunchMode mode, std::int32_t kernels);

/// Whether the resource is arithmetic: pipes and the issue slots that feed them.
[[nodiscard]] bool is_compute(Resource resource);

/// Sets intensities, attainable rate and bound from work, peak and bandwidth. (R1 to R4)
void settle_intensities(Prediction& prediction);

/// Sets `limiter` from the terms: the largest of them. (R8)
void settle_limiter(Prediction& prediction);

}  // namespace ridge::model
