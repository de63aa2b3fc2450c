// Follows the machine code of a kernel for one thread: integers, predicates and branches are
// computed, everything else is unknown. Gives how often each instruction is issued, and with it the
// trips of the loops.
//
//   const Walk walk = walk_code(function, {.constants = {{0x238, 4096}}, .grid = {1024, 1, 1},
//                                          .block = {128, 1, 1}});
//   walk.issued[17]          // 128: the body of a loop over k in steps of 32
//   walk.unknown             // places of branches that depend on memory
//
// Method (equation KM7 of docs/kernel.md): a register holds a number or nothing. Constants come from
// the kernel's arguments and the launch; special registers from the thread that is followed. An
// instruction whose inputs are unknown gives unknown results. A branch back on an unknown predicate
// is not taken, nor is one forward, so that the code between runs once. Division of integers by
// reciprocals is followed as the code does it. Up to four warps of 16 blocks all over the grid are
// followed and averaged.
//
// Limits: loads from memory are unknown, also those of shared memory. At most two million
// instructions of one warp; then the walk is not complete.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "kernel/code/loops.h"
#include "kernel/code/sass.h"

namespace ridge::kernel {

struct WalkInput {
    /// Words of the first constant bank, by offset.
    std::map<std::uint32_t, std::uint32_t> constants{};
    std::array<std::int64_t, 3> grid{1, 1, 1};
    std::array<std::int64_t, 3> block{32, 1, 1};
};

struct Walk {
    std::vector<double> issued;       ///< of each instruction, per warp, on average
    std::vector<double> active;       ///< the same, without those whose predicate was off
    std::set<std::size_t> unknown{};  ///< branches on a predicate that is not known
    bool is_complete = true;
    bool has_unknown_guards = false;  ///< some instruction has a predicate that is not known
};

/// Averages over warps of blocks all over the grid. `loops` that have a trip count
/// run that often where their branch is unknown.
[[nodiscard]] Walk walk_code(const Function& function, const WalkInput& input,
                             const std::vector<Loop>& loops);

/// Sets the trips of loops without a count as the walk found them, unless their branch was unknown.
void set_trips(std::vector<Loop>& loops, const Walk& walk);

}  // namespace ridge::kernel
