// The groups of counters that a GPU has.
//
//   unit->counters(test::all_groups, L2State::cold)
#pragma once

#include <array>

#include "measure/record/observation.h"

namespace ridge::test {

inline constexpr std::array all_groups{measure::CounterGroup::traffic,
                                       measure::CounterGroup::arithmetic,
                                       measure::CounterGroup::tensor};

}  // namespace ridge::test
