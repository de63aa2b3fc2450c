// Operations in corners: thin, odd, huge, at powers of two and their neighbours.
#pragma once

#include <cstdint>

#include "tests/model/random_operation.h"

namespace ridge::test {

/// One of [1, largest]: 1 to 3, a power of two or its neighbour, an odd number, or the largest.
[[nodiscard]] std::int64_t corner(Random& random, std::int64_t largest);

/// The operation with some of its counts in a corner; as it was if that is not valid.
[[nodiscard]] model::Operation cornered(const model::Operation& operation, Random& random);

}  // namespace ridge::test
