// Microbenchmarks on the chip: caches, arithmetic, latencies, launches; see
// microbenchmark.h.
#include <algorithm>
#include <bit>
#include <chrono>
#include <memory>

#include "hardware/error.h"
#include "measure/cuda/kernels/arithmetic.h"
#include "measure/cuda/kernels/latency.h"
#include "measure/cuda/kernels/on_chip.h"
#include "measure/cuda/kernels/tensor_peak.h"
#include "measure/cuda/plans/microbenchmark.h"

namespace ridge::measure::cuda {
namespace {

constexpr int launches = 1000;      // per sample of the launch benchmarks
constexpr int submissions = 200;    // fewer than the queue of a stream holds
constexpr std::int64_t line = 128;  // bytes between the slots of a chase
constexpr std::int64_t chase_steps = 16384;
constexpr std::int64_t longest_walk = 1 << 17;
constexpr double burst_seconds = 0.3e-3;
constexpr double sustained_kernel_seconds = 4e-3;

template <class T>
T* scratch(Bench& bench, std::int64_t count) {
    bench.buffers.emplace_back(static_cast<std::size_t>(count) * sizeof(T));
    return bench.buffers.back().template as<T>();
}

Bench l2_read(const MicrobenchmarkRequest& request, const Context& context) {
    L2Read read{.plan = {.threads = 512,
                         .multiprocessors = context.limits().multiprocessors,
                         .blocks_per_multiprocessor = 4,
                         .iterations = 512}};
    const std::int64_t tile = tile_bytes(read.plan);
    const auto size = static_cast<std::int64_t>(request.size.in(units::B));
    read.bytes = std::max(size / tile, std::int64_t{1}) * tile;
    Bench bench;
    bench.buffers.push_back(context.input(ElementType::float32, read.bytes / 4, 1));
    read.source = bench.buffers.back().as();
    read.partial_sums = scratch<std::uint32_t>(bench, geometry_of(read).blocks());
    bench.amount = static_cast<double>(work_of(read).l2_bytes_read);
    bench.candidates.push_back(launch_of(read));
    return bench;
}

/// Three blocks read 96 KiB repeatedly, which fits in every L1 since Volta.
Bench l1_read(const Context& context) {
    L1Read read{.plan = {.threads = 256,
                         .multiprocessors = context.limits().multiprocessors,
                         .blocks_per_multiprocessor = 3,
                         .iterations = 4096}};
    read.bytes_per_block = tile_bytes(read.plan);
    const std::int64_t blocks = geometry_of(read).blocks();
    Bench bench;
    bench.buffers.push_back(
        context.input(ElementType::float32, blocks * read.bytes_per_block / 4, 1));
    read.source = bench.buffers.back().as();
    read.partial_sums = scratch<std::uint32_t>(bench, blocks);
    bench.amount = static_cast<double>(work_of(read).l1_bytes_read);
    bench.candidates.push_back(launch_of(read));
    return bench;
}

Bench shared_read(const Context& context) {
    SharedRead read{.plan = {.threads = 512,
                             .multiprocessors = context.limits().multiprocessors,
                             .blocks_per_multiprocessor = 2,
                             .iterations = 4096}};
    read.buffer_bytes = tile_bytes(read.plan);
    Bench bench;
    read.partial_sums = scratch<std::uint32_t>(bench, geometry_of(read).blocks());
    bench.amount = static_cast<double>(work_of(read).shared_bytes_read);
    bench.candidates.push_back(launch_of(read));
    return bench;
}

ArithmeticPlan arithmetic_plan(const Context& context, Regime regime) {
    constexpr int threads = 256;
    constexpr int resident_threads = 2048;
    return {.threads = threads,
            .multiprocessors = context.limits().multiprocessors,
            .blocks_per_multiprocessor = resident_threads / threads,
            .iterations = regime == Regime::burst ? 512 : 4096};
}

Bench fma(const MicrobenchmarkRequest& request, const Context& context) {
    FmaPeak peak{.element = element_of(request.type),
                 .plan = arithmetic_plan(context, request.regime)};
    Bench bench;
    const bundled::LaunchGrid geometry = geometry_of(peak);
    peak.output = scratch<double>(bench, geometry.blocks() * geometry.threads);
    bench.amount = static_cast<double>(work_of(peak).flop);
    bench.candidates.push_back(launch_of(peak));
    return bench;
}

Bench exp2(const MicrobenchmarkRequest& request, const Context& context) {
    Exp2Peak peak{.plan = arithmetic_plan(context, request.regime)};
    Bench bench;
    const bundled::LaunchGrid geometry = geometry_of(peak);
    peak.output = scratch<float>(bench, geometry.blocks() * geometry.threads);
    bench.amount = static_cast<double>(work_of(peak).special_operations);
    bench.candidates.push_back(launch_of(peak));
    return bench;
}

/// FLOP per second that no tensor core exceeds by much; only sets the length of a kernel.
double expected_rate(ElementType type, TensorPath path) {
    const double half = path == TensorPath::wgmma ? 8e14 : 5e14;
    switch (type) {
        case ElementType::tfloat32:
            return half / 2.0;
        case ElementType::float8_e4m3:
        case ElementType::int8:
            return half * 2.0;
        default:
            return half;
    }
}

Bench tensor(const MicrobenchmarkRequest& request, TensorPath path, const Context& context) {
    Bench bench{.rests = true};
    const ElementType type = element_of(request.type);
    if (type == ElementType::float64) {
        throw Refusal("there is no bundled fp64 tensor kernel");
    }
    float* const sink =
        scratch<float>(bench, tensor_peak_sink_elements(context.limits().multiprocessors));
    TensorPeakProblem problem{.path = path,
                              .type = type,
                              .iterations = 1000,
                              .pattern = request.pattern == DataPattern::zeros
                                             ? OperandPattern::zeros
                                             : OperandPattern::random_normal,
                              .sink = sink};
    const double seconds =
        request.regime == Regime::burst ? burst_seconds : sustained_kernel_seconds;
    const double per_iteration = tensor_peak(problem).flop / 1000.0;
    problem.iterations = std::max<std::int64_t>(
        100, static_cast<std::int64_t>(seconds * expected_rate(type, path) / per_iteration));
    const TensorPeak peak = tensor_peak(problem);
    bench.amount = peak.flop;
    bench.candidates.push_back(peak.launch);
    return bench;
}

/// What the clocks recorded in the kernel that just ran.
Sample span_sample(const ClockSpan* span, cudaStream_t stream) {
    ClockSpan seen;
    require(cudaMemcpyAsync(&seen, span, sizeof seen, cudaMemcpyDeviceToHost, stream),
            "cudaMemcpyAsync");
    require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const auto seconds = static_cast<double>(seen.last_nanosecond - seen.first_nanosecond) * 1e-9;
    const auto cycles = static_cast<double>(seen.last_cycle - seen.first_cycle);
    return {.time = Time::from_base(seconds), .clock = Frequency::from_base(cycles / seconds)};
}

Bench shared_chase(const Context& context) {
    Bench bench{.amount = static_cast<double>(chase_steps), .sampling = Sampling::own};
    const SharedChase chase{.span = scratch<ClockSpan>(bench, 1),
                            .last_slot = scratch<std::uint32_t>(bench, 1),
                            .steps = chase_steps};
    const Launch launch = launch_of(chase);
    bench.candidates.push_back(launch);
    bench.take = [chase, launch, stream = context.stream()] {
        launch(stream);
        return span_sample(chase.span, stream);
    };
    return bench;
}

Bench pointer_chase(const MicrobenchmarkRequest& request, const Context& context) {
    const std::int64_t stride = request.stride == 0 ? line : request.stride;
    const auto size = static_cast<std::int64_t>(request.size.in(units::B));
    if (size < 2 * stride) throw Refusal("a chase needs at least two slots");
    const auto slots =
        static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(size / stride)));
    Bench bench{.amount = static_cast<double>(chase_steps), .sampling = Sampling::own};
    auto* const chain = scratch<std::uint64_t>(bench, slots * stride / 8);
    auto* const span = scratch<ClockSpan>(bench, 1);
    auto* const last = scratch<std::uint64_t>(bench, 1);
    launch_of(ChaseBuild{.chain = chain, .slots = slots, .stride_bytes = static_cast<int>(stride)})(
        context.stream());
    Chase chase{.chain = chain,
                .span = span,
                .last_slot = last,
                .slots = slots,
                .stride_bytes = static_cast<int>(stride),
                .warm_steps = std::min(slots, longest_walk),
                .steps = chase_steps};
    bench.candidates.push_back(launch_of(chase));
    // Every sample continues where the last one ended: slots visited before would be in a cache.
    bench.take = [chase, stream = context.stream()]() mutable {
        chase.first_place = (chase.first_place + chase.warm_steps + chase.steps) % chase.slots;
        launch_of(chase)(stream);
        return span_sample(chase.span, stream);
    };
    return bench;
}

