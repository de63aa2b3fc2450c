// Robust non-linear least squares for a few dozen positive parameters, and how well the data
// determine them.
//
//   const LeastSquaresSummary fit = least_squares(residuals, {{1e-6, 0.9}}, {});
//   fit.values[0], fit.standard_errors[0]   // 1.4e-6, known to within 0.05 (5 %)
//   if (fit.status != FitStatus::converged) ...
//
// Method: Levenberg-Marquardt (Levenberg 1944, Marquardt 1963) on the logarithms of the parameters
// with forward differences. The cost of a residual r is the soft L1 norm 2 s^2 (sqrt(1 + (r/s)^2) -
// 1), which limits the influence of outliers; each step solves the problem reweighted by
// w = 1 / sqrt(1 + (r/s)^2). If no step lowers the cost, one with differences over 5 % is tried,
// because a model that chooses among kernels has kinks. A weak pull towards the start keeps
// parameters that the data do not determine near their starting values. The covariance leaves out
// the pull: sum(w r^2) / (rows - parameters) x (J^T W J)^-1. Standard errors are of logarithms,
// that is relative; one above 1 means that the data do not determine the parameter.
// Limits: the method is local, so the start must be of the right order of magnitude. The covariance
// assumes independent residuals; errors that neighbouring shapes share make it too small.
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
    double gain =
        1e-9;  ///< the search ends with a step that lowers the cost by less than this part
    /// Smallest and largest value of each parameter, used instead of `furthest`; empty: none given.
    std::vector<std::pair<double, double>> limits{};
};

/// Residuals (log ratios) at given parameters; the number of residuals is always the same.
using Residuals = std::function<std::vector<double>(std::span<const double> parameters)>;

enum class FitStatus : std::uint8_t {
    converged,   ///< the last step changed the cost by less than the least gain
    stalled,     ///< no step lowers the cost although its slope is not zero: a kink in the model
    step_limit,  ///< the cost was still falling at the last allowed step
    not_finite   ///< a residual at the start is not finite; the values are those of the start
};
[[nodiscard]] std::string_view name_of(FitStatus status);

struct LeastSquaresSummary {
    FitStatus status = FitStatus::not_finite;
    double cost_at_start = 0.0;
    double cost = 0.0;
    int iterations = 0;  ///< accepted steps
    std::vector<double> values;
    std::vector<double> standard_errors;            ///< relative; infinite if no row depends on it
    std::vector<std::vector<double>> correlations;  ///< 1 on the diagonal
};

/// Parameters that minimise the cost, starting from positive `start`. With an empty `start` the
/// summary only holds the cost of the residuals.
[[nodiscard]] LeastSquaresSummary least_squares(const Residuals& residuals,
                                                std::span<const double> start,
                                                const LeastSquaresOptions& options);

/// The parameter that correlates most with parameter `of`, and its correlation; `of` itself with 0
/// if it is the only parameter.
struct Correlation {
    std::size_t with = 0;
    double value = 0.0;
};
[[nodiscard]] Correlation strongest_correlation(const LeastSquaresSummary& summary, std::size_t of);

}  // namespace ridge::measure
