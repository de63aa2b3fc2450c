// A program written by hand: a list of operations in a TOML file.
//
//   name = "a block of mine"
//   [[operation]]
//   op = "matmul m=4096 n=14336 k=4096 dtype=bf16 l2=cold"   # as --op takes it
//   name = "up"          # the rest may be left out
//   count = 32           # runs in a step
//   kernels = 1          # launches of one run
//   module = "mlp"       # embedding, norm, attention, mlp, experts, residual, head, loss, optimizer, ...
//   pass = "forward"     # backward, update
//   layer = 0            # where it runs first
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

/// InputError with file, line and column: unknown keys, operations that cannot be.
[[nodiscard]] Program read_program(std::string_view text, const std::string& file);

/// The program of a TOML file that lists operations; nothing for any other name.
[[nodiscard]] std::optional<Program> find_program(const std::string& path);

}  // namespace ridge::programs
