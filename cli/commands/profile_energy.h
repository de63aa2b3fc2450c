// `ridge profile --energy`: reads the GPU's energy counter while a program runs, and says what its
// kernels and ranges took.
//
//   EnergyPoller poller;                     // polls from now on
//   run_child(...);
//   write_energy(context, poller.stop(), files, "run.energy.json");
//
// Method: NVML (libnvidia-ml.so.1, opened at run time) is polled every 5 ms on a thread of its own;
// each change of the counter is kept with the time. Nothing is set.
//
// Limits: machines with one GPU, because the counters of several cannot be told apart here.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "cli/console/context.h"
#include "programs/report/program_energy.h"

namespace ridge::cli {

class EnergyPoller {
  public:
    EnergyPoller();
    ~EnergyPoller();
    EnergyPoller(const EnergyPoller&) = delete;
    EnergyPoller& operator=(const EnergyPoller&) = delete;

    /// Why nothing is read; empty if it is.
    [[nodiscard]] const std::string& problem() const { return problem_; }
    /// Ends the polling.
    [[nodiscard]] std::vector<programs::EnergyReading> stop();

  private:
    void* library_ = nullptr;
    std::string problem_;
    std::vector<programs::EnergyReading> readings_;
    std::atomic<bool> done_{false};
    std::thread thread_;
};

/// The energies as a table on `context.out` if `as_text`, and as JSON in `file`.
void write_energy(const Context& context, const std::vector<programs::EnergyReading>& readings,
                  const std::vector<std::string>& recordings, const std::string& file,
                  bool as_text);

}  // namespace ridge::cli
