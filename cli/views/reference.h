// What tells this machine from the description of its GPU, said at the start of a measuring run.
#pragma once

#include "cli/console/context.h"
#include "cli/input/machines.h"
#include "measure/run/reference.h"

namespace ridge::cli {

/// Takes the reference of the device and says on `err` what differs from the description of `gpu`
/// (empty: the one that the device's own name finds), and what to do about it.
[[nodiscard]] measure::MachineReference noted_reference(const Context& context,
                                                        measure::Device& device,
                                                        const Machines& machines,
                                                        const std::string& gpu);

}  // namespace ridge::cli
