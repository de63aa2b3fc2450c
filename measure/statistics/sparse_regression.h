// A short linear model out of many candidate columns, with as many terms as held-out groups bear out.
//
//   const SparseProblem problem{.columns = matrix, .values = y, .groups = shape_hashes};
//   const SparseFit fit = sparse_regression(problem, {.most_terms = 40});
//   fit.terms[0].column, fit.terms[0].coefficient
//   fit.error_before, fit.error_after   // mean |value| of held-out groups, without and with the model
//
// Method: forward selection (orthogonal least squares, Chen, Billings and Luo 1989): the column that
// lowers the penalised sum of squares most is added next; coefficients by ridge regression (Hoerl and
// Kennard 1970) of penalty `lambda` rows. Number of terms and penalty are those at which the mean
// absolute error of five folds over whole groups is least, each fold selecting for itself; fewer terms
// where they cost less than a hundredth. Nothing is random: a group's fold is its number modulo five.
//
// Limits: columns of a few hundred, since their products are kept.
#pragma once

#include <cstdint>
#include <vector>

namespace ridge::measure {

struct SparseProblem {
    std::vector<std::vector<double>> columns;  ///< candidates, each as long as `values`
    std::vector<double> values;
    std::vector<std::uint64_t> groups;  ///< rows of one number are held out together
};

struct SparseOptions {
    std::size_t most_terms = 40;
    double largest = 1e9;  ///< predictions are clamped to this size, as they will be in use
};

struct SparseTerm {
    std::size_t column = 0;
    double coefficient = 0.0;
};

struct SparseFit {
    std::vector<SparseTerm> terms;  ///< empty where no term lowers the error of held-out groups
    double lambda = 0.0;
    double error_before = 0.0;
    double error_after = 0.0;
};

[[nodiscard]] SparseFit sparse_regression(const SparseProblem& problem,
                                          const SparseOptions& options);

/// Coefficients of the columns of `start` fitted anew to these rows, drawn towards `start` by
/// `strength` rows: the same model for a part of the data.
[[nodiscard]] std::vector<SparseTerm> drawn_towards(const SparseProblem& problem,
                                                    const std::vector<SparseTerm>& start,
                                                    double strength);

}  // namespace ridge::measure
