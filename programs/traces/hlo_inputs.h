// An instruction of XLA as the inputs of an operator: types|dims|strides|values, as PyTorch's profiler records them.
//
//   inputs_of({.opcode = "fusion", .operands = {f32}, .results = {f32}, .whole = true});
//   // ["float","float",""]|[[8],[8],[]]|[[],[],[]]|["","","hlo traffic"]
#pragma once

#include <string>

#include "programs/traces/hlo.h"

namespace ridge::programs {

/// Empty if a type is not known, a size is none, or the text would be too long.
[[nodiscard]] std::string inputs_of(const HloInstruction& instruction);

}  // namespace ridge::programs
