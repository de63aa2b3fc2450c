#include "measure/statistics/least_squares.h"

#include <Eigen/Cholesky>
#include <cmath>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

enum class Step : std::uint8_t { moved, settled, stuck };

class Problem {
  public:
    Problem(const Residuals& residuals, VectorXd start, const LeastSquaresOptions& options)
        : residuals_(residuals), start_(std::move(start)), options_(options) {
        low_ = start_.array() - options.furthest;
        high_ = start_.array() + options.furthest;
        if (options.limits.empty()) return;
        RIDGE_CONTRACT(static_cast<Index>(options.limits.size()) == start_.size());
        for (Index j = 0; j < start_.size(); ++j) {
            const auto& [low, high] = options.limits[static_cast<std::size_t>(j)];
            low_[j] = std::log(low);
            high_[j] = std::log(high);
        }
    }

    [[nodiscard]] VectorXd at(const VectorXd& x) const {
        const VectorXd values = x.array().exp();
        const std::vector<double> r =
            residuals_({values.data(), static_cast<std::size_t>(values.size())});
        return Eigen::Map<const VectorXd>(r.data(), static_cast<Index>(r.size()));
    }

    [[nodiscard]] double cost(const VectorXd& r, const VectorXd& x) const {
        // 2 s^2 (root - 1) = 2 r^2 / (root + 1), which keeps its digits when r is small.
        const auto square = r.array().square();
        const double soft = (2.0 * square / (1.0 + root(r).array())).sum();
        return soft + (options_.pull * (x - start_)).squaredNorm();
    }

    /// Weighted normal equations of the data only, without the pull.
    [[nodiscard]] MatrixXd normal(const MatrixXd& slopes, const VectorXd& r) const {
        return slopes.transpose() * root(r).cwiseInverse().asDiagonal() * slopes;
    }

    [[nodiscard]] MatrixXd jacobian(const VectorXd& x, const VectorXd& r, double h) const {
        MatrixXd slopes(r.size(), x.size());
        for (Index j = 0; j < x.size(); ++j) {
            VectorXd moved = x;
            moved[j] += h;
            slopes.col(j) = (at(moved) - r) / h;
        }
        return slopes;
    }

    /// Takes one step from `x` that lowers the cost, if there is one; differences use the width
    /// `h`.
    Step step(VectorXd& x, VectorXd& r, double& damping, double h) const {
        const MatrixXd slopes = jacobian(x, r, h);
        const double pull = options_.pull * options_.pull;
        const VectorXd weighted = r.cwiseQuotient(root(r));
        MatrixXd system = normal(slopes, r);
        // Keeps the system regular, and a parameter that no row depends on in place.
        constexpr double least = 1e-12;
        system.diagonal().array() += pull + least;
        const VectorXd gradient = slopes.transpose() * weighted + pull * (x - start_);
        const double before = cost(r, x);
        for (int attempt = 0; attempt < 12; ++attempt) {
            MatrixXd damped = system;
            damped.diagonal() *= 1.0 + damping;
            const VectorXd trial =
                (x - damped.ldlt().solve(gradient)).cwiseMax(low_).cwiseMin(high_);
            const VectorXd r_trial = at(trial);
            const double after = cost(r_trial, trial);
            if (!(after < before)) {
                damping *= 4.0;
                continue;
            }
            x = trial;
            r = r_trial;
            damping *= 0.3;
            return before - after > options_.gain * before ? Step::moved : Step::settled;
        }
        return flat(x, system, gradient, before) ? Step::settled : Step::stuck;
    }

    /// sum(w r^2) / (rows - parameters).
    [[nodiscard]] double variance(const VectorXd& r) const {
        const double freedom = static_cast<double>(std::max<Index>(1, r.size() - start_.size()));
        return r.cwiseProduct(r).cwiseQuotient(root(r)).sum() / freedom;
    }

  private:
    /// Whether a full step, cut at the limits, would gain less than the rounding error of the cost.
    [[nodiscard]] bool flat(const VectorXd& x, const MatrixXd& system, const VectorXd& gradient,
                            double before) const {
        const VectorXd step =
            (x - system.ldlt().solve(gradient)).cwiseMax(low_).cwiseMin(high_) - x;
        return -step.dot(gradient) <= 1e-6 * before + 1e-18;
    }

    /// sqrt(1 + (r/s)^2), the inverse of the weights.
    [[nodiscard]] VectorXd root(const VectorXd& r) const {
        return (1.0 + (r / options_.scale).array().square()).sqrt();
    }

    const Residuals& residuals_;
    VectorXd start_;
    VectorXd low_;
    VectorXd high_;
    LeastSquaresOptions options_;
};

