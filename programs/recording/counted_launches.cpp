#include "programs/recording/counted_launches.h"

#include <charconv>

namespace ridge::programs {
namespace {

/// Takes a number and the blank after it from the front of `line`; false if there is none.
bool take_number(std::string_view& line, std::uint32_t& value) {
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
    const auto length = static_cast<std::size_t>(end - line.data());
    if (error != std::errc() || length >= line.size() || line[length] != ' ') return false;
    line.remove_prefix(length + 1);
    return true;
}

}  // namespace

std::string to_text(const MissingSets& missing) {
    std::string text;
    for (const auto& [kernel, sets] : missing) {
        if (kernel.name.find('\n') != kernel.name.npos) continue;
        text += std::to_string(sets) + ' ';
        for (const std::uint32_t size : kernel.grid) text += std::to_string(size) + ' ';
        for (const std::uint32_t size : kernel.block) text += std::to_string(size) + ' ';
        text += kernel.name + '\n';
    }
    return text;
}

MissingSets missing_sets_of(std::string_view text) {
    MissingSets missing;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        std::uint32_t sets = 0;
        LaunchedKernel kernel;
        bool whole = take_number(line, sets);
        for (std::uint32_t& size : kernel.grid) whole = whole && take_number(line, size);
        for (std::uint32_t& size : kernel.block) whole = whole && take_number(line, size);
        if (!whole) continue;
        kernel.name = line;
        missing[kernel] = sets;
    }
    return missing;
}

}  // namespace ridge::programs
