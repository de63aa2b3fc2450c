// Takes every case of many similar ones, or one in several under sanitizers, where each takes six
// to thirty times as long.
//
//   Sample sample;
//   for (const auto& field : fields) {
//       if (!sample.takes_next()) continue;
//
// RIDGE_ONE_IN=11 takes the first, twelfth, 23rd ... case. Without it every case is taken. `Sample sample(4)`
// takes one in four, under sanitizers one in four times as many; a long run (scripts/soak, RIDGE_CASES=10) takes all.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace ridge::test {

/// A whole number from the environment; 1 if there is none.
inline std::uint64_t whole_setting(const char* name) {
    const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return std::max<std::uint64_t>(1, text == nullptr ? 0 : std::strtoull(text, nullptr, 10));
}

inline std::uint64_t one_in() {
    return whole_setting("RIDGE_ONE_IN");
}

class Sample {
  public:
    explicit Sample(std::uint64_t usual = 1)
        : step_(std::max<std::uint64_t>(1, usual / whole_setting("RIDGE_CASES")) * one_in()) {}

    [[nodiscard]] bool takes_next() { return next_++ % step_ == 0; }

  private:
    std::uint64_t step_;
    std::uint64_t next_ = 0;
};

}  // namespace ridge::test
