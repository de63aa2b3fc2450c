// Computes the 80 % bands of predictions from residuals of measured rows (`model/roof/band.h`).
//
//   for (const FittedBand& band : fit_bands(request)) std::cout << table_line(band) << '\n';
//
// Method: every row of the tables (`request.data`) and of the records (`request.records`) is
// predicted. A row counts if its GPU has its own parameters, it is inside the validated range, and
// it is long enough to be distinguished from the launch. It gives one residual to the class of its
// prediction, before a residual correction narrows the band. A class with fewer than 20 rows keeps
// its band.
// Limits: most rows were used in fits, so the quantiles lie further out than 10 and 90 %. If the
// request says that its rows were held out of the fits, the quantiles are 10 and 90 %.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/fit/fit.h"
#include "model/core/band_class.h"

namespace ridge::measure {

struct FittedBand {
    model::BandClass band_class = model::BandClass::roofline;
    double low = 0.0;  ///< low quantile of ln(measured / predicted)
    double high = 0.0;
    std::int64_t rows = 0;
};

/// One band per class that has one, in the order of the classes. InputError when nothing can be
/// read.
[[nodiscard]] std::vector<FittedBand> fit_bands(const FitRequest& request);

/// The band as a line of `calibration/bands.toml`.
[[nodiscard]] std::string table_line(const FittedBand& band);

}  // namespace ridge::measure
