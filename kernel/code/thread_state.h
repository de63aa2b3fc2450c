// The registers and predicates of the thread that walk.h follows, and what integer instructions do
// to them.
//
//   ThreadState state(input, {.block = {5, 0, 0}, .thread = {32, 0, 0}});
//   state.execute(step);             // IADD3 R4, R2, 0x7f, RZ
//   state.predicate(step.guard)      // empty: not known
//
// Method: each instruction of the integer pipes by its description in the instruction set reference
// of the CUDA Binary Utilities and its use in code that ptxas writes. Any other instruction makes
// the registers that it writes unknown.
//
// Limits: floating-point values are unknown, except in the division of integers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernel/code/operands.h"
#include "kernel/code/walk.h"

namespace ridge::kernel {

/// An instruction with its operands taken apart.
struct CodeStep {
    const Instruction* instruction = nullptr;
    std::string_view base;
    std::vector<Operand> operands;
    Operand guard;
};
[[nodiscard]] CodeStep step_of(const Instruction& instruction);
/// Operands from `first` on that are no predicates.
[[nodiscard]] std::vector<Operand> sources_of(const CodeStep& step, std::size_t first);
/// Whether the base is this one, or its uniform form.
[[nodiscard]] bool is_base(const CodeStep& step, std::string_view base);
[[nodiscard]] constexpr bool is_predicate(const Operand& operand) {
    return operand.kind == OperandKind::predicate;
}
[[nodiscard]] constexpr std::int64_t signed_of(std::uint32_t word) {
    return static_cast<std::int32_t>(word);
}

struct ThreadPlace {
    std::array<std::int64_t, 3> block{};
    std::array<std::int64_t, 3> thread{};
};

class ThreadState {
  public:
    ThreadState(const WalkInput& input, const ThreadPlace& place);

    void execute(const CodeStep& step);
    /// Makes everything that the instruction writes unknown.
    void forget(const CodeStep& step);
    [[nodiscard]] std::optional<bool> predicate(const Operand& operand) const;

  private:
    using Word = std::optional<std::uint32_t>;
    using Long = std::optional<std::uint64_t>;
    using Operands = std::vector<Operand>;

    [[nodiscard]] Word value(const Operand& operand, std::uint32_t offset = 0) const;
    [[nodiscard]] Long pair(const Operand& operand) const;
    [[nodiscard]] Word special(std::string_view name) const;
    void set(const Operand& target, Word word, std::uint32_t offset = 0);
    void set_pair(const Operand& target, Long both);
    void set_predicate(const Operand& target, std::optional<bool> flag);

    [[nodiscard]] bool move(const CodeStep& step);
    [[nodiscard]] bool add(const CodeStep& step);
    [[nodiscard]] bool multiply(const CodeStep& step);
    [[nodiscard]] bool shift(const CodeStep& step);
    [[nodiscard]] bool shift_and_add(const CodeStep& step);
    [[nodiscard]] bool logic(const CodeStep& step);
    [[nodiscard]] bool compare(const CodeStep& step);
    [[nodiscard]] bool select(const CodeStep& step);
    [[nodiscard]] bool combine_predicates(const CodeStep& step);
    [[nodiscard]] bool convert(const CodeStep& step);

    const WalkInput& input_;
    ThreadPlace place_;
    std::array<Word, 256> vector_{};
    std::array<Word, 256> uniform_{};
    std::array<std::optional<bool>, 8> predicates_{};
    std::array<std::optional<bool>, 8> uniform_predicates_{};
};

}  // namespace ridge::kernel
