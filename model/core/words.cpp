#include "model/core/words.h"

#include <string>
#include <vector>

#include "hardware/error.h"
#include "hardware/nearest.h"

namespace ridge::model {

void refuse_word(std::string_view field, std::string_view text,
                 std::span<const std::string_view> words) {
    std::string list;
    for (const std::string_view word : words) {
        list += (list.empty() ? "one of " : ", ") + std::string(word);
    }
    const std::vector<std::string> known(words.begin(), words.end());
    const std::string near = did_you_mean(text, known);
    throw InputError(std::string(field) + ": unknown word '" + std::string(text) + "'", {},
                     text.find(',') != text.npos ? "give one word, not several"
                     : near.empty()              ? list
                                                 : near);
}

}  // namespace ridge::model
