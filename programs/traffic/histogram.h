// A histogram with bins of equal ratio: quantiles of many values in little memory.
//
//   Histogram gaps;
//   gaps.add(0.0123, 64);          // 64 times
//   gaps.quantile(0.99)            // within 0.1 %
//
// Limits: values from 1e-9 to 1e9; others count as the nearest of these.
#pragma once

#include <cstdint>
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

  private:
    std::vector<std::int64_t> bins_;
    std::int64_t count_ = 0;
    double sum_ = 0.0;
};

}  // namespace ridge::programs
