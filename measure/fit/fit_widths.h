// Fits how the width of a band depends on the length of a call and on the kernel (`model/roof/width.h`).
//
//   const FittedWidths widths = fit_widths(request);
//   for (const ClassWidth& each : widths.classes) std::cout << table_line(each) << '\n';
//
// Method. Every row that judged a correction and did not take part in it has a residual. Its band is that of its
// class times the spread of its correction (82 % of a GPU's rows). The widths at `model::width_times` are those
// with the least interval score (width of the band in ln, and ten times what lies outside), so scaled that the
// band still holds 82 %. They, or one width for all times, are kept where those from one half of the families of
// shapes lower the score of the other half by 1 % or more. A kernel's factor is then the width that holds 82 % of its rows, drawn towards 1
// as if `few` rows more needed just that; kept if it differs by 5 % or more. Only ridge's own kernels have one.
// Kernels without a correction (tiles that the user names) are in the band of their class.
// Limits: classes of fewer than 150 rows and kernels of fewer than 60 have none.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "measure/fit/fit_residual.h"
#include "model/core/band_class.h"
#include "model/core/fields.h"
#include "model/core/implementation.h"
#include "model/roof/width.h"

namespace ridge::measure {

struct ClassWidth {
    model::BandClass band_class = model::BandClass::roofline;
    std::array<double, model::width_times.size()> at{1.0, 1.0, 1.0};
    std::size_t rows = 0;
    double plain_score = 0.0;  ///< interval score of rows held out, without them
    double score = 0.0;        ///< and with these
    bool kept = false;
};

struct KernelWidthFit {
    model::OperationKind kind{};
    model::Implementation implementation = model::Implementation::automatic;
    double factor = 1.0;
    std::size_t rows = 0;
    bool kept = false;
};

struct FittedWidths {
    std::vector<ClassWidth> classes;
    std::vector<KernelWidthFit> kernels;
};

[[nodiscard]] FittedWidths fit_widths(const FitRequest& request);

/// Lines of `calibration/bands.toml`, sections `width` and `kernel.OPERATION`.
[[nodiscard]] std::string table_line(const ClassWidth& width);
[[nodiscard]] std::string table_line(const KernelWidthFit& width);

/// The text of calibration/bands.toml with these widths: lines of what was fitted are replaced, or go if they are not
/// kept; lines of what has too few rows, and all others, stay. InputError without sections [width] and [kernel.OPERATION].
[[nodiscard]] std::string with_widths(std::string_view bands, const FittedWidths& widths);

}  // namespace ridge::measure
