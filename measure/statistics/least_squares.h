// Robust non-linear least squares for a few dozen positive parameters, and how well the data
// determine them.
//
//   const LeastSquaresSummary fit = least_squares(residuals, {{1e-6, 0.9}}, {});
//   fit.values[0], fit.standard_errors[0]   // 1.4e-6, known to within 0.05 (5 %)
//   if (fit.status != FitStatus::converged) ...
//
// Method: Levenberg-Marquardt (Levenberg 1944, Marquardt 1963) on the logarithms of the parameters
// with forward differences. The cost of a residual r is the soft L1 norm 2 s^2 (sqrt(1 + (r/s)^2) -
// 1), so that outliers of a measurement pull little; each step solves the problem reweighted by
// w = 1 / sqrt(1 + (r/s)^2). Where no step lowers the cost, one by differences over 5 % is tried:
// a model that chooses among kernels has kinks. A weak pull towards the start keeps parameters that the data do not
// determine where they were.
// Covariance, without the pull: sum(w r^2) / (rows - parameters) x (J^T W J)^-1. Standard errors are
// of logarithms, that is relative; one above 1 says that the data do not determine the parameter.
// Limits: a local method, so the start must be of the right order. The covariance takes residuals
// as independent; errors that neighbouring shapes share make it too small.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge::measure {

struct LeastSquaresOptions {
    double scale = 0.06;    ///< s: residuals above it count linearly; infinity: plain squares
    double pull = 0.02;     ///< weight of ln(parameter / start)
    double furthest = 1.6;  ///< largest |ln(parameter / start)|
    int steps = 60;
    /// Least and largest value of each parameter in place of `furthest`; empty: none are given.
    std::vector<std::pair<double, double>> limits{};
};

/// Residuals (log ratios) at given parameters; always the same number of them.
using Residuals = std::function<std::vector<double>(std::span<const double> parameters)>;

enum class FitStatus : std::uint8_t {
    converged,   ///< the last step changed the cost by less than a part in 10^9
    stalled,     ///< no step lowers the cost although its slope is not zero: a kink of the model
    step_limit,  ///< still falling after the last step allowed
    not_finite   ///< the start has a residual that is no number; the values are the start
};
[[nodiscard]] std::string_view name_of(FitStatus status);

struct LeastSquaresSummary {
    FitStatus status = FitStatus::not_finite;
    double cost_at_start = 0.0;
    double cost = 0.0;
    int iterations = 0;  ///< accepted steps
    std::vector<double> values;
    std::vector<double> standard_errors;            ///< relative; infinite: no row depends on it
    std::vector<std::vector<double>> correlations;  ///< 1 on the diagonal
};

/// Parameters at which the cost is least, starting from positive `start`; without any it is the
/// cost of the residuals.
[[nodiscard]] LeastSquaresSummary least_squares(const Residuals& residuals,
                                                std::span<const double> start,
                                                const LeastSquaresOptions& options);

/// The parameter that correlates most with parameter `of`, and how; `of` itself with 0 where it is
/// the only one.
struct Correlation {
    std::size_t with = 0;
    double value = 0.0;
};
[[nodiscard]] Correlation strongest_correlation(const LeastSquaresSummary& summary, std::size_t of);

}  // namespace ridge::measure
