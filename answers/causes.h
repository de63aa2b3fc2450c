// Why a measured time differs from the expected, in a sentence, and what to do about it.
#pragma once

#include <string>

#include "answers/diagnose.h"

namespace ridge::answers {

struct Cause {
    std::string why;
    std::string advice;
};

/// `one` has its verdict; `longest` is the prediction on `machine` of its operation, or of the one
/// that takes longest.
[[nodiscard]] Cause cause_of(const Case& one, const model::Prediction& longest,
                             const model::Machine& machine);

}  // namespace ridge::answers
