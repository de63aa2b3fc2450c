#include "measure/cuda/inject/launch_counters.h"

#include <dlfcn.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "measure/cuda/inject/kernel_name.h"

namespace ridge::measure::cuda {
namespace {

using programs::MissingSets;

LaunchCounters* counters = nullptr;

constexpr std::array captures{
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz,
};
constexpr std::array ends_of_captures{
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture,
    CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz,
};
// Code goes away: CUPTI has added instructions to it, and its profiler would take the handles of
// kernels that are loaded later for those of the old ones, which ends in a crash.
constexpr std::array unloads{
    CUPTI_DRIVER_TRACE_CBID_cuModuleUnload,
    CUPTI_DRIVER_TRACE_CBID_cuLibraryUnload,
};
constexpr std::array replays{
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,
    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
};
/// Whether a launch is captured into a graph. It then does not run, and profiler calls are
/// forbidden.
bool is_captured(CUstream stream) {
    static const auto is_capturing = reinterpret_cast<decltype(&cuStreamIsCapturing)>(
        dlsym(dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD), "cuStreamIsCapturing"));
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (is_capturing == nullptr || is_capturing(stream, &status) != CUDA_SUCCESS) return true;
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/// Whether a kernel waits for others on the GPU and would hang when it runs alone.
bool waits_for_others(std::string_view name) {
    return name.find("nccl") != name.npos || name.find("nvshmem") != name.npos;
}

int device_of(CUcontext context, const Cupti& cupti) {
    std::uint32_t device = 0;
    cupti.require(cupti.device_id(context, &device), "cuptiGetDeviceId");
    return static_cast<int>(device);
}

/// Negative if the quantity was not counted or the profiler reports that it is not a number.
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

/// The sum of the metrics that contribute to `meaning`; negative if there are none.
double sum_of(const KernelValues& kernel, Meaning meaning) {
    double sum = -1.0;
    for (std::size_t i = 0; i < kernel.values.size(); ++i) {
        if (kernel.metrics[i].meaning != meaning) continue;
        sum = std::max(sum, 0.0) + kernel.metrics[i].factor * kernel.values[i];
    }
    return sum;
}

/// The counters of one set.
programs::CounterActivity activity_of(const KernelValues& kernel) {
    const Counters sums = combine({&kernel, 1});
    const double packed = sum_of(kernel, Meaning::packed_fma);
    const double on_pipe = sum_of(kernel, Meaning::hfma_on_tensor_pipe);
    const double by_type = sum_of(kernel, Meaning::tensor_by_type);
    constexpr double flop_of_warp = 32.0 * 4.0;  // one packed FMA per thread
    return {.passes = 1,
            .duration_ns = sum_of(kernel, Meaning::duration),
            .dram_read_bytes = value_of(sums.dram_read),
            .dram_write_bytes = value_of(sums.dram_write),
            .l2_bytes = value_of(sums.l2),
            .shared_bytes = value_of(sums.shared),
            .tensor_flop = by_type >= 0.0 ? -1.0 : value_of(sums.tensor),
            // Alone, this set has no tensor-pipe instructions to subtract.
            .vector_flop = sums.fma ? value_of(sums.fma) - std::max(packed, 0.0) : -1.0,
            .special_results = value_of(sums.special),
            .occupancy = value_of(sums.occupancy),
            .tensor_active = value_of(sums.tensor_active),
            .packed_fma_flop = packed,
            .packed_on_tensor_pipe = on_pipe >= 0.0 ? flop_of_warp * on_pipe : -1.0,
            .tensor_type_flop = by_type};
}

/// A value that is not a number was not counted.
bool is_number(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(),
                       [](double value) { return std::isfinite(value); });
}

/// Makes a context current on this thread for its lifetime, with driver functions found at run
/// time.
class CurrentContext {
  public:
    explicit CurrentContext(CUcontext context) {
        void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (driver == nullptr) return;
        const auto push =
            reinterpret_cast<CUresult (*)(CUcontext)>(dlsym(driver, "cuCtxPushCurrent_v2"));
        pop_ = reinterpret_cast<CUresult (*)(CUcontext*)>(dlsym(driver, "cuCtxPopCurrent_v2"));
        pushed_ = push != nullptr && pop_ != nullptr && push(context) == CUDA_SUCCESS;
    }
    ~CurrentContext() {
        CUcontext context = nullptr;
        if (pushed_) pop_(&context);
    }
    CurrentContext(const CurrentContext&) = delete;
    CurrentContext& operator=(const CurrentContext&) = delete;
    [[nodiscard]] bool is_set() const { return pushed_; }

