#include "measure/cuda/inject/launch_replay.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ridge::measure::cuda {

/// The driver's own functions, found at run time.
struct LaunchReplay::Driver {
    Pointer<decltype(cuMemAlloc_v2)> allocate = nullptr;
    Pointer<decltype(cuMemFree_v2)> free = nullptr;
    Pointer<decltype(cuMemGetInfo_v2)> memory_info = nullptr;
    Pointer<decltype(cuMemcpyDtoD_v2)> copy = nullptr;
    Pointer<decltype(cuCtxSynchronize)> synchronize = nullptr;
    Pointer<decltype(cuLaunchKernelEx)> launch = nullptr;

    static const Driver* find();
};

namespace {

template <class Function>
bool find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
}

/// Whether the attribute can be copied: a batch keeps its order anyway, or it affects no other
/// launch.
bool can_copy(const CUlaunchAttribute& attribute) {
    switch (attribute.id) {
        case CU_LAUNCH_ATTRIBUTE_IGNORE:
        case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
        case CU_LAUNCH_ATTRIBUTE_PRIORITY:
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
        case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
            return true;
        default:
            return false;
    }
}

/// Whether the default stream of the call is that of the thread.
bool is_per_thread(CUpti_CallbackId id) {
    return id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz ||
           id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz ||
           id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz;
}

template <class Parameters>
CUlaunchConfig config_of(const Parameters& launch) {
    CUlaunchConfig config{};
    config.gridDimX = launch.gridDimX;
    config.gridDimY = launch.gridDimY;
    config.gridDimZ = launch.gridDimZ;
    config.blockDimX = launch.blockDimX;
    config.blockDimY = launch.blockDimY;
    config.blockDimZ = launch.blockDimZ;
    config.sharedMemBytes = launch.sharedMemBytes;
    config.hStream = launch.hStream;
    return config;
}

constexpr std::size_t alignment = 256;  // alignment of the driver's own allocations

std::size_t aligned(std::size_t bytes) {
    return (bytes + alignment - 1) / alignment * alignment;
}

}  // namespace

const LaunchReplay::Driver* LaunchReplay::Driver::find() {
    static const std::optional<Driver> found = []() -> std::optional<Driver> {
        void* const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (library == nullptr) return std::nullopt;
        Driver driver;
        using cuda::find;
        const bool all = find(library, "cuMemAlloc_v2", driver.allocate) &&
                         find(library, "cuMemFree_v2", driver.free) &&
                         find(library, "cuMemGetInfo_v2", driver.memory_info) &&
                         find(library, "cuMemcpyDtoD_v2", driver.copy) &&
                         find(library, "cuCtxSynchronize", driver.synchronize) &&
                         dlsym(library, "cuFuncGetParamInfo") != nullptr &&
                         dlsym(library, "cuKernelGetParamInfo") != nullptr &&
                         find(library, "cuLaunchKernelEx", driver.launch);
        return all ? std::optional(driver) : std::nullopt;
    }();
    return found ? &*found : nullptr;
}

LaunchReplay::LaunchReplay() : driver_(Driver::find()) {
    if (driver_ == nullptr) refuse("this driver does not report a kernel's arguments");
}

void LaunchReplay::refuse(std::string why) {
    if (refusal_.empty()) refusal_ = std::move(why);
}

void LaunchReplay::allocated(CUcontext context, CUdeviceptr address, std::size_t bytes) {
    memory_[context].add(address, bytes);
}

void LaunchReplay::freed(CUcontext context, CUdeviceptr address) {
    memory_[context].remove(address);
}

void LaunchReplay::loaded(std::span<const char> cubin) {
    if (keeps_state(cubin)) refuse("a module has its own variables, prints or allocates");
}

bool LaunchReplay::open(CUcontext context) {
    close();
    arguments_.forget();
    if (!is_possible()) return false;
    std::size_t bytes = 0;
    saved_ = memory_[context].regions();
    for (const auto& [address, size] : saved_) bytes += aligned(size);
    std::size_t free = 0;
    std::size_t total = 0;
    constexpr std::size_t spare = std::size_t{1}
                                  << 30U;  // reserved for what the program allocates meanwhile
    if (driver_->synchronize() != CUDA_SUCCESS ||
        driver_->memory_info(&free, &total) != CUDA_SUCCESS || free < bytes + spare ||
        (bytes > 0 && driver_->allocate(&copy_, bytes) != CUDA_SUCCESS)) {
        refuse("the GPU has too little memory for a copy of the program's memory");
        return false;
    }
    open_ = true;
    if (copy(false)) return true;
    refuse("the program's memory could not be copied");
    close();
    return false;
}

