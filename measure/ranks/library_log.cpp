#include "measure/ranks/library_log.h"

#include <charconv>
#include <string>

namespace ridge::measure {
namespace {

/// The word after `label`, up to a blank; empty if the label is missing.
std::string word_after(std::string_view line, std::string_view label) {
    const std::size_t at = line.find(label);
    if (at == std::string_view::npos) return {};
    const std::string_view rest = line.substr(at + label.size());
    std::string word(rest.substr(0, rest.find_first_of(" \t\r\n")));
    for (char& letter : word) {
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return word;
}

/// "{0..7}" is 8 channels.
std::optional<std::int64_t> channels_of(std::string_view range) {
    constexpr std::string_view between = "..";
    const std::size_t dots = range.find(between);
    if (range.empty() || range.front() != '{' || dots == std::string_view::npos) {
        return std::nullopt;
    }
    const std::string_view low_text = range.substr(1, dots - 1);
    const std::string_view high_text = range.substr(dots + between.size());
    std::int64_t low = 0;
    std::int64_t high = 0;
    const auto low_read = std::from_chars(low_text.data(), low_text.data() + low_text.size(), low);
    const auto high_read =
        std::from_chars(high_text.data(), high_text.data() + high_text.size(), high);
    if (low_read.ec != std::errc{} || high_read.ec != std::errc{} || low < 0 || high < low) {
        return std::nullopt;
    }
    constexpr std::int64_t most = 1024;  // NCCL has at most 64
    if (high > most) return std::nullopt;
    return high - low + 1;
}

}  // namespace

std::optional<CollectiveChoice> last_choice(std::string_view log) {
    constexpr std::string_view mark = "-> Algo ";
    const std::size_t at = log.rfind(mark);
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view line = log.substr(at);
    line = line.substr(0, line.find('\n'));
    CollectiveChoice choice{.library = {},
                            .algorithm = word_after(line, mark),
                            .protocol = word_after(line, " proto ")};
    if (choice.algorithm.empty() || choice.protocol.empty()) return std::nullopt;
    choice.channels = channels_of(word_after(line, "channel{Lo..Hi}="));
    return choice;
}

}  // namespace ridge::measure
