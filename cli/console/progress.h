// A line of progress on the error stream for anything over a second; silent when it is no terminal.
// Measuring, which takes minutes, says every ten seconds how far it is where there is no terminal.
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

/// "[###.................] 12/78, 41 s left  matmul ..." on one line of the terminal that each call
/// writes anew; elsewhere "12/78, 41 s left" on a line of its own every ten seconds.
[[nodiscard]] std::function<void(const measure::SuiteProgress&)> suite_progress(
    const Context& context);

}  // namespace ridge::cli
