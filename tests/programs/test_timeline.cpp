// Busy and idle time of a GPU, worked out by hand.
#include "programs/traces/timeline.h"

#include "tests/catch.h"

using namespace ridge::programs;

namespace {

struct KernelAt {
    std::int64_t start;
    std::int64_t duration;
    std::int64_t launched = -1;  ///< when the call that launched it returned
    const char* name = "k";
    std::int64_t device = 0;
};

Trace trace_of(const std::vector<KernelAt>& kernels) {
    Trace trace;
    for (const KernelAt& at : kernels) {
        Kernel kernel{.name = trace.texts.add(at.name)};
        kernel.start_ns = at.start;
        kernel.duration_ns = at.duration;
        kernel.device = at.device;
        if (at.launched >= 0) {
            kernel.launch = static_cast<std::int32_t>(trace.launches.size());
            trace.launches.push_back({.start_ns = at.launched - 5, .end_ns = at.launched});
        }
        trace.kernels.push_back(kernel);
    }
    return trace;
}

}  // namespace

TEST_CASE("gaps are idle time, and late launches are the host's share of it", "[trace]") {
    // Busy 0-100, 110-200 (launched in time), 300-400 (its launch returned at 290).
    const Timeline timeline = timeline_of(trace_of({{0, 100, 0}, {110, 90, 50}, {300, 100, 290}}));
    CHECK(timeline.span_ns == 400);
    CHECK(timeline.kernel_ns == 290);
    CHECK(timeline.busy_ns == 290);
    CHECK(timeline.idle_ns() == 110);
    CHECK(timeline.host_late_ns == 90);
    CHECK(timeline.gaps == 2);
}

TEST_CASE("overlapping kernels count once as busy time and twice as kernel time", "[trace]") {
    const Timeline timeline = timeline_of(trace_of({{0, 100}, {20, 30}, {90, 60}, {160, 10}}));
    CHECK(timeline.kernel_ns == 200);
    CHECK(timeline.busy_ns == 160);
    CHECK(timeline.idle_ns() == 10);
    CHECK(timeline.host_late_ns == 0);  // the launch times are unknown
}

TEST_CASE("communication is hidden while another kernel runs", "[trace]") {
    const char* nccl = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
    const Timeline timeline =
        timeline_of(trace_of({{0, 100}, {50, 200, -1, nccl}, {120, 30}, {300, 50, -1, nccl}}));
    CHECK(timeline.communication_ns == 250);
    CHECK(timeline.communication_hidden_ns == 50 + 30);
}

TEST_CASE("a program's start is left out, up to its last long gap before the work", "[trace]") {
    constexpr std::int64_t ms = 1'000'000;
    const char* nccl = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";
    std::vector<KernelAt> kernels{{0, ms, 0},
                                  {900 * ms, ms, 900 * ms},         // the model is built
                                  {950 * ms, 400 * ms, -1, nccl},   // waits for another rank
                                  {1900 * ms, 2 * ms, 1900 * ms}};  // the first call is planned
    for (std::int64_t step = 0; step < 50; ++step) {
        kernels.push_back({(2000 + 10 * step) * ms, 9 * ms, (2000 + 10 * step) * ms});
    }
    const Trace trace = trace_of(kernels);
    const Timeline timeline = timeline_of(trace);
    CHECK(timeline.starting_ns == 2000 * ms);
    CHECK(timeline.starting_kernels == 4);
    CHECK(timeline.span_ns == 499 * ms);
    CHECK(timeline.busy_ns == 450 * ms);
    CHECK(timeline.kernel_ns == (450 + 4 + 400) * ms);
    CHECK(timeline.late_ns[3] == 0);
    CHECK(started_at(trace, 0) == 2000 * ms);
    // A long gap in the middle of the work is idle time: the user may do something about it.
    std::vector<KernelAt> interrupted;
    for (std::int64_t step = 0; step < 50; ++step) {
        const std::int64_t at = (10 * step + (step < 20 ? 0 : 300)) * ms;
        interrupted.push_back({at, 9 * ms, at});
    }
    CHECK(timeline_of(trace_of(interrupted)).starting_ns == 0);
    CHECK(timeline_of(trace_of(interrupted)).host_late_ns > 300 * ms);
}

TEST_CASE("two GPUs add up; no kernels give zeros", "[trace]") {
    const Timeline two = timeline_of(trace_of({{0, 100}, {1000, 50, -1, "k", 1}, {200, 100}}));
    CHECK(two.span_ns == 300 + 50);
    CHECK(two.idle_ns() == 100);
    CHECK(timeline_of(Trace{}).span_ns == 0);
}
