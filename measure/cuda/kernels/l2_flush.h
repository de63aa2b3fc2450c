// Evicts all useful data from the L2 cache, for cold measurements.
//
// Method: owns a buffer of at least 256 MiB and four times the L2. A flush overwrites the first
// half and then reads the second, so that what remains in L2 is useless and clean. Dirty lines
// would be written back during the measured kernel and slow it down.
//
// Example:
//   L2Flush flush;
//   flush(stream);
//   kernel(stream);   // every first access misses L2
//
// Limits: a flush takes about 0.1 ms, and the buffer occupies memory. Not thread-safe. Works for
// one device, the one that is current at construction.
#pragma once

#include <cstddef>
#include <cstdint>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

class L2Flush {
  public:
    static constexpr std::size_t kernels = 2;  ///< largest number of kernels in one flush

    // Throws std::runtime_error when the device has too little memory for the buffer.
    L2Flush();
    ~L2Flush();
    L2Flush(const L2Flush&) = delete;
    L2Flush& operator=(const L2Flush&) = delete;

    void operator()(cudaStream_t stream);
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }

  private:
    std::int64_t bytes_ = 0;
    void* buffer_ = nullptr;
    std::uint32_t* partial_sums_ = nullptr;
    std::uint32_t flushes_ = 0;
    int multiprocessors_ = 0;
};

}  // namespace ridge::measure::cuda
