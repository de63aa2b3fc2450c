// Takes every case of many similar ones, or one in several under sanitizers, where each takes six
// to thirty times as long.
//
//   Sample sample;
//   for (const auto& field : fields) {
//       if (!sample.takes_next()) continue;
//
// RIDGE_ONE_IN=5 takes the first, sixth, eleventh ... case. Without it every case is taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace ridge::test {

inline std::uint64_t one_in() {
    const char* const text = std::getenv("RIDGE_ONE_IN");  // NOLINT(concurrency-mt-unsafe)
    return std::max<std::uint64_t>(1, text == nullptr ? 0 : std::strtoull(text, nullptr, 10));
}

class Sample {
  public:
    [[nodiscard]] bool takes_next() { return next_++ % one_in() == 0; }

  private:
    std::uint64_t next_ = 0;
};

}  // namespace ridge::test
