// Robust non-linear least squares for a few dozen positive parameters.
//
//   const std::vector<double> fitted = least_squares(residuals, {1e-6, 0.9}, {});
//
// Method: Levenberg-Marquardt (Levenberg 1944, Marquardt 1963) on the logarithms of the parameters
// with forward differences. The cost of a residual r is the soft L1 norm 2 s^2 (sqrt(1 + (r/s)^2) -
// 1), so that outliers of a measurement pull little; each step solves the problem reweighted by 1 /
// sqrt(1 + (r/s)^2). A weak pull towards the start keeps parameters that the data does not
// determine where they were.
// Limits: a local method; the start must be of the right order.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace ridge::measure {

struct LeastSquaresOptions {
    double scale = 0.06;    ///< s: residuals above it count linearly
    double pull = 0.02;     ///< weight of ln(parameter / start)
    double furthest = 1.6;  ///< largest |ln(parameter / start)|
    int steps = 60;
};

/// Residuals (log ratios) at given parameters; always the same number of them.
using Residuals = std::function<std::vector<double>(std::span<const double> parameters)>;

/// Parameters at which the cost is least, starting from positive `start`.
[[nodiscard]] std::vector<double> least_squares(const Residuals& residuals,
                                                std::span<const double> start,
                                                const LeastSquaresOptions& options);

}  // namespace ridge::measure
