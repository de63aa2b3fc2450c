// Sums (sums.h) of what the rules make of calls of PyTorch's operators, for the tables of many calls.
//
//   const Call call = parse_call("aten::mm", ...);
//   Sums sums;
//   add_call(sums, call);   // family, law, operations, kernels, counts, workspace, time
#pragma once

#include <string>
#include <vector>

#include "programs/aten/call.h"
#include "tests/frozen/sums.h"

namespace ridge::test {

/// The recorded calls of data/calls.txt: "aten::mm TYPES|SHAPES|STRIDES|VALUES".
[[nodiscard]] const std::vector<std::string>& recorded_calls();

/// Adds what a call is on a machine whose parameters do not change; false if no rule knows it.
bool add_call(Sums& sums, const programs::Call& call);

}  // namespace ridge::test
