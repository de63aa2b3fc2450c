// Repeats a program's launches inside the program, on the memory that they first used, so that
// missing counters are collected without another run of the program.
//
// Method: before the first launch of a batch, the memory of the context is copied to other GPU
// memory. Each launch is recorded with a copy of its arguments and attributes. `restore` puts the
// memory back and `launch` repeats all launches in order, so that each follows its true predecessor
// and the last repetition leaves what the program expects. replay_rules.h says what must not be
// repeated.
//
//   LaunchReplay replay;
//   if (replay.open(context)) ...            // the program launches, `record` at each
//   replay.restore() && replay.launch();     // any number of times
//   replay.close();
//
// Limits: the first launch of a batch finds lines of the copy in the L2. Sums by atomics may be
// added in a different order. A batch that cannot be repeated is counted in further runs of the
// program.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/cuda/inject/kernel_arguments.h"
#include "measure/cuda/inject/replay_rules.h"
#include "measure/cuda/libraries/cupti.h"

namespace ridge::measure::cuda {

class LaunchReplay {
  public:
    LaunchReplay();

    /// Whether repeating is possible, as far as is known.
    [[nodiscard]] bool is_possible() const { return refusal_.empty(); }
    /// Why nothing may be repeated.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }
    void refuse(std::string why);

    /// Called after successful calls of the program.
    void allocated(CUcontext context, CUdeviceptr address, std::size_t bytes);
    void freed(CUcontext context, CUdeviceptr address);
    void loaded(std::span<const char> cubin);
    void ended(CUcontext context) { memory_.erase(context); }

    /// Saves the context's memory. Returns false if that fails; `is_possible` is then false.
    [[nodiscard]] bool open(CUcontext context);
    [[nodiscard]] bool is_open() const { return open_; }
    /// Called when a launch call begins.
    void record(CUpti_CallbackId id, const void* parameters);
    /// Whether everything launched since `open` can be repeated.
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
        std::vector<std::size_t> offsets{};  ///< empty if the arguments are one buffer
        bool packed = false;
    };
    struct Driver;

    [[nodiscard]] bool keep(Recorded& launch, void** parameters, void** extra);
    /// Copies all saved memory, in either direction.
    [[nodiscard]] bool copy(bool back);
    [[nodiscard]] bool repeat(Recorded& launch) const;

    const Driver* driver_;
    std::string refusal_;
    std::map<CUcontext, DeviceMemory> memory_;
    KernelArguments arguments_;  ///< of the batch: unloading code ends a batch
    std::vector<Recorded> launches_;
    std::map<std::uint64_t, std::uint64_t> saved_;  ///< regions at the start of the batch
    CUdeviceptr copy_ = 0;
    bool open_ = false;
    bool spoiled_ = false;
    std::size_t batches_ = 0;
    std::size_t repeatable_ = 0;  ///< launches in all batches
};

}  // namespace ridge::measure::cuda
