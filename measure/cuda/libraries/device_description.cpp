// Descriptions of devices; see device_description.h.
#include "measure/cuda/libraries/device_description.h"

#include <cuda_runtime.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <string>

#include "measure/cuda/memory/handles.h"

namespace ridge::measure::cuda {
namespace {

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string bus_of(int ordinal) {
    std::array<char, 32> bus{};
    require(cudaDeviceGetPCIBusId(bus.data(), static_cast<int>(bus.size()), ordinal),
            "cudaDeviceGetPCIBusId");
    return bus.data();
}

/// "GPU-3f2a91c0-5b1e-...", as the driver's tools write it.
std::string serial_of(const cudaDeviceProp& properties) {
    std::string text = "GPU";
    for (std::size_t i = 0; i < sizeof properties.uuid.bytes; ++i) {
        const bool group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        const auto byte = static_cast<unsigned char>(properties.uuid.bytes[i]);
        text += fmt::format("{}{:02x}", group ? "-" : "", byte);
    }
    return text;
}

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data())
                                                          : std::string();
}

}  // namespace

DeviceInfo describe_device(int ordinal) {
    cudaDeviceProp properties{};
    require(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
    int driver = 0;
    int runtime = 0;
    require(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    require(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    DeviceInfo info{.name = properties.name,
                    .ordinal = ordinal,
                    .compute_capability = properties.major * 10 + properties.minor,
                    .sm_count = properties.multiProcessorCount,
                    .memory = static_cast<double>(properties.totalGlobalMem) * units::B,
                    .l2 = static_cast<double>(properties.l2CacheSize) * units::B,
                    .memory_bus_bits = properties.memoryBusWidth,
                    .ecc = properties.ECCEnabled != 0,
                    .pci_bus = bus_of(ordinal),
                    .serial = serial_of(properties),
                    .host = host_name(),
                    .cuda_driver = version_text(driver),
                    .cuda_runtime = version_text(runtime)};
    return info;
}

void add_management(const Management& management, DeviceInfo& info) {
    info.driver = management.driver_version();
    info.nvml = management.version();
    info.max_sm_clock = management.max_sm_clock();
    info.max_memory_clock = management.max_memory_clock();
    info.mig = management.mig();
}

std::optional<Unavailable> missing_device(std::int32_t ordinal) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaErrorInsufficientDriver || status == cudaErrorSystemDriverMismatch) {
        return Unavailable{.reason = std::string("no usable driver: ") + cudaGetErrorString(status),
                           .remedy = "install an NVIDIA driver of branch 580 or newer"};
    }
    if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) {
        return Unavailable{.reason = "the driver sees no CUDA device",
                           .remedy =
                               "check CUDA_VISIBLE_DEVICES, and in containers the device "
                               "passed in (--gpus)"};
    }
    if (status != cudaSuccess) {
        return Unavailable{
            .reason = std::string("CUDA does not start: ") + cudaGetErrorString(status),
            .remedy = "see nvidia-smi and the system log"};
    }
    if (ordinal < 0 || ordinal >= count) {
        return Unavailable{.reason = "there is no device " + std::to_string(ordinal),
                           .remedy = "devices are numbered 0 to " + std::to_string(count - 1)};
    }
    return std::nullopt;
}

}  // namespace ridge::measure::cuda
