// Replaces measure/cuda/ranks/ in a build without CUDA.
#include "measure/ranks/rank.h"
#include "measure/ranks/topology.h"

namespace ridge::measure {

Maybe<std::unique_ptr<Rank>> open_rank(const RankPlace&) {
    return Unavailable{.reason = "this build of ridge has no CUDA support",
                       .remedy =
                           "install the CUDA Toolkit (13.0 or newer) and build with "
                           "-DRIDGE_CUDA=ON; predictions need no GPU"};
}

std::int32_t device_count() {
    return 0;
}

std::vector<GpuPlace> topology() {
    return {};
}

}  // namespace ridge::measure
