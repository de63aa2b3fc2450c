// Kernels whose counts are known, and memory for them, for tests of the counters.
#pragma once

#include <cstddef>

namespace ridge::test {

[[nodiscard]] bool has_gpu();

/// Two arrays of floats on the current device.
class CountedArrays {
  public:
    explicit CountedArrays(std::size_t count);
    ~CountedArrays();
    CountedArrays(const CountedArrays&) = delete;
    CountedArrays& operator=(const CountedArrays&) = delete;

    /// Reads one array and writes the other, with three fused multiply-adds per element.
    void stream() const;
    /// Does the same in double precision on half as many elements, with one fused multiply-add
    /// each.
    void stream_double() const;

  private:
    std::size_t count_;
    float* in_ = nullptr;
    float* out_ = nullptr;
};

}  // namespace ridge::test
