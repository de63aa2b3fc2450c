// Gradient boosting with small oblivious trees, for several parts of the data (GPUs) that share the
// trees and differ in their values.
//
//   const TreeProblem problem{.features = columns, .values = y, .parts = gpus, .part_count = 2};
//   const std::vector<BoostedTree> trees = boosted_trees(problem, {.trees = 64});
//   value_of(trees[0], problem, row)   // what the first tree says of a row
//
// Method: Friedman 2001. Each tree is fitted to what those before it leave, held to `outlier`
// (Huber's loss), and `rate` of it is added. A tree is grown level by level; all nodes of a level take the
// split (feature and threshold, out of `bins` quantiles) that lowers the squares most. A leaf's value is
// the mean of its rows drawn towards 0 by `pull` rows, and that of a part is drawn towards it by
// `share` rows. The split's ramp (model/machine/residual_forest.h) is `ramp` of the feature's range wide,
// but no wider than twice the distance to the next quantile. Nothing is random.
//
// Trees of a relative (`start`) come first: they keep their splits, and each leaf's value moves by `rate` of what
// its rows still leave, drawn to the relative's value by `share` rows. What they leave is boosted as above.
//
// Limits: splits are chosen as if they had no ramps; a threshold lies midway between two values. Only
// a problem of one part starts from a relative.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "model/machine/residual_forest.h"

namespace ridge::measure {

struct TreeProblem {
    std::vector<std::vector<double>> features;  ///< columns, each as long as `values`
    std::vector<double> values;
    std::vector<std::size_t> parts;  ///< of each row, below `part_count`
    std::size_t part_count = 1;
};

struct BoostedTree {
    std::array<model::ResidualSplit, model::residual_levels> splits{};
    std::vector<std::array<double, model::residual_leaves>> values;  ///< of each part
};

struct TreeOptions {
    std::size_t trees = model::most_residual_trees;
    double share = 32.0;
    double rate = 0.4;
    double pull = 4.0;
    double outlier = 0.1;
    double ramp = 0.02;
    std::size_t bins = 32;
    std::vector<BoostedTree> start{};  ///< a relative's, of one part
};

[[nodiscard]] std::vector<BoostedTree> boosted_trees(const TreeProblem& problem,
                                                     const TreeOptions& options);

/// What a tree says of a row, for the row's part.
[[nodiscard]] double value_of(const BoostedTree& tree, const TreeProblem& problem, std::size_t row);

/// The trees as one part has them; splits that trees share stand once. InputError where a value is no number.
[[nodiscard]] model::ResidualForest forest_of(const std::vector<BoostedTree>& grown,
                                              std::size_t part);

/// The trees of a finished correction, of one part.
[[nodiscard]] std::vector<BoostedTree> trees_of(const model::ResidualForest& forest);

}  // namespace ridge::measure
