// The refusal of a word that is none of a field's.
//
//   if (!known) refuse_word("launch", "gaph", words);   // throws; the hint: did you mean 'graph'?
#pragma once

#include <span>
#include <string_view>

namespace ridge::model {

/// Throws `InputError` that names the field, with the nearest of `words` or all of them.
[[noreturn]] void refuse_word(std::string_view field, std::string_view text,
                              std::span<const std::string_view> words);

}  // namespace ridge::model