  private:
    CUresult (*pop_)(CUcontext*) = nullptr;
    bool pushed_ = false;
};

bool is_one_of(std::span<const CUpti_driver_api_trace_cbid> calls, CUpti_CallbackId id) {
    return std::any_of(calls.begin(), calls.end(),
                       [id](auto call) { return call == static_cast<int>(id); });
}

std::shared_ptr<const CounterSets> sets_of(const Cupti& cupti, int device) {
    const auto chip = chip_of(cupti, device);
    if (const auto* missing = std::get_if<Unavailable>(&chip)) throw Busy{*missing};
    return std::make_shared<const CounterSets>(cupti, std::get<std::string>(chip));
}

MissingSets earlier_of(const programs::RecordingOptions& options) {
    if (!options.continued) return {};
    std::ifstream file(programs::earlier_file(options.prefix));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    return programs::missing_sets_of(text);
}

}  // namespace

LaunchCounters::LaunchCounters(Session& session)
    : session_(&session), earlier_(earlier_of(session.options())) {
    // Prepares while the program works towards its first launch.
    const Cupti& cupti = session.cupti();
    prepared_ = std::async(std::launch::async, [&cupti] {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, nullptr);
        return sets_of(cupti, 0);
    });
}

std::shared_ptr<const CounterSets> LaunchCounters::sets_on(int device) {
    if (prepared_.valid()) sets_ = prepared_.get();
    const auto chip = chip_of(session_->cupti(), device);
    if (sets_ && std::holds_alternative<std::string>(chip) &&
        std::get<std::string>(chip) == sets_->chip()) {
        return sets_;
    }
    return sets_of(session_->cupti(), device);
}

LaunchCounters& LaunchCounters::open(Session& session, CUpti_SubscriberHandle subscriber) {
    counters = new LaunchCounters(session);
    const auto listen = [&](std::span<const CUpti_driver_api_trace_cbid> calls) {
        for (const auto call : calls) {
            session.cupti().enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, call);
        }
    };
    listen(launch_calls());
    listen(captures);
    listen(ends_of_captures);
    listen(replays);
    listen(unloads);
    session.cupti().enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                    CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
    if (session.options().repeats) counters->listen_to_all_calls(subscriber);
    return *counters;
}

void LaunchCounters::on_call(CUpti_CallbackId id, const CUpti_CallbackData& call) {
    LaunchCounters& self = *counters;
    const bool enters = call.callbackSite == CUPTI_API_ENTER;
    if (is_one_of(launch_calls(), id)) {
        self.on_launch(id, call);
    } else if (is_one_of(captures, id)) {
        // Profiler calls are forbidden while a stream is captured.
        if (enters) {
            ++self.capturing_;
            self.read_safely();
        } else if (*static_cast<const CUresult*>(call.functionReturnValue) != CUDA_SUCCESS) {
            --self.capturing_;
        }
    } else if (is_one_of(ends_of_captures, id)) {
        if (!enters && self.capturing_ > 0) --self.capturing_;
    } else if (is_one_of(replays, id)) {
        if (enters) self.read_safely();
    } else if (is_one_of(unloads, id)) {
        if (enters) self.unloading();
    } else {
        self.follow(id, call);
    }
}

void LaunchCounters::on_launch(CUpti_CallbackId id, const CUpti_CallbackData& call) {
    if (call.callbackSite != CUPTI_API_ENTER) return launching_.unlock();
    launching_.lock();
    // CUPTI's own driver calls also arrive here.
    if (depth_ > 0 || !enabled_ || broken_ || call.symbolName == nullptr) return;
    ++depth_;
    try {
        LaunchCall launch = call_of(id, call.functionParams);
        if (waits_for_others(call.symbolName)) {
            turns_.stopped();
            read();
        } else if (capturing_ == 0 && !is_captured(launch.stream)) {
            launch.shape.name = kernel_name(session_->writer(), call.symbolName);
            before(launch, call.symbolName, call.context);
            if (replay_ && active_ != nullptr) replay_->record(id, call.functionParams);
        }
    } catch (const Busy& busy) {
        give_up(busy.reason.reason + "; " + busy.reason.remedy);
    } catch (const std::exception& error) {
        give_up(error.what());
    }
    --depth_;
}

