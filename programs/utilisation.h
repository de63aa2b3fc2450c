// How far a step uses what the GPU can do at most: its FLOP rate (MFU) and its DRAM (MBU).
//
//   const Utilisation used = utilisation_of(step, time, machine);
//   used.flop;      // 0.41: MFU, 41 % of the peak
//   used.bandwidth; // 0.17: MBU, 17 % of the DRAM bandwidth
//
// Method (W10, W11 of docs/models.md): the time that the products and attention of a step would
// take at the peaks of their types, and the time that its DRAM bytes would take at the bandwidth of
// the data sheet, over the wall time. Per GPU, so both are at most 1.
// Limits: none of a step with parts that are not modelled.
#pragma once

#include <functional>
#include <optional>

#include "model/machine/machine.h"
#include "programs/model_step.h"

namespace ridge::programs {

struct Utilisation {
    std::optional<double> flop;       ///< MFU; empty without a peak
    std::optional<double> bandwidth;  ///< MBU
};

/// The time that the products and attention of the entries that `counted` accepts would take at the peaks
/// of their types; without what a training step runs again to save memory. (W10)
[[nodiscard]] Time time_at_peak(const ModelStep& step, const StepTime& time,
                                const std::function<bool(const Entry&)>& counted);

[[nodiscard]] Utilisation utilisation_of(const ModelStep& step, const StepTime& time,
                                         const model::Machine& machine);

}  // namespace ridge::programs
