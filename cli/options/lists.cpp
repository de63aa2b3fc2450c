#include "cli/options/lists.h"

#include "cli/options/sweep_range.h"
#include "hardware/count.h"
#include "hardware/error.h"

namespace ridge::cli {

std::vector<std::string> words_in(std::string_view text, std::string_view option) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        if (comma != 0) words.emplace_back(text.substr(0, comma));
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
    }
    if (words.empty()) throw InputError(std::string(option) + ": is empty");
    return words;
}

std::vector<std::int64_t> counts_in(std::string_view text, std::string_view option) {
    if (!is_range(text)) return {parse_count(text, option)};
    const SweepRange range = parse_range(option, text);
    if (range.values.empty()) {
        throw InputError(std::string(option) + ": '" + std::string(text) + "' is not a count");
    }
    return range.values;
}

}  // namespace ridge::cli
