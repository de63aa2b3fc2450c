#include "programs/traffic/timeline.h"

#include <utility>

namespace ridge::programs {
namespace {

/// Makes `a` the mean over itself and `b`, which follows it.
void extend(TrafficSample& a, const TrafficSample& b) {
    const auto first = static_cast<double>(a.to_ns - a.from_ns);
    const auto second = static_cast<double>(b.to_ns - b.from_ns);
    const double share = second > 0.0 ? second / (first + second) : 0.0;
    for (double TrafficSample::*each : {&TrafficSample::running, &TrafficSample::waiting,
                                        &TrafficSample::cache, &TrafficSample::tokens}) {
        a.*each += share * (b.*each - a.*each);
    }
    a.to_ns = b.to_ns;
}

}  // namespace

void TrafficTimeline::add(std::int64_t from, std::int64_t to, const TrafficSample& state) {
    if (samples_.empty() || samples_.back().to_ns - samples_.back().from_ns >= width_) {
        if (samples_.size() == most) halve();
        samples_.push_back({.from_ns = from, .to_ns = from});
    }
    TrafficSample added = state;
    added.from_ns = from;
    added.to_ns = to;
    extend(samples_.back(), added);
}

void TrafficTimeline::halve() {
    // Stretches that are long enough already stay as they are.
    while (samples_.size() > most / 2) {
        width_ *= 2;
        std::vector<TrafficSample> longer;
        for (const TrafficSample& each : samples_) {
            if (longer.empty() || longer.back().to_ns - longer.back().from_ns >= width_) {
                longer.push_back(each);
            } else {
                extend(longer.back(), each);
            }
        }
        samples_ = std::move(longer);
    }
}

}  // namespace ridge::programs
