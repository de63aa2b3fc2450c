// The counters of one kernel, grid and block, combined from launches of which each counted one set.
//
//   CounterSums sums;
//   sums.add(0, with_dram);  sums.add(0, with_flop);   // of process 0
//   sums.mean().dram_bytes();                          // per launch; negative if not counted
//   sums.missing();                                    // sets that were counted for no launch
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "programs/recording/activity_format.h"
#include "programs/traces/counters.h"

namespace ridge::programs {

class CounterSums {
  public:
    void add(std::int64_t process, const CounterActivity& counted);
    /// Values by the names that the profiler gives them: `names` has blanks between them.
    void add(std::string_view names, const MetricActivity& counted);

    /// Per launch; each value is the mean over the launches that have it.
    [[nodiscard]] KernelCounters mean() const;
    /// The sets that every process that ran the kernel lacks, one bit each.
    [[nodiscard]] std::uint32_t missing() const;

  private:
    struct Mean {
        double sum = 0.0;
        std::int64_t count = 0;

        void add(double value);
        [[nodiscard]] double value() const;
    };
    struct Set {
        std::int64_t launches = 0;
        std::int64_t passes = 0;
    };

    /// FLOP on the tensor cores; negative if the counters do not determine it.
    [[nodiscard]] double tensor_flop() const;

    Mean duration_, dram_read_, dram_write_, l2_, shared_, tensor_;
    std::map<std::uint32_t, Mean> tensor_by_type_;  ///< by set
    Mean vector_, packed_, packed_on_pipe_, special_, occupancy_, tensor_active_;
    std::map<std::string, Mean, std::less<>> metrics_;
    std::map<std::uint32_t, Set> sets_;
    std::map<std::int64_t, std::uint32_t> missing_;  ///< after each process's last launch
};

}  // namespace ridge::programs
