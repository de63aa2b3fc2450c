#include "measure/record/observation.h"

#include <fmt/format.h>

#include <array>
#include <numeric>
#include <utility>

#include "model/core/words.h"

namespace ridge::measure {
namespace {

constexpr std::array<std::string_view, 5> methods{"events", "activity", "graph", "together",
                                                  "calls"};

template <class Enum, std::size_t size>
Enum parse_word(const std::array<std::string_view, size>& words, std::string_view field,
                std::string_view text) {
    for (std::size_t i = 0; i < size; ++i) {
        if (words[i] == text) return static_cast<Enum>(i);
    }
    model::refuse_word(field, text, words);
}

/// Bits of nvmlClocksEventReasons, from nvml.h.
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 9> clock_reason_bits{{
    {0x1, "idle"},
    {0x2, "application_clocks"},
    {0x4, "sw_power_cap"},
    {0x8, "hw_slowdown"},
    {0x10, "sync_boost"},
    {0x20, "sw_thermal"},
    {0x40, "hw_thermal"},
    {0x80, "hw_power_brake"},
    {0x100, "display_clock"},
}};

}  // namespace

std::string_view name_of(Method method) {
    return methods[static_cast<std::size_t>(method)];
}

Method parse_method(std::string_view text) {
    return parse_word<Method>(methods, "method", text);
}

std::int64_t Geometry::launches() const {
    return std::accumulate(
        kernels.begin(), kernels.end(), std::int64_t{0},
        [](std::int64_t sum, const KernelLaunch& kernel) { return sum + kernel.repeat; });
}

std::vector<std::string> clock_reason_words(std::uint64_t bits) {
    std::vector<std::string> words;
    for (const auto& [bit, word] : clock_reason_bits) {
        if ((bits & bit) != 0) words.emplace_back(word);
        bits &= ~bit;
    }
    if (bits != 0) words.push_back(fmt::format("{:#x}", bits));
    return words;
}

}  // namespace ridge::measure
