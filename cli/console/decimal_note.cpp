#include "cli/console/decimal_note.h"

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <string_view>

#include "hardware/count.h"

namespace ridge::cli {
namespace {

/// Whether the option's value is a name, for example of a file or a GPU.
bool takes_name(std::string_view option) {
    constexpr std::array<std::string_view, 8> names{"-o",         "--output", "--from", "--records",
                                                    "--gpu-file", "--gpu",    "--keep", "--title"};
    return std::find(names.begin(), names.end(), option) != names.end();
}

/// The first count in a word that is written with k, M or G: "m=4k", "1k:8k:*2" or "1k,2k".
std::optional<std::string_view> decimal_count(std::string_view argument) {
    constexpr std::string_view separators = " \t=:,*\"'";
    while (!argument.empty()) {
        const std::size_t end = std::min(argument.find_first_of(separators), argument.size());
        const std::string_view word = argument.substr(0, end);
        const bool letter = !word.empty() && (word.back() < '0' || word.back() > '9');
        const auto count = letter ? read_count(word, CountUnit::bytes) : std::nullopt;
        if (count && count->decimal) return word;
        argument.remove_prefix(std::min(end + 1, argument.size()));
    }
    return std::nullopt;
}

}  // namespace

void write_decimal_note(const Context& context, std::span<const std::string> arguments) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        if (i > 0 && takes_name(arguments[i - 1])) continue;
        const auto word = decimal_count(arguments[i]);
        if (!word) continue;
        const auto decimal = read_count(*word);
        context.err << "ridge: " << *word << " is taken as " << decimal->value;
        std::string binary_text = std::string(*word) + "i";
        if (binary_text[word->size() - 1] == 'k') binary_text[word->size() - 1] = 'K';
        if (const auto binary = read_count(binary_text)) {
            context.err << "; write " << binary_text << " for " << binary->value;
        }
        context.err << '\n';
        return;
    }
}

void write_decimal_note_of_table(const Context& context) {
    context.err
        << "ridge: k, M and G in the table are taken as powers of 1000; write Ki, Mi and Gi "
           "for powers of 1024\n";
}

}  // namespace ridge::cli
