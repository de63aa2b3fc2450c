// The operands of an instruction, as numbers for code that follows it (walk.h).
//
//   operands_of("R4, P1, -R2.reuse, c[0x0][0x228], 0x7f, !PT")    // six operands
//   operands_of("desc[UR4][R2.64+0x10], R8")[0].kind              // OperandKind::other
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ridge::kernel {

enum class OperandKind : std::uint8_t {
    vector,     ///< R7; RZ is number `zero_register`
    uniform,    ///< UR7
    predicate,  ///< P3, UP3; PT is number `true_predicate`
    constant,   ///< c[0x0][0x228], of the first bank
    immediate,
    special,  ///< SR_TID.X
    other     ///< addresses, numbers with a fraction, labels
};
inline constexpr std::uint32_t zero_register = 255;
inline constexpr std::uint32_t true_predicate = 7;

struct Operand {
    OperandKind kind = OperandKind::other;
    std::uint32_t number = 0;  ///< of a register, the offset of a constant, the immediate
    bool is_uniform = false;   ///< of a predicate
    bool is_negative = false;  ///< -R2
    bool is_inverted = false;  ///< ~R2, !P1
    bool is_absolute = false;  ///< |R2|
    std::string_view text{};   ///< as it stands, without signs
};

[[nodiscard]] std::vector<Operand> operands_of(std::string_view text);
/// "@!P0"; always true if empty.
[[nodiscard]] Operand predicate_of(std::string_view text);

}  // namespace ridge::kernel
