// The counters of one kernel, grid and block, put together from launches that each counted one set.
//
//   CounterSums sums;
//   sums.add(0, with_dram);  sums.add(0, with_flop);   // of process 0
//   sums.mean().dram_bytes();                          // of one launch; negative where not counted
//   sums.missing();                                    // sets that no launch was counted with
#pragma once

#include <array>
#include <cstdint>
#include <map>

#include "programs/recording/activity_format.h"
#include "programs/traces/counters.h"

namespace ridge::programs {

class CounterSums {
  public:
    void add(std::int64_t process, const CounterActivity& counted);

    /// Per launch, each value over the launches that have it.
    [[nodiscard]] KernelCounters mean() const;
    /// What every process that ran it lacks, a bit a set.
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

    /// FLOP on the tensor cores; negative where what was counted does not say.
    [[nodiscard]] double tensor_flop() const;

    Mean duration_, dram_read_, dram_write_, l2_, shared_, tensor_;
    std::map<std::uint32_t, Mean> tensor_by_type_;  ///< by set
    Mean vector_, packed_, packed_on_pipe_, special_, occupancy_, tensor_active_;
    std::map<std::uint32_t, Set> sets_;
    std::map<std::int64_t, std::uint32_t> missing_;  ///< after each process's last launch
};

}  // namespace ridge::programs
