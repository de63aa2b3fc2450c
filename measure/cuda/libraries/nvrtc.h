// Compiles a kernel at run time with NVRTC, which is also found at run time.
//
// Method: the source is compiled to machine code for the GPU's own architecture, loaded as a
// library of the CUDA runtime, and cached, so that the same text is compiled only once per process.
//
//   const KernelSource source{.source = text, .name = "gelu", .architecture = 90};
//   compile_kernel(source).launch(stream, blocks, threads, arguments);
//
// Errors: Refusal when NVRTC is missing or too old for the GPU; DeviceError with the compiler's log
// when it rejects the source.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "measure/record/observation.h"

namespace ridge::measure::cuda {

struct KernelSource {
    std::string source;
    std::string name;
    int architecture = 0;  ///< 90 for compute capability 9.0
};

class RuntimeKernel {
  public:
    explicit RuntimeKernel(const KernelSource& source);
    RuntimeKernel(const RuntimeKernel&) = delete;
    RuntimeKernel& operator=(const RuntimeKernel&) = delete;
    ~RuntimeKernel();

    void launch(cudaStream_t stream, std::int64_t blocks, int threads,
                std::vector<void*>& arguments) const;

  private:
    cudaLibrary_t library_ = nullptr;
    cudaKernel_t kernel_ = nullptr;
};

[[nodiscard]] const RuntimeKernel& compile_kernel(const KernelSource& source);

/// Version and path of NVRTC, or why there is none.
[[nodiscard]] Maybe<std::string> compiler_description();

}  // namespace ridge::measure::cuda
