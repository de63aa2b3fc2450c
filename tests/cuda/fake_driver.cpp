// A driver whose device is the host: its memory is on the heap, and kernels are functions of their
// arguments. Loaded under the name of the real driver, it shows without a GPU that launches are
// repeated as they were.
#include "tests/cuda/fake_driver.h"

#include <cstdlib>
#include <cstring>

namespace {

FakeDriver state;

}  // namespace

// The names are the driver's. NOLINTBEGIN(readability-identifier-naming)
extern "C" {

__attribute__((visibility("default"))) FakeDriver* fake_driver() {
    return &state;
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t bytes) {
    if (state.refuses_memory) return CUDA_ERROR_OUT_OF_MEMORY;
    *address = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
    ++state.allocations;
    return CUDA_SUCCESS;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
    std::free(reinterpret_cast<void*>(address));
    --state.allocations;
    return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    *free = state.free_bytes;
    *total = state.free_bytes;
    return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t bytes) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
    return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
    return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index, std::size_t* offset,
                            std::size_t* size) {
    const auto& kernel = *reinterpret_cast<const FakeKernel*>(function);
    if (kernel.is_kernel_handle || index >= kernel.arguments.size())
        return CUDA_ERROR_INVALID_VALUE;
    *offset = kernel.arguments[index].first;
    *size = kernel.arguments[index].second;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel function, std::size_t index, std::size_t* offset,
                              std::size_t* size) {
    const auto& kernel = *reinterpret_cast<const FakeKernel*>(function);
    if (index >= kernel.arguments.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = kernel.arguments[index].first;
    *size = kernel.arguments[index].second;
    return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
    if (state.refuses_launches) return CUDA_ERROR_LAUNCH_FAILED;
    state.grids.push_back(config->gridDimX);
    state.streams.push_back(config->hStream);
    state.attributes = config->numAttrs;
    reinterpret_cast<const FakeKernel*>(function)->run(extra == nullptr ? parameters : extra);
    return CUDA_SUCCESS;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