/// Standard errors and correlations from the normal equations `n` = J^T W J.
void add_covariance(const MatrixXd& n, double variance, LeastSquaresSummary& summary) {
    const Index count = n.rows();
    if (count == 0) return;
    summary.standard_errors.assign(static_cast<std::size_t>(count),
                                   std::numeric_limits<double>::infinity());
    summary.correlations.assign(static_cast<std::size_t>(count),
                                std::vector<double>(static_cast<std::size_t>(count), 0.0));
    // Columns are scaled to unit length; one that no row depends on is left out. The rounding of the
    // differences is added to the diagonal, so parameters between which the rows do not tell get
    // errors far above 1.
    constexpr double rounding = 1e-12;
    const VectorXd length = n.diagonal().cwiseSqrt();
    const VectorXd scale =
        length.unaryExpr([](double value) { return value > 1e-9 ? 1.0 / value : 0.0; });
    MatrixXd unit = scale.asDiagonal() * n * scale.asDiagonal();
    for (Index j = 0; j < count; ++j) unit(j, j) = 1.0 + rounding;
    // Column by column, because a solver for matrices would be one more to compile.
    const auto factors = unit.ldlt();
    MatrixXd covariance(count, count);
    for (Index j = 0; j < count; ++j) {
        const VectorXd only = VectorXd::Unit(count, j);
        covariance.col(j) = factors.solve(only);
    }
    // A variance that rounding has made negative is undetermined too.
    const auto is_determined = [&](Index j) { return scale[j] > 0.0 && covariance(j, j) > 0.0; };
    for (Index j = 0; j < count; ++j) {
        const auto row = static_cast<std::size_t>(j);
        summary.correlations[row][row] = 1.0;
        if (!is_determined(j)) continue;
        summary.standard_errors[row] = std::sqrt(variance * covariance(j, j)) * scale[j];
        for (Index k = 0; k < count; ++k) {
            if (k == j || !is_determined(k)) continue;
            summary.correlations[row][static_cast<std::size_t>(k)] =
                covariance(j, k) / std::sqrt(covariance(j, j) * covariance(k, k));
        }
    }
}

}  // namespace

std::string_view name_of(FitStatus status) {
    switch (status) {
        case FitStatus::converged:
            return "converged";
        case FitStatus::stalled:
            return "stalled where the model is not smooth";
        case FitStatus::step_limit:
            return "not converged within the allowed steps";
        case FitStatus::not_finite:
            return "not finite at the starting values";
    }
    return {};
}

LeastSquaresSummary least_squares(const Residuals& residuals, std::span<const double> start,
                                  const LeastSquaresOptions& options) {
    for (const double value : start) RIDGE_CONTRACT(value > 0.0);
    const VectorXd first =
        Eigen::Map<const VectorXd>(start.data(), static_cast<Index>(start.size())).array().log();
    const Problem problem(residuals, first, options);
    VectorXd x = first;
    VectorXd r = problem.at(x);
    LeastSquaresSummary summary{.cost_at_start = problem.cost(r, x),
                                .values = {start.begin(), start.end()},
                                .standard_errors = {},
                                .correlations = {}};
    summary.cost = summary.cost_at_start;
    if (!std::isfinite(summary.cost)) {
        add_covariance(MatrixXd::Zero(x.size(), x.size()), 0.0, summary);
        return summary;
    }
    if (start.empty()) {
        summary.status = FitStatus::converged;
        return summary;
    }
    constexpr double fine = 1e-4;
    constexpr double coarse = 0.05;  // looks past a kink, for example a different choice of tile
    double damping = 1e-2;
    summary.status = FitStatus::step_limit;
    while (summary.iterations < options.steps && summary.status == FitStatus::step_limit) {
        Step step = problem.step(x, r, damping, fine);
        if (step == Step::stuck) {
            damping = 1e-2;
            step = problem.step(x, r, damping, coarse);
        }
        if (step == Step::settled) summary.status = FitStatus::converged;
        if (step == Step::stuck) summary.status = FitStatus::stalled;
        ++summary.iterations;
    }
    summary.cost = problem.cost(r, x);
    const VectorXd values = x.array().exp();
    summary.values.assign(values.begin(), values.end());
    add_covariance(problem.normal(problem.jacobian(x, r, fine), r), problem.variance(r), summary);
    return summary;
}

Correlation strongest_correlation(const LeastSquaresSummary& summary, std::size_t of) {
    Correlation strongest{.with = of};
    for (std::size_t k = 0; k < summary.correlations[of].size(); ++k) {
        const double value = summary.correlations[of][k];
        if (k != of && std::abs(value) > std::abs(strongest.value)) strongest = {k, value};
    }
    return strongest;
}

}  // namespace ridge::measure
