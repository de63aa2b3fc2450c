// Replaces measure/cuda/ranks/ in a build without CUDA.
#include "measure/ranks/link_survey.h"
#include "measure/ranks/rank.h"
#include "measure/ranks/topology.h"

namespace ridge::measure {

namespace {

Unavailable no_cuda() {
    return {.reason = "this build of ridge has no CUDA support",
            .remedy =
                "install the CUDA Toolkit (13.0 or newer) and build with -DRIDGE_CUDA=ON; "
                "predictions need no GPU"};
}

}  // namespace

Maybe<std::unique_ptr<Rank>> open_rank(const RankPlace&) {
    return no_cuda();
}

Maybe<LinkSurvey> survey_links() {
    return no_cuda();
}

std::int32_t device_count() {
    return 0;
}

std::vector<GpuPlace> topology() {
    return {};
}

}  // namespace ridge::measure
