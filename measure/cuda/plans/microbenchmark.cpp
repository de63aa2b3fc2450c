// DRAM streams, and the sampling of all microbenchmarks; see microbenchmark.h.
#include "measure/cuda/plans/microbenchmark.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "measure/cuda/kernels/bulk_stream.h"
#include "measure/cuda/kernels/stream.h"
#include "measure/cuda/libraries/driver.h"

namespace ridge::measure::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double sustained_seconds = 1.5;
constexpr auto rest = std::chrono::milliseconds(20);
constexpr int trial_samples = 5;
constexpr double activity_below =
    50e-6;  // seconds; shorter kernels are timed with activity records
constexpr std::int64_t word = 4;
constexpr std::int64_t vector = 16;

std::int64_t whole(Bytes size, std::int64_t unit) {
    const auto bytes = static_cast<std::int64_t>(size.in(units::B));
    if (bytes < unit) throw Refusal("the size is below " + std::to_string(unit) + " bytes");
    return bytes / unit * unit;
}

std::uint32_t* partial_sums(Bench& bench, std::int64_t blocks) {
    bench.buffers.emplace_back(static_cast<std::size_t>(blocks) * sizeof(std::uint32_t));
    return bench.buffers.back().as<std::uint32_t>();
}

void* array(Bench& bench, const Context& context, std::int64_t bytes, std::uint64_t seed) {
    bench.buffers.push_back(context.input(ElementType::float32, bytes / word, seed));
    return bench.buffers.back().as();
}

Bench dram_read(std::int64_t bytes, const Context& context) {
    const int multiprocessors = context.limits().multiprocessors;
    Bench bench{.amount = static_cast<double>(bytes), .l2 = model::L2State::cold};
    const void* const source = array(bench, context, bytes, 1);
    StreamRead read{.source = source, .bytes = bytes, .plan = read_plan(multiprocessors)};
    read.partial_sums = partial_sums(bench, geometry_of(read).blocks());
    bench.candidates.push_back(launch_of(read));
    if (context.limits().compute_major >= 9) {
        BulkRead bulk{.source = source, .bytes = bytes, .plan = bulk_read_plan(multiprocessors)};
        bulk.partial_sums = partial_sums(bench, geometry_of(bulk).blocks());
        bench.candidates.push_back(launch_of(bulk));
    }
    return bench;
}

Bench dram_write(std::int64_t bytes, const Context& context) {
    Bench bench{.amount = static_cast<double>(bytes), .l2 = model::L2State::cold};
    void* const destination = array(bench, context, bytes, 1);
    bench.candidates.push_back(
        launch_of(StreamWrite{.destination = destination,
                              .bytes = bytes,
                              .word = 0x3f9d3c2bU,  // 1.2283 as float: neither zero nor round
                              .plan = write_plan(context.limits().multiprocessors)}));
    return bench;
}

Bench dram_copy(std::int64_t bytes, const Context& context) {
    const int multiprocessors = context.limits().multiprocessors;
    Bench bench{.amount = 2.0 * static_cast<double>(bytes), .l2 = model::L2State::cold};
    const void* const source = array(bench, context, bytes, 1);
    void* const destination = array(bench, context, bytes, 2);
    bench.candidates.push_back(launch_of(StreamCopy{.source = source,
                                                    .destination = destination,
                                                    .bytes = bytes,
                                                    .plan = copy_plan(multiprocessors)}));
    if (context.limits().compute_major >= 9) {
        bench.candidates.push_back(launch_of(BulkCopy{.source = source,
                                                      .destination = destination,
                                                      .bytes = bytes,
                                                      .plan = bulk_copy_plan(multiprocessors)}));
    }
    return bench;
}

Bench dram_triad(std::int64_t bytes, const Context& context) {
    Bench bench{.amount = 3.0 * static_cast<double>(bytes), .l2 = model::L2State::cold};
    auto* const a = static_cast<float*>(array(bench, context, bytes, 1));
    const auto* const b = static_cast<const float*>(array(bench, context, bytes, 2));
    const auto* const c = static_cast<const float*>(array(bench, context, bytes, 3));
    bench.candidates.push_back(
        launch_of(StreamTriad{.a = a,
                              .b = b,
                              .c = c,
                              .scale = 0.4F,
                              .bytes = bytes,
                              .plan = triad_plan(context.limits().multiprocessors)}));
    return bench;
}

