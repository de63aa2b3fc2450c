// The cause split of the rows of a report: of the longest kernel of each row that was counted.
//
//   RowCauses causes(machine);
//   causes.start(row, trace, kernel);             // the kernel whose counters the row shows
//   causes.add(row, trace, instance.kernels);     // its launches
//   causes.split(row);                            // empty without counters
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>

#include "kernel/causes/split.h"
#include "programs/traces/trace.h"

namespace ridge::programs {

class RowCauses {
  public:
    explicit RowCauses(const model::Machine& machine);

    void start(std::size_t row, const Trace& trace, const Kernel& kernel);
    void add(std::size_t row, const Trace& trace, std::span<const std::int32_t> kernels);
    [[nodiscard]] std::optional<kernel::Split> split(std::size_t row) const;

  private:
    struct Counted {
        kernel::Counted of{};
        std::int32_t counters = none;
        std::int64_t nanoseconds = 0;
        std::int64_t launches = 0;
    };

    std::optional<kernel::Roofs> roofs_;
    std::map<std::size_t, Counted> rows_;
};

}  // namespace ridge::programs
