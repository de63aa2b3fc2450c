// An operation written in words (fields.h): "attention heads=32 seq=4Ki head_dim=128 causal".
#include <algorithm>
#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/nearest.h"
#include "model/core/fields.h"

namespace ridge::model {
namespace {

/// Takes the words of an operation's text one after another.
class Words {
  public:
    explicit Words(std::string_view text) : rest_(text) { skip_spaces(); }

    [[nodiscard]] bool empty() const { return rest_.empty(); }

    /// Reads up to a space or '='.
    std::string_view name() {
        const std::string_view word = rest_.substr(0, rest_.find_first_of(" \t="));
        rest_.remove_prefix(word.size());
        return word;
    }

    /// Reads what follows '=', perhaps quoted; empty if no '=' follows.
    std::optional<std::string_view> value(std::string_view field) {
        skip_spaces();
        if (rest_.empty() || rest_.front() != '=') return std::nullopt;
        rest_.remove_prefix(1);
        skip_spaces();
        const bool quoted = !rest_.empty() && (rest_.front() == '"' || rest_.front() == '\'');
        const char quote = quoted ? rest_.front() : '\0';
        if (quoted) rest_.remove_prefix(1);
        if (quoted && rest_.find(quote) == std::string_view::npos) {
            throw InputError(std::string(field) + ": the quote is not closed");
        }
        const std::size_t end =
            std::min(quoted ? rest_.find(quote) : rest_.find_first_of(" \t"), rest_.size());
        const std::string_view found = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        skip_spaces();
        return found;
    }

  private:
    void skip_spaces() {
        const std::size_t first = rest_.find_first_not_of(" \t");
        rest_.remove_prefix(first == std::string_view::npos ? rest_.size() : first);
    }

    std::string_view rest_;
};

[[noreturn]] void fail_unknown_field(OperationKind kind, std::string_view key) {
    std::vector<std::string> names;
    for (const FieldInfo& info : field_table()) {
        if (applies(kind, info.field)) names.emplace_back(info.name);
    }
    throw InputError(
        "op: '" + std::string(key) + "' is not a field of " + std::string(info_of(kind).name), {},
        did_you_mean(key, names));
}

/// Reads the words of an operation. `step` receives count and name when a sequence is meant; it is
/// null when those are not allowed.
OperationText parse_words(std::string_view text, const Parameters& defaults, StepText* step) {
    Words words(text);
    OperationText operation{.kind = parse_operation_kind(words.name()), .parameters = defaults};
    if (words.value("op")) {
        throw InputError("op: the operation comes first, as in \"matmul m=4096 n=4096 k=4096\"");
    }
    std::bitset<field_count> given;
    while (!words.empty()) {
        const std::string_view key = words.name();
        const std::optional<std::string_view> value = words.value(key);
        if (step != nullptr && value && (key == "count" || key == "name")) {
            if (key == "name") step->name = *value;
            if (key == "count") step->count = parse_repetitions(*value);
            continue;
        }
        const std::optional<Field> field = find_field(key);
        if (!field || !applies(operation.kind, *field)) fail_unknown_field(operation.kind, key);
        const auto position = static_cast<std::size_t>(*field);
        if (given[position]) {
            throw InputError("op: '" + std::string(key) + "' is given twice");
        }
        given.set(position);
        if (!value && info_of(*field).kind != FieldKind::flag) {
            throw InputError("op: expected field=value at '" + std::string(key) + "'");
        }
        operation.parameters.set(*field, value.value_or("1"));
    }
    return operation;
}

}  // namespace

OperationText parse_operation(std::string_view text, const Parameters& defaults) {
    return parse_words(text, defaults, nullptr);
}

StepText parse_step(std::string_view text, const Parameters& defaults) {
    StepText step;
    step.operation = parse_words(text, defaults, &step);
    return step;
}

std::int64_t parse_repetitions(std::string_view text) {
    constexpr std::int64_t most = 1'000'000'000;
    const std::int64_t count = parse_count(text, "count");
    if (count < 1 || count > most) {
        throw InputError("count: '" + std::string(text) + "' is not a number from 1 to 1000000000");
    }
    return count;
}

}  // namespace ridge::model
