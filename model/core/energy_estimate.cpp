#include "model/core/energy_estimate.h"

#include <array>
#include <cstddef>

namespace ridge::model {
namespace {

constexpr std::array<std::string_view, 4> clock_limit_words{"none", "tensor cores", "power",
                                                            "asked"};

}  // namespace

std::string_view name_of(ClockLimit limit) {
    return clock_limit_words.at(static_cast<std::size_t>(limit));
}

}  // namespace ridge::model
