// The loops of a kernel's machine code: a branch back to an earlier instruction closes one.
//
//   std::vector<Loop> loops = loops_of(function);
//   loops[0].name            // "L1", in the order of the code; inner ones come after their outer
//   set_trips(loops, "L1=64,L2=8");    // or "64,8"
//
// Limits: a loop that only waits for a barrier runs once; a branch to itself is no loop. Trip counts
// are not derived from the code: they come from the caller, otherwise the loop stays symbolic.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/code/sass.h"

namespace ridge::kernel {

struct Loop {
    std::string name;
    std::size_t first = 0;  ///< index of its first instruction
    std::size_t last = 0;   ///< index of the branch back
    std::optional<double> trips{};
    bool is_wait = false;  ///< it polls a barrier

    [[nodiscard]] bool holds(std::size_t place) const { return first <= place && place <= last; }
    [[nodiscard]] double times() const { return is_wait ? 1.0 : trips.value_or(1.0); }
};

[[nodiscard]] std::vector<Loop> loops_of(const Function& function);

/// "64,8" in the order of the names, or "L2=8". Throws InputError that names the loop.
void set_trips(std::vector<Loop>& loops, std::string_view text);

}  // namespace ridge::kernel
