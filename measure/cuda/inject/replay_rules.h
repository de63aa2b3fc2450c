// When launches of a program may be repeated within it: what its calls of the driver do to memory, and what
// its kernels keep outside of it.
//
// Method: launches are repeated on the memory that they were first launched on (launch_batch.h), which is
// that of cuMemAlloc. A call that writes such memory ends what can be repeated; memory of any other
// origin (the host's, managed, mapped, arrays) could be written by a kernel without our knowing, and so
// could variables of a module, output of printf and the heap of kernels: with these nothing is repeated.
// An unknown call ends a batch, and so does waiting for the GPU: a program that waits may end soon, and
// nothing is repeated once it ends.
//
//   call_kind("cuMemcpyHtoDAsync_v2");     // CallKind::ends_batch
//   keeps_state(cubin);                    // the module has variables, or prints
//   DeviceMemory memory;
//   memory.add(address, bytes);  memory.remove(address);  memory.total();
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>

namespace ridge::measure::cuda {

enum class CallKind : std::uint8_t {
    harmless,    ///< writes no memory of the device
    ends_batch,  ///< writes it, or may
    allocates,   ///< cuMemAlloc and its like
    frees,
    untracked,  ///< gives kernels memory that is not saved
};

/// By the driver's name of the call; `_ptsz`, `_v2` and their like make no difference.
[[nodiscard]] CallKind call_kind(std::string_view name);

/// Whether kernels of this binary (ELF) may keep what memory does not hold; true for what is no such file.
[[nodiscard]] bool keeps_state(std::span<const char> cubin);

/// The memory that a context has allocated.
class DeviceMemory {
  public:
    void add(std::uint64_t address, std::uint64_t bytes) { regions_[address] = bytes; }
    void remove(std::uint64_t address) { regions_.erase(address); }
    [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& regions() const { return regions_; }
    [[nodiscard]] std::uint64_t total() const {
        std::uint64_t sum = 0;
        for (const auto& [address, bytes] : regions_) sum += bytes;
        return sum;
    }

  private:
    std::map<std::uint64_t, std::uint64_t> regions_;
};

}  // namespace ridge::measure::cuda
