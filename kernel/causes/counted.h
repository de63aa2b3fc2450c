// What the hardware counted of one launch of a kernel, as input of the cause split.
//
// Values keep the names that NVIDIA's profilers give them, so a report of Nsight Compute and a run
// of `ridge profile --counters` read alike. Percentages are 0 to 100, times nanoseconds, sizes
// bytes.
//
//   const Counted counted{.grid = {1056, 1, 1}, .block = {256, 1, 1}, .measured = 94.0 * units::us,
//                         .metrics = {{"dram__bytes_read.sum", 268e6}, ...}};
//   counted.value("dram__bytes_read.sum");    // empty if it was not counted
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/quantity.h"
#include "kernel/causes/stall_lines.h"

namespace ridge::kernel {

struct Counted {
    std::array<std::int64_t, 3> grid{};
    std::array<std::int64_t, 3> block{};
    std::int64_t registers = 0;     ///< of a thread; 0: not known
    std::int64_t shared_bytes = 0;  ///< of a block
    Time measured{};                ///< of one launch in a normal run
    std::map<std::string, double> metrics{};
    std::vector<StallSite> sites{};  ///< samples by instruction, if they were taken

    [[nodiscard]] std::optional<double> value(std::string_view name) const;
    /// The first of these that was counted; 0 if none was.
    [[nodiscard]] double first_of(std::initializer_list<std::string_view> names) const;
    /// The sum of those that were counted.
    [[nodiscard]] double sum_of(std::initializer_list<std::string_view> names) const;

    [[nodiscard]] std::int64_t blocks() const;
    [[nodiscard]] std::int64_t threads_per_block() const;
};

}  // namespace ridge::kernel
