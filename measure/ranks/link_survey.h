// What the links of this machine carry: between every two GPUs, and between GPUs and the host.
//
//   const Maybe<LinkSurvey> found = survey_links();
//   std::get<LinkSurvey>(found).one_way[0][1]    // from GPU 0 to GPU 1
//
// Method: copies of 256 MiB by the copy engines, between events on the GPU that sends (the median of
// several): one way, and both ways at once, where the rate is the sum of both. The latency of a load is that of a chain
// of dependent loads by one thread over 1 MiB of the other GPU's memory, after one walk over all of it.
// Host copies use pinned memory, in one direction, in both at once, and with all GPUs at once, and
// memory that is not pinned, in which case the host's clock counts.
//
// Limits: one process; GPUs that cannot reach each other's memory have no entry.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hardware/quantity.h"
#include "measure/record/observation.h"

namespace ridge::measure {

/// A value for every ordered pair of GPUs; empty on the diagonal and where there is no path.
template <class Q>
using PairTable = std::vector<std::vector<std::optional<Q>>>;

struct HostLink {
    Bandwidth to_device{};
    Bandwidth to_host{};
    Bandwidth both_ways{};           ///< sum of the two directions at once
    Bandwidth together_to_device{};  ///< of this GPU while all GPUs copy
    Bandwidth together_to_host{};
    Bandwidth pageable_to_device{};
    Bandwidth pageable_to_host{};
};

struct LinkSurvey {
    std::vector<std::string> gpus;       ///< names, in order
    std::vector<std::string> serials{};  ///< of the same; empty in older surveys
    std::string host_name{};
    PairTable<Bandwidth> one_way;    ///< [from][to]
    PairTable<Bandwidth> both_ways;  ///< [from][to]: sum of the two directions at once
    PairTable<Time> load;            ///< [reader][owner]; the diagonal holds the GPU's own memory
    std::vector<HostLink> host;
};

/// Unavailable without a GPU, and in a build without CUDA; DeviceError when a call fails.
[[nodiscard]] Maybe<LinkSurvey> survey_links();

}  // namespace ridge::measure
