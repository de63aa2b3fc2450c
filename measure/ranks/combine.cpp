#include "measure/ranks/combine.h"

#include <algorithm>

#include "hardware/error.h"

namespace ridge::measure {

Sample combine(std::span<const RankSample> ranks, const RankSampleRequest& request) {
    RIDGE_CONTRACT(!ranks.empty());
    Time first = ranks.front().start;
    Time last = first;
    Time end = first;
    Sample sample;
    for (const RankSample& rank : ranks) {
        first = std::min(first, rank.start);
        last = std::max(last, rank.start);
        end = std::max(end, rank.start + rank.duration);
        sample.throttled = sample.throttled || rank.throttled;
        if (rank.clock) sample.clock = std::min(sample.clock.value_or(*rank.clock), *rank.clock);
    }
    sample.time = (end - last) / static_cast<double>(request.repetitions);
    if (ranks.size() > 1) sample.skew = last - first;
    return sample;
}

Verification worst(std::span<const RankVerdict> verdicts) {
    Verification sum{.ok = !verdicts.empty()};
    for (const RankVerdict& verdict : verdicts) {
        const Verification& one = verdict.verification;
        sum.max_error = std::max(sum.max_error, one.max_error);
        sum.frobenius_error = std::max(sum.frobenius_error, one.frobenius_error);
        sum.tolerance = std::max(sum.tolerance, one.tolerance);
        sum.checked += one.checked;
        sum.ok = sum.ok && one.ok;
    }
    return sum;
}

}  // namespace ridge::measure
