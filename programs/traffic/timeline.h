// The state of a server over time, in at most 512 stretches.
//
//   TrafficTimeline timeline;
//   timeline.add(from_ns, to_ns, {.running = 12.0});
//   timeline.take()                       // means over stretches that double when there are too many
#pragma once

#include <cstdint>
#include <vector>

#include "programs/traffic/simulation.h"

namespace ridge::programs {

class TrafficTimeline {
  public:
    /// Stretches follow each other; those of `state` are not read.
    void add(std::int64_t from, std::int64_t to, const TrafficSample& state);
    [[nodiscard]] std::vector<TrafficSample> take() { return std::move(samples_); }

  private:
    void halve();

    static constexpr std::size_t most = 512;
    std::vector<TrafficSample> samples_;
    std::int64_t width_ = 1'000'000;
};

}  // namespace ridge::programs
