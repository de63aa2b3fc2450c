// Quantities that carry their unit in the type.
//
// A `Quantity<Dimension>` is a double in base units (byte, FLOP, cycle, second, joule) with its
// dimension as part of the type, so that `bytes / bandwidth` *is* a time, and adding FLOP to bytes
// does not compile. Quantities are built by multiplying by a unit and read with `.in(unit)`:
//
//   constexpr Bandwidth bandwidth = 4.8 * units::TB / units::s;
//   constexpr Time time = (2.0 * units::GiB) / bandwidth;
//   double microseconds = time.in(units::us);
//
// Limits: values are doubles, exact for counts up to 2^53. Counts of elements and loop bounds stay
// `std::int64_t` and are multiplied with `checked.h`.
#pragma once

#include <compare>

namespace ridge {

/// Exponents of the base units. One operation counts as one FLOP whatever its type (including
/// integer tensor operations); one fused multiply-add is 2 FLOP.
struct Dimension {
    int byte = 0;
    int flop = 0;
    int cycle = 0;
    int second = 0;
    int joule = 0;

    friend constexpr bool operator==(const Dimension&, const Dimension&) = default;
};

[[nodiscard]] constexpr Dimension operator+(const Dimension& a, const Dimension& b) {
    return {a.byte + b.byte, a.flop + b.flop, a.cycle + b.cycle, a.second + b.second,
            a.joule + b.joule};
}

[[nodiscard]] constexpr Dimension operator-(const Dimension& a, const Dimension& b) {
    return {a.byte - b.byte, a.flop - b.flop, a.cycle - b.cycle, a.second - b.second,
            a.joule - b.joule};
}

inline constexpr Dimension dimensionless{};

template <Dimension D>
class Quantity {
  public:
    static constexpr Dimension dimension = D;

    constexpr Quantity() = default;

    /// Wraps a value that is already in base units (byte, FLOP, cycle, second, joule).
    [[nodiscard]] static constexpr Quantity from_base(double value) {
        Quantity quantity;
        quantity.value_ = value;
        return quantity;
    }

    /// The value in base units.
    [[nodiscard]] constexpr double base() const { return value_; }

    /// The value in multiples of `unit`.
    [[nodiscard]] constexpr double in(Quantity unit) const { return value_ / unit.value_; }

    /// A pure number converts to a double.
    constexpr operator double() const  // NOLINT(google-explicit-constructor)
        requires(D == dimensionless) {
        return value_;
    }

    constexpr Quantity& operator+=(Quantity other) {
        value_ += other.value_;
        return *this;
    }
    constexpr Quantity& operator-=(Quantity other) {
        value_ -= other.value_;
        return *this;
    }
    constexpr Quantity& operator*=(double factor) {
        value_ *= factor;
        return *this;
    }

    friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
    friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
    friend constexpr Quantity operator*(Quantity a, double factor) { return a *= factor; }
    friend constexpr Quantity operator*(double factor, Quantity a) { return a *= factor; }
    friend constexpr Quantity operator/(Quantity a, double divisor) {
        return from_base(a.value_ / divisor);
    }
    friend constexpr auto operator<=>(Quantity,
                                      Quantity) = default;  // NOLINT(modernize-use-nullptr)

  private:
    double value_ = 0.0;
};

template <Dimension A, Dimension B>
requires(A != dimensionless && B != dimensionless) [[nodiscard]] constexpr Quantity<A + B>
operator*(Quantity<A> a, Quantity<B> b) {
    return Quantity<A + B>::from_base(a.base() * b.base());
}

template <Dimension A, Dimension B>
requires(B != dimensionless) [[nodiscard]] constexpr Quantity<A - B> operator/(Quantity<A> a,
                                                                               Quantity<B> b) {
    return Quantity<A - B>::from_base(a.base() / b.base());
}

template <Dimension B>
requires(B != dimensionless) [[nodiscard]] constexpr Quantity<dimensionless - B> operator/(
    double a, Quantity<B> b) {
    return Quantity<dimensionless - B>::from_base(a / b.base());
}

using Bytes = Quantity<Dimension{.byte = 1}>;
using Flop = Quantity<Dimension{.flop = 1}>;
using Cycles = Quantity<Dimension{.cycle = 1}>;
using Time = Quantity<Dimension{.second = 1}>;
using Energy = Quantity<Dimension{.joule = 1}>;
using Bandwidth = Quantity<Dimension{.byte = 1, .second = -1}>;
using FlopRate = Quantity<Dimension{.flop = 1, .second = -1}>;
using Frequency = Quantity<Dimension{.cycle = 1, .second = -1}>;
using Power = Quantity<Dimension{.second = -1, .joule = 1}>;
using BytesPerCycle = Quantity<Dimension{.byte = 1, .cycle = -1}>;
using FlopPerCycle = Quantity<Dimension{.flop = 1, .cycle = -1}>;
using Intensity = Quantity<Dimension{.byte = -1, .flop = 1}>;

namespace units {

// Unit names keep their usual case.
// NOLINTBEGIN(readability-identifier-naming)
inline constexpr Bytes B = Bytes::from_base(1.0);
inline constexpr Bytes kB = 1e3 * B;
inline constexpr Bytes MB = 1e6 * B;
inline constexpr Bytes GB = 1e9 * B;
inline constexpr Bytes TB = 1e12 * B;
inline constexpr Bytes KiB = 1024.0 * B;
inline constexpr Bytes MiB = 1024.0 * KiB;
inline constexpr Bytes GiB = 1024.0 * MiB;
inline constexpr Flop FLOP = Flop::from_base(1.0);
inline constexpr Flop GFLOP = 1e9 * FLOP;
inline constexpr Flop TFLOP = 1e12 * FLOP;
inline constexpr Cycles cycle = Cycles::from_base(1.0);
inline constexpr Time s = Time::from_base(1.0);
inline constexpr Time ms = Time::from_base(1e-3);
inline constexpr Time us = Time::from_base(1e-6);
inline constexpr Time ns = Time::from_base(1e-9);
inline constexpr Energy J = Energy::from_base(1.0);
inline constexpr Power W = J / s;
inline constexpr Frequency Hz = cycle / s;
inline constexpr Frequency MHz = 1e6 * Hz;
inline constexpr Frequency GHz = 1e9 * Hz;
// NOLINTEND(readability-identifier-naming)

}  // namespace units

}  // namespace ridge
