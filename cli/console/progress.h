// A line of progress on the error stream for work over a second; silent if the stream is not a
// terminal. Measuring, which takes minutes, then reports its progress every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "cli/console/context.h"
#include "measure/run/measure.h"

namespace ridge::cli {

class Progress {
  public:
    /// The time is looked at once in `stride` counts: many for what takes a microsecond.
    Progress(const Context& context, std::string noun, std::int64_t stride = 1024);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `done` so far; shown after the first second and then twice a second.
    void count(std::int64_t done);

    /// How much of the work is done, from 0 to 1; the time that is left is estimated from it.
    void share(double done) { share_ = done; }
    /// What is done now, instead of the estimate.
    void now(std::string step) { step_ = std::move(step); }

  private:
    const Context& context_;
    std::string noun_;
    std::chrono::steady_clock::time_point start_;
    std::chrono::steady_clock::time_point shown_;
    std::int64_t stride_;
    double share_ = 0.0;
    std::string step_{};
    bool visible_ = false;
};

/// Writes "[###.................] 12/78, 41 s left  matmul ..." on one line of the terminal,
/// rewritten by each call. Without a terminal, writes a line "12/78, 41 s left" every ten seconds.
[[nodiscard]] std::function<void(const measure::SuiteProgress&)> suite_progress(
    const Context& context);

}  // namespace ridge::cli
