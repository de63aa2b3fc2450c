// The error for a word that a field does not know.
//
//   if (!known) refuse_word("launch", "gaph", words);   // throws; the hint: did you mean 'graph'?
#pragma once

#include <span>
#include <string_view>

namespace ridge::model {

/// Throws an `InputError` that names the field and suggests the nearest of `words`, or lists all of
/// them.
[[noreturn]] void refuse_word(std::string_view field, std::string_view text,
                              std::span<const std::string_view> words);

}  // namespace ridge::model
