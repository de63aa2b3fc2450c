// The counters that earlier runs of a program did not collect, as the text of a file: `ridge
// profile --counters` writes it between two runs, and the library that the program loads reads it.
//
//   std::ofstream(path) << to_text({{{.name = "copy", .grid = {132, 1, 1}}, 0b100}});
//   missing_sets_of(text).at(kernel)      // 4: only the third set is missing
//
// Limits: kernels whose name contains a line break are left out, so they are counted again.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

namespace ridge::programs {

/// Launches are the same if these values are equal.
struct LaunchedKernel {
    std::string name;
    std::array<std::uint32_t, 3> grid{};
    std::array<std::uint32_t, 3> block{};

    friend bool operator==(const LaunchedKernel&, const LaunchedKernel&) = default;
    friend bool operator<(const LaunchedKernel& a, const LaunchedKernel& b) {
        return std::tie(a.name, a.grid, a.block) < std::tie(b.name, b.grid, b.block);
    }
};

/// The sets of counters that a launch lacks, one bit each.
using MissingSets = std::map<LaunchedKernel, std::uint32_t>;

[[nodiscard]] std::string to_text(const MissingSets& missing);

/// Skips lines that do not parse.
[[nodiscard]] MissingSets missing_sets_of(std::string_view text);

}  // namespace ridge::programs
