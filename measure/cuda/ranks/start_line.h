// A common start of several GPUs, by flags in their memory.
//
// Method: every GPU runs a kernel of one block ahead of what is measured. Thread r of rank 0's kernel
// and the kernel of rank r exchange a few rounds: rank 0 writes a number into r's memory, and r
// answers by writing its own timer into rank 0's memory, so that the answer is the reading and costs
// no time of its own. Of the round with the shortest way there and back, the timer of r minus the
// middle of the way is the difference of the two timers, to within half the difference between the
// two ways. When all ranks have answered, rank 0 chooses a time a little ahead, translates it to each
// rank's timer and writes it there, and every kernel ends when its own timer has reached it.
//
//   StartLine line(rank, ranks);
//   line.link(addresses);                         // of all ranks, each from its address()
//   line.queue(stream, 0); launch(stream);        // all of it behind a gate
//   line.queue(stream, 1); launch(stream);
//   line.left(2);                                 // how long after the chosen times they ended
//
// Precision: the timers tick every 32 ns on Hopper; one way over NVLink takes about 0.7 us.
// Limits: `most_samples` between two calls of `left`; all ranks queue equally often. A kernel that
// waits in vain for 5 s gives up, which `left` reports as a DeviceError.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "measure/cuda/memory/handles.h"

namespace ridge::measure::cuda {

class StartLine {
  public:
    static constexpr std::int32_t most_samples = 32;
    static constexpr std::int32_t most_ranks = 64;

    /// What one rank's memory holds. Others write `ask`, `go` and `answers`.
    struct Flags {
        std::int64_t ask;                  ///< number of the round, from rank 0
        std::int64_t go;                   ///< when to end, on this rank's timer, from rank 0
        std::int64_t gave_up;              ///< not zero once a kernel has waited in vain
        std::int64_t left[most_samples];   ///< nanoseconds from the chosen time to the end
        std::int64_t answers[most_ranks];  ///< rank 0 only: the timer of each rank
    };
    /// Flags of the ranks, as this process reaches them.
    struct Peers {
        Flags* of[most_ranks];
    };

    StartLine(std::int32_t rank, std::int32_t ranks);
    ~StartLine();
    StartLine(const StartLine&) = delete;
    StartLine& operator=(const StartLine&) = delete;

    /// A handle of this rank's flags that other processes can open.
    [[nodiscard]] std::string address() const;
    /// DeviceError when this GPU cannot reach the memory of another.
    void link(const std::vector<std::string>& addresses);

    void queue(const Stream& stream, std::int32_t sample);
    /// Seconds, for each of the first `samples`; the stream must be idle.
    [[nodiscard]] std::vector<double> left(std::int32_t samples) const;

    /// The kernel's name, by which activity records are told apart.
    [[nodiscard]] static bool is_start(const std::string& kernel);

  private:
    std::int32_t rank_;
    std::int32_t ranks_;
    Buffer memory_;
    Peers peers_{};
    std::vector<void*> opened_;
    std::int64_t queued_ = 0;
};

}  // namespace ridge::measure::cuda
