#include "measure/cuda/inject/session.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "measure/cuda/inject/activity_buffers.h"
#include "measure/cuda/inject/launch_counters.h"
#include "measure/cuda/inject/sampler.h"
#include "measure/cuda/inject/signals.h"
#include "measure/cuda/inject/stall_sampler.h"

namespace ridge::measure::cuda {
namespace {

using namespace std::chrono_literals;
using programs::RecordingMode;

constexpr auto period = 200ms;

std::int32_t number_in(std::initializer_list<const char*> variables) {
    for (const char* variable : variables) {
        const char* text = std::getenv(variable);
        if (text == nullptr || *text == '\0') continue;
        char* end = nullptr;
        const long value = std::strtol(text, &end, 10);
        constexpr long most = 1 << 24;
        if (*end == '\0' && value >= 0 && value < most) return static_cast<std::int32_t>(value);
    }
    return -1;
}

std::uint64_t realtime() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    constexpr std::uint64_t second = 1'000'000'000;
    return static_cast<std::uint64_t>(now.tv_sec) * second +
           static_cast<std::uint64_t>(now.tv_nsec);
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

void finish_at_exit() {
    Session::instance().finish();
}

void CUPTIAPI on_callback(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                          const void* data) {
    Session& session = Session::instance();
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) {
        const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
        if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED) {
            const auto& module =
                *static_cast<const CUpti_ModuleResourceData*>(resource.resourceDescriptor);
            return session.module_loaded({module.pCubin, module.cubinSize});
        }
        return id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED ? session.context_created(resource.context)
                                                         : session.context_ends(resource.context);
    }
    const auto& call = *static_cast<const CUpti_CallbackData*>(data);
    if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStart) {
        if (call.callbackSite == CUPTI_API_EXIT) session.profiler_started();
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuProfilerStop) {
        if (call.callbackSite == CUPTI_API_ENTER) session.profiler_stopped();
    } else {
        LaunchCounters::on_call(id, call);
    }
}

}  // namespace

Session& Session::instance() {
    static Session* const session = new Session;
    return *session;
}

std::uint64_t Session::now() const {
    std::uint64_t time = 0;
    if (cupti_ != nullptr && cupti_->timestamp(&time) == CUPTI_SUCCESS) return time;
    return realtime();
}

bool Session::open() {
    std::call_once(opened_, [this] {
        const char* const text = std::getenv(programs::recording_variable);
        const auto options = programs::recording_options_of(text == nullptr ? "" : text);
        if (!options) return;
        options_ = *options;
        if (!create_file()) return;
        owner_ = getpid();
        recording_ = true;
        std::atexit(finish_at_exit);
        pthread_atfork(nullptr, nullptr, [] { Session::instance().recording_ = false; });
        // The thread does not handle the program's signals.
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        thread_ = std::thread([this] { watch(); });
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
        catch_fatal_signals();
    });
    return recording();
}

