// Repeats launches that a program makes only once, so that they get all sets of counters in one
// run.
#include <algorithm>
#include <bit>

#include "measure/cuda/inject/launch_counters.h"

namespace ridge::measure::cuda {

void LaunchCounters::listen_to_all_calls(CUpti_SubscriberHandle subscriber) {
    const Cupti& cupti = session_->cupti();
    replay_.emplace();
    kinds_.assign(CUPTI_DRIVER_TRACE_CBID_SIZE, CallKind::ends_batch);
    for (std::uint32_t id = 1; id < kinds_.size(); ++id) {
        const char* name = nullptr;
        if (cupti.callback_name(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) != CUPTI_SUCCESS) continue;
        kinds_[id] = call_kind(name);
        if (kinds_[id] == CallKind::harmless) continue;
        cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id);
    }
    cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                          CUPTI_CBID_RESOURCE_MODULE_LOADED);
}

void LaunchCounters::module_loaded(std::span<const char> cubin) {
    const std::lock_guard lock(launching_);
    if (replay_ && depth_ == 0) replay_->loaded(cubin);
}

void LaunchCounters::follow(CUpti_CallbackId id, const CUpti_CallbackData& call) {
    if (!replay_ || id >= kinds_.size()) return;
    const CallKind kind = kinds_[id];
    if (kind == CallKind::harmless) return;
    const std::lock_guard lock(launching_);
    if (depth_ > 0) return;  // one of our own calls
    if (call.callbackSite == CUPTI_API_ENTER) {
        if (kind != CallKind::allocates) read_safely();
        if (kind == CallKind::untracked) {
            replay_->refuse(std::string(call.functionName) +
                            " provides memory that cannot be saved");
        } else if (id == CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2) {
            replay_->freed(call.context,
                           static_cast<const cuMemFree_v2_params*>(call.functionParams)->dptr);
        }
        return;
    }
    if (kind != CallKind::allocates ||
        *static_cast<const CUresult*>(call.functionReturnValue) != CUDA_SUCCESS) {
        return;
    }
    if (id == CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2) {
        const auto& made = *static_cast<const cuMemAlloc_v2_params*>(call.functionParams);
        replay_->allocated(call.context, *made.dptr, made.bytesize);
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuMemAllocPitch_v2) {
        const auto& made = *static_cast<const cuMemAllocPitch_v2_params*>(call.functionParams);
        replay_->allocated(call.context, *made.dptr, *made.pPitch * made.Height);
    } else {
        replay_->refuse(std::string(call.functionName) + " provides memory that cannot be saved");
    }
}

void LaunchCounters::repeat(ContextCounter& counter, const std::vector<Launched*>& batch) {
    const CounterSets& sets = counter.sets();
    while (replay_->can_repeat()) {
        std::uint32_t missing = 0;
        for (Launched* const launch : batch) {
            missing |= next_of(launch->missing, launch->name, sets);
        }
        if (missing == 0) return;
        const unsigned set = counter.nearest(missing);
        std::vector<Launched*> ranges = batch;
        for (Launched*& launch : ranges) {
            if ((next_of(launch->missing, launch->name, sets) >> set & 1U) == 0) {
                launch = nullptr;
            } else {
                count(*launch, set, sets);
            }
        }
        if (!replay_->restore()) return;
        counter.start(set);
        const bool launched = replay_->launch();
        const bool taken = take(sets, set, ranges, counter.stop());
        if (!launched || !taken) return replay_->refuse("the profiler lost repeated launches");
    }
}

}  // namespace ridge::measure::cuda
