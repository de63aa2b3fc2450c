// Fits the leaf values of all trees of a correction together. (docs/model.md K4)
//
//   const LeafFit fit(problem, boosted_trees(problem, {.trees = 48}), 0.1);
//   fit.values(24, 8.0)   // the first 24 trees, with the values that fit the rows best
//
// Method: ridge regression (Hoerl and Kennard 1970). A prediction is linear in the values, so the best ones
// solve normal equations: those of the weighted sum of squares and of a pull to the values where the
// trees began (0, or a related GPU's), as strong as `pull` rows in each leaf. With several parts, a leaf has
// a value that the parts share; each part's own value is pulled towards it four times as strongly. A row
// weighs `outlier` over its residual of the grown trees if that is larger (Huber's loss, one step of
// reweighted least squares). The equations are solved by conjugate gradients with the diagonal as
// preconditioner (Hestenes and Stiefel 1952). Nothing is random.
//
// Boosting alone leaves each value at the step at which its tree was grown; fitted together, fewer trees
// with wider ramps do the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "measure/fit/boosted_trees.h"

namespace ridge::measure {

class LeafFit {
  public:
    /// The first `start` trees are a related GPU's: they are pulled to their values instead of to 0.
    LeafFit(const TreeProblem& problem, std::vector<BoostedTree> trees, double outlier,
            std::size_t start = 0);

    [[nodiscard]] std::size_t size() const { return trees_.size(); }

    /// The first trees with fitted values. `pull` must be above 0; if it is infinite, values stay where they
    /// are pulled to.
    [[nodiscard]] std::vector<BoostedTree> values(std::size_t count, double pull) const;

  private:
    /// The share of a row that falls in one leaf.
    struct Share {
        std::uint32_t value;  ///< number of the leaf's value in the row's part
        double weight;
    };
    struct Pulls {
        double own;     ///< on each value
        double common;  ///< given back to what the parts of a leaf have in common
    };

    [[nodiscard]] Pulls pulls_of(double pull) const;
    void add_normal(const std::vector<double>& values, std::size_t count, const Pulls& pulls,
                    std::vector<double>& sums) const;
    [[nodiscard]] std::vector<double> solved(std::size_t count, double pull) const;
    [[nodiscard]] double first_value(std::size_t tree, std::size_t leaf, std::size_t part) const;

    std::vector<BoostedTree> trees_;
    std::size_t parts_;
    std::size_t start_;
    std::vector<Share> shares_;        ///< of all rows, row by row and tree by tree
    std::vector<std::size_t> begins_;  ///< of each row and tree in `shares_`, and the end
    std::vector<double> values_;       ///< of the rows
    std::vector<double> weights_;      ///< of the rows
};

/// Trees that are grown, then fitted together.
[[nodiscard]] std::vector<BoostedTree> fitted_trees(const TreeProblem& problem,
                                                    const TreeOptions& options);

}  // namespace ridge::measure
