// The machine code of NVIDIA's GPUs as instructions, read from the text of nvdisasm or cuobjdump.
//
//   const std::vector<Function> all = parse_sass(text, "matmul.sass");
//   all.front().code[5].opcode      // "LDG.E.128"
//   all.front().code[5].stall       // 4: cycles until the warp may issue its next instruction
//
// Method: a line holds an address, an instruction up to its semicolon, and (with `-hex`) the lower
// half of its encoding; the next line holds the upper half, whose bits 41 to 57 are the control
// code: stall cycles, the scoreboards that the instruction sets, and those that it waits for.
// Branches name a label or an address. Sources: the listings themselves; the control code as
// described by Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking",
// 2018, section 2.1, which holds for later architectures with 128-bit instructions.
//
// Limits: without encodings every stall is one cycle. Anything that is no instruction is skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::kernel {

struct Instruction {
    std::uint64_t address = 0;
    std::string predicate;  ///< "@!P0"; empty: always
    std::string opcode;     ///< with its modifiers
    std::string operands;
    std::optional<std::size_t> target;  ///< of a branch: the index of an instruction
    unsigned stall = 1;                 ///< cycles
    unsigned waits = 0;                 ///< scoreboards, one bit each
    std::optional<unsigned> sets{};     ///< the scoreboard that its result releases
    std::optional<unsigned> reads{};    ///< the scoreboard that its operands release

    /// "LDG" of "LDG.E.128".
    [[nodiscard]] std::string_view base() const;
    /// Whether one of the modifiers is this.
    [[nodiscard]] bool has(std::string_view modifier) const;
};

struct Function {
    std::string name;
    std::vector<Instruction> code;
    bool has_control = false;  ///< whether the encodings were there
};

/// Functions in the order of the text. Throws InputError if there is no instruction.
[[nodiscard]] std::vector<Function> parse_sass(std::string_view text, const std::string& file);

}  // namespace ridge::kernel
