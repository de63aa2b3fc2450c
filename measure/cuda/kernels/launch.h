// What all bundled kernels share: element types, a launcher as a value, and launch shapes from the
// geometry that the model predicts with (model/bundled).
//
// Method: a factory such as matmul_mma_sync(problem) checks the problem, builds tensor maps and
// launch configuration once, and returns a Launch. This closure only enqueues the kernel on a
// stream, so it is cheap enough to be timed.
//
//     const Launch run = matmul_mma_sync(problem);
//     run(stream);
//
// Limits: a Launch captures device pointers, so the buffers must outlive it. It reports only launch
// errors; an error inside the kernel shows up at the next synchronisation.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "model/bundled/launch_grid.h"

namespace ridge::measure::cuda {

namespace bundled = model::bundled;  // geometry that the model predicts with

enum class ElementType { float64, float32, tfloat32, bfloat16, float16, float8_e4m3, int8 };

[[nodiscard]] constexpr int bytes_per_element(ElementType type) {
    switch (type) {
        case ElementType::float64:
            return 8;
        case ElementType::float32:
        case ElementType::tfloat32:
            return 4;
        case ElementType::bfloat16:
        case ElementType::float16:
            return 2;
        case ElementType::float8_e4m3:
        case ElementType::int8:
            return 1;
    }
    return 0;
}

// Enqueues one kernel (or a fixed short sequence) on a stream. Throws std::runtime_error when the
// launch is refused.
using Launch = std::function<void(cudaStream_t)>;

// Throws std::runtime_error naming the call, the code and its text unless `status` is cudaSuccess.
inline void check(cudaError_t status, const char* call) {
    if (status == cudaSuccess) return;
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorName(status) + " (" +
                             std::to_string(status) + "): " + cudaGetErrorString(status));
}

[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return (a + b - 1) / b;
}

struct LaunchShape {
    dim3 grid = 1;
    dim3 block = 1;
    std::size_t dynamic_shared_bytes = 0;
    unsigned cluster = 1;  // blocks per cluster along x
};

// The launch of a bundled kernel whose shared memory is all static or all dynamic.
enum class SharedMemory { fixed, dynamic };
[[nodiscard]] inline LaunchShape shape_of(const bundled::LaunchGrid& grid,
                                          SharedMemory shared = SharedMemory::fixed,
                                          unsigned cluster = 1) {
    return {.grid = dim3(static_cast<unsigned>(grid.x), static_cast<unsigned>(grid.y),
                         static_cast<unsigned>(grid.z)),
            .block = dim3(static_cast<unsigned>(grid.threads)),
            .dynamic_shared_bytes =
                shared == SharedMemory::dynamic ? static_cast<std::size_t>(grid.shared_bytes) : 0,
            .cluster = cluster};
}

// Enqueues `kernel`. With more than 48 KiB of dynamic shared memory, allow_shared_bytes must have
// been called for the kernel once.
template <typename... Parameters, typename... Arguments>
void launch_kernel(const char* name, void (*kernel)(Parameters...), const LaunchShape& shape,
                   cudaStream_t stream, Arguments&&... arguments) {
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim.x = shape.cluster;
    cluster.val.clusterDim.y = 1;
    cluster.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.dynamic_shared_bytes;
    config.stream = stream;
    config.attrs = &cluster;
    config.numAttrs = shape.cluster > 1 ? 1 : 0;
    check(cudaLaunchKernelEx(&config, kernel, std::forward<Arguments>(arguments)...), name);
}

template <typename... Parameters>
void allow_shared_bytes(const char* name, void (*kernel)(Parameters...), std::size_t bytes) {
    check(
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
        name);
}

struct DeviceLimits {
    int multiprocessors = 0;
    int compute_major = 0;
    int compute_minor = 0;
    std::int64_t l2_bytes = 0;
};

// Limits of the current device.
[[nodiscard]] inline DeviceLimits device_limits() {
    int device = 0;
    check(cudaGetDevice(&device), "cudaGetDevice");
    const auto read = [device](cudaDeviceAttr attribute) {
        int value = 0;
        check(cudaDeviceGetAttribute(&value, attribute, device), "cudaDeviceGetAttribute");
        return value;
    };
    return {.multiprocessors = read(cudaDevAttrMultiProcessorCount),
            .compute_major = read(cudaDevAttrComputeCapabilityMajor),
            .compute_minor = read(cudaDevAttrComputeCapabilityMinor),
            .l2_bytes = read(cudaDevAttrL2CacheSize)};
}

// Throws std::runtime_error unless the current device is a Hopper GPU, because only Hopper runs
// sm_90a code.
inline void require_hopper(const char* kernel) {
    const auto limits = device_limits();
    if (limits.compute_major == 9 && limits.compute_minor == 0) return;
    throw std::runtime_error(
        std::string(kernel) + " needs compute capability 9.0 (wgmma, TMA); this device has " +
        std::to_string(limits.compute_major) + "." + std::to_string(limits.compute_minor));
}

}  // namespace ridge::measure::cuda
