#include "programs/traffic/timeline.h"

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
    for (std::size_t i = 0; 2 * i + 1 < samples_.size(); ++i) {
        TrafficSample both = samples_[2 * i];
        extend(both, samples_[2 * i + 1]);
        samples_[i] = both;
    }
    samples_.resize(most / 2);
    width_ *= 2;
}

}  // namespace ridge::programs
