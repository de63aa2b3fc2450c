// Samples of a launch; see timing.h.
#include "measure/cuda/clocks/timing.h"

#include <algorithm>
#include <cmath>

#include "hardware/error.h"
#include "measure/cuda/kernels/latency.h"

namespace ridge::measure::cuda {
namespace {

constexpr double throttled_share = 0.60;
constexpr double graph_seconds = 1e-3;
constexpr double event_resolution = 0.5e-6;  // seconds
constexpr int most_repetitions = 200;
constexpr int fewest_repetitions = 5;
constexpr std::size_t traced_at_once = 64;  // samples

double median_seconds(std::vector<Sample> samples) {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end(),
                     [](const Sample& a, const Sample& b) { return a.time < b.time; });
    return middle->time.in(units::s);
}

}  // namespace

Stopwatch::Stopwatch(int multiprocessors, std::optional<Frequency> highest_clock)
    : highest_clock_(highest_clock), stamps_(multiprocessors) {}

L2Flush& Stopwatch::flusher() {
    if (flush_ == nullptr) flush_ = std::make_unique<L2Flush>();
    return *flush_;
}

void Stopwatch::flush() {
    flusher()(stream_.handle());
    stream_.synchronize();
}

Sample Stopwatch::finished(double seconds, std::optional<Frequency> clock) const {
    const bool throttled = clock && highest_clock_ && *clock < throttled_share * *highest_clock_;
    return {.time = Time::from_base(seconds), .clock = clock, .throttled = throttled};
}

// This also loads every kernel's code, which must not happen behind a gate.
void Stopwatch::warm_up(const Launch& launch) {
    stamps_.first(stream_);
    launch(stream_.handle());
    launch(stream_.handle());
    stamps_.second(stream_);
    stream_.synchronize();
}

Sample Stopwatch::one(const Launch& launch, model::L2State l2, bool gated) {
    const bool cold = l2 == model::L2State::cold;
    if (!gated && cold) flush();
    const std::int32_t ticket = gated ? gate_.close(stream_) : 0;
    if (gated && cold) flusher()(stream_.handle());
    stamps_.first(stream_);
    if (!gated) stream_.synchronize();
    start_.record(stream_);
    launch(stream_.handle());
    stop_.record(stream_);
    stamps_.second(stream_);
    if (gated) gate_.open(ticket);
    stream_.synchronize();
    if (gated && gate_.timed_out()) {
        throw DeviceError("the operation waits for the host, so it cannot be timed by events");
    }
    return finished(stop_.seconds_since(start_), stamps_.clock());
}

std::vector<Sample> Stopwatch::by_events(const Launch& launch, const SampleRequest& request) {
    const bool gated = request.launch != model::LaunchMode::stream;
    std::vector<Sample> samples;
    for (std::int32_t i = 0; i < request.count; ++i) {
        samples.push_back(one(launch, request.l2, gated));
    }
    return samples;
}

std::vector<Sample> Stopwatch::by_graph(const Launch& launch, const SampleRequest& request) {
    int repetitions = 1;
    if (request.l2 == model::L2State::warm) {
        const double once = one(launch, request.l2, true).time.in(units::s);
        repetitions = std::clamp(static_cast<int>(std::ceil(graph_seconds / once)),
                                 fewest_repetitions, most_repetitions);
    }
    const Graph graph(launch, repetitions);
    const Launch replay = [&](cudaStream_t) { graph.replay(stream_); };
    warm_up(replay);
    std::vector<Sample> samples;
    for (std::int32_t i = 0; i < request.count; ++i) {
        Sample sample = one(replay, request.l2, true);
        sample.time = sample.time / repetitions;
        samples.push_back(sample);
    }
    return samples;
}

std::vector<Sample> Stopwatch::by_activity(const Launch& launch, const SampleRequest& request,
                                           ActivityTracer& tracer) {
    std::vector<Sample> samples;
    const std::uint32_t number = tracer.number_of(stream_.handle());
    const auto count = static_cast<std::size_t>(request.count);
    while (samples.size() < count) {
        const std::size_t batch = std::min(traced_at_once, count - samples.size());
        std::vector<std::optional<Frequency>> clocks;
        std::vector<KernelRecord> records = tracer.trace([&] {
            for (std::size_t i = 0; i < batch; ++i) {
                if (request.l2 == model::L2State::cold) flusher()(side_stream_.handle());
                stamps_.first(side_stream_);
                side_ready_.record(side_stream_);
                require(cudaStreamWaitEvent(stream_.handle(), side_ready_.handle()),
                        "cudaStreamWaitEvent");
                launch(stream_.handle());
                stop_.record(stream_);
                require(cudaStreamWaitEvent(side_stream_.handle(), stop_.handle()),
                        "cudaStreamWaitEvent");
                stamps_.second(side_stream_);
                side_stream_.synchronize();
                clocks.push_back(stamps_.clock());
            }
        });
        std::erase_if(records, [&](const KernelRecord& record) { return record.stream != number; });
        if (records.empty() || records.size() % batch != 0) {
            throw DeviceError("activity tracing saw " + std::to_string(records.size()) +
                              " kernels in " + std::to_string(batch) + " runs");
        }
        const std::size_t kernels = records.size() / batch;
        for (std::size_t i = 0; i < batch; ++i) {
            Time time;
            for (std::size_t k = 0; k < kernels; ++k) time += records[i * kernels + k].duration();
            samples.push_back(finished(time.in(units::s), clocks[i]));
        }
    }
    return samples;
}

double Stopwatch::event_overhead(ActivityTracer* tracer) {
    if (event_overhead_) return *event_overhead_;
    event_overhead_ = 0.0;
    if (tracer == nullptr) return 0.0;
    const Launch empty = launch_of(EmptyKernel{});
    const SampleRequest request{.count = 25};
    warm_up(empty);
    const double read = median_seconds(by_events(empty, request));
    const double own = median_seconds(by_activity(empty, request, *tracer));
    event_overhead_ = std::max(0.0, read - own);
    return *event_overhead_;
}

std::vector<Sample> Stopwatch::sample(const Launch& launch, const SampleRequest& request,
                                      ActivityTracer* tracer) {
    const bool gated = request.launch != model::LaunchMode::stream;
    const double overhead =
        request.method == Method::events && gated ? event_overhead(tracer) : 0.0;
    warm_up(launch);
    if (request.l2 == model::L2State::cold) flush();
    switch (request.method) {
        case Method::events: {
            std::vector<Sample> samples = by_events(launch, request);
            for (Sample& sample : samples) {
                sample.time = std::max(sample.time - Time::from_base(overhead),
                                       Time::from_base(event_resolution));
            }
            return samples;
        }
        case Method::graph:
            return by_graph(launch, request);
        case Method::activity:
            if (tracer == nullptr) throw DeviceError("activity tracing is not available");
            return by_activity(launch, request, *tracer);
        // Ranks take these themselves (measure/cuda/ranks).
        case Method::together:
        case Method::calls:
            break;
    }
    throw ContractViolation("not a timing method of one GPU");
}

}  // namespace ridge::measure::cuda