bool Session::create_file() {
    const std::int32_t rank = number_in(
        {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "LOCAL_RANK"});
    const std::string process = (rank >= 0 ? ".rank" + std::to_string(rank) : std::string()) + '.' +
                                std::to_string(getpid());
    const std::string host = host_name();
    bool made = writer_.open(options_.prefix + process + ".ridge");
    // Another host's process with the same number may use the same shared folder.
    if (!made && errno == EEXIST) {
        made = writer_.open(options_.prefix + process + '.' + host + ".ridge");
    }
    if (!made) return false;
    const auto mode =
        options_.counted > 0 || options_.stalls ? RecordingMode::counters : RecordingMode::times;
    writer_.write(programs::ProcessActivity{
        .mode = static_cast<std::uint32_t>(mode),
        .pid = static_cast<std::uint32_t>(getpid()),
        .rank = rank,
        .world = number_in({"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}),
        .run = options_.run,
        .time_ns = realtime(),
        .host = host});
    writer_.flush();
    return true;
}

void Session::note(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (notes_.find(text + '\n') != std::string::npos) return;
    notes_ += text + '\n';
    writer_.write(programs::NoteActivity{.text = text});
    writer_.flush();
}

bool Session::subscribe() {
    std::array<char, 128> owner{};
    std::string name = "ridge profile";
    auto parameters = sized<CUpti_SubscriberParams>(CUpti_SubscriberParams_STRUCT_SIZE);
    parameters.subscriberName = name.data();
    parameters.oldSubscriberName = owner.data();
    parameters.oldSubscriberSize = owner.size();
    const CUptiResult result = cupti_->subscribe(&subscriber_, on_callback, nullptr, &parameters);
    if (result == CUPTI_SUCCESS) return true;
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        note("another profiler or debugger is attached to this process" +
             (owner[0] == '\0' ? std::string() : " (" + std::string(owner.data()) + ")") +
             ": nothing was recorded; run one at a time");
    } else {
        note("CUPTI refuses a subscriber (error " + std::to_string(result) +
             "): nothing was recorded");
    }
    return false;
}

void Session::start_cuda() {
    if (!open()) return;
    std::call_once(started_, [this] {
        const auto& found = cuda::cupti();
        if (const auto* missing = std::get_if<Unavailable>(&found)) {
            note(missing->reason + ": kernels were not recorded; " + missing->remedy);
            return;
        }
        cupti_ = &std::get<Cupti>(found);
        if (!subscribe()) return;
        cupti_->thread_id_type(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
        cupti_->enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API,
                                CUPTI_DRIVER_TRACE_CBID_cuProfilerStart);
        cupti_->enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API,
                                CUPTI_DRIVER_TRACE_CBID_cuProfilerStop);
        cupti_->enable_callback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE,
                                CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
        cupti_->activity_register(give_activity_buffer, take_activity_buffer);
        cupti_->activity_enable(CUPTI_ACTIVITY_KIND_DEVICE);
        if (options_.counted > 0) counters_ = &LaunchCounters::open(*this, subscriber_);
        if (options_.sample_ns > 0) sampler_ = new Sampler(*this);
        if (options_.stalls) {
            stalls_ = new StallSampler(*this, subscriber_);
            return;
        }
        if (counters_ == nullptr) enable_calls();
        if (!options_.wait_for_start && options_.delay_ms == 0) enable(true);
        wake_.notify_all();
    });
}

void Session::context_created(CUcontext context) {
    has_context_ = true;
    if (stalls_ == nullptr || !recording()) return;
    stalls_->context_created(context);
    // CUPTI takes its sampling down at exit, so we have to end before that.
    std::atexit(finish_at_exit);
}

void Session::context_ends(CUcontext context) {
    if (stalls_ != nullptr) stalls_->context_ends(context);
    if (counters_ != nullptr) counters_->context_ends(context);
}

void Session::module_loaded(std::span<const char> cubin) {
    if (stalls_ != nullptr) stalls_->module_loaded(cubin);
    if (counters_ != nullptr) counters_->module_loaded(cubin);
}

void Session::profiler_started() {
    if (options_.wait_for_start) enable(true);
}

void Session::profiler_stopped() {
    if (!options_.wait_for_start) return;
    enable(false);
}

void Session::enable_calls() {
    const auto each = [this](CUpti_CallbackDomain domain, std::uint32_t size, auto enable_one) {
        for (std::uint32_t id = 1; id < size; ++id) {
            const char* name = nullptr;
            if (cupti_->callback_name(domain, id, &name) == CUPTI_SUCCESS && is_launch_call(name)) {
                enable_one(id, std::uint8_t{1});
            }
        }
    };
    each(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE,
         cupti_->activity_enable_runtime);
    each(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_SIZE, cupti_->activity_enable_driver);
}

bool Session::in_window(std::uint64_t time_ns) {
    const std::lock_guard lock(windows_mutex_);
    return std::any_of(windows_.rbegin(), windows_.rend(), [time_ns](const auto& window) {
        return time_ns >= window.first && time_ns < window.second;
    });
}

