// Decides when a program's launches may be repeated: what its driver calls do to memory, and what
// state its kernels keep outside memory.
//
// Method: launches are repeated on the memory that they first used (launch_replay.h), which is that
// of cuMemAlloc. A call that writes such memory ends the batch that can be repeated. A kernel could
// change other memory (the host's, managed, mapped, arrays) without our knowing, and also a
// module's variables, the output of printf and the kernels' heap; with any of these, nothing is
// repeated. An unknown call ends a batch, and so does waiting for the GPU: a program that waits may
// end soon, and nothing is repeated once it ends.
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
    ends_batch,  ///< writes it or may write it
    allocates,   ///< cuMemAlloc and similar calls
    frees,
    untracked,  ///< gives kernels memory that is not saved
};

/// Looks up a call by the driver's name; suffixes such as `_ptsz` and `_v2` make no difference.
[[nodiscard]] CallKind call_kind(std::string_view name);

/// Whether kernels of this binary (ELF) may keep state outside memory; true if it is not an ELF
/// file.
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
