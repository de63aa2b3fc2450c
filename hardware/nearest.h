// The nearest known word to a misspelt one, for "did you mean".
//
//   nearest("dram.bandwith", paths)   // "dram.bandwidth"
//   near(name, names, 3)              // up to three, best first
//
// Method: Levenshtein distance without regard to case; `nearest` goes as far as half of the word's
// length, `near`, which lists several, as far as a third. To `nearest` a word that begins with a
// candidate, or a candidate with it, is as near as one that differs by a letter or two; one whose last
// part is a candidate ("num-heads"), that is held by one ("fp4") or abbreviates one ("regs") is near by half
// of the letters that differ.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

/// Insertions, deletions and substitutions that turn one word into the other, ignoring case.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

/// Whether the words are the same but for case, and '-' in place of '_'.
[[nodiscard]] bool same_word(std::string_view a, std::string_view b);

/// The candidate nearest to `word`, or "" when none is near.
[[nodiscard]] std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// "did you mean 'x'?", or "" when none is near.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string> candidates);

/// Up to `count` near candidates, nearest first: those that begin with `word`, those that contain
/// it, then similar ones.
[[nodiscard]] std::vector<std::string> near(std::string_view word,
                                            std::span<const std::string> candidates,
                                            std::size_t count);

}  // namespace ridge
