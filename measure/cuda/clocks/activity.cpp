// Activity tracing; see activity.h.
#include "measure/cuda/clocks/activity.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <mutex>

#include "hardware/error.h"
#include "measure/cuda/memory/handles.h"

namespace ridge::measure::cuda {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{8} << 20;

// CUPTI's buffer callbacks carry no user data, so what they collect is stored here.
struct Collected {
    std::mutex mutex;
    std::vector<KernelRecord> records;
    std::size_t dropped = 0;
    std::size_t timeless = 0;
};

Collected& collected() {
    static Collected instance;
    return instance;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
    *size = *buffer == nullptr ? 0 : buffer_bytes;
    *most_records = 0;
}

void keep(Collected& into, const CUpti_Activity& activity) {
    if (activity.kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) return;
    const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel10&>(activity);
    if (kernel.start == 0 || kernel.end <= kernel.start) {
        ++into.timeless;
        return;
    }
    into.records.push_back({.name = kernel.name == nullptr ? "" : kernel.name,
                            .start_ns = kernel.start,
                            .end_ns = kernel.end,
                            .stream = kernel.streamId});
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t /*size*/, std::size_t valid) {
    const auto& table = std::get<Cupti>(cupti());
    Collected& into = collected();
    const std::lock_guard lock(into.mutex);
    CUpti_Activity* record = nullptr;
    while (table.activity_next(buffer, valid, &record) == CUPTI_SUCCESS) keep(into, *record);
    std::size_t dropped = 0;
    if (table.activity_dropped(context, stream, &dropped) == CUPTI_SUCCESS) into.dropped += dropped;
    std::free(buffer);
}

void CUPTIAPI ignore_callback(void* /*user*/, CUpti_CallbackDomain /*domain*/,
                              CUpti_CallbackId /*id*/, const void* /*data*/) {}

}  // namespace

Maybe<std::unique_ptr<ActivityTracer>> ActivityTracer::open() {
    const auto& found = cupti();
    if (const auto* missing = std::get_if<Unavailable>(&found)) return *missing;
    const auto& table = std::get<Cupti>(found);
    std::array<char, 128> owner{};
    std::string name = "ridge";
    auto parameters = sized<CUpti_SubscriberParams>(CUpti_SubscriberParams_STRUCT_SIZE);
    parameters.subscriberName = name.data();
    parameters.oldSubscriberName = owner.data();
    parameters.oldSubscriberSize = owner.size();
    CUpti_SubscriberHandle subscriber = nullptr;
    const CUptiResult result = table.subscribe(&subscriber, ignore_callback, nullptr, &parameters);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
        return Unavailable{
            .reason = "another tool uses CUPTI in this process" +
                      (owner[0] == '\0' ? std::string() : ": " + std::string(owner.data())),
            .remedy = "run ridge outside profilers and debuggers"};
    }
    table.require(result, "cuptiSubscribe");
    table.require(table.activity_register(give_buffer, take_buffer),
                  "cuptiActivityRegisterCallbacks");
    return std::unique_ptr<ActivityTracer>(new ActivityTracer(table, subscriber));
}

ActivityTracer::~ActivityTracer() {
    cupti_->activity_flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    cupti_->unsubscribe(subscriber_);
}

std::vector<KernelRecord> ActivityTracer::trace(const std::function<void()>& work) {
    Collected& store = collected();
    {
        const std::lock_guard lock(store.mutex);
        store.records.clear();
        store.dropped = 0;
        store.timeless = 0;
    }
    cupti_->require(cupti_->activity_enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
                    "cuptiActivityEnable");
    try {
        work();
        require(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    } catch (...) {
        cupti_->activity_disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
        throw;
    }
    cupti_->require(cupti_->activity_flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED),
                    "cuptiActivityFlushAll");
    cupti_->require(cupti_->activity_disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
                    "cuptiActivityDisable");
    const std::lock_guard lock(store.mutex);
    if (store.dropped + store.timeless > 0) {
        throw DeviceError("activity tracing lost " + std::to_string(store.dropped) +
                          " records and got " + std::to_string(store.timeless) + " without times");
    }
    std::vector<KernelRecord> records = std::move(store.records);
    std::sort(records.begin(), records.end(),
              [](const KernelRecord& a, const KernelRecord& b) { return a.start_ns < b.start_ns; });
    return records;
}

std::uint32_t ActivityTracer::number_of(CUstream stream) const {
    std::uint32_t number = 0;
    cupti_->require(cupti_->stream_id(nullptr, stream, 0, &number), "cuptiGetStreamIdEx");
    return number;
}

}  // namespace ridge::measure::cuda
