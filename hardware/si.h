// SI prefixes as plain factors, for axes and columns with scaled values.
//
//   rate.base() / si::tera                 // FLOP/s -> TFLOP/s
//
// Limits: these are numbers without a unit; inside the program a value is a quantity
// (hardware/quantity.h).
#pragma once

namespace ridge::si {

inline constexpr double nanosecond = 1e-9;
inline constexpr double microsecond = 1e-6;
inline constexpr double millisecond = 1e-3;
inline constexpr double mega = 1e6;
inline constexpr double giga = 1e9;
inline constexpr double tera = 1e12;

}  // namespace ridge::si
