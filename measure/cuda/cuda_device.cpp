// The CUDA device behind measure/run/device.h: opening it, preparing cases, running
// microbenchmarks.
//
// Method: `open_device` makes the device current, subscribes to CUPTI before the context exists,
// opens NVML, and tries each library once, so that `features` says what works. A case is a plan
// (plan.h) with the device's stopwatch, tracer and profiler.
//
//   auto opened = open_device(0);
//
// Errors: what a plan refuses becomes Unavailable. A failing CUDA call becomes DeviceError, after
// which `usable` checks whether the context survived.
#include <cuda_runtime.h>

#include <memory>
#include <stdexcept>

#include "hardware/error.h"
#include "measure/cuda/clocks/activity.h"
#include "measure/cuda/clocks/steady.h"
#include "measure/cuda/clocks/timing.h"
#include "measure/cuda/counters/counters.h"
#include "measure/cuda/libraries/cublas.h"
#include "measure/cuda/libraries/device_description.h"
#include "measure/cuda/libraries/driver.h"
#include "measure/cuda/libraries/nccl.h"
#include "measure/cuda/libraries/nvml.h"
#include "measure/cuda/libraries/nvrtc.h"
#include "measure/cuda/plans/microbenchmark.h"
#include "measure/cuda/plans/plan.h"
#include "measure/run/device.h"

namespace ridge::measure {
namespace cuda {
namespace {

/// What the device and its cases share.
struct Services {
    std::unique_ptr<Management> management;
    std::unique_ptr<ActivityTracer> tracer;
    std::unique_ptr<CounterProfiler> profiler;
    Unavailable no_counters;
    std::unique_ptr<Stopwatch> watch;
};

/// Runs `ask`. Turns refusals into values and failing CUDA calls into DeviceError.
template <class Value, class Ask>
Maybe<Value> refusable(Ask ask) {
    try {
        return ask();
    } catch (const Refusal& refusal) {
        return Unavailable{.reason = refusal.what(), .remedy = refusal.remedy()};
    } catch (const NotEnoughMemory& refusal) {
        return Unavailable{.reason = refusal.what(), .remedy = "use a smaller shape"};
    } catch (const DeviceError&) {
        throw;
    } catch (const std::invalid_argument& refusal) {
        return Unavailable{.reason = refusal.what()};
    } catch (const std::runtime_error& error) {
        // The kernels throw std::runtime_error for both; a failed call leaves its code behind.
        if (cudaGetLastError() != cudaSuccess) throw DeviceError(error.what());
        return Unavailable{.reason = error.what()};
    }
}

/// The same for calls that can fail but return nothing to refuse.
template <class Ask>
auto failing(Ask ask) {
    try {
        return ask();
    } catch (const DeviceError&) {
        throw;
    } catch (const ContractViolation&) {
        throw;
    } catch (const std::exception& error) {
        throw DeviceError(error.what());
    }
}

class CudaCase final : public Case {
  public:
    CudaCase(Plan plan, Services& services)
        : plan_(std::move(plan)), services_(services), graph_(plan_.launch, 1) {}

    [[nodiscard]] model::Implementation implementation() const override {
        return plan_.implementation;
    }

    [[nodiscard]] Geometry geometry() const override {
        return {.kernels = kernels_of(graph_.handle()),
                .tile = plan_.tile,
                .split = plan_.split,
                .device_memory = static_cast<double>(plan_.bytes()) * units::B};
    }

    [[nodiscard]] Verification verify() override {
        return failing([&] { return plan_.verify(); });
    }

    [[nodiscard]] std::vector<Sample> sample(const SampleRequest& request) override {
        return failing([&] {
            const Management::Watch watching(services_.management.get());
            return services_.watch->sample(plan_.launch, request, services_.tracer.get());
        });
    }

    [[nodiscard]] Maybe<SteadyRun> run_steadily(const SteadyRequest& request) override {
        if (services_.management == nullptr) return Case::run_steadily(request);
        return failing([&] {
            return steady_run(plan_.launch, services_.watch->stream(), *services_.management,
                              request);
        });
    }

