// Stops a fuzzer, as a crash does, if what must hold does not.
#pragma once

#include <cstdlib>

namespace ridge::test {

inline void require(bool holds) {
    if (!holds) std::abort();
}

}  // namespace ridge::test
