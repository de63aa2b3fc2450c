#include "measure/cuda/inject/kernel_arguments.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>
#include <map>

#include "measure/cuda/libraries/cupti.h"

namespace ridge::measure::cuda {
namespace {

/// Functions of the driver; one that it lacks is null.
struct ArgumentFunctions {
    Pointer<decltype(cuFuncGetParamInfo)> of_function = nullptr;
    Pointer<decltype(cuKernelGetParamInfo)> of_kernel = nullptr;
    Pointer<decltype(cuPointerGetAttribute)> pointer = nullptr;
};

const ArgumentFunctions& functions() {
    static const ArgumentFunctions found = [] {
        ArgumentFunctions table;
        void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (driver == nullptr) return table;
        const auto find = [driver](const char* name, auto& function) {
            function =
                reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(driver, name));
        };
        find("cuFuncGetParamInfo", table.of_function);
        find("cuKernelGetParamInfo", table.of_kernel);
        find("cuPointerGetAttribute", table.pointer);
        return table;
    }();
    return found;
}

/// The allocations that pointers lie in: start and size.
using Allocations = std::map<CUdeviceptr, std::size_t>;

void add_pointers(std::span<const std::byte> bytes, Allocations& found) {
    for (std::size_t at = 0; at + sizeof(CUdeviceptr) <= bytes.size(); at += sizeof(CUdeviceptr)) {
        CUdeviceptr address = 0;
        std::memcpy(&address, bytes.data() + at, sizeof address);
        constexpr CUdeviceptr least = 1U << 16U;  // smaller numbers are counts
        if (address < least) continue;
        CUdeviceptr start = 0;
        std::size_t size = 0;
        const auto& call = functions().pointer;
        if (call(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) == CUDA_SUCCESS &&
            call(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) == CUDA_SUCCESS && start != 0) {
            found[start] = size;
        }
    }
}

}  // namespace

std::span<const std::byte> argument_buffer(void* const* extra) {
    const void* data = nullptr;
    std::size_t size = 0;
    for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) data = extra[i + 1];
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
            std::memcpy(&size, extra[i + 1], sizeof size);
        }
    }
    return {static_cast<const std::byte*>(data), size};
}

const std::vector<KernelArgument>& KernelArguments::of(CUfunction function) {
    const auto [found, is_new] = known_.try_emplace(function);
    std::vector<KernelArgument>& all = found->second;
    const ArgumentFunctions& call = functions();
    if (!is_new || call.of_function == nullptr || call.of_kernel == nullptr) return all;
    KernelArgument argument;
    while (call.of_function(function, all.size(), &argument.offset, &argument.size) ==
           CUDA_SUCCESS) {
        all.push_back(argument);
    }
    if (!all.empty()) return all;
    // The handle may be that of a kernel.
    auto* const kernel = reinterpret_cast<CUkernel>(function);
    while (call.of_kernel(kernel, all.size(), &argument.offset, &argument.size) == CUDA_SUCCESS) {
        all.push_back(argument);
    }
    return all;
}

double KernelArguments::reachable_bytes(CUfunction function, void* const* parameters,
                                        void* const* extra) {
    if (functions().pointer == nullptr) return -1.0;
    Allocations found;
    if (extra != nullptr) {
        add_pointers(argument_buffer(extra), found);
    } else if (parameters != nullptr) {
        const std::vector<KernelArgument>& all = of(function);
        for (std::size_t i = 0; i < all.size(); ++i) {
            add_pointers({static_cast<const std::byte*>(parameters[i]), all[i].size}, found);
        }
    }
    double bytes = 0.0;
    for (const auto& [start, size] : found) bytes += static_cast<double>(size);
    return found.empty() ? -1.0 : bytes;
}

}  // namespace ridge::measure::cuda
