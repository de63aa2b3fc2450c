// The 80 % bands of predictions from residuals of measured rows: the table of `model/roof/band.h`.
//
//   for (const FittedBand& band : fit_bands(request)) std::cout << table_line(band) << '\n';
//
// Method: every row of the tables (`request.data`) and of the records (`request.records`) is
// predicted; those of GPUs with parameters of their own, inside the validated range, and not too
// short to be told apart from the launch give one residual each to the class of their prediction,
// before what a residual correction narrows of the band.
// A class of fewer than 20 rows keeps its band.
// Limits: most rows were fitted, so the quantiles lie further out than 10 and 90 %, which they are
// where the request says that its rows were held out of the fits.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/fit/fit.h"
#include "model/core/band_class.h"

namespace ridge::measure {

struct FittedBand {
    model::BandClass band_class = model::BandClass::roofline;
    double low = 0.0;  ///< 8 % quantile of ln(measured / predicted)
    double high = 0.0;
    std::int64_t rows = 0;
};

/// One per class that has a band, in their order. InputError when nothing can be read.
[[nodiscard]] std::vector<FittedBand> fit_bands(const FitRequest& request);

/// The band as a line of `model/roof/band_table.inc`.
[[nodiscard]] std::string table_line(const FittedBand& band);

}  // namespace ridge::measure
