// A histogram with bins of equal ratio: quantiles of many values in little memory.
//
//   Histogram gaps;
//   gaps.add(0.0123, 64);          // 64 times
//   gaps.quantile(0.99)            // within 0.1 %
//   gaps.interval(0.99)            // holds it with 95 %, although neighbours depend on each other
//
// Method of the interval: values are counted in 16 to 32 stretches of equal length in the order in which
// they came; the spread of the stretches' shares above the quantile is the error of the share.
// Limits: values from 1e-9 to 1e9; others count as the nearest of these.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace ridge::programs {

class Histogram {
  public:
    void add(double value, std::int64_t times = 1);
    void add(const Histogram& other);
    [[nodiscard]] std::int64_t count() const { return count_; }
    [[nodiscard]] double mean() const;
    /// Of an empty histogram: 0.
    [[nodiscard]] double quantile(double share) const;
    struct Interval {
        double low = 0.0;
        double high = 0.0;
    };
    [[nodiscard]] Interval interval(double share) const;

  private:
    /// Values that came one after the other, by bin.
    struct Stretch {
        std::int64_t count = 0;
        std::map<std::int32_t, std::int64_t> bins{};
    };
    void count_in_stretch(std::int32_t bin, std::int64_t times);
    [[nodiscard]] std::int32_t bin_at(double share) const;

    std::vector<Stretch> stretches_{};
    std::int64_t length_ = 16;  ///< of a stretch that is full
    std::vector<std::int64_t> bins_;
    std::int64_t count_ = 0;
    double sum_ = 0.0;
};

}  // namespace ridge::programs
