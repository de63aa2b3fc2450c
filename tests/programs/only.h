// The operation of an operator that is a single step.
//
//   const auto op = only<Matmul>(understood("aten::mm", ...));   // fails the test if it is another
#pragma once

#include <variant>

#include "programs/aten/operations.h"
#include "tests/catch.h"

namespace ridge::test {

template <class Op>
Op only(const programs::Understood& found) {
    REQUIRE(found.steps.size() == 1);
    REQUIRE(std::holds_alternative<Op>(found.steps[0].operation));
    return std::get<Op>(found.steps[0].operation);
}

}  // namespace ridge::test