Launch many_empty_kernels(int count) {
    return [empty = launch_of(EmptyKernel{}), count](cudaStream_t stream) {
        for (int i = 0; i < count; ++i) empty(stream);
    };
}

Bench launch_bench(Microbenchmark benchmark, const Context& context) {
    Bench bench;
    switch (benchmark) {
        case Microbenchmark::launch_kernel:
            bench.amount = 1.0;
            bench.sampling = Sampling::kernel;
            bench.candidates.push_back(launch_of(EmptyKernel{}));
            return bench;
        case Microbenchmark::launch_stream:
            bench.amount = launches;
            bench.launch = model::LaunchMode::stream;
            bench.candidates.push_back(many_empty_kernels(launches));
            return bench;
        case Microbenchmark::launch_call:
            bench.amount = 1.0;
            bench.launch = model::LaunchMode::stream;
            bench.candidates.push_back(launch_of(EmptyKernel{}));
            return bench;
        case Microbenchmark::launch_graph: {
            const auto graph = std::make_shared<const Graph>(many_empty_kernels(launches), 1);
            bench.amount = launches;
            bench.candidates.push_back([graph](cudaStream_t stream) {
                require(cudaGraphLaunch(graph->executable(), stream), "cudaGraphLaunch");
            });
            bench.shown = launch_of(EmptyKernel{});  // a graph cannot be captured into another
            return bench;
        }
        default:
            break;
    }
    bench.amount = submissions;
    bench.sampling = Sampling::own;
    const Launch launch = launch_of(EmptyKernel{});
    bench.candidates.push_back(launch);
    bench.take = [launch, stream = context.stream()] {
        const auto start = std::chrono::steady_clock::now();
        for (int i = 0; i < submissions; ++i) launch(stream);
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        return Sample{.time = Time::from_base(taken.count())};
    };
    return bench;
}

}  // namespace

Bench make_chip_bench(const MicrobenchmarkRequest& request, const Context& context) {
    switch (request.benchmark) {
        case Microbenchmark::l2_read:
            return l2_read(request, context);
        case Microbenchmark::l1_read:
            return l1_read(context);
        case Microbenchmark::shared_read:
            return shared_read(context);
        case Microbenchmark::fma:
            return fma(request, context);
        case Microbenchmark::exp2:
            return exp2(request, context);
        case Microbenchmark::tensor_mma:
            return tensor(request, TensorPath::mma_sync, context);
        case Microbenchmark::tensor_wgmma:
            return tensor(request, TensorPath::wgmma, context);
        case Microbenchmark::pointer_chase:
            return pointer_chase(request, context);
        case Microbenchmark::shared_chase:
            return shared_chase(context);
        case Microbenchmark::launch_kernel:
        case Microbenchmark::launch_stream:
        case Microbenchmark::launch_graph:
        case Microbenchmark::launch_call:
        case Microbenchmark::launch_submit:
            return launch_bench(request.benchmark, context);
        default:
            throw ContractViolation("unknown microbenchmark");
    }
}

}  // namespace ridge::measure::cuda
