#include "measure/cuda/clocks/steady.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <thread>

namespace ridge::measure::cuda {
namespace {

constexpr double replay_seconds = 0.02;
constexpr int most_runs = 200;           // more would fill the queue of launches
constexpr double queued_seconds = 0.02;  // more than a poll takes
constexpr std::size_t fewest_ahead = 3;
constexpr std::size_t most_ahead = 32;
constexpr double rarest_poll = 0.03;  // seconds
constexpr auto poll_interval = std::chrono::microseconds(200);
constexpr double state_seconds = 0.25;

double host_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

/// Polls the counter and keeps what it saw since `from`.
class CounterWatch {
  public:
    CounterWatch(Management& management, double from)
        : management_(management), from_(from), polled_(host_seconds()) {}

    /// Polls if the last poll was long ago.
    void poll_at_last(SteadyRun& seen) {
        if (host_seconds() - polled_ > rarest_poll) poll(seen);
    }
    void poll(SteadyRun& seen) {
        const std::optional<Energy> total = management_.energy();
        const double now = host_seconds();
        const double gap = now - polled_;
        polled_ = now;
        if (!total) return;
        const bool moved = last_ && *total != *last_;
        last_ = total;
        if (now < from_) return;
        if (moved) {
            seen.steps.push_back(
                {.at = Time::from_base(now), .total = *total, .gap = Time::from_base(gap)});
        }
        if (now - looked_ > state_seconds) {
            looked_ = now;
            seen.states.push_back(management_.environment());
        }
    }

  private:
    Management& management_;
    double from_;
    double polled_;
    double looked_ = 0.0;
    std::optional<Energy> last_{};
};

/// How many runs a graph holds, and how many graphs are queued.
struct Replays {
    int runs = 1;
    std::size_t ahead = fewest_ahead;
};

Replays replays_of(const Launch& launch, const Stream& stream) {
    constexpr int tried = 5;
    constexpr double least = 1e-6;
    const Event start;
    const Event stop;
    launch(stream.handle());
    start.record(stream);
    for (int i = 0; i < tried; ++i) launch(stream.handle());
    stop.record(stream);
    stream.synchronize();
    const double once = std::max(least, stop.seconds_since(start) / tried);
    const int runs = std::clamp(static_cast<int>(std::lround(replay_seconds / once)), 1, most_runs);
    const auto ahead = static_cast<std::size_t>(std::ceil(queued_seconds / (runs * once))) + 1;
    return {.runs = runs, .ahead = std::clamp(ahead, fewest_ahead, most_ahead)};
}

}  // namespace

SteadyRun steady_run(const Launch& launch, const Stream& stream, Management& management,
                     const SteadyRequest& request) {
    const auto [runs, ahead] = replays_of(launch, stream);
    const Graph graph(launch, runs);
    graph.replay(stream);
    stream.synchronize();
    const double from = host_seconds() + request.warm.base();
    const double until = from + request.window.base();
    SteadyRun seen;
    CounterWatch watch(management, from);
    std::deque<Event> queued;
    std::int64_t finished = 0;
    while (host_seconds() < until) {
        graph.replay(stream);
        queued.emplace_back().record(stream);
        watch.poll_at_last(seen);  // a launch may wait for the GPU
        while (queued.size() >= ahead) {
            const cudaError_t state = cudaEventQuery(queued.front().handle());
            if (state == cudaErrorNotReady) {
                watch.poll(seen);
                std::this_thread::sleep_for(poll_interval);
                continue;
            }
            require(state, "cudaEventQuery");
            queued.pop_front();
            finished += runs;
            const double now = host_seconds();
            if (now >= from) {
                seen.finished.push_back({.at = Time::from_base(now), .runs = finished});
            }
        }
    }
    stream.synchronize();
    return seen;
}

SteadyRun steady_rest(Management& management, Time window) {
    SteadyRun seen;
    const double from = host_seconds();
    CounterWatch watch(management, from);
    while (host_seconds() < from + window.base()) {
        watch.poll(seen);
        std::this_thread::sleep_for(poll_interval);
    }
    return seen;
}

}  // namespace ridge::measure::cuda
