// The metrics of one launch in a report of Nsight Compute, as ridge's counters.
//
//   NsightMetrics metrics;
//   metrics.set("sm__throughput.avg.pct_of_peak_sustained_elapsed", 83.0);
//   metrics.counters().sm_throughput;   // 0.83
//
// Method: counts of FLOP, bytes and sectors are added up by what they count; of percentages of a
// peak, the busiest unit of each kind counts. Metrics of other names are ignored.
// Limits: counts are read as sums (".sum"), not as rates per cycle.
#pragma once

#include <string_view>

#include "programs/traces/counters.h"

namespace ridge::programs {

class NsightMetrics {
  public:
    /// `value` in base units: bytes, counts, percent.
    void set(std::string_view metric, double value);

    /// Whether any of the metrics is one that ridge uses.
    [[nodiscard]] bool any() const { return any_; }
    [[nodiscard]] KernelCounters counters() const;

  private:
    void keep(std::string_view metric, double value);
    void set_flop(std::string_view metric, double value);
    void set_share(std::string_view unit, double share);

    KernelCounters counted_{};
    double tensor_by_type_ = -1.0;  ///< of all instructions of each type
    double tensor_by_instruction_ = -1.0;
    bool any_ = false;
};

}  // namespace ridge::programs
