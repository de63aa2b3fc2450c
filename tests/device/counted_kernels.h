// Kernels of known counts, for tests of the counters; memory for them.
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

    /// Reads one array, writes the other, with three fused multiply-adds an element.
    void stream() const;
    /// The same in double precision on half of the elements, with one.
    void stream_double() const;

  private:
    std::size_t count_;
    float* in_ = nullptr;
    float* out_ = nullptr;
};

}  // namespace ridge::test
