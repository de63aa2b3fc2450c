// Small kernels that timing needs: a gate that holds back a stream, stamps of the clocks, and the
// tick of the GPU's timer.
//
// Method: the gate is one thread that spins on a word of host memory until the host writes the
// ticket that it waits for, so that everything behind it is queued before any of it runs. A stamp
// writes every multiprocessor's cycle counter and the nanosecond timer. Two stamps around some work
// give the mean SM clock between them.
//
//   const std::int32_t ticket = gate.close(stream);    // ... queue work ...
//   gate.open(ticket);                                 // all of it runs without host delays
//
// Limits: a gate opens by itself after 2 s, which `timed_out` reports, so work behind it must not
// wait for the host. A clock from stamps needs at least a few dozen timer ticks between them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <optional>

#include "hardware/quantity.h"
#include "measure/cuda/memory/handles.h"

namespace ridge::measure::cuda {

class Gate {
  public:
    Gate();
    ~Gate();
    Gate(const Gate&) = delete;
    Gate& operator=(const Gate&) = delete;

    /// Queues a kernel that waits for the ticket returned here.
    [[nodiscard]] std::int32_t close(const Stream& stream);
    void open(std::int32_t ticket);
    /// Whether a gate has stopped waiting since the last call.
    [[nodiscard]] bool timed_out();

  private:
    volatile std::int32_t* words_ = nullptr;  // [0] newest open ticket, [1] a gate timed out
    std::int32_t* device_words_ = nullptr;
    std::int32_t tickets_ = 0;
};

/// Two stamps on all multiprocessors.
class StampPair {
  public:
    explicit StampPair(int multiprocessors);

    void first(const Stream& stream) const { write(stream, 0); }
    void second(const Stream& stream) const { write(stream, 1); }
    /// Mean SM clock between the stamps, once both have run; empty when they are too close together
    /// for the timer's tick.
    [[nodiscard]] std::optional<Frequency> clock() const;

  private:
    void write(const Stream& stream, int which) const;

    int multiprocessors_;
    Buffer stamps_;
};

}  // namespace ridge::measure::cuda
