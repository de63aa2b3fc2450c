#include "kernel/code/sass.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "hardware/error.h"

namespace ridge::kernel {
namespace {

constexpr std::size_t most_instructions = 200'000;

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
    if (text.starts_with("0x")) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return {};
    return value;
}

/// What stands between "/*" and "*/", and the text after it; empty if the line does not begin so.
struct Comment {
    std::string_view inside;
    std::string_view after;
};
std::optional<Comment> leading_comment(std::string_view line) {
    if (!line.starts_with("/*")) return {};
    const std::size_t end = line.find("*/");
    if (end == line.npos) return {};
    return Comment{trimmed(line.substr(2, end - 2)), trimmed(line.substr(end + 2))};
}

/// Bits of the control code in the upper half of an encoding.
void set_control(Instruction& instruction, std::uint64_t upper) {
    constexpr unsigned first = 41;  // bit 105 of 128
    const auto field = [upper](unsigned from, unsigned width) {
        return static_cast<unsigned>(upper >> (first + from) & ((1U << width) - 1U));
    };
    constexpr unsigned no_scoreboard = 7;
    instruction.stall = std::max(1U, field(0, 4));
    if (const unsigned set = field(5, 3); set != no_scoreboard) instruction.sets = set;
    if (const unsigned read = field(8, 3); read != no_scoreboard) instruction.reads = read;
    instruction.waits = field(11, 6);
}

class SassReader {
  public:
    explicit SassReader(std::string_view text) : text_(text) {}

    std::vector<Function> read() {
        while (!text_.empty()) {
            const std::size_t end = std::min(text_.find('\n'), text_.size());
            take(trimmed(text_.substr(0, end)));
            text_.remove_prefix(std::min(end + 1, text_.size()));
        }
        close();
        return std::move(functions_);
    }

  private:
    void take(std::string_view line) {
        constexpr std::string_view listed = "Function : ";
        if (line.starts_with(listed)) return open(line.substr(listed.size()));
        if (line.starts_with(".text.") && line.ends_with(":")) {
            return open(line.substr(6, line.size() - 7));
        }
        if (line.ends_with(":") && !line.starts_with("/*") && line.find(' ') == line.npos) {
            labels_[std::string(line.substr(0, line.size() - 1))] = code().size();
            return;
        }
        const auto comment = leading_comment(line);
        if (!comment) return;
        const auto number = hexadecimal(comment->inside);
        if (!number) return;
        if (comment->after.empty()) return take_upper(*number);
        take_instruction(*number, comment->after);
    }

    void take_upper(std::uint64_t upper) {
        if (!waiting_ || code().empty()) return;
        waiting_ = false;
        set_control(code().back(), upper);
        functions_.back().has_control = true;
    }

    void take_instruction(std::uint64_t address, std::string_view line) {
        const std::size_t end = line.find(';');
        if (end == line.npos || code().size() >= most_instructions) return;
        waiting_ = line.find("/* 0x", end) != line.npos;
        std::string_view text = trimmed(line.substr(0, end));
        if (text.starts_with("{")) text = trimmed(text.substr(1));
        Instruction made;
        made.address = address;
        if (text.starts_with("@")) {
            const std::size_t blank = std::min(text.find(' '), text.size());
            made.predicate = text.substr(0, blank);
            text = trimmed(text.substr(blank));
        }
        const std::size_t blank = std::min(text.find(' '), text.size());
        made.opcode = text.substr(0, blank);
        made.operands = trimmed(text.substr(blank));
        if (made.opcode.empty()) return;
        code().push_back(std::move(made));
    }

    std::vector<Instruction>& code() {
        if (functions_.empty()) functions_.push_back({.name = {}, .code = {}});
        return functions_.back().code;
    }

    void open(std::string_view name) {
        close();
        functions_.push_back({.name = std::string(trimmed(name)), .code = {}});
    }

    /// Resolves the branches of the last function; drops it if it has no code.
    void close() {
        if (functions_.empty()) return;
        std::vector<Instruction>& all = functions_.back().code;
        for (Instruction& each : all) each.target = target_of(each, all);
        labels_.clear();
        waiting_ = false;
        if (all.empty()) functions_.pop_back();
    }

    [[nodiscard]] std::optional<std::size_t> target_of(const Instruction& branch,
                                                       const std::vector<Instruction>& all) const {
        if (branch.base() != "BRA") return {};
        const std::string_view operands = branch.operands;
        const std::size_t quote = operands.find("`(");
        if (quote != operands.npos) {
            const std::size_t end = std::min(operands.find(')', quote), operands.size());
            const auto found =
                labels_.find(std::string(operands.substr(quote + 2, end - quote - 2)));
            if (found == labels_.end() || found->second >= all.size()) return {};
            return found->second;
        }
        const std::size_t last = operands.rfind(' ');
        const auto address =
            hexadecimal(last == operands.npos ? operands : operands.substr(last + 1));
        if (!address) return {};
        const auto place = std::lower_bound(
            all.begin(), all.end(), *address,
            [](const Instruction& each, std::uint64_t at) { return each.address < at; });
        if (place == all.end() || place->address != *address) return {};
        return static_cast<std::size_t>(place - all.begin());
    }

    std::string_view text_;
    std::vector<Function> functions_;
    std::map<std::string, std::size_t> labels_;
    bool waiting_ = false;  ///< for the upper half of an encoding
};

}  // namespace

std::string_view Instruction::base() const {
    return std::string_view(opcode).substr(0, opcode.find('.'));
}

bool Instruction::has(std::string_view modifier) const {
    std::string_view rest = opcode;
    while (true) {
        const std::size_t point = rest.find('.');
        if (point == rest.npos) return false;
        rest.remove_prefix(point + 1);
        if (rest.substr(0, rest.find('.')) == modifier) return true;
    }
}

std::vector<Function> parse_sass(std::string_view text, const std::string& file) {
    std::vector<Function> functions = SassReader(text).read();
    if (functions.empty()) {
        throw InputError("no machine code of a kernel", {.file = file},
                         "expected the text of `nvdisasm -hex -c` or `cuobjdump -sass`");
    }
    return functions;
}

}  // namespace ridge::kernel
