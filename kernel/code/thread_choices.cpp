// Comparisons, selections and conversions of the thread that walk.h follows; see thread_state.h.
#include <cmath>
#include <cstring>

#include "kernel/code/thread_state.h"

namespace ridge::kernel {
namespace {

std::uint32_t bits_of(float number) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
}
float float_of(std::uint32_t bits) {
    float number = 0.0F;
    std::memcpy(&number, &bits, sizeof number);
    return number;
}

}  // namespace

bool ThreadState::logic(const CodeStep& step) {
    if (!is_base(step, "LOP3") || step.operands.size() < 5) return false;
    const bool has_flag = is_predicate(step.operands.front());
    const std::size_t first = has_flag ? 1 : 0;
    const std::vector<Operand> sources = sources_of(step, first + 1);
    if (sources.size() < 4) return false;
    const Word a = value(sources[0]);
    const Word b = value(sources[1]);
    const Word c = value(sources[2]);
    const std::uint32_t table = sources[3].number;
    // An input that the table ignores need not be known.
    const auto ignores = [table](unsigned distance, std::uint32_t mask) {
        return ((table ^ (table >> distance)) & mask) == 0;
    };
    const bool known =
        (a || ignores(4, 0x0f)) && (b || ignores(2, 0x33)) && (c || ignores(1, 0x55));
    Word result;
    if (known) {
        std::uint32_t bits = 0;
        const std::array inputs{a.value_or(0), b.value_or(0), c.value_or(0)};
        for (unsigned i = 0; i < 8; ++i) {
            if ((table >> i & 1U) == 0) continue;
            std::uint32_t term = ~0U;
            for (unsigned j = 0; j < 3; ++j) {
                term &= (i >> (2 - j) & 1U) != 0 ? inputs.at(j) : ~inputs.at(j);
            }
            bits |= term;
        }
        result = bits;
    }
    if (has_flag) {
        set_predicate(step.operands.front(), result ? std::optional(*result != 0) : std::nullopt);
    }
    set(step.operands[first], result);
    return true;
}

bool ThreadState::compare(const CodeStep& step) {
    const Instruction& each = *step.instruction;
    if (!is_base(step, "ISETP") || step.operands.size() < 5) return false;
    const Word a = value(step.operands[2]);
    const Word b = value(step.operands[3]);
    std::optional<bool> result;
    if (a && b) {
        const std::int64_t x = each.has("U32") ? std::int64_t{*a} : signed_of(*a);
        const std::int64_t y = each.has("U32") ? std::int64_t{*b} : signed_of(*b);
        const bool extended = each.has("EX");
        const std::optional<bool> lower =
            extended ? predicate(step.operands.back()) : std::optional(false);
        const bool less = each.has("LT") || each.has("LE");
        const bool more = each.has("GT") || each.has("GE");
        const bool same = each.has("EQ") || each.has("LE") || each.has("GE");
        if (x != y) {
            result = (less && x < y) || (more && x > y) || each.has("NE");
        } else {
            result = extended ? lower : std::optional(same);
        }
    }
    const std::optional<bool> with = predicate(step.operands[4]);
    const auto combined = [&](std::optional<bool> flag) -> std::optional<bool> {
        if (each.has("OR")) {
            if ((flag && *flag) || (with && *with)) return true;
        } else if (!each.has("XOR") && ((flag && !*flag) || (with && !*with))) {
            return false;
        }
        if (!flag || !with) return std::nullopt;
        return each.has("OR") ? *flag || *with : each.has("XOR") ? *flag != *with : *flag && *with;
    };
    const std::optional<bool> opposite = result ? std::optional(!*result) : std::nullopt;
    const std::optional<bool> first = combined(result);
    const std::optional<bool> second = combined(opposite);
    set_predicate(step.operands[0], first);
    set_predicate(step.operands[1], second);
    return true;
}

bool ThreadState::select(const CodeStep& step) {
    const Instruction& each = *step.instruction;
    if (step.operands.size() < 2) return false;
    const Operand& target = step.operands.front();
    const Operand& last = step.operands.back();
    const Word a = value(step.operands[1]);
    if (step.base == "IABS") {
        set(target, a ? Word(static_cast<std::uint32_t>(std::abs(signed_of(*a)))) : Word());
        return true;
    }
    if (step.operands.size() < 3) return false;
    const Word b = value(step.operands[2]);
    if (is_base(step, "SGXT")) {
        Word result;
        if (a && b && *b > 0 && *b < 32) {
            const std::uint32_t up = *a << (32 - *b);
            result = each.has("U32") ? up >> (32 - *b)
                                     : static_cast<std::uint32_t>(signed_of(up) >> (32 - *b));
        }
        set(target, result);
        return true;
    }
    const bool extreme = step.base == "VIMNMX" || step.base == "IMNMX" || step.base == "UIMNMX";
    if ((!extreme && !is_base(step, "SEL")) || !is_predicate(last)) return false;
    const std::optional<bool> flag = predicate(last);
    Word result;
    if (extreme && a && b && flag) {
        const bool less = each.has("U32") ? *a < *b : signed_of(*a) < signed_of(*b);
        result = less == *flag ? a : b;
    } else if (!extreme && flag) {
        result = *flag ? a : b;
    }
    set(target, result);
    return true;
}

bool ThreadState::combine_predicates(const CodeStep& step) {
    if (!is_base(step, "PLOP3") || step.operands.size() < 6) return false;
    const std::uint32_t table = step.operands[5].number;
    std::uint32_t place = 0;
    bool known = true;
    for (std::size_t i = 2; i < 5; ++i) {
        const std::optional<bool> flag = predicate(step.operands[i]);
        known = known && flag.has_value();
        place = place * 2 + (flag.value_or(false) ? 1U : 0U);
    }
    set_predicate(step.operands[0],
                  known ? std::optional((table >> place & 1U) != 0) : std::nullopt);
    set_predicate(step.operands[1], std::nullopt);
    return true;
}

/// The steps of a division of integers: to a float rounded up, its reciprocal, and back.
bool ThreadState::convert(const CodeStep& step) {
    const Instruction& each = *step.instruction;
    if (step.operands.size() != 2 || each.has("F64") || each.has("64")) return false;
    const Word a = value(step.operands[1]);
    Word result;
    if (step.base == "I2F" && each.has("RP")) {
        if (a) {
            const double exact = each.has("U32") ? double{static_cast<double>(*a)}
                                                 : static_cast<double>(signed_of(*a));
            auto rounded = static_cast<float>(exact);
            if (static_cast<double>(rounded) < exact) rounded = std::nextafter(rounded, INFINITY);
            result = bits_of(rounded);
        }
    } else if (step.base == "MUFU" && each.has("RCP")) {
        if (a) result = bits_of(1.0F / float_of(*a));
    } else if (step.base == "F2I" && each.has("U32") && each.has("TRUNC")) {
        const float number = a ? float_of(*a) : -1.0F;
        constexpr float most = 4294967040.0F;
        if (number >= 0.0F && number <= most) result = static_cast<std::uint32_t>(number);
    } else {
        return false;
    }
    set(step.operands.front(), result);
    return true;
}

}  // namespace ridge::kernel