ContextCounter& LaunchCounters::counter_of(CUcontext context) {
    std::unique_ptr<ContextCounter>& counter = contexts_[context];
    if (!counter) {
        const Cupti& cupti = session_->cupti();
        const auto sets = sets_on(device_of(context, cupti));
        counter = std::make_unique<ContextCounter>(cupti, context, sets, profilers_of(*sets));
        if (active_ == nullptr) turns_ = SetTurns(counter->most_launches());
    }
    return *counter;
}

std::uint32_t LaunchCounters::next_of(std::uint32_t missing, std::string_view name,
                                      const CounterSets& sets) {
    const std::uint32_t types = missing & sets.by_type();
    const std::uint32_t type = types == 0 ? 0 : sets.likeliest_type(name, types);
    return (missing & sets.common()) | type;
}

Profilers LaunchCounters::profilers_of(const CounterSets& sets) const {
    if (!session_->options().once || (replay_ && replay_->is_possible())) return Profilers::one;
    std::uint32_t first = earlier_.empty() ? 1 : 0;
    for (const auto& [kernel, missing] : earlier_) {
        const std::uint32_t next = next_of(missing, kernel.name, sets);
        first |= next & (~next + 1);  // the lowest bit, which the launch gets
    }
    return std::has_single_bit(first) ? Profilers::one_a_set : Profilers::one;
}

std::uint32_t LaunchCounters::missing_of(Launched& launch, const programs::ShapeActivity& shape,
                                         const CounterSets& sets) const {
    if (!std::exchange(launch.known, true)) {
        launch.missing = sets.common();
        if (!earlier_.empty()) {
            const auto found = earlier_.find({readable_name(launch.name),
                                              {shape.grid_x, shape.grid_y, shape.grid_z},
                                              {shape.block_x, shape.block_y, shape.block_z}});
            if (found != earlier_.end()) launch.missing = found->second;
        }
    }
    // The counters of the requested set show which other type is missing.
    const std::uint32_t wanted = launch.asked ? launch.missing & sets.common() : launch.missing;
    return next_of(wanted, launch.name, sets);
}

void LaunchCounters::before(const LaunchCall& call, const char* name, CUcontext context) {
    const programs::ShapeActivity& shape = call.shape;
    ContextCounter& counter = counter_of(context);
    const std::uint32_t number = session_->writer().shape(shape);
    Launched& launch = launches_[{context, number}];
    if (launch.name.empty()) {
        launch.name = name;
        launch.shape = number;
        arguments_.forget();
        launch.argument_bytes =
            arguments_.reachable_bytes(call.function, call.parameters, call.extra);
    }
    if (active_ != nullptr && active_context_ != context) {
        turns_.stopped();
        read();
    }
    const bool waits = active_ == nullptr && is_restless();
    const std::uint32_t missing = waits ? 0 : missing_of(launch, shape, counter.sets());
    const SetTurns::Turn turn = turns_.next(missing);
    if (turn.stop) read();
    if (turn.start) {
        if (replay_) static_cast<void>(replay_->open(context));
        counter.start(*turn.start);
        active_ = &counter;
        active_context_ = context;
        active_set_ = *turn.start;
    }
    if (active_ == nullptr) return;
    ranges_.push_back(turn.counted ? &launch : nullptr);
    batch_.push_back(&launch);
    if (turn.counted) count(launch, active_set_, counter.sets());
}

void LaunchCounters::count(Launched& launch, unsigned set, const CounterSets& sets) const {
    const std::int64_t wanted = (sets.common() >> set & 1U) != 0 ? session_->options().counted : 1;
    if (++launch.counts[set] >= wanted) launch.missing &= ~(1U << set);
    if ((sets.by_type() >> set & 1U) != 0) launch.asked = true;
}

void LaunchCounters::read(Repeats repeats) {
    if (active_ == nullptr) return;
    ContextCounter& counter = *std::exchange(active_, nullptr);
    const std::vector<Launched*> ranges = std::exchange(ranges_, {});
    const std::vector<Launched*> batch = std::exchange(batch_, {});
    const bool taken = take(counter.sets(), active_set_, ranges, counter.stop());
    if (!replay_) return;
    if (taken && repeats == Repeats::yes) repeat(counter, batch);
    replay_->close();
}

