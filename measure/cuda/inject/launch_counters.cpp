#include "measure/cuda/inject/launch_counters.h"

#include <dlfcn.h>

#include <array>
#include <cmath>
#include <string_view>

#include "measure/cuda/inject/kernel_name.h"

namespace ridge::measure::cuda {
namespace {

LaunchCounters* counters = nullptr;

constexpr std::array launch_calls{
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
};

/// What a launch says of itself.
struct LaunchCall {
    programs::ShapeActivity shape{};
    CUstream stream = nullptr;
};

/// The three forms of parameters name these fields alike.
template <class Parameters>
LaunchCall call_of(const Parameters& launch) {
    return {.shape = {.grid_x = launch.gridDimX,
                      .grid_y = launch.gridDimY,
                      .grid_z = launch.gridDimZ,
                      .block_x = launch.blockDimX,
                      .block_y = launch.blockDimY,
                      .block_z = launch.blockDimZ},
            .stream = launch.hStream};
}

LaunchCall call_of(CUpti_CallbackId id, const void* parameters) {
    switch (id) {
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
            return call_of(*static_cast<const cuLaunchKernelEx_params*>(parameters)->config);
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
            return call_of(*static_cast<const cuLaunchCooperativeKernel_params*>(parameters));
        default:
            return call_of(*static_cast<const cuLaunchKernel_params*>(parameters));
    }
}

/// Whether a launch only becomes part of a graph: it does not run, and what we would do beside it is
/// forbidden there.
bool is_captured(CUstream stream) {
    static const auto is_capturing = reinterpret_cast<decltype(&cuStreamIsCapturing)>(
        dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), "cuStreamIsCapturing"));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (is_capturing == nullptr || is_capturing(stream, &status) != CUDA_SUCCESS) return true;
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// Kernels that wait for others on the GPU would hang when they run alone.
bool waits_for_others(std::string_view name) {
    return name.find("nccl") != name.npos || name.find("nvshmem") != name.npos;
}

int device_of(CUcontext context, const Cupti& cupti) {
    std::uint32_t device = 0;
    cupti.require(cupti.device_id(context, &device), "cuptiGetDeviceId");
    return static_cast<int>(device);
}

/// Negative where it was not counted, or where the profiler says that it is no number.
template <class Quantity>
double value_of(const std::optional<Quantity>& value) {
    if (!value) return -1.0;
    double number = 0.0;
    if constexpr (std::is_same_v<Quantity, double>) {
        number = *value;
    } else {
        number = value->base();
    }
    return std::isfinite(number) ? number : -1.0;
}

double duration_in(std::span<const Metric> metrics, const std::vector<double>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (metrics[i].meaning == Meaning::duration) return values[i];
    }
    return -1.0;
}

}  // namespace

LaunchCounters& LaunchCounters::open(Session& session, CUpti_SubscriberHandle subscriber) {
    counters = new LaunchCounters(session);
    for (const auto call : launch_calls) {
        session.cupti().enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call);
    }
    return *counters;
}

void LaunchCounters::on_launch(CUpti_CallbackId id, const CUpti_CallbackData& call) {
    LaunchCounters& self = *counters;
    try {
        if (call.callbackSite == CUPTI_API_ENTER) {
            self.launching_.lock();
            if (call.symbolName == nullptr || waits_for_others(call.symbolName)) return;
            LaunchCall launch = call_of(id, call.functionParams);
            if (is_captured(launch.stream)) return;
            launch.shape.name = kernel_name(self.session_->writer(), call.symbolName);
            self.begin(launch.shape, call.context);
        } else {
            self.end();
            self.launching_.unlock();
        }
    } catch (...) {
        self.give_up("an error without a name");
        if (call.callbackSite == CUPTI_API_EXIT) self.launching_.unlock();
    }
}

LaunchCounters::Counted* LaunchCounters::counted(CUcontext context) {
    const auto [place, added] = contexts_.try_emplace(context);
    if (!added) return place->second.get();
    const Cupti& cupti = session_->cupti();
    auto found = ProfiledChip::of(cupti, device_of(context, cupti), context);
    if (const auto* missing = std::get_if<Unavailable>(&found)) throw Busy{*missing};
    auto made = std::make_unique<Counted>();
    made->chip = std::get<ProfiledChip>(std::move(found));
    constexpr std::array groups{CounterGroup::traffic, CounterGroup::arithmetic,
                                CounterGroup::tensor};
    const auto plan_of = [&](std::span<const Metric> metrics) {
        const std::string& name = made->chip.name;
        const auto& image = made->chip.availability;
        return plan_profile(cupti, name, accepted_metrics(cupti, name, metrics, image), image);
    };
    made->plan = plan_of(metrics_of(groups));
    made->types = plan_of(tensor_types());
    made->profiler = std::make_unique<RangeProfiler>(cupti, context);
    made->host = std::make_unique<HostProfiler>(cupti, made->chip.name, made->chip.availability);
    place->second = std::move(made);
    return place->second.get();
}

