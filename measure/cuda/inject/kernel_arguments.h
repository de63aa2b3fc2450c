// The arguments of a kernel: where each lies in a launch's parameters, and how much memory they
// point into.
//
// Method: the driver tells offset and size of each argument. A pointer that lies within an
// allocation reaches that allocation; structures passed by value are searched word by word.
//
//   KernelArguments arguments;
//   arguments.of(function);                                  // {{0, 8}, {8, 8}, {16, 4}}
//   arguments.reachable_bytes(function, parameters, extra);  // 536870912
//
// Limits: pointers inside device memory are not followed. An allocation of a framework's own
// allocator counts whole, so the bytes are an upper bound of what the kernel can touch.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <map>
#include <span>
#include <vector>

namespace ridge::measure::cuda {

struct KernelArgument {
    std::size_t offset = 0;
    std::size_t size = 0;
};

/// Address and size of arguments that were passed as one buffer.
[[nodiscard]] std::span<const std::byte> argument_buffer(void* const* extra);

class KernelArguments {
  public:
    /// Empty if the kernel has none or the driver does not tell.
    [[nodiscard]] const std::vector<KernelArgument>& of(CUfunction function);
    /// The sum of the allocations that the arguments point into; negative if there are none.
    [[nodiscard]] double reachable_bytes(CUfunction function, void* const* parameters,
                                         void* const* extra);
    /// Call this when code may have been unloaded: its handles can be given to other kernels.
    void forget() { known_.clear(); }

  private:
    std::map<CUfunction, std::vector<KernelArgument>> known_;
};

}  // namespace ridge::measure::cuda
