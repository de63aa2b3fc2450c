#include "hardware/nearest.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "hardware/text.h"

namespace ridge {
namespace {

constexpr std::size_t longest_word = 100;

std::string lower_case(std::string_view word) {
    std::string result(word);
    std::transform(result.begin(), result.end(), result.begin(), lower);
    return result;
}

std::string_view without_dashes(std::string_view word) {
    word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
    return word;
}

/// Whether the letters occur in `name` in this order, from its first letter on: "regs" in
/// "registers".
bool abbreviates(std::string_view letters, std::string_view name) {
    if (letters.size() < 4 || name.empty() || letters.front() != name.front()) return false;
    for (const char letter : name) {
        if (!letters.empty() && letters.front() == letter) letters.remove_prefix(1);
    }
    return letters.empty();
}

/// Distance in half letters, by the difference in length; far if neither word is a part of the
/// other: "num-heads" ends with the word "heads", "nvfp4" contains "fp4".
std::size_t distance_by_parts(std::string_view wanted, std::string_view name) {
    wanted = without_dashes(wanted);
    name = without_dashes(name);
    if (wanted.size() > name.size()) {
        const std::size_t more = wanted.size() - name.size();
        const char before = wanted[more - 1];
        const bool ends = name.size() >= 3 && (before == '-' || before == '_') &&
                          same_word(wanted.substr(more), name);
        return ends ? more : longest_word;
    }
    const std::size_t more = name.size() - wanted.size();
    if (wanted.size() >= 3 && name.find(wanted) != name.npos) {
        return std::max<std::size_t>(1, more) - (more > 1 ? 1 : 0);
    }
    return abbreviates(wanted, name) ? more : longest_word;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t substitute = diagonal + (lower(a[i]) == lower(b[j]) ? 0U : 1U);
            diagonal = row[j + 1];
            row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, substitute});
        }
    }
    return row[b.size()];
}

std::vector<std::string> near(std::string_view word, std::span<const std::string> candidates,
                              std::size_t count) {
    if (word.empty() || word.size() > longest_word) return {};
    const std::string wanted = lower_case(word);
    std::vector<std::pair<std::size_t, const std::string*>> ranked;
    for (const std::string& candidate : candidates) {
        const std::string name = lower_case(candidate);
        const std::size_t distance = edit_distance(wanted, name);
        const std::size_t limit = std::max<std::size_t>(1, wanted.size() / 3);
        if (wanted.size() >= 2 && name.starts_with(wanted)) {
            ranked.emplace_back(0, &candidate);
        } else if (wanted.size() >= 3 && name.find(wanted) != std::string::npos) {
            ranked.emplace_back(1, &candidate);
        } else if (distance <= limit) {
            ranked.emplace_back(distance + 1, &candidate);
        }
    }
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const auto& x, const auto& y) { return x.first < y.first; });
    std::vector<std::string> result;
    for (const auto& [distance, candidate] : ranked) {
        if (result.size() == count) break;
        result.push_back(*candidate);
    }
    return result;
}

bool same_word(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    const auto folded = [](char letter) { return letter == '-' ? '_' : lower(letter); };
    return std::equal(a.begin(), a.end(), b.begin(),
                      [&](char x, char y) { return x == y || folded(x) == folded(y); });
}

std::string nearest(std::string_view word, std::span<const std::string> candidates) {
    if (word.empty() || word.size() > longest_word) return {};
    constexpr std::size_t begins = 3;  // in half letters, like all distances here
    const std::string wanted = lower_case(word);
    const std::string* best = nullptr;
    std::size_t smallest = 2 * std::max<std::size_t>(1, word.size() / 2) + 1;
    for (const std::string& candidate : candidates) {
        std::size_t distance = 2 * edit_distance(word, candidate);
        const std::string name = lower_case(candidate);
        const bool prefix = (name.size() >= 3 && wanted.starts_with(name)) ||
                            (wanted.size() >= 2 && name.starts_with(wanted));
        if (prefix) distance = std::min(distance, begins);
        distance = std::min(distance, distance_by_parts(wanted, name));
        if (distance < smallest) {
            smallest = distance;
            best = &candidate;
        }
    }
    return best == nullptr ? std::string() : *best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
    const std::string name = nearest(word, candidates);
    return name.empty() ? name : "did you mean '" + name + "'?";
}

}  // namespace ridge
