// What makes bands wide, as calibration/bands.toml states it, with the source of each number.
//
//   band_data().classes[index].low
//   band_data().factors.beyond_data
//
// Method: the file is embedded and read once, when the first band is asked for. Every class has a band and every
// entry a declared source; what is missing is an InputError that names its place.
// Limits: a user's file cannot replace it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "hardware/embedded.h"
#include "model/core/band_class.h"
#include "model/core/fields.h"
#include "model/core/implementation.h"
#include "model/core/prediction.h"
#include "model/roof/band.h"
#include "model/roof/width.h"

namespace ridge::model {

/// calibration/bands.toml; the build generates the definition.
[[nodiscard]] std::span<const hardware::EmbeddedFile> embedded_bands();

inline constexpr std::size_t resource_count = 14;
static_assert(static_cast<std::size_t>(Resource::parallelism) + 1 == resource_count);

/// Margins in ln by what limits the time. (R9)
struct LimiterMargins {
    double related = 0.0;  ///< a library's product with a relative's parameters
    double alike = 0.0;    ///< another architecture's, on a chip like those that were left out
    double unlike = 0.0;
};

struct KernelWidth {
    OperationKind kind;
    Implementation implementation;
    double factor;
};

/// Margins in ln.
struct BandMargins {
    double unlinked_start = 0.0;
    double borrowed_prefill = 0.0;
    double borrowed_decode = 0.0;
    double four_bit_fixed = 0.0;
    double other_version = 0.0;
    double other_software = 0.0;
};

/// Factors on the width of a class.
struct BandFactors {
    double outside_range = 1.0;
    double beyond_data = 1.0;
};

struct BandData {
    std::array<BandRow, band_class_count> classes{};
    std::array<BasisRow, band_basis_names.size()> bases{};
    std::array<LimiterMargins, resource_count> limiters{};
    BandMargins margins;
    BandFactors factors;
    std::array<std::optional<Widths>, band_class_count> widths;
    std::vector<KernelWidth> kernels;
};

[[nodiscard]] const BandData& band_data();

/// Of another file of this form. InputError.
[[nodiscard]] BandData read_band_data(std::string_view text, std::string_view file);

}  // namespace ridge::model
