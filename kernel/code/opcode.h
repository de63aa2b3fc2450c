// What one instruction does: its pipe, FLOP, bytes and latency class.
//
//   meaning_of({.opcode = "FFMA"}).flop        // 2, of each thread
//   meaning_of({.opcode = "LDG.E.128"}).bytes  // 16, of each thread
//   meaning_of({.opcode = "HMMA.16816.F32"}).tensor_flop    // 4096, of the warp
//
// Method: a table of opcodes; widths and shapes come from the modifiers. Source: the instruction set
// reference of the CUDA Binary Utilities, and the shapes of mma and wgmma in the PTX reference.
//
// Limits: an opcode that the table lacks has no pipe and is reported as not known.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernel/code/sass.h"

namespace ridge::kernel {

enum class CodePipe : std::uint8_t {
    fma,
    alu,
    fp64,
    xu,
    lsu,
    tensor,
    uniform,
    branch,
    copy_engine,
    unknown
};
inline constexpr std::size_t code_pipe_count = 10;
[[nodiscard]] std::string_view name_of(CodePipe pipe);

enum class Space : std::uint8_t { none, global, shared, local, constant };

/// What releases the scoreboard that an instruction sets.
enum class Delay : std::uint8_t { fixed, global, shared, special, constant, tensor };

struct Meaning {
    CodePipe pipe = CodePipe::unknown;
    double issues = 1.0;       ///< slots of its pipe, in instructions at full rate
    double flop = 0.0;         ///< of a thread
    double tensor_flop = 0.0;  ///< of a warp
    double bytes = 0.0;        ///< of a thread
    Space space = Space::none;
    bool is_store = false;
    bool is_atomic = false;
    bool is_copy = false;  ///< asynchronous: from global to shared memory
    bool is_barrier = false;
    bool has_flop_type_double = false;
    Delay delay = Delay::fixed;
};

[[nodiscard]] Meaning meaning_of(const Instruction& instruction);

}  // namespace ridge::kernel
