// Launches of a program repeated within it, on the memory that they were first launched on: what a kernel
// lacks of its counters is counted without another run of the program.
//
// Method: before the first launch of a batch the memory of the context is copied to other memory of the
// GPU; each launch is recorded with a copy of its arguments and attributes. `restore` puts the memory
// back, `launch` repeats all of them in their order, so that each follows its true predecessor and the
// last repetition leaves what the program expects. What may not be repeated says replay_rules.h.
//
//   LaunchReplay replay;
//   if (replay.open(context)) ...            // the program launches, `record` at each
//   replay.restore() && replay.launch();     // any number of times
//   replay.close();
//
// Limits: the first launch of a batch finds the copy's lines in the L2. Sums by atomics may come out in
// another order. A batch that cannot be repeated is counted by further runs of the program.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/cuda/inject/replay_rules.h"
#include "measure/cuda/libraries/cupti.h"

namespace ridge::measure::cuda {

class LaunchReplay {
  public:
    LaunchReplay();

    /// Whether anything may be repeated, as far as is known.
    [[nodiscard]] bool is_possible() const { return refusal_.empty(); }
    /// Why nothing may be.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }
    void refuse(std::string why);

    /// Calls of the program that have succeeded.
    void allocated(CUcontext context, CUdeviceptr address, std::size_t bytes);
    void freed(CUcontext context, CUdeviceptr address);
    void loaded(std::span<const char> cubin);
    void ended(CUcontext context) { memory_.erase(context); }

    /// Saves the context's memory; false where that is not to be had, then `is_possible` is over.
    [[nodiscard]] bool open(CUcontext context);
    [[nodiscard]] bool is_open() const { return open_; }
    /// A launch call at its beginning.
    void record(CUpti_CallbackId id, const void* parameters);
    /// Whether all that was launched since `open` can be repeated.
    [[nodiscard]] bool can_repeat() const { return open_ && !spoiled_ && is_possible(); }
    [[nodiscard]] bool restore();
    [[nodiscard]] bool launch();
    void close();

  private:
    struct Recorded {
        CUlaunchConfig config{};
        std::vector<CUlaunchAttribute> attributes{};
        CUfunction function = nullptr;
        std::vector<std::byte> arguments{};
        std::vector<std::size_t> offsets{};  ///< none where the arguments are one buffer
        bool packed = false;
    };
    struct Argument {
        std::size_t offset = 0;
        std::size_t size = 0;
    };
    struct Driver;

    [[nodiscard]] const std::vector<Argument>& arguments_of(CUfunction function);
    [[nodiscard]] bool keep(Recorded& launch, void** parameters, void** extra);
    /// Copies all saved memory, there or back.
    [[nodiscard]] bool copy(bool back);
    [[nodiscard]] bool repeat(Recorded& launch) const;

    const Driver* driver_;
    std::string refusal_;
    std::map<CUcontext, DeviceMemory> memory_;
    std::map<CUfunction, std::vector<Argument>> arguments_;
    std::vector<Recorded> launches_;
    std::map<std::uint64_t, std::uint64_t> saved_;  ///< regions at the beginning of the batch
    CUdeviceptr copy_ = 0;
    bool open_ = false;
    bool spoiled_ = false;
    std::size_t batches_ = 0;
    std::size_t repeatable_ = 0;  ///< launches of all batches
};

}  // namespace ridge::measure::cuda