bool LaunchReplay::copy(bool back) {
    CUdeviceptr place = copy_;
    for (const auto& [address, size] : saved_) {
        const CUresult result =
            back ? driver_->copy(address, place, size) : driver_->copy(place, address, size);
        if (result != CUDA_SUCCESS) return false;
        place += aligned(size);
    }
    return driver_->synchronize() == CUDA_SUCCESS;
}

bool LaunchReplay::keep(Recorded& launch, void** parameters, void** extra) {
    if (extra != nullptr) {
        const std::span<const std::byte> buffer = argument_buffer(extra);
        launch.packed = true;
        launch.arguments.assign(buffer.begin(), buffer.end());
        return true;
    }
    const std::vector<KernelArgument>& arguments = arguments_.of(launch.function);
    if (arguments.empty()) return parameters == nullptr || parameters[0] == nullptr;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const auto [offset, size] = arguments[i];
        launch.offsets.push_back(offset);
        launch.arguments.resize(std::max(launch.arguments.size(), offset + size));
        std::memcpy(launch.arguments.data() + offset, parameters[i], size);
    }
    return true;
}

void LaunchReplay::record(CUpti_CallbackId id, const void* parameters) {
    if (!open_ || spoiled_) return;
    Recorded launch;
    bool kept = false;
    switch (id) {
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz: {
            const auto& call = *static_cast<const cuLaunchKernelEx_params*>(parameters);
            launch.config = *call.config;
            launch.attributes.assign(call.config->attrs,
                                     call.config->attrs + call.config->numAttrs);
            launch.function = call.f;
            kept = std::all_of(launch.attributes.begin(), launch.attributes.end(), can_copy) &&
                   keep(launch, call.kernelParams, call.extra);
            break;
        }
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
        case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz: {
            const auto& call = *static_cast<const cuLaunchKernel_params*>(parameters);
            launch.config = config_of(call);
            launch.function = call.f;
            kept = keep(launch, call.kernelParams, call.extra);
            break;
        }
        default: {
            const auto& call = *static_cast<const cuLaunchCooperativeKernel_params*>(parameters);
            launch.config = config_of(call);
            launch.function = call.f;
            CUlaunchAttribute together{};
            together.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
            together.value.cooperative = 1;
            launch.attributes.push_back(together);
            kept = keep(launch, call.kernelParams, nullptr);
        }
    }
    if (is_per_thread(id) && launch.config.hStream == nullptr) {
        launch.config.hStream = CU_STREAM_PER_THREAD;
    }
    spoiled_ = !kept;
    launches_.push_back(std::move(launch));
}

bool LaunchReplay::restore() {
    if (driver_->synchronize() == CUDA_SUCCESS && copy(true)) return true;
    refuse("the program's memory could not be restored");
    return false;
}

bool LaunchReplay::repeat(Recorded& launch) const {
    CUlaunchConfig config = launch.config;
    config.attrs = launch.attributes.data();
    config.numAttrs = static_cast<unsigned>(launch.attributes.size());
    std::size_t size = launch.arguments.size();
    std::array<void*, 5> extra{CU_LAUNCH_PARAM_BUFFER_POINTER, launch.arguments.data(),
                               CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    std::vector<void*> parameters;
    for (const std::size_t offset : launch.offsets) {
        parameters.push_back(launch.arguments.data() + offset);
    }
    return driver_->launch(&config, launch.function, launch.packed ? nullptr : parameters.data(),
                           launch.packed ? extra.data() : nullptr) == CUDA_SUCCESS;
}

bool LaunchReplay::launch() {
    const bool launched = std::all_of(launches_.begin(), launches_.end(),
                                      [this](Recorded& each) { return repeat(each); });
    if (launched && driver_->synchronize() == CUDA_SUCCESS) return true;
    refuse("a launch could not be repeated");
    return false;
}

void LaunchReplay::close() {
    if (std::exchange(open_, false)) {
        ++batches_;
        repeatable_ += spoiled_ ? 0 : launches_.size();
        // Each batch costs a dozen changes of counters, so further runs of the program are faster.
        constexpr std::size_t enough = 4;
        constexpr std::size_t least = 8;
        if (batches_ >= enough && repeatable_ < batches_ * least) {
            refuse("few launches follow each other without a copy between them");
        }
    }
    launches_.clear();
    saved_.clear();
    spoiled_ = false;
    if (copy_ != 0) driver_->free(std::exchange(copy_, 0));
}

}  // namespace ridge::measure::cuda
