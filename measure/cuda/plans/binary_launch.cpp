#include "measure/run/binary_launch.h"

#include <cuda_runtime.h>

#include "measure/cuda/kernels/fill.h"
#include "measure/cuda/memory/handles.h"

namespace ridge::measure {
namespace {

/// Unloads the binary at the end of the scope.
class LoadedBinary {
  public:
    explicit LoadedBinary(const std::string& image) {
        cuda::require(
            cudaLibraryLoadData(&library_, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            "cudaLibraryLoadData");
    }
    ~LoadedBinary() { cudaLibraryUnload(library_); }
    LoadedBinary(const LoadedBinary&) = delete;
    LoadedBinary& operator=(const LoadedBinary&) = delete;

    [[nodiscard]] const void* kernel(const std::string& name) const {
        cudaKernel_t found = nullptr;
        cuda::require(cudaLibraryGetKernel(&found, library_, name.c_str()), "cudaLibraryGetKernel");
        return static_cast<const void*>(found);
    }

  private:
    cudaLibrary_t library_ = nullptr;
};

cuda::Buffer filled(std::int64_t bytes, std::uint64_t seed, cudaStream_t stream) {
    cuda::Buffer buffer(static_cast<std::size_t>(bytes));
    cuda::launch_of(cuda::Fill{.destination = buffer.as(),
                               .elements = bytes / static_cast<std::int64_t>(sizeof(float)),
                               .type = cuda::ElementType::float32,
                               .pattern = cuda::FillPattern::uniform,
                               .scale = 1.0F,
                               .seed = seed})(stream);
    return buffer;
}

dim3 sizes(const std::array<std::int64_t, 3>& of) {
    return {static_cast<unsigned>(of[0]), static_cast<unsigned>(of[1]),
            static_cast<unsigned>(of[2])};
}

}  // namespace

void launch_binary(const BinaryLaunch& launch) {
    const LoadedBinary binary(launch.image);
    const void* const kernel = binary.kernel(launch.function);
    const cuda::Stream stream;
    std::vector<cuda::Buffer> buffers;
    buffers.reserve(launch.arguments.size());
    std::vector<void*> pointers(launch.arguments.size());
    std::vector<void*> places;
    std::vector<std::vector<std::byte>> values;
    values.reserve(launch.arguments.size());
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
        const BinaryArgument& argument = launch.arguments[i];
        if (argument.buffer_bytes > 0) {
            buffers.push_back(filled(argument.buffer_bytes, i + 1, stream.handle()));
            pointers[i] = buffers.back().as();
            places.push_back(&pointers[i]);
        } else {
            values.push_back(argument.value);
            places.push_back(values.back().data());
        }
    }
    const auto shared = static_cast<std::size_t>(launch.shared_bytes);
    constexpr std::size_t without_asking = std::size_t{48} << 10U;
    if (shared > without_asking) {
        cuda::require(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(shared)),
                      "cudaFuncSetAttribute");
    }
    for (std::int64_t i = 0; i < launch.times; ++i) {
        cuda::require(cudaLaunchKernel(kernel, sizes(launch.grid), sizes(launch.block),
                                       places.data(), shared, stream.handle()),
                      "cudaLaunchKernel");
    }
    cuda::require(cudaStreamSynchronize(stream.handle()), "cudaStreamSynchronize");
}

}  // namespace ridge::measure
