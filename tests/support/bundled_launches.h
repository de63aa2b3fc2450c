// What the bundled kernels of an operation are launched with, by model/bundled: the expectation of
// the tests that compare it with records and with a GPU.
//
//   const auto launches = bundled_launches(question, 132);
//   launches->front().grid.blocks()
//
// Limits: grids, threads and shared memory as they are on sm_80 and newer; library products have no
// entry.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/record/observation.h"
#include "measure/record/record.h"
#include "model/bundled/launch_grid.h"

namespace ridge::test {

/// The kernels of one run in order; empty where a library carries the operation out.
[[nodiscard]] std::optional<std::vector<model::bundled::LaunchGrid>> bundled_launches(
    const measure::Question& question, std::int64_t sm_count);

/// What was launched, repetitions one by one.
[[nodiscard]] std::vector<model::bundled::LaunchGrid> recorded_launches(
    const measure::Geometry& geometry);

/// The same in an order that does not depend on which kernels a record joins.
[[nodiscard]] std::vector<model::bundled::LaunchGrid> sorted(
    std::vector<model::bundled::LaunchGrid> launches);

}  // namespace ridge::test
