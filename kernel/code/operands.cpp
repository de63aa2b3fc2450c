#include "kernel/code/operands.h"

#include <charconv>
#include <optional>

namespace ridge::kernel {
namespace {

std::optional<std::uint32_t> number_in(std::string_view text, int base) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
    return value;
}

/// "7" of "R7", with `none` for the register that is always zero or true.
bool set_register(Operand& operand, std::string_view text, std::string_view prefix,
                  std::string_view none, std::uint32_t none_number) {
    if (!text.starts_with(prefix)) return false;
    const std::string_view rest = text.substr(prefix.size());
    if (rest == none) {
        operand.number = none_number;
        return true;
    }
    const auto number = number_in(rest, 10);
    if (!number || *number >= none_number) return false;
    operand.number = *number;
    return true;
}

/// "0x228" of "c[0x0][0x228]"; other banks are not known.
bool set_constant(Operand& operand, std::string_view text) {
    constexpr std::string_view bank = "c[0x0][0x";
    if (!text.starts_with(bank) || !text.ends_with(']')) return false;
    const auto offset = number_in(text.substr(bank.size(), text.size() - bank.size() - 1), 16);
    if (offset) operand.number = *offset;
    return offset.has_value();
}

void set_kind(Operand& operand, std::string_view text) {
    operand.text = text;
    if (set_register(operand, text, "R", "Z", zero_register)) {
        operand.kind = OperandKind::vector;
    } else if (set_register(operand, text, "UR", "Z", zero_register)) {
        operand.kind = OperandKind::uniform;
    } else if (set_register(operand, text, "P", "T", true_predicate)) {
        operand.kind = OperandKind::predicate;
    } else if (set_register(operand, text, "UP", "T", true_predicate)) {
        operand.kind = OperandKind::predicate;
        operand.is_uniform = true;
    } else if (set_constant(operand, text)) {
        operand.kind = OperandKind::constant;
    } else if (text.starts_with("SR_") || text == "SRZ") {
        operand.kind = OperandKind::special;
    } else if (text.starts_with("0x")) {
        const auto value = number_in(text.substr(2), 16);
        operand.number = value.value_or(0);
        operand.kind = value ? OperandKind::immediate : OperandKind::other;
    }
}

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

Operand operand_of(std::string_view text) {
    Operand operand;
    text = without_blanks(text);
    constexpr std::string_view reuse = ".reuse";
    while (!text.empty()) {
        if (text.front() == '-') {
            operand.is_negative = true;
        } else if (text.front() == '~' || text.front() == '!') {
            operand.is_inverted = true;
        } else if (text.front() == '|') {
            operand.is_absolute = true;
        } else {
            break;
        }
        text.remove_prefix(1);
    }
    if (text.ends_with(reuse)) text.remove_suffix(reuse.size());
    if (text.ends_with('|')) text.remove_suffix(1);
    if (text.ends_with(reuse)) text.remove_suffix(reuse.size());
    set_kind(operand, text);
    return operand;
}

}  // namespace

std::vector<Operand> operands_of(std::string_view text) {
    std::vector<Operand> operands;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const char each = i < text.size() ? text[i] : ',';
        if (each == '[' || each == '(' || each == '{') ++depth;
        if (each == ']' || each == ')' || each == '}') --depth;
        if (each != ',' || depth > 0) continue;
        const std::string_view part = without_blanks(text.substr(begin, i - begin));
        if (!part.empty()) operands.push_back(operand_of(part));
        begin = i + 1;
    }
    return operands;
}

Operand predicate_of(std::string_view text) {
    if (text.starts_with('@')) return operand_of(text.substr(1));
    return {.kind = OperandKind::predicate, .number = true_predicate, .text = "PT"};
}

}  // namespace ridge::kernel
