// How the width of a band depends on the length of a call and on the kernel.
//
//   width_at(BandClass::product_smooth, 12.0 * units::us)    // 1.7: over the width of the class
//   width_of_kernel(OperationKind::transpose, Implementation::tiled)   // 1.2
//
// Method (docs/model.md K6): two tables of factors (calibration/bands.toml) on the spread that a correction leaves. Of a class of bands,
// the factors at three times, between which they are interpolated in ln of the time; beyond, they stay. Of a kernel
// of ridge's own, one factor. `ridge fit widths` makes both from residuals of rows that a correction did not see.
// A class or kernel without a line has the factor 1.
// Limits: the time is that of the kernels by the analytic model. Without a correction a band does not depend on it.
#pragma once

#include <array>

#include "hardware/quantity.h"
#include "model/core/band_class.h"
#include "model/core/fields.h"
#include "model/core/implementation.h"

namespace ridge::model {

/// The times of the widths of a class, in microseconds.
inline constexpr std::array<double, 3> width_times{4.0, 20.0, 200.0};

using Widths = std::array<double, width_times.size()>;

/// A place between two of these times.
struct WidthPlace {
    std::size_t below = 0;
    double part = 0.0;  ///< 0: at the first, 1: at the next
};
[[nodiscard]] WidthPlace width_place(Time time);

[[nodiscard]] inline double width_between(const Widths& widths, const WidthPlace& place) {
    const double first = widths[place.below];
    return first + place.part * (widths[place.below + 1] - first);
}

/// The spread that a correction leaves at this time over that of all its rows. (K6)
[[nodiscard]] double width_at(BandClass band_class, Time time);

/// The spread that a correction leaves of this kernel over that of all its rows. (K6)
[[nodiscard]] double width_of_kernel(OperationKind kind, Implementation implementation);

}  // namespace ridge::model
