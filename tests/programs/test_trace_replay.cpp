// Replays of recorded programs: unchanged ones take what was recorded, changed ones what the change leaves.
#include "programs/report/trace_replay.h"

#include <string>

#include "programs/traces/timeline.h"
#include "programs/traces/trace_builder.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::programs;

namespace {

constexpr std::int64_t us = 1000;

/// Calls and kernels in microseconds; each call launches what follows it.
class HostAndGpu {
  public:
    HostAndGpu() : builder_(trace_) {}

    void call(const char* name, std::int64_t start, std::int64_t end) {
        builder_.add(
            Launch{.name = builder_.text(name), .start_ns = start * us, .end_ns = end * us},
            ++correlation_);
    }
    void kernel(std::int64_t start, std::int64_t end, std::int64_t stream = 7,
                const char* name = "k") {
        builder_.add(
            Kernel{.name = builder_.text(name),
                   .kind = std::string(name) == "k" ? ActivityKind::kernel : ActivityKind::copy,
                   .start_ns = start * us,
                   .duration_ns = (end - start) * us,
                   .stream = stream},
            {.correlation = correlation_});
    }
    const Trace& finish() {
        builder_.finish();
        return trace_;
    }

  private:
    Trace trace_;
    TraceBuilder builder_;
    std::int64_t correlation_ = 0;
};

/// Two kernels, each launched long before it begins, a wait for them, and a third one.
void queued(HostAndGpu& program) {
    program.call("cudaLaunchKernel", 0, 5);
    program.kernel(8, 108);
    program.call("cudaLaunchKernel", 5, 10);
    program.kernel(110, 210);
    program.call("cudaStreamSynchronize", 12, 214);
    program.call("cudaLaunchKernel", 220, 225);
    program.kernel(228, 328);
}

}  // namespace

TEST_CASE("an unchanged program takes as long as it took", "[replay]") {
    for (const char* name : {"trace_gpt2_train", "trace_llama_prefill", "trace_llama_compiled",
                             "attention_step", "trace_jax"}) {
        const Trace trace = read_trace(std::string(RIDGE_TRACES "/") + name + ".json.gz");
        const TraceReplay replay(trace);
        INFO(name);
        CHECK(replay.span_ns(replay.no_change()) == timeline_of(trace).span_ns);
    }
    CHECK(TraceReplay(Trace{}).span_ns({}) == 0);
}

TEST_CASE("shorter kernels end a wait of the host sooner", "[replay]") {
    HostAndGpu program;
    queued(program);
    const TraceReplay replay(program.finish());
    TraceChange change = replay.no_change();
    CHECK(replay.span_ns(change) == 320 * us);
    change.kernels[1] = 0.5;
    CHECK(replay.span_ns(change) == 270 * us);
    change.kernels[1] = 2.0;
    CHECK(replay.span_ns(change) == 420 * us);
    // The host needs 220 - 214 after the wait, and the launch its time.
    change.kernels = {0.0, 0.0, 1.0};
    CHECK(replay.span_ns(change) == (12 - 8 + 4 + 6 + 8 + 100) * us);
}

TEST_CASE("time of the host that is left out counts only where the GPU waits for it", "[replay]") {
    HostAndGpu program;
    program.call("cudaLaunchKernel", 0, 5);
    program.kernel(8, 108);
    program.call("cudaLaunchKernel", 400, 405);
    program.kernel(408, 508);
    const TraceReplay replay(program.finish());
    TraceChange change = replay.no_change();
    CHECK(replay.span_ns(change) == 500 * us);
    change.left_out = {{100 * us, 200 * us}};
    CHECK(replay.span_ns(change) == 400 * us);
    change.left_out = {{5 * us, 400 * us}};
    CHECK(replay.span_ns(change) == 200 * us);  // the first kernel runs on
}

TEST_CASE("a kernel waits for another stream, and a copy from pageable memory holds the host",
          "[replay]") {
    HostAndGpu program;
    program.call("cudaMemcpyAsync", 0, 103);
    program.kernel(3, 101, 9, "Memcpy HtoD (Pageable -> Device)");
    program.call("cudaLaunchKernel", 104, 106);
    program.kernel(107, 157, 7);
    program.call("cudaLaunchKernel", 107, 109);
    program.kernel(158, 258, 9);  // after the kernel of stream 7
    const TraceReplay replay(program.finish());
    TraceChange change = replay.no_change();
    CHECK(replay.span_ns(change) == 255 * us);
    change.kernels[1] = 0.0;
    CHECK(replay.span_ns(change) < 210 * us);
    change = replay.no_change();
    change.kernels[0] = 0.0;
    CHECK(replay.span_ns(change) == 255 * us - 98 * us);
    change = replay.no_change();
    change.kernels[0] = 0.5;
    change.returns[0] = true;
    CHECK(replay.span_ns(change) < 255 * us - 49 * us);
}
