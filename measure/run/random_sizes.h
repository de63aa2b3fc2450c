// Draws of random questions: the same for the same seed on every machine.
//
//   Random random(7);
//   const std::int64_t bytes = random.size(256, 1 << 30);
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace ridge::measure {

/// SplitMix64 (Steele, Lea, Flood 2014): the same sequence on every machine.
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
    std::int64_t below(std::int64_t count) {
        return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(count));
    }
    bool one_in(std::int64_t count) { return below(count) == 0; }

    template <std::size_t size>
    std::string_view pick(const std::array<std::string_view, size>& words) {
        return words[static_cast<std::size_t>(below(size))];
    }

    /// Log-uniform; half of the draws are rounded to a multiple of `grain`.
    std::int64_t size(std::int64_t low, std::int64_t high, std::int64_t grain = 64) {
        const double ratio = static_cast<double>(high) / static_cast<double>(low);
        const auto value = static_cast<std::int64_t>(
            std::llround(static_cast<double>(low) * std::pow(ratio, unit())));
        if (next() % 2 == 0) return value;
        return std::max(grain, (value + grain / 2) / grain * grain);
    }

    std::int64_t power_of_two(std::int64_t exponents) {
        return std::int64_t{1} << below(exponents);
    }

    /// A cold L2 for one question in three.
    std::string_view l2() { return one_in(3) ? " l2=cold" : ""; }
    /// A graph or a stream for a quarter of the questions, a cold L2 for another quarter: a
    /// replayed graph always finds the L2 warm.
    std::string_view circumstances() {
        constexpr std::array<std::string_view, 4> words{" launch=graph", " launch=stream",
                                                        " l2=cold", " l2=cold"};
        return one_in(2) ? pick(words) : std::string_view();
    }

  private:
    std::uint64_t state_;
};

}  // namespace ridge::measure