    [[nodiscard]] Maybe<Counters> counters(std::span<const CounterGroup> groups,
                                           model::L2State l2) override {
        if (services_.profiler == nullptr) return services_.no_counters;
        return failing([&] {
            const auto launches = static_cast<std::size_t>(geometry().launches());
            const cudaStream_t stream = services_.watch->stream().handle();
            // Before a counted run, the L2 holds what the previous run left, as in timed runs, or
            // it is flushed.
            const auto settle = [this, l2, stream] {
                services_.watch->flush();
                if (l2 != model::L2State::cold) plan_.launch(stream);
            };
            return services_.profiler->collect({.launch = plan_.launch,
                                                .stream = stream,
                                                .kernels = launches,
                                                .settle = settle,
                                                .settling_kernels = launches + L2Flush::kernels},
                                               groups);
        });
    }

  private:
    Plan plan_;
    Services& services_;
    Graph graph_;
};

/// The plan of each operation.
struct Planner {
    const model::Execution& execution;
    const Context& context;

    Plan operator()(const model::Matmul& op) const { return plan_matmul(op, execution, context); }
    Plan operator()(const model::Attention& op) const {
        return plan_attention(op, execution, context);
    }
    Plan operator()(const model::Elementwise& op) const {
        return plan_elementwise(op, execution, context);
    }
    Plan operator()(const model::Mla&) const { throw Refusal("mla has no bundled kernel"); }
    Plan operator()(const model::Moe&) const { throw Refusal("moe has no bundled kernel"); }
    Plan operator()(const model::SparseAttention&) const {
        throw Refusal("sparse attention has no bundled kernel");
    }
    Plan operator()(const model::MixedAttention&) const {
        throw Refusal("mixed attention has no bundled kernel");
    }
    Plan operator()(const model::Recurrence&) const {
        throw Refusal("recurrences have no bundled kernel");
    }
    Plan operator()(const model::TokenWise&) const {
        throw Refusal("operations on tokens have no bundled kernel");
    }
    Plan operator()(const model::RowWise& op) const {
        return plan_row_wise(op, execution, context);
    }
    Plan operator()(const model::Transpose& op) const {
        return plan_transpose(op, execution, context);
    }
    Plan operator()(const model::Copy& op) const { return plan_copy(op, execution, context); }
    Plan operator()(const model::Gather& op) const { return plan_gather(op, execution, context); }
    Plan operator()(const model::Cat&) const { throw Refusal("there is no bundled cat"); }
    Plan operator()(const model::AdamW&) const { throw Refusal("there is no bundled adamw"); }
    Plan operator()(const model::Access& op) const { return plan_access(op, execution, context); }
    Plan operator()(const model::Collective&) const {
        throw Refusal("copies from and to the host are not measured");
    }
    Plan operator()(const model::OwnKernel&) const {
        throw Refusal("a kernel known by its figures has no code to measure");
    }
};

class CudaDevice final : public Device {
  public:
    CudaDevice(DeviceInfo info, Services services)
        : info_(std::move(info)), services_(std::move(services)), limits_(device_limits()) {}

    [[nodiscard]] const DeviceInfo& info() const override { return info_; }

    [[nodiscard]] Environment environment() override {
        return services_.management == nullptr ? Environment{}
                                               : services_.management->environment();
    }

    [[nodiscard]] Maybe<std::unique_ptr<Case>> prepare(const model::Operation& operation,
                                                       const model::Execution& execution,
                                                       DataPattern pattern) override {
        RIDGE_CONTRACT(execution.implementation != model::Implementation::automatic);
        return refusable<std::unique_ptr<Case>>([&]() -> std::unique_ptr<Case> {
            const Stream& stream = services_.watch->stream();
            const Context context(stream.handle(), limits_, pattern);
            Plan plan = std::visit(Planner{execution, context}, operation);
            plan.launch(stream.handle());  // loads the kernels, which must not happen in a capture
            stream.synchronize();
            return std::make_unique<CudaCase>(std::move(plan), services_);
        });
    }

    [[nodiscard]] Maybe<MicrobenchmarkResult> run(const MicrobenchmarkRequest& request) override {
        return refusable<MicrobenchmarkResult>([&] {
            const Stream& stream = services_.watch->stream();
            const Bench bench =
                make_bench(request, Context(stream.handle(), limits_, request.pattern));
            stream.synchronize();
            MicrobenchmarkResult result;
            {
                const Management::Watch watching(services_.management.get());
                result = run_bench(request, bench, *services_.watch, services_.tracer.get());
            }
            result.environment = environment();
            return result;
        });
    }

