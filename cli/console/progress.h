// A line of progress on the error stream for work over a second; silent if the stream is not a
// terminal. Measuring, which takes minutes, then reports its progress every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/console/context.h"
#include "measure/run/measure.h"

namespace ridge::cli {

class Progress {
  public:
    Progress(const Context& context, std::string noun);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;

    /// `done` so far; shown after the first second and then twice a second.
    void count(std::int64_t done);

  private:
    const Context& context_;
    std::string noun_;
    std::chrono::steady_clock::time_point start_;
    std::chrono::steady_clock::time_point shown_;
    bool visible_ = false;
};

/// Writes "[###.................] 12/78, 41 s left  matmul ..." on one line of the terminal,
/// rewritten by each call. Without a terminal, writes a line "12/78, 41 s left" every ten seconds.
[[nodiscard]] std::function<void(const measure::SuiteProgress&)> suite_progress(
    const Context& context);

}  // namespace ridge::cli
