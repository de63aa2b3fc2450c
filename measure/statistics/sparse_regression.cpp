#include "measure/statistics/sparse_regression.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr std::uint64_t folds = 5;
constexpr std::array<double, 4> penalties{1.0, 4.0, 16.0, 64.0};
constexpr std::size_t step = 5;  ///< between the numbers of terms that are tried
/// A term that the columns chosen before it explain to this share adds nothing.
constexpr double dependent = 1e-6;

MatrixXd matrix_of(const SparseProblem& problem) {
    MatrixXd matrix(static_cast<Index>(problem.values.size()),
                    static_cast<Index>(problem.columns.size()));
    for (std::size_t j = 0; j < problem.columns.size(); ++j) {
        RIDGE_CONTRACT(problem.columns[j].size() == problem.values.size());
        matrix.col(static_cast<Index>(j)) =
            Eigen::Map<const VectorXd>(problem.columns[j].data(), matrix.rows());
    }
    return matrix;
}

/// Sums over rows: what a regression needs of them.
struct Products {
    MatrixXd square;  ///< X^T X
    VectorXd target;  ///< X^T y

    Products operator-(const Products& other) const {
        return {square - other.square, target - other.target};
    }
};

Products products_of(const MatrixXd& x, const VectorXd& y) {
    Products products{MatrixXd::Zero(x.cols(), x.cols()), x.transpose() * y};
    products.square.selfadjointView<Eigen::Lower>().rankUpdate(x.transpose());
    products.square.triangularView<Eigen::StrictlyUpper>() = products.square.transpose();
    return products;
}

/// Columns in the order in which forward selection takes them.
std::vector<Index> selected(const Products& sums, double lambda, std::size_t most) {
    const Index count = sums.target.size();
    VectorXd left = sums.square.diagonal().array() + lambda;
    const VectorXd whole = left;
    VectorXd target = sums.target;
    std::vector<Index> order;
    std::vector<VectorXd> basis;
    while (order.size() < std::min(most, static_cast<std::size_t>(count))) {
        Index best = -1;
        double gain = 0.0;
        for (Index j = 0; j < count; ++j) {
            if (left[j] <= dependent * whole[j]) continue;
            if (std::find(order.begin(), order.end(), j) != order.end()) continue;
            const double each = target[j] * target[j] / left[j];
            if (each > gain) {
                gain = each;
                best = j;
            }
        }
        if (best < 0) break;
        VectorXd column = sums.square.col(best);
        column[best] += lambda;
        for (const VectorXd& known : basis) column -= known[best] * known;
        column /= std::sqrt(column[best]);
        target -= (target[best] / column[best]) * column;
        left.array() -= column.array().square();
        basis.push_back(std::move(column));
        order.push_back(best);
    }
    return order;
}

/// Ridge regression over some columns, drawn to `start`.
VectorXd coefficients(const Products& sums, const std::vector<Index>& columns, double lambda,
                      const VectorXd& start) {
    const auto count = static_cast<Index>(columns.size());
    MatrixXd square(count, count);
    VectorXd target(count);
    for (Index i = 0; i < count; ++i) {
        const Index row = columns[static_cast<std::size_t>(i)];
        target[i] = sums.target[row] + lambda * start[i];
        for (Index j = 0; j < count; ++j) {
            square(i, j) = sums.square(row, columns[static_cast<std::size_t>(j)]);
        }
        square(i, i) += lambda;
    }
    return square.ldlt().solve(target);
}

/// The rows of one fold.
struct Fold {
    MatrixXd x;
    VectorXd y;
    Products sums;
};

std::vector<Fold> folds_of(const SparseProblem& problem, const MatrixXd& x) {
    std::array<std::vector<Index>, folds> rows;
    for (std::size_t i = 0; i < problem.groups.size(); ++i) {
        rows[problem.groups[i] % folds].push_back(static_cast<Index>(i));
    }
    std::vector<Fold> all;
    for (const std::vector<Index>& part : rows) {
        if (part.empty()) continue;
        Fold fold{MatrixXd(static_cast<Index>(part.size()), x.cols()),
                  VectorXd(static_cast<Index>(part.size())),
                  {}};
        for (std::size_t i = 0; i < part.size(); ++i) {
            fold.x.row(static_cast<Index>(i)) = x.row(part[i]);
            fold.y[static_cast<Index>(i)] = problem.values[static_cast<std::size_t>(part[i])];
        }
        fold.sums = products_of(fold.x, fold.y);
        all.push_back(std::move(fold));
    }
    return all;
}

