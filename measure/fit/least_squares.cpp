#include "measure/fit/least_squares.h"

#include <Eigen/Dense>
#include <cmath>

namespace ridge::measure {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

class Problem {
  public:
    Problem(const Residuals& residuals, VectorXd start, const LeastSquaresOptions& options)
        : residuals_(residuals), start_(std::move(start)), options_(options) {}

    [[nodiscard]] VectorXd at(const VectorXd& x) const {
        const VectorXd values = x.array().exp();
        const std::vector<double> r =
            residuals_({values.data(), static_cast<std::size_t>(values.size())});
        return Eigen::Map<const VectorXd>(r.data(), static_cast<Index>(r.size()));
    }

    [[nodiscard]] double cost(const VectorXd& r, const VectorXd& x) const {
        const double s = options_.scale;
        const double soft = ((1.0 + (r / s).array().square()).sqrt() - 1.0).sum();
        return 2.0 * s * s * soft + (options_.pull * (x - start_)).squaredNorm();
    }

    [[nodiscard]] MatrixXd jacobian(const VectorXd& x, const VectorXd& r) const {
        constexpr double h = 1e-4;
        MatrixXd slopes(r.size(), x.size());
        for (Index j = 0; j < x.size(); ++j) {
            VectorXd moved = x;
            moved[j] += h;
            slopes.col(j) = (at(moved) - r) / h;
        }
        return slopes;
    }

    /// One accepted step from `x`; false when no damping improves the cost.
    bool step(VectorXd& x, VectorXd& r, double& damping) const {
        const MatrixXd slopes = jacobian(x, r);
        const VectorXd weight = (1.0 + (r / options_.scale).array().square()).sqrt().inverse();
        const MatrixXd weighted = weight.asDiagonal() * slopes;
        const double pull = options_.pull * options_.pull;
        MatrixXd normal = slopes.transpose() * weighted;
        normal.diagonal().array() += pull;
        const VectorXd gradient = weighted.transpose() * r + pull * (x - start_);
        const VectorXd reach = VectorXd::Constant(x.size(), options_.furthest);
        const double before = cost(r, x);
        for (int attempt = 0; attempt < 12; ++attempt) {
            MatrixXd damped = normal;
            damped.diagonal() *= 1.0 + damping;
            const VectorXd trial = (x - damped.ldlt().solve(gradient))
                                       .cwiseMax(start_ - reach)
                                       .cwiseMin(start_ + reach);
            const VectorXd r_trial = at(trial);
            const double after = cost(r_trial, trial);
            if (after >= before) {
                damping *= 4.0;
                continue;
            }
            x = trial;
            r = r_trial;
            damping *= 0.3;
            return before - after > 1e-9 * before;
        }
        return false;
    }

  private:
    const Residuals& residuals_;
    VectorXd start_;
    LeastSquaresOptions options_;
};

}  // namespace

std::vector<double> least_squares(const Residuals& residuals, std::span<const double> start,
                                  const LeastSquaresOptions& options) {
    const VectorXd first =
        Eigen::Map<const VectorXd>(start.data(), static_cast<Index>(start.size())).array().log();
    const Problem problem(residuals, first, options);
    VectorXd x = first;
    VectorXd r = problem.at(x);
    double damping = 1e-2;
    for (int i = 0; i < options.steps; ++i) {
        if (!problem.step(x, r, damping)) break;
    }
    const VectorXd values = x.array().exp();
    return {values.begin(), values.end()};
}

}  // namespace ridge::measure
