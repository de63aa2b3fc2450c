// Takes timing samples of a launch by events behind a gate, activity records or graph replay.
//
// Method for one sample by events (NVIDIA's nvbench times the same way): a gate holds the stream
// while everything is queued: flush (cold L2 only), stamp, event, the operation, event, stamp. Then
// the gate opens, so no host delay falls between the events, and the stamps give the mean SM clock
// of this run. With a warm L2, the previous run has left the operands in L2 as far as they fit. The
// launch mode `stream` omits the gate. A graph holds enough repetitions to last about a millisecond
// (only one when L2 must be cold), and its time is divided by their number. Activity records add up
// the kernels' own durations; flush and stamps run on another stream, whose number excludes them.
//
//   Stopwatch watch(132, 1980 * units::MHz);
//   const std::vector<Sample> samples =
//       watch.sample(launch, {.l2 = L2State::cold, .count = 10}, tracer);
//
// Precision: events read about 2.4 us more than the kernels take. The reading for an empty kernel,
// minus that kernel's own duration, is measured once and subtracted. The remaining resolution of
// about 0.5 us still makes activity records or graphs the better choice under 20 us. The clock is
// the mean between the stamps; it is absent under 8 us.
// Limits: a sample is `throttled` when its clock is under 60 % of the highest clock. Tensor kernels
// settle between 65 and 80 % from the power limit alone.
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

    /// Takes `request.count` samples after a warm-up. `tracer` may be null unless the method is
    /// activity.
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
    /// How many seconds more a pair of events reads than the work between them takes; 0 without
    /// activity records.
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
