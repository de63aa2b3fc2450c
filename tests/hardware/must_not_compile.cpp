// Every case except 0 is a mistake with units that the compiler must refuse.
#include "hardware/quantity.h"

using namespace ridge;

constexpr Bytes bytes = 3.0 * units::GB;
constexpr Flop flop = 2.0 * units::GFLOP;
constexpr Bandwidth bandwidth = 2.0 * units::TB / units::s;

#if RIDGE_CASE == 0
constexpr Time right = bytes / bandwidth;
static_assert(right.in(units::ms) > 1.49 && right.in(units::ms) < 1.51);
#elif RIDGE_CASE == 1
constexpr auto wrong = bytes + flop;
#elif RIDGE_CASE == 2
constexpr Time wrong = bytes * bandwidth;
#elif RIDGE_CASE == 3
constexpr Bytes wrong = 5.0;
#elif RIDGE_CASE == 4
constexpr double wrong = bytes;
#elif RIDGE_CASE == 5
constexpr bool wrong = bytes < flop;
#elif RIDGE_CASE == 6
constexpr double wrong = bandwidth.in(units::GB);
#elif RIDGE_CASE == 7
constexpr Frequency wrong = units::cycle;
#endif
