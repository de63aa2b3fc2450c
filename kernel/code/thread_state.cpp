#include "kernel/code/thread_state.h"

#include <algorithm>
#include <cmath>

#include "kernel/code/opcode.h"

namespace ridge::kernel {
namespace {

using Word = std::optional<std::uint32_t>;
using Long = std::optional<std::uint64_t>;

bool is_register(const Operand& operand) {
    return operand.kind == OperandKind::vector || operand.kind == OperandKind::uniform;
}

std::uint64_t joined(std::uint32_t low, std::uint32_t high) {
    return std::uint64_t{high} << 32U | low;
}
std::uint32_t high_of(std::uint64_t both) {
    return static_cast<std::uint32_t>(both >> 32U);
}
std::uint32_t low_of(std::uint64_t both) {
    return static_cast<std::uint32_t>(both);
}
std::uint32_t registers_written(const CodeStep& step) {
    const Instruction& each = *step.instruction;
    if (step.base == "HMMA" || step.base == "IMMA" || step.base == "QMMA") return 4;
    if (step.base == "DMMA") return 8;
    if (step.base.ends_with("GMMA")) {
        // 64xN of 32-bit results are N / 2 registers of each of 128 threads.
        const std::size_t cross = each.opcode.find('x');
        std::uint32_t n = 0;
        for (std::size_t i = cross + 1; cross != each.opcode.npos && i < each.opcode.size(); ++i) {
            if (each.opcode[i] < '0' || each.opcode[i] > '9') break;
            n = n * 10 + static_cast<std::uint32_t>(each.opcode[i] - '0');
        }
        return std::max(1U, n / 2);
    }
    if (step.base == "LDSM") return each.has("4") ? 4 : each.has("2") ? 2 : 1;
    if (each.has("128")) return 4;
    const bool wide = each.has("64") || each.has("WIDE") || each.has("F64") ||
                      step.base == "DADD" || step.base == "DMUL" || step.base == "DFMA" ||
                      (step.base == "CS2R" && !each.has("32"));
    return wide ? 2 : 1;
}

}  // namespace

std::vector<Operand> sources_of(const CodeStep& step, std::size_t first) {
    std::vector<Operand> sources;
    for (std::size_t i = first; i < step.operands.size(); ++i) {
        if (!is_predicate(step.operands[i])) sources.push_back(step.operands[i]);
    }
    return sources;
}

bool is_base(const CodeStep& step, std::string_view base) {
    return step.base == base || (step.base.starts_with('U') && step.base.substr(1) == base);
}

CodeStep step_of(const Instruction& instruction) {
    return {.instruction = &instruction,
            .base = instruction.base(),
            .operands = operands_of(instruction.operands),
            .guard = predicate_of(instruction.predicate)};
}

ThreadState::ThreadState(const WalkInput& input, const ThreadPlace& place)
    : input_(input), place_(place) {
    vector_[zero_register] = 0;
    uniform_[zero_register] = 0;
    predicates_[true_predicate] = true;
    uniform_predicates_[true_predicate] = true;
}

std::optional<bool> ThreadState::predicate(const Operand& operand) const {
    const auto& list = operand.is_uniform ? uniform_predicates_ : predicates_;
    const std::optional<bool> flag = list.at(operand.number % list.size());
    if (!flag) return flag;
    return *flag != operand.is_inverted;
}

ThreadState::Word ThreadState::value(const Operand& operand, std::uint32_t offset) const {
    Word word;
    const std::uint32_t place =
        operand.number == zero_register ? zero_register : (operand.number + offset) % 255;
    switch (operand.kind) {
        case OperandKind::vector:
            word = vector_.at(place);
            break;
        case OperandKind::uniform:
            word = uniform_.at(place);
            break;
        case OperandKind::immediate:
            word = offset == 0 ? operand.number : 0;
            break;
        case OperandKind::constant: {
            const auto found = input_.constants.find(operand.number + 4 * offset);
            if (found != input_.constants.end()) word = found->second;
            break;
        }
        default:
            return {};
    }
    if (word && operand.is_absolute) {
        word = static_cast<std::uint32_t>(std::abs(signed_of(*word)));
    }
    if (word && operand.is_inverted) word = ~*word;
    if (word && operand.is_negative) word = 0U - *word;
    return word;
}

ThreadState::Long ThreadState::pair(const Operand& operand) const {
    const Word low = value(operand);
    const Word high = value(operand, 1);
    if (!low || !high) return {};
    return joined(*low, *high);
}

ThreadState::Word ThreadState::special(std::string_view name) const {
    const auto of = [](const std::array<std::int64_t, 3>& place, char axis) {
        return static_cast<std::uint32_t>(place.at(static_cast<std::size_t>(axis - 'X') % 3));
    };
    constexpr std::string_view thread = "SR_TID.";
    constexpr std::string_view block = "SR_CTAID.";
    if (name.starts_with(thread) && name.size() > thread.size()) {
        return of(place_.thread, name[thread.size()]);
    }
    if (name.starts_with(block) && name.size() > block.size()) {
        return of(place_.block, name[block.size()]);
    }
    if (name == "SRZ" || name == "SR_CgaCtaId") return 0;
    if (name == "SR_LANEID") return static_cast<std::uint32_t>(place_.thread[0] % 32);
    return {};
}

void ThreadState::set(const Operand& target, Word word, std::uint32_t offset) {
    if (!is_register(target) || target.number == zero_register) return;
    auto& list = target.kind == OperandKind::vector ? vector_ : uniform_;
    if (target.number + offset < zero_register) list.at(target.number + offset) = word;
}

void ThreadState::set_pair(const Operand& target, Long both) {
    set(target, both ? Word(low_of(*both)) : Word());
    set(target, both ? Word(high_of(*both)) : Word(), 1);
}

void ThreadState::set_predicate(const Operand& target, std::optional<bool> flag) {
    if (!is_predicate(target) || target.number == true_predicate) return;
    (target.is_uniform ? uniform_predicates_ : predicates_).at(target.number) = flag;
}

void ThreadState::execute(const CodeStep& step) {
    const std::optional<bool> guard = predicate(step.guard);
    if (guard && !*guard) return;
    if (!guard) return forget(step);
    const bool done = move(step) || add(step) || multiply(step) || shift(step) ||
                      shift_and_add(step) || logic(step) || compare(step) || select(step) ||
                      combine_predicates(step) || convert(step);
    if (!done) forget(step);
}

void ThreadState::forget(const CodeStep& step) {
    const bool control =
        meaning_of(*step.instruction).pipe == CodePipe::branch && step.base != "SYNCS";
    if (control) return;
    if (step.base == "R2P") {
        for (std::uint32_t i = 0; i < true_predicate; ++i) predicates_.at(i) = std::nullopt;
        return;
    }
    const std::uint32_t width = registers_written(step);
    for (const Operand& target : step.operands) {
        if (is_predicate(target)) {
            set_predicate(target, std::nullopt);
            continue;
        }
        for (std::uint32_t i = 0; is_register(target) && i < width; ++i) set(target, {}, i);
        // The carry of an addition stands behind its result.
        const bool adds = is_base(step, "IADD3") || is_base(step, "LEA");
        if (!is_register(target) || !adds) break;
        for (std::size_t i = 1; i < step.operands.size() && is_predicate(step.operands[i]); ++i) {
            set_predicate(step.operands[i], std::nullopt);
        }
        break;
    }
}

bool ThreadState::move(const CodeStep& step) {
    if (step.operands.empty()) return false;
    const Operand& target = step.operands.front();
    const Instruction& each = *step.instruction;
    if (step.operands.size() < 2) return false;
    const Operand& source = step.operands[1];
    if (is_base(step, "MOV") || step.base == "MOV32I" || step.base == "R2UR") {
        if (!is_register(target)) return false;
        set(target, value(source));
        return true;
    }
    if (step.base == "S2R" || step.base == "S2UR" || step.base == "CS2R") {
        const Word word = special(source.text);
        set(target, word);
        if (step.base == "CS2R" && !each.has("32")) set(target, word ? Word(0) : Word(), 1);
        return true;
    }
    if (is_base(step, "LDC") || step.base == "LDCU") {
        const std::uint32_t words = each.has("128") ? 4 : each.has("64") ? 2 : 1;
        const bool narrow = each.has("U8") || each.has("S8") || each.has("U16") || each.has("S16");
        for (std::uint32_t i = 0; i < words; ++i) {
            set(target, narrow ? Word() : value(source, i), i);
        }
        return true;
    }
    return false;
}

bool ThreadState::add(const CodeStep& step) {
    const Instruction& each = *step.instruction;
    const bool three = is_base(step, "IADD3");
    if ((!three && step.base != "VIADD" && step.base != "IADD") || step.operands.empty()) {
        return false;
    }
    const std::vector<Operand> sources = sources_of(step, 1);
    const Operand& target = step.operands.front();
    if (each.has("64")) {
        Long sum = 0;
        for (const Operand& source : sources) {
            const Long both = pair(source);
            if (!both || source.is_negative) sum.reset();
            if (sum) *sum += *both;
        }
        set_pair(target, sum);
        return true;
    }
    const bool extended = each.has("X");
    Long sum = 0;
    for (Operand source : sources) {
        // -b is ~b + 1; the 1 comes as a carry in the upper word.
        const bool negative = source.is_negative && source.kind != OperandKind::immediate;
        if (negative) {
            source.is_negative = false;
            source.is_inverted = true;
        }
        const Word word = value(source);
        if (!word) sum.reset();
        if (sum) *sum += std::uint64_t{*word} + (negative && !extended ? 1U : 0U);
    }
    std::size_t at = 1;
    std::vector<Operand> carries;
    for (; at < step.operands.size() && is_predicate(step.operands[at]); ++at) {
        carries.push_back(step.operands[at]);
    }
    for (at += sources.size(); at < step.operands.size(); ++at) {
        const std::optional<bool> carry = predicate(step.operands[at]);
        if (!carry) sum.reset();
        if (sum && extended) *sum += *carry ? 1U : 0U;
    }
    set(target, sum ? Word(low_of(*sum)) : Word());
    for (std::size_t i = 0; i < carries.size(); ++i) {
        const bool first = i == 0 && sum.has_value();
        set_predicate(carries[i], first ? std::optional(high_of(*sum) != 0) : std::nullopt);
    }
    return true;
}

bool ThreadState::multiply(const CodeStep& step) {
    const Instruction& each = *step.instruction;
    if (!is_base(step, "IMAD") || step.operands.size() < 4) return false;
    const std::vector<Operand> sources = sources_of(step, 1);
    if (sources.size() < 3 || is_predicate(step.operands[1])) return false;
    const Word a = value(sources[0]);
    const Word b = value(sources[1]);
    const bool is_unsigned = each.has("U32");
    const bool zero = (a && *a == 0) || (b && *b == 0);
    Long product;
    if (a && b) {
        product = is_unsigned ? std::uint64_t{*a} * *b
                              : static_cast<std::uint64_t>(signed_of(*a) * signed_of(*b));
    } else if (zero) {
        product = 0;
    }
    if (each.has("WIDE") || each.has("HI")) {
        const Long addend = pair(sources[2]);
        Long sum;
        if (product && addend) sum = *product + *addend;
        if (each.has("WIDE")) {
            set_pair(step.operands.front(), sum);
        } else {
            set(step.operands.front(), sum ? Word(high_of(*sum)) : Word());
        }
        return true;
    }
    const Word addend = value(sources[2]);
    Word sum;
    if (product && addend) sum = low_of(*product) + *addend;
    if (each.has("X")) {
        const std::optional<bool> carry = predicate(step.operands.back());
        if (!carry || !is_predicate(step.operands.back())) sum.reset();
        if (sum) *sum += *carry ? 1U : 0U;
    }
    set(step.operands.front(), sum);
    return true;
}

bool ThreadState::shift(const CodeStep& step) {
    const Instruction& each = *step.instruction;
    if (!is_base(step, "SHF") || step.operands.size() < 4) return false;
    const Word low = value(step.operands[1]);
    const Word count = value(step.operands[2]);
    const Word high = value(step.operands[3]);
    Word result;
    if (count && *count < 64) {
        const bool wide = each.has("U64") || each.has("S64");
        if (each.has("L") && !wide) {
            if (low && *count < 32) result = *low << *count;
        } else if (each.has("L")) {
            if (low && high) result = high_of(joined(*low, *high) << *count);
        } else if (!wide && each.has("HI")) {
            if (high && *count < 32) {
                result = each.has("S32") ? static_cast<std::uint32_t>(signed_of(*high) >> *count)
                                         : *high >> *count;
            }
        } else if (low && high) {
            const std::uint64_t both = joined(*low, *high);
            const auto arithmetic =
                static_cast<std::uint64_t>(static_cast<std::int64_t>(both) >> *count);
            const std::uint64_t shifted = each.has("S64") ? arithmetic : both >> *count;
            result = each.has("HI") ? high_of(shifted) : low_of(shifted);
        }
    }
    set(step.operands.front(), result);
    return true;
}

/// LEA: a shifted address plus a base, or the upper word of that.
bool ThreadState::shift_and_add(const CodeStep& step) {
    const Instruction& each = *step.instruction;
    if (!is_base(step, "LEA")) return false;
    const std::vector<Operand> sources = sources_of(step, 1);
    const bool high = each.has("HI");
    const bool extends = each.has("SX32");
    if (sources.size() < (high && !extends ? 4U : 3U)) return false;
    const Word a = value(sources[0]);
    const Word b = value(sources[1]);
    const Word upper = high && !extends ? value(sources[2]) : Word(0);
    const Word count = value(sources.back());
    Long sum;
    if (a && b && upper && count && *count < 32) {
        const std::uint64_t wide =
            extends ? static_cast<std::uint64_t>(signed_of(*a)) : joined(*a, *upper);
        sum = std::uint64_t{high ? high_of(wide << *count) : *a << *count} + *b;
    }
    const Operand& last = step.operands.back();
    if (each.has("X")) {
        const std::optional<bool> carry = is_predicate(last) ? predicate(last) : std::nullopt;
        if (!carry) sum.reset();
        if (sum) *sum += *carry ? 1U : 0U;
    }
    set(step.operands.front(), sum ? Word(low_of(*sum)) : Word());
    if (is_predicate(step.operands[1])) {
        set_predicate(step.operands[1], sum ? std::optional(high_of(*sum) != 0) : std::nullopt);
    }
    return true;
}

}  // namespace ridge::kernel
