// Counts how often and how far a ratio exceeds a limit, for properties with few exceptions.
//
//   Tally masks{.usual = 1.6, .ever = 2.5};
//   masks.add(after / before, [&] { return describe(call); });      // for every case
//   masks.check();
//
// Method: at most one case in a thousand may exceed `usual`, and none may exceed `ever`. The text
// of the worst case is made when the case is found and printed when the check fails.
#pragma once

#include <cstddef>
#include <string>

#include "tests/catch.h"

namespace ridge::test {

struct Tally {
    double usual = 1.0;  ///< the limit that all but one case in a thousand keep
    double ever = 1.0;   ///< the limit that all cases keep
    std::size_t cases = 0;
    std::size_t beyond = 0;
    double worst = 0.0;
    std::string where{};

    template <class Text>
    void add(double ratio, Text&& text) {
        ++cases;
        if (!(ratio <= usual)) ++beyond;
        if (ratio <= worst) return;
        worst = ratio;
        if (worst > usual) where = text();
    }

    void check() const {
        CAPTURE(cases, beyond, worst, where);
        CHECK(cases > 0);
        CHECK(beyond * 1000 <= cases);
        CHECK(worst <= ever);
    }
};

}  // namespace ridge::test