/// Sum of |y - model| of a fold.
double error_of(const Fold& fold, const std::vector<Index>& columns, const VectorXd& values,
                double largest) {
    VectorXd sum = VectorXd::Zero(fold.y.size());
    for (std::size_t j = 0; j < columns.size(); ++j) {
        sum += values[static_cast<Index>(j)] * fold.x.col(columns[j]);
    }
    return (fold.y - sum.cwiseMax(-largest).cwiseMin(largest)).cwiseAbs().sum();
}

/// What cross-validation settles.
struct Choice {
    std::size_t terms = 0;
    double lambda = penalties.front();
    double error = 0.0;
};

Choice chosen(const std::vector<Fold>& parts, const Products& whole, const SparseOptions& options) {
    Choice best;
    double rows = 0.0;
    for (const Fold& fold : parts) {
        best.error += fold.y.cwiseAbs().sum();
        rows += static_cast<double>(fold.y.size());
    }
    const double before = best.error;
    constexpr double worth = 0.01;  // of the error without a model, for one step more of terms
    for (const double lambda : penalties) {
        std::vector<double> errors(options.most_terms / step + 1, 0.0);
        for (const Fold& fold : parts) {
            const Products known = whole - fold.sums;
            const std::vector<Index> order = selected(known, lambda, options.most_terms);
            for (std::size_t i = 1; i < errors.size(); ++i) {
                std::vector<Index> some(
                    order.begin(),
                    order.begin() + static_cast<std::ptrdiff_t>(std::min(i * step, order.size())));
                const VectorXd zero = VectorXd::Zero(static_cast<Index>(some.size()));
                errors[i] +=
                    error_of(fold, some, coefficients(known, some, lambda, zero), options.largest);
            }
        }
        for (std::size_t i = 1; i < errors.size(); ++i) {
            const double more = i * step > best.terms ? 0.1 * worth * before : 0.0;
            if (errors[i] < best.error - more) best = {i * step, lambda, errors[i]};
        }
    }
    if (best.error > (1.0 - worth) * before) best = {.error = before};
    best.error /= rows;
    return best;
}

}  // namespace

SparseFit sparse_regression(const SparseProblem& problem, const SparseOptions& options) {
    RIDGE_CONTRACT(problem.groups.size() == problem.values.size());
    SparseFit fit;
    if (problem.values.empty()) return fit;
    const MatrixXd x = matrix_of(problem);
    const std::vector<Fold> parts = folds_of(problem, x);
    const VectorXd y = Eigen::Map<const VectorXd>(problem.values.data(), x.rows());
    const Products whole = products_of(x, y);
    fit.error_before = fit.error_after = y.cwiseAbs().mean();
    if (parts.size() < 2) return fit;
    const Choice choice = chosen(parts, whole, options);
    fit.lambda = choice.lambda;
    fit.error_after = choice.error;
    const std::vector<Index> columns = selected(whole, choice.lambda, choice.terms);
    const VectorXd zero = VectorXd::Zero(static_cast<Index>(columns.size()));
    const VectorXd values = coefficients(whole, columns, choice.lambda, zero);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        fit.terms.push_back({static_cast<std::size_t>(columns[i]), values[static_cast<Index>(i)]});
    }
    return fit;
}

std::vector<SparseTerm> drawn_towards(const SparseProblem& problem,
                                      const std::vector<SparseTerm>& start, double strength) {
    if (start.empty() || problem.values.empty()) return start;
    SparseProblem part{.columns = {}, .values = problem.values, .groups = {}};
    std::vector<Index> columns;
    VectorXd known(static_cast<Index>(start.size()));
    for (std::size_t i = 0; i < start.size(); ++i) {
        part.columns.push_back(problem.columns.at(start[i].column));
        columns.push_back(static_cast<Index>(i));
        known[static_cast<Index>(i)] = start[i].coefficient;
    }
    const VectorXd y =
        Eigen::Map<const VectorXd>(part.values.data(), static_cast<Index>(part.values.size()));
    const VectorXd values = coefficients(products_of(matrix_of(part), y), columns, strength, known);
    std::vector<SparseTerm> terms = start;
    for (std::size_t i = 0; i < terms.size(); ++i) {
        terms[i].coefficient = values[static_cast<Index>(i)];
    }
    return terms;
}

}  // namespace ridge::measure
