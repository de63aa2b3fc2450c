// A line of progress on the error stream for anything over a second; silent when it is no terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/console/context.h"

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

}  // namespace ridge::cli
