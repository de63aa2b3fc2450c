// Random numbers that are the same on every platform and compiler.
//
//   Random random(7);
//   random.uniform();                     // [0, 1)
//   random.exponential();                 // mean 1
//   random.normal();                      // mean 0, deviation 1
//
// Method: SplitMix64 [Steele, Lea, Flood 2014], and the logarithm and the exponential as series of
// sums, products and quotients, whose bits IEEE 754 fixes; those of a C library differ.
#pragma once

#include <cstdint>

namespace ridge::programs {

/// ln x for x > 0, and e^x; relative error below 1e-14.
[[nodiscard]] double portable_log(double x);
[[nodiscard]] double portable_exp(double x);

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    [[nodiscard]] std::uint64_t bits();
    [[nodiscard]] double uniform();
    [[nodiscard]] double exponential();
    /// By the sum of twelve uniform numbers: between -6 and 6.
    [[nodiscard]] double normal();
    /// A generator whose numbers do not depend on how many this one has given out since.
    [[nodiscard]] Random split();

  private:
    std::uint64_t state_;
};

}  // namespace ridge::programs
