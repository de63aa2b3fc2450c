// The launches that model/bundled expects of an operation's bundled kernels, for tests that compare
// them with records and with a GPU.
//
//   const auto launches = bundled_launches(question, 132);
//   launches->front().grid.blocks()
//
// Limits: grids, threads and shared memory are those on sm_80 and newer. Library products have no
// entry.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "measure/record/observation.h"
#include "measure/record/record.h"
#include "model/bundled/launch_grid.h"

namespace ridge::test {

/// The kernels of one run, in order. Nothing if a library carries out the operation.
[[nodiscard]] std::optional<std::vector<model::bundled::LaunchGrid>> bundled_launches(
    const measure::Question& question, std::int64_t sm_count);

/// The recorded launches, with repetitions one by one.
[[nodiscard]] std::vector<model::bundled::LaunchGrid> recorded_launches(
    const measure::Geometry& geometry);

/// The launches in a fixed order, so that the order within a record does not matter.
[[nodiscard]] std::vector<model::bundled::LaunchGrid> sorted(
    std::vector<model::bundled::LaunchGrid> launches);

}  // namespace ridge::test