void Session::enable(bool on) {
    if (enabled_.exchange(on) == on) return;
    if (counters_ != nullptr) return counters_->enable(on);
    const std::uint64_t start = now();
    const auto work = options_.whole_graphs ? std::array{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                         CUPTI_ACTIVITY_KIND_GRAPH_TRACE}
                                            : std::array{CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                                         CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
    constexpr std::array transfers{CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
                                   CUPTI_ACTIVITY_KIND_MEMSET};
    const auto set = on ? cupti_->activity_enable : cupti_->activity_disable;
    for (const CUpti_ActivityKind kind : transfers) set(kind);
    for (const CUpti_ActivityKind kind : work) {
        const CUptiResult result = set(kind);
        if (on && result != CUPTI_SUCCESS) {
            note("CUPTI does not record kernels here (error " + std::to_string(result) + ")");
        }
    }
    const std::lock_guard lock(windows_mutex_);
    if (on) {
        windows_.emplace_back(start, ~std::uint64_t{0});
    } else if (!windows_.empty()) {
        windows_.back().second = now();
    }
}

void Session::watch() {
    using Clock = std::chrono::steady_clock;
    std::optional<Clock::time_point> first;
    while (!stopping_) {
        {
            std::unique_lock lock(mutex_);
            // Short waits: a signal handler can set `urgent_` but cannot wake a condition variable.
            for (int turn = 0; turn < 20 && !stopping_ && urgent_ != 1; ++turn) {
                wake_.wait_for(lock, period / 20);
            }
        }
        if (stopping_) break;
        write_out(urgent_ == 1);
        if (urgent_ == 1) urgent_ = 2;
        if (cupti_ == nullptr || options_.wait_for_start) continue;
        if (!first) first = Clock::now();
        const auto running = Clock::now() - *first;
        const auto delay = std::chrono::milliseconds(options_.delay_ms);
        const auto duration = std::chrono::milliseconds(options_.duration_ms);
        const bool over = options_.duration_ms > 0 && running >= delay + duration;
        if (options_.delay_ms > 0 || options_.duration_ms > 0) enable(running >= delay && !over);
    }
}

void Session::write_out(bool forced) {
    if (cupti_ != nullptr) {
        constexpr std::uint32_t everything = CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
        cupti_->activity_flush_all(forced ? everything : 0U);
    }
    if (forced && counters_ != nullptr) counters_->read_now();
    if (stalls_ != nullptr) forced ? stalls_->write_now() : stalls_->collect();
    if (sampler_ != nullptr && has_context_) {
        sampler_->collect();
        // At exit, CUPTI takes down its sampling before anything registered earlier, so end before
        // that.
        const SamplingStep step = sampler_->step();
        if (!stopping_ && std::exchange(ends_before_, step) != step) std::atexit(finish_at_exit);
    }
    writer_.flush();
}

void Session::finish() {
    if (!recording_ || getpid() != owner_) return;
    std::call_once(finished_, [this] {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        wake_.notify_all();
        if (thread_.joinable()) thread_.join();
        if (counters_ != nullptr) counters_->finish();
        if (sampler_ != nullptr) sampler_->stop(ends_before_);
        if (stalls_ != nullptr) stalls_->finish();
        write_out(true);
        writer_.write(programs::FinishActivity{.time_ns = now()});
        writer_.flush();
        recording_ = false;
    });
}

void Session::write_before_signal() {
    int calm = 0;
    if (!recording_ || getpid() != owner_ || !urgent_.compare_exchange_strong(calm, 1)) return;
    for (int turn = 0; turn < 200 && urgent_ != 2; ++turn) {
        const timespec pause{.tv_sec = 0, .tv_nsec = 10'000'000};
        nanosleep(&pause, nullptr);
    }
}

}  // namespace ridge::measure::cuda
