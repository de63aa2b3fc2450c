// Finds the known word nearest to a misspelt one, for "did you mean".
//
//   nearest("dram.bandwith", paths)   // "dram.bandwidth"
//   near(name, names, 3)              // up to three, best first
//
// Method: Levenshtein distance, ignoring case. `nearest` accepts up to half of the word's length,
// `near`, which lists several words, up to a third. For `nearest`, a prefix is as near as a word
// that differs by one to two letters, whichever of the two is the prefix. A candidate also counts
// as near if it is the last part of the word ("num-heads"), contains the word ("fp4") or is
// abbreviated by it ("regs"); each letter by which their lengths differ then counts half.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

/// Number of insertions, deletions and substitutions that turn one word into the other, ignoring
/// case.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// Whether the words are the same except for case and '-' instead of '_'.
[[nodiscard]] bool same_word(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, or "" if none is near.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// "did you mean 'x'?", or "" if none is near.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string> candidates);

/// Up to `count` near candidates, nearest first: those that begin with `word`, then those that
/// contain it, then similar ones.
[[nodiscard]] std::vector<std::string> near(std::string_view word,
                                            std::span<const std::string> candidates,
                                            std::size_t count);

}  // namespace ridge