    [[nodiscard]] Maybe<SteadyRun> rest(Time window) override {
        if (services_.management == nullptr) return Device::rest(window);
        return steady_rest(*services_.management, window);
    }

    [[nodiscard]] bool usable() const override {
        cudaGetLastError();
        return cudaDeviceSynchronize() == cudaSuccess;
    }

  private:
    DeviceInfo info_;
    Services services_;
    DeviceLimits limits_;
};

/// A feature from the description of a library, or from the reason why it is missing.
Feature feature_of(std::string name, const Maybe<std::string>& found) {
    if (const auto* missing = std::get_if<Unavailable>(&found)) {
        return {.name = std::move(name), .missing = *missing};
    }
    return {.name = std::move(name), .detail = std::get<std::string>(found)};
}

template <class Service>
Feature take(std::string name, Maybe<std::unique_ptr<Service>> opened,
             std::unique_ptr<Service>& into, std::string detail) {
    if (auto* missing = std::get_if<Unavailable>(&opened)) {
        return {.name = std::move(name), .missing = std::move(*missing)};
    }
    into = std::get<std::unique_ptr<Service>>(std::move(opened));
    return {.name = std::move(name), .detail = std::move(detail)};
}

/// A library that loads but fails to start counts as missing, with the reason that it gives.
template <class Service, class Open>
Maybe<std::unique_ptr<Service>> opened_or_reason(Open open) {
    try {
        return open();
    } catch (const DeviceError& error) {
        return Unavailable{.reason = error.what(), .remedy = "see ridge doctor"};
    }
}

void open_services(int ordinal, DeviceInfo& info, Services& services) {
    std::string cupti_detail;
    if (const auto* table = std::get_if<Cupti>(&cupti())) {
        info.cupti = table->version_text();
        cupti_detail = table->version_text() + ", " + table->path;
    }
    // CUPTI requires its subscriber before the context exists.
    auto tracer = opened_or_reason<ActivityTracer>([] { return ActivityTracer::open(); });
    static_cast<void>(current_context());
    auto management = opened_or_reason<Management>([&] { return Management::open(info.pci_bus); });
    info.features.push_back(take("activity", std::move(tracer), services.tracer, cupti_detail));
    auto profiler =
        opened_or_reason<CounterProfiler>([&] { return CounterProfiler::open(ordinal); });
    if (const auto* missing = std::get_if<Unavailable>(&profiler)) services.no_counters = *missing;
    info.features.push_back(take("counters", std::move(profiler), services.profiler, ""));
    if (services.profiler != nullptr) info.features.back().detail = services.profiler->chip();
    info.features.push_back(take("nvml", std::move(management), services.management, ""));
    if (services.management != nullptr) {
        add_management(*services.management, info);
        info.features.back().detail = info.nvml + ", " + services.management->path();
    }
    info.features.push_back(feature_of("cublaslt", library_description()));
    info.features.push_back(feature_of("nvrtc", compiler_description()));
    info.features.push_back(feature_of("nccl", collectives_description()));
    info.features.push_back({.name = "graph", .detail = "CUDA " + info.cuda_runtime});
    services.watch =
        std::make_unique<Stopwatch>(static_cast<int>(info.sm_count), info.max_sm_clock);
}

}  // namespace
}  // namespace cuda

Maybe<std::unique_ptr<Device>> open_device(std::int32_t ordinal) {
    using namespace cuda;
    if (auto missing = missing_device(ordinal)) return *std::move(missing);
    DeviceInfo info = describe_device(ordinal);
    constexpr std::int32_t oldest = 80;
    if (info.compute_capability < oldest) {
        return Unavailable{.reason = info.name + " has compute capability " +
                                     std::to_string(info.compute_capability / 10) + "." +
                                     std::to_string(info.compute_capability % 10) +
                                     "; the bundled kernels need 8.0",
                           .remedy = "use an Ampere or newer GPU"};
    }
    require(cudaSetDevice(ordinal), "cudaSetDevice");
    Services services;
    open_services(ordinal, info, services);
    return std::make_unique<CudaDevice>(std::move(info), std::move(services));
}

}  // namespace ridge::measure
