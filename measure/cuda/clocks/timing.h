// Taking samples of a launch: events behind a gate, activity records, graph replay.
//
// Method, one sample by events (NVIDIA's nvbench times the same way): a gate holds the stream while
// everything is queued: flush (cold L2 only), stamp, event, the operation, event, stamp; then the
// gate opens. So no host delay lies between the events, and the stamps give the mean SM clock of
// this very run. Warm: the previous run left the operands in L2 as far as they fit. `stream` launch
// mode leaves the gate out. A graph holds so many repetitions that they last about a millisecond
// (a single one when L2 is to be cold) and its time is divided by them. Activity records sum the
// kernels' own durations; flush and stamps run on another stream and are left out by its number.
//
//   Stopwatch watch(132, 1980 * units::MHz);
//   const std::vector<Sample> samples = watch.sample(launch, {.l2 = L2State::cold, .count = 10},
//   tracer);
//
// Claimed precision: events read some 2.4 us more than the kernels take. What they read for an
// empty kernel, less that kernel's own duration, is measured once and taken off; the remaining
// resolution of about 0.5 us still makes activity or graph the better choice under 20 us. The clock
// is that of the time between the stamps; it is absent under 8 us. Limits: a sample is `throttled`
// when its clock is under 60 % of the highest: tensor kernels under the power limit alone settle
// between 65 and 80 %.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "measure/cuda/clocks/activity.h"
#include "measure/cuda/clocks/clock_kernels.h"
#include "measure/cuda/kernels/l2_flush.h"
#include "measure/cuda/memory/handles.h"
#include "measure/run/device.h"

namespace ridge::measure::cuda {

class Stopwatch {
  public:
    Stopwatch(int multiprocessors, std::optional<Frequency> highest_clock);

    /// `request.count` samples after a warm-up. `tracer` may be null unless the method is activity.
    [[nodiscard]] std::vector<Sample> sample(const Launch& launch, const SampleRequest& request,
                                             ActivityTracer* tracer);
    void flush();
    [[nodiscard]] const Stream& stream() const { return stream_; }

  private:
    [[nodiscard]] std::vector<Sample> by_events(const Launch& launch, const SampleRequest& request);
    [[nodiscard]] std::vector<Sample> by_graph(const Launch& launch, const SampleRequest& request);
    [[nodiscard]] std::vector<Sample> by_activity(const Launch& launch,
                                                  const SampleRequest& request,
                                                  ActivityTracer& tracer);
    [[nodiscard]] Sample one(const Launch& launch, model::L2State l2, bool gated);
    [[nodiscard]] Sample finished(double seconds, std::optional<Frequency> clock) const;
    void warm_up(const Launch& launch);
    /// Seconds that a pair of events reads beyond the work between them; 0 without activity
    /// records.
    [[nodiscard]] double event_overhead(ActivityTracer* tracer);
    [[nodiscard]] L2Flush& flusher();

    std::optional<Frequency> highest_clock_;
    Stream stream_;
    Stream side_stream_;
    Event start_;
    Event stop_;
    Event side_ready_;
    Gate gate_;
    StampPair stamps_;
    std::unique_ptr<L2Flush> flush_;
    std::optional<double> event_overhead_;
};

}  // namespace ridge::measure::cuda
