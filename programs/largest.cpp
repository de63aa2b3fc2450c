#include "programs/largest.h"

#include <algorithm>
#include <functional>

namespace ridge::programs {
namespace {

constexpr std::int64_t most_tokens = 10'000'000'000;

/// The largest size up to `most` for which `holds` is true; 0 if there is none.
std::int64_t largest(std::int64_t most, const std::function<bool(std::int64_t)>& holds) {
    if (most < 1 || !holds(1)) return 0;
    std::int64_t fitting = 1;
    std::int64_t beyond = 2;
    while (beyond <= most && holds(beyond)) {
        fitting = beyond;
        beyond *= 2;
    }
    beyond = std::min(beyond, most + 1);
    while (beyond - fitting > 1) {
        const std::int64_t middle = fitting + (beyond - fitting) / 2;
        (holds(middle) ? fitting : beyond) = middle;
    }
    return fitting;
}

}  // namespace

bool fits(const Architecture& architecture, const Request& request, std::int64_t usable) {
    return memory_of(make_step(architecture, request)).reserved <= usable;
}

std::int64_t largest_batch(const Architecture& architecture, const Request& request,
                           std::int64_t usable) {
    const std::int64_t most = std::min(most_batch, most_tokens / request.seq);
    return largest(most, [&](std::int64_t batch) {
        Request other = request;
        other.batch = batch;
        return fits(architecture, other, usable);
    });
}

std::int64_t largest_length(const Architecture& architecture, const Request& request,
                            std::int64_t usable) {
    std::int64_t most = std::min(most_length, most_tokens / request.batch);
    const std::int64_t positions = architecture.value("positions");
    if (positions > 0) most = std::min(most, positions);
    return largest(most, [&](std::int64_t seq) {
        Request other = request;
        other.seq = seq;
        return fits(architecture, other, usable);
    });
}

}  // namespace ridge::programs
