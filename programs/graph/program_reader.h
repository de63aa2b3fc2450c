// A program written by hand: a list of operations in a TOML file.
//
//   name = "my block"
//   [[operation]]
//   op = "matmul m=4096 n=14336 k=4096 dtype=bf16 l2=cold"   # as for --op
//   name = "up"          # this key and those below are optional
//   count = 32           # runs per step
//   kernels = 1          # launches per run
//   module = "mlp"       # embedding, norm, attention, mlp, experts, residual, head, loss, ...
//   pass = "forward"     # backward, update
//   layer = 0            # the layer where it first runs
//
//   const std::optional<Program> program = find_program("block.toml");
//
// Limits: at most 10,000 operations; memory is not covered.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "programs/graph/program.h"

namespace ridge::programs {

/// Throws InputError with file, line and column for an unknown key or an impossible operation.
[[nodiscard]] Program read_program(std::string_view text, const std::string& file);

/// The program in a TOML file that lists operations; empty for any other path.
[[nodiscard]] std::optional<Program> find_program(const std::string& path);

}  // namespace ridge::programs
