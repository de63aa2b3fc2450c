// Gradient boosting with small oblivious trees, for data in several parts (GPUs). The parts share
// the splits of the trees and differ in the values of the leaves.
//
//   const TreeProblem problem{.features = columns, .values = y, .parts = gpus, .part_count = 2};
//   const std::vector<BoostedTree> trees = boosted_trees(problem, {.trees = 64});
//   value_of(trees[0], problem, row)   // the first tree's value for a row
//
// Method: Friedman 2001. Each tree is fitted to the residuals of the trees before it, clamped to
// `outlier` (Huber's loss), and `rate` times the tree is added. A tree grows level by level; all
// nodes of a level use the split (feature and threshold, out of `bins` quantiles) that reduces the
// sum of squares most. The value of a leaf is the mean of its rows, shrunk towards 0 as if by
// `pull` rows; the value of a part is shrunk towards the leaf's value as if by `share` rows. The
// ramp of a split (model/machine/residual_forest.h) is as wide as `ramp` times the feature's range,
// but at most four times the distance to the next quantile. A feature that names a kind instead of a
// size has ramps of `kind_ramp`, so that no kind takes part of another's value. Nothing is random.
// `leaf_values.h` then fits the values of all trees together.
//
// Trees of a related GPU (`start`) come first, as they are. What they leave is boosted as above.
//
// Limits: splits are chosen as if they had no ramps. A threshold lies midway between two values.
// Only a problem with one part can start from the trees of a related GPU.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/machine/residual_forest.h"

namespace ridge::measure {

/// What a feature is to the trees that are grown; those of a related GPU may split any.
enum class FeatureUse : std::uint8_t {
    size,
    kind,   ///< numbers kinds
    unused  ///< never split
};

struct TreeProblem {
    std::vector<std::vector<double>> features;  ///< columns, each as long as `values`
    std::vector<double> values;
    std::vector<std::size_t> parts;  ///< part of each row, below `part_count`
    std::size_t part_count = 1;
    std::vector<FeatureUse> uses{};  ///< of each column; empty: all are sizes
};

struct BoostedTree {
    std::array<model::ResidualSplit, model::residual_levels> splits{};
    std::vector<std::array<double, model::residual_leaves>> values;  ///< values of each part
};

struct TreeOptions {
    std::size_t trees = 48;
    double share = 32.0;
    double rate = 0.4;
    double pull = 4.0;
    double leaves = 8.0;  ///< pull of the values that are fitted together (leaf_values.h)
    double outlier = 0.1;
    double ramp = 0.1;
    double kind_ramp = 0.02;
    std::size_t bins = 32;
    std::vector<BoostedTree> start{};  ///< trees of a related GPU, with one part
};

[[nodiscard]] std::vector<BoostedTree> boosted_trees(const TreeProblem& problem,
                                                     const TreeOptions& options);

/// The share of a row that falls in each leaf of a tree.
using LeafWeights = std::array<double, model::residual_leaves>;
[[nodiscard]] LeafWeights leaf_weights(const BoostedTree& tree, const TreeProblem& problem,
                                       std::size_t row);

/// The value of a tree for a row, in the row's part.
[[nodiscard]] double value_of(const BoostedTree& tree, const TreeProblem& problem, std::size_t row);

/// The trees with the values of one part; splits that trees share are stored once. InputError when
/// a value is not finite.
[[nodiscard]] model::ResidualForest forest_of(const std::vector<BoostedTree>& grown,
                                              std::size_t part);

/// The trees of a finished correction, with one part.
[[nodiscard]] std::vector<BoostedTree> trees_of(const model::ResidualForest& forest);

}  // namespace ridge::measure
