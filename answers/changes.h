// What would make a model fit that does not.
//
//   changes_that_fit(architecture, question, place, 1, count)[0].what   // "fp8 weights"
//
// Method: a list of changes in the order of what they give up: nothing (checkpoints, ZeRO), speed,
// money (more GPUs), accuracy (fewer bits), the scope of the question (adapters only, shorter
// sequences). Each change is searched like the question itself. The first three that fit are
// returned; if no single change fits, pairs are tried. A size (of a batch, of a length, a number
// of GPUs) is changed by as little as fits.
#pragma once

#include <cstdint>
#include <vector>

#include "answers/plan.h"

namespace ridge::answers {

/// Whether more GPUs are a change; not if the plan shows that they fit.
enum class MoreGpus : std::uint8_t { allowed, refused };

[[nodiscard]] std::vector<Change> changes_that_fit(const programs::Architecture& architecture,
                                                   const PlanQuestion& question, const Place& place,
                                                   std::int64_t gpus, MoreGpus more,
                                                   std::int64_t& layouts);

}  // namespace ridge::answers