void LaunchCounters::start(Counted& counted, const ProfilePlan& plan) {
    data_ = counted.profiler->empty_data(plan.metrics, 1);
    counted.profiler->configure(plan, data_, 1, CUPTI_KernelReplay);
    counted.profiler->start();
    active_ = &counted;
    active_plan_ = &plan;
}

void LaunchCounters::begin(const programs::ShapeActivity& shape, CUcontext context) {
    if (!enabled_ || broken_ || active_ != nullptr) return;
    const std::uint32_t number = session_->writer().shape(shape);
    Launched& launch = launches_[{context, number}];
    const bool types = launch.wants_types && !launch.types;
    if (launch.counted >= session_->options().counted && !types) return;
    try {
        Counted* const found = counted(context);
        if (found == nullptr) return;
        active_shape_ = number;
        active_launch_ = &launch;
        start(*found, types ? found->types : found->plan);
    } catch (const Busy& busy) {
        give_up(busy.reason.reason + "; " + busy.reason.remedy);
    } catch (const std::exception& error) {
        give_up(error.what());
    }
}

void LaunchCounters::end() {
    if (active_ == nullptr) return;
    const Counted& counted = *active_;
    const ProfilePlan& plan = *active_plan_;
    active_ = nullptr;
    try {
        static_cast<void>(counted.profiler->stop());
        counted.profiler->decode();
        if (ranges_in(session_->cupti(), data_) == 0) return;
        keep(counted, plan, counted.host->evaluate(plan.metrics, data_, 0));
        session_->writer().flush();
    } catch (const Busy& busy) {
        give_up(busy.reason.reason + "; " + busy.reason.remedy);
    } catch (const std::exception& error) {
        give_up(error.what());
    }
}

void LaunchCounters::keep(const Counted& counted, const ProfilePlan& plan,
                          std::vector<double> values) {
    Launched& launch = *active_launch_;
    if (&plan == &counted.types) {
        launch.types = std::move(values);
        if (launch.waiting) write(counted, active_shape_, *launch.waiting, launch.types);
        launch.waiting.reset();
        return;
    }
    ++launch.counted;
    const std::array kernels{KernelValues{.metrics = plan.metrics, .values = values}};
    launch.wants_types = !counted.types.metrics.empty() && needs_tensor_types(kernels);
    if (launch.wants_types && !launch.types) {
        launch.waiting = std::move(values);
    } else {
        write(counted, active_shape_, values, launch.types);
    }
}

void LaunchCounters::write(const Counted& counted, std::uint32_t shape,
                           const std::vector<double>& values,
                           const std::optional<std::vector<double>>& types) {
    std::vector<KernelValues> kernels{{.metrics = counted.plan.metrics, .values = values}};
    if (types) kernels.push_back({.metrics = counted.types.metrics, .values = *types});
    const bool unknown = !types && needs_tensor_types(kernels);
    const Counters sums = combine(kernels);
    session_->writer().write(programs::CounterActivity{
        .shape = shape,
        .passes =
            static_cast<std::uint32_t>(counted.plan.passes + (types ? counted.types.passes : 0)),
        .duration_ns = duration_in(counted.plan.metrics, values),
        .dram_read_bytes = value_of(sums.dram_read),
        .dram_write_bytes = value_of(sums.dram_write),
        .l2_bytes = value_of(sums.l2),
        .shared_bytes = value_of(sums.shared),
        .tensor_flop = unknown ? -1.0 : value_of(sums.tensor),
        .vector_flop = value_of(sums.fma),
        .special_results = value_of(sums.special),
        .occupancy = value_of(sums.occupancy),
        .tensor_active = value_of(sums.tensor_active)});
}

void LaunchCounters::finish() {
    const std::lock_guard lock(launching_);
    enabled_ = false;
    for (auto& [key, launch] : launches_) {
        const auto context = contexts_.find(key.first);
        if (!launch.waiting || context == contexts_.end() || !context->second) continue;
        write(*context->second, key.second, *launch.waiting, std::nullopt);
        launch.waiting.reset();
    }
}

void LaunchCounters::give_up(const std::string& why) {
    broken_ = true;
    session_->note("no counters: " + why);
}

}  // namespace ridge::measure::cuda