KernelLaunch kernel_of(const Bench& bench, const Launch& launch) {
    return kernels_of(Graph(bench.shown ? bench.shown : launch, 1).handle()).front();
}

double median_seconds(std::vector<Sample> samples) {
    const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
    std::nth_element(samples.begin(), middle, samples.end(),
                     [](const Sample& a, const Sample& b) { return a.time < b.time; });
    return middle->time.in(units::s);
}

/// Takes the samples of a bench with the stopwatch.
class Sampler {
  public:
    Sampler(const MicrobenchmarkRequest& request, const Bench& bench, Stopwatch& watch,
            ActivityTracer* tracer)
        : request_(request), bench_(bench), watch_(watch), tracer_(tracer) {}

    [[nodiscard]] const Launch& fastest() {
        const Launch* best = &bench_.candidates.front();
        double best_seconds = 0.0;
        for (const Launch& launch : bench_.candidates) {
            const double seconds =
                median_seconds(watch_.sample(launch, sampling(trial_samples), tracer_));
            if (best_seconds == 0.0 || seconds < best_seconds) {
                best = &launch;
                best_seconds = seconds;
            }
        }
        const bool brief =
            best_seconds < activity_below && bench_.launch == model::LaunchMode::kernel;
        if (brief && tracer_ != nullptr) method_ = Method::activity;
        return *best;
    }

    [[nodiscard]] std::vector<Sample> samples(const Launch& launch) {
        if (request_.regime == Regime::sustained) heat(launch);
        if (request_.regime == Regime::sustained || !bench_.rests) {
            return watch_.sample(launch, sampling(request_.count), tracer_);
        }
        std::vector<Sample> samples;
        for (std::int32_t i = 0; i < request_.count; ++i) {
            std::this_thread::sleep_for(rest);
            samples.push_back(watch_.sample(launch, sampling(1), tracer_).front());
        }
        return samples;
    }

  private:
    [[nodiscard]] SampleRequest sampling(std::int32_t count) const {
        const Method method = bench_.sampling == Sampling::kernel ? Method::activity : method_;
        return {.method = method, .l2 = bench_.l2, .launch = bench_.launch, .count = count};
    }

    void heat(const Launch& launch) {
        const auto start = Clock::now();
        while (std::chrono::duration<double>(Clock::now() - start).count() < sustained_seconds) {
            for (int i = 0; i < 8; ++i) launch(watch_.stream().handle());
            watch_.stream().synchronize();
        }
    }

    const MicrobenchmarkRequest& request_;
    const Bench& bench_;
    Stopwatch& watch_;
    ActivityTracer* tracer_;
    Method method_ = Method::events;
};

}  // namespace

Bench make_bench(const MicrobenchmarkRequest& request, const Context& context) {
    switch (request.benchmark) {
        case Microbenchmark::dram_read:
            return dram_read(whole(request.size, vector), context);
        case Microbenchmark::dram_write:
            return dram_write(whole(request.size, vector), context);
        case Microbenchmark::dram_copy:
            return dram_copy(whole(request.size, vector), context);
        case Microbenchmark::dram_triad:
            return dram_triad(whole(request.size, vector), context);
        default:
            return make_chip_bench(request, context);
    }
}

MicrobenchmarkResult run_bench(const MicrobenchmarkRequest& request, const Bench& bench,
                               Stopwatch& watch, ActivityTracer* tracer) {
    MicrobenchmarkResult result{.amount = bench.amount};
    if (bench.sampling == Sampling::kernel && tracer == nullptr) {
        throw Refusal("kernel durations need CUPTI's activity records", "see ridge doctor");
    }
    if (bench.sampling == Sampling::own) {
        const Launch& launch = bench.candidates.front();
        launch(watch.stream().handle());
        watch.stream().synchronize();
        for (std::int32_t i = 0; i < request.count; ++i) result.samples.push_back(bench.take());
        result.kernel = kernel_of(bench, launch);
        return result;
    }
    Sampler sampler(request, bench, watch, tracer);
    const Launch& launch = sampler.fastest();
    result.samples = sampler.samples(launch);
    result.kernel = kernel_of(bench, launch);
    return result;
}

}  // namespace ridge::measure::cuda