bool LaunchCounters::take(const CounterSets& sets, unsigned set,
                          const std::vector<Launched*>& ranges,
                          std::vector<std::vector<double>> rows) {
    if (rows.size() == ranges.size()) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            if (ranges[i] != nullptr) keep(sets, set, *ranges[i], std::move(rows[i]));
        }
        session_->writer().flush();
        return true;
    }
    for (Launched* const launch : ranges) {
        if (launch == nullptr) continue;
        --launch->counts[set];
        launch->asked = false;
        launch->missing |= 1U << set;
    }
    constexpr int most = 3;
    if (++out_of_step_ >= most) {
        give_up("the profiler saw " + std::to_string(rows.size()) + " kernels of " +
                std::to_string(ranges.size()) + " launches");
    }
    return false;
}

void LaunchCounters::read_safely(Repeats repeats) {
    const std::lock_guard lock(launching_);
    if (depth_ > 0) return;
    ++depth_;
    turns_.stopped();
    try {
        read(repeats);
    } catch (const Busy& busy) {
        give_up(busy.reason.reason + "; " + busy.reason.remedy);
    } catch (const std::exception& error) {
        give_up(error.what());
    }
    --depth_;
}

void LaunchCounters::keep(const CounterSets& sets, unsigned set, Launched& launch,
                          std::vector<double> values) {
    if ((sets.by_type() >> set & 1U) != 0) launch.asked = false;
    if (!is_number(values)) return;
    KernelValues kernel{.metrics = sets[set].metrics, .values = std::move(values)};
    write_metrics(kernel, launch);
    programs::CounterActivity activity = activity_of(kernel);
    const std::uint32_t types = sets.by_type();
    if ((types >> set & 1U) != 0) {
        if (activity.tensor_type_flop > 0.0) launch.missing &= ~types;
    } else {
        const auto same = [&kernel](const KernelValues& other) {
            return other.metrics.data() == kernel.metrics.data();
        };
        if (std::none_of(launch.seen.begin(), launch.seen.end(), same)) {
            launch.seen.push_back(std::move(kernel));
        }
        const std::uint32_t found = sets.types_of(launch.seen) & ~launch.typed;
        launch.typed |= found;
        launch.missing |= found;
    }
    activity.shape = launch.shape;
    activity.set = set;
    activity.missing = launch.missing;
    session_->writer().write(activity);
}

void LaunchCounters::write_metrics(const KernelValues& kernel, const Launched& launch) {
    std::string names;
    for (const Metric& metric : kernel.metrics) names += std::string(metric.name) + ' ';
    std::vector<double> values = kernel.values;
    if (launch.argument_bytes >= 0.0) {
        names += "ridge__argument_bytes ";
        values.push_back(launch.argument_bytes);
    }
    names.pop_back();
    session_->writer().write(programs::MetricActivity{
        .shape = launch.shape,
        .names = session_->writer().text(names),
        .values = {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)}});
}

void LaunchCounters::unloading() {
    const std::lock_guard lock(launching_);
    if (depth_ > 0) return;
    read_safely();
    ++depth_;
    for (const auto& [context, counter] : contexts_) counter->forget();
    --depth_;
    ++unloads_;
    last_unload_ = std::chrono::steady_clock::now();
}

bool LaunchCounters::is_restless() const {
    constexpr int tolerated = 3;  // a new profiler takes some tenths of a second
    constexpr auto calm = std::chrono::milliseconds(50);
    return unloads_ > tolerated && std::chrono::steady_clock::now() - last_unload_ < calm;
}

void LaunchCounters::enable(bool on) {
    enabled_ = on;
    if (!on) read_safely();
}

void LaunchCounters::context_ends(CUcontext context) {
    if (active_context_ == context) read_safely();
    const std::lock_guard lock(launching_);
    contexts_.erase(context);
    if (replay_) replay_->ended(context);
    std::erase_if(launches_, [context](const auto& each) { return each.first.first == context; });
}

void LaunchCounters::read_now() {
    const std::unique_lock lock(launching_, std::try_to_lock);
    if (!lock.owns_lock() || active_ == nullptr) return;
    const CurrentContext current(active_context_);
    if (current.is_set()) read_safely(Repeats::no);
}

void LaunchCounters::finish() {
    const std::lock_guard lock(launching_);
    enabled_ = false;
    if (prepared_.valid()) prepared_.wait();
    read_now();
}

void LaunchCounters::give_up(const std::string& why) {
    broken_ = true;
    active_ = nullptr;
    if (replay_) replay_->refuse(why);
    session_->note("no counters: " + why);
}

}  // namespace ridge::measure::cuda
