// The reference of a machine: three short microbenchmarks at the start of each measuring run.
//
//   const MachineReference reference = take_reference(device);        // under a second
//   for (const Difference& each : differences(reference, description)) ...
//
// Method: an empty kernel, a copy of 1 GiB arrays and products of bf16 on the tensor cores in short
// kernels, as `calibrate` measures them, medians of the samples that were not throttled. They are
// compared with the values of the same microbenchmarks in the GPU's description, where it has them:
// one H100 launches its smallest kernels in 1.44 us, another in 1.15, and everything small is then a
// fifth off on one of them.
// Limits: a description without measured ceilings has at most the launch to compare with.
#pragma once

#include <string>
#include <vector>

#include "hardware/description.h"
#include "measure/record/record.h"
#include "measure/run/device.h"

namespace ridge::measure {

/// What the device cannot run stays empty.
[[nodiscard]] MachineReference take_reference(Device& device);

struct Difference {
    std::string what{};       ///< "an empty kernel"
    std::string path{};       ///< of the field: "launch.kernel"
    std::string here{};       ///< "1.44 us"
    std::string described{};  ///< "1.15 us"
    double ratio = 1.0;       ///< here over described
};

/// Runs on one machine agree better than this.
inline constexpr double usual_difference = 0.05;

/// What differs from the description by more than `usual_difference`.
[[nodiscard]] std::vector<Difference> differences(const MachineReference& reference,
                                                  const hardware::Description& gpu);

}  // namespace ridge::measure
