// Several GPUs as one device to measure: a process for each, led from here.
//
//   const Maybe<std::unique_ptr<Device>> opened = open_group({.gpus = 2});
//   measure_one(*std::get<std::unique_ptr<Device>>(opened), question, options);
//
// Method: each step (open, join, prepare, verify, sample) is sent to all ranks and ends when all
// have answered. Times of the ranks are combined (combine.h). `kernel` samples start together on all
// GPUs and are read from activity records; a `graph` holds repetitions that last about a
// millisecond; `stream` is the time of one call in a row of calls from the host, as a program makes
// them.
//
// Errors: a rank that ends, fails or does not answer within `seconds` ends all ranks; the DeviceError
// says which rank and why, and the group is no longer usable.
// Limits: collectives between GPUs only; no counters, no microbenchmarks; the L2 stays warm.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "measure/run/device.h"

namespace ridge::measure {

struct GroupRequest {
    std::int32_t gpus = 2;
    /// What each process runs, before RANK RANKS DEVICE; empty: this program's `measure-rank`.
    std::vector<std::string> command{};
    double seconds = 60.0;  ///< that one step of a rank may take
    model::SwitchAddition nvls = model::SwitchAddition::automatic;  ///< off: NCCL_NVLS_ENABLE=0
};

/// Unavailable with the reason that a rank gives; DeviceError when one ends or hangs.
[[nodiscard]] Maybe<std::unique_ptr<Device>> open_group(const GroupRequest& request);

/// As the environment says: `off` with NCCL_NVLS_ENABLE=0.
[[nodiscard]] model::SwitchAddition additions_of_environment();

/// Number of GPUs that the operation needs if it is a collective between GPUs, otherwise empty.
[[nodiscard]] std::optional<std::int32_t> ranks_of(const model::Operation& operation);

}  // namespace ridge::measure
