// A recorded program, replayed with other kernels and another host: how long would it take from its first kernel to its
// last?
//
//   const TraceReplay replay(trace);
//   TraceChange change = replay.no_change();
//   change.kernels[3] = 0.5;                        // this kernel takes half as long
//   replay.span_ns(change);                         // nothing changed: the recorded span
//
// Method (docs/model.md S14). The host's calls run in their recorded order, one after another, with the recorded time between
// them, whichever thread they are of. A call that waits for the GPU (a synchronisation, a copy to or from pageable memory)
// ends when the kernels launched before it have ended, as far as they had when it was recorded. A kernel begins when its
// launch has been issued, its stream is free and, where it began at the end of a kernel of another stream, that one has ended;
// what its recorded start lies beyond these stays. The start of a program is left out, as in timeline.h.
//
// Limits: threads that launch at the same time are one host. A dependency that did not delay a recorded kernel is not seen.
#pragma once

#include <cstdint>
#include <vector>

#include "programs/report/intervals.h"
#include "programs/traces/trace.h"

namespace ridge::programs {

struct TraceChange {
    std::vector<double> kernels{};  ///< of each kernel: its new time over the recorded one
    std::vector<bool>
        returns{};         ///< of each launch: it takes no longer than one that does not wait
    Intervals left_out{};  ///< time of the host, merged
    Intervals doubled{};   ///< the same, that it takes twice
};

class TraceReplay {
  public:
    explicit TraceReplay(const Trace& trace);

    [[nodiscard]] TraceChange no_change() const;
    /// From the first kernel to the last one, added up over the GPUs.
    [[nodiscard]] std::int64_t span_ns(const TraceChange& change) const;

  private:
    /// A call of the host, or a kernel that no call in the trace launched.
    struct Call {
        std::int64_t start_ns = 0;
        std::int64_t end_ns = 0;
        std::int32_t launch = none;
        bool waits = false;                  ///< for what was launched before
        std::vector<std::size_t> kernels{};  ///< that it launches, by their start
        std::vector<std::size_t>
            waited_for{};            ///< the last kernel of each stream that it waits for
        std::int64_t waited_ns = 0;  ///< when the last of these ended
    };
    /// What a kernel begins after.
    struct Place {
        std::int32_t before = none;  ///< the kernel before it on its stream
        std::int32_t other = none;   ///< a kernel of another stream
        std::int32_t launch = none;
        std::int64_t rest_ns = 0;  ///< how much later it began than these explain
    };
    class Run;

    void find_calls();
    void find_places();
    void find_usual();
    void find_waits();
    [[nodiscard]] std::int32_t ended_beside(std::size_t kernel) const;

    const Trace& trace_;
    std::vector<Call> calls_;      ///< by start
    std::vector<Place> places_;    ///< of each kernel
    std::int64_t gap_ns_ = 0;      ///< usual, between two kernels of a stream
    std::int64_t latency_ns_ = 0;  ///< usual, from a launch to its kernel on an idle stream
    std::int64_t brief_ns_ = 0;    ///< usual, of a call that does not wait
};

}  // namespace ridge::programs
