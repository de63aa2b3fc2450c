// What an ATen operator of a recorded trace does, in steps of the model.
//
//   const auto op = only<Matmul>(understood("aten::mm", types + "|[[8,4],[4,2]]||"));
#pragma once

#include <string>
#include <variant>

#include "programs/aten/operations.h"
#include "tests/catch.h"

namespace ridge::test {

/// Inputs are TYPES|SHAPES|STRIDES|VALUES, each a list in JSON. The test fails if the operator is
/// unknown or does nothing.
inline programs::Understood understood(
    const std::string& name, const std::string& inputs,
    programs::ElementType hint = programs::ElementType::unknown) {
    CAPTURE(name, inputs);
    const auto found = programs::operations_of(programs::parse_call(name, inputs), hint);
    REQUIRE(found);
    REQUIRE_FALSE(found->steps.empty());
    return *found;
}

/// The operation of an operator that is a single step. The test fails if it is another.
template <class Op>
Op only(const programs::Understood& found) {
    REQUIRE(found.steps.size() == 1);
    REQUIRE(std::holds_alternative<Op>(found.steps[0].operation));
    return std::get<Op>(found.steps[0].operation);
}

}  // namespace ridge::test
