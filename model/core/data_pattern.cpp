#include "model/core/data_pattern.h"

#include <array>
#include <cstddef>

#include "model/core/words.h"

namespace ridge::model {
namespace {

constexpr std::array<std::string_view, 4> pattern_words{"normal", "uniform", "zeros", "constant"};

}  // namespace

std::string_view name_of(DataPattern pattern) {
    return pattern_words.at(static_cast<std::size_t>(pattern));
}

DataPattern parse_data_pattern(std::string_view text) {
    for (std::size_t i = 0; i < pattern_words.size(); ++i) {
        if (pattern_words.at(i) == text) return static_cast<DataPattern>(i);
    }
    refuse_word("pattern", text, pattern_words);
}

}  // namespace ridge::model
