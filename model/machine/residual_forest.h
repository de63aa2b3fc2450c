// The trees of a residual correction: their sum at the features of a shape. (docs/model.md K1)
//
//   const ResidualForest forest(splits, trees);
//   forest.at(features)   // ln of the factor, before it is clamped and faded
//
// Method: a split compares one feature with a threshold. Within a width around the threshold the
// answer is a ramp from 0 to 1, so the sum has no jumps. All nodes of one level of a tree share a
// split (oblivious trees, Kohavi 1994; as in CatBoost, Prokhorenkova et al. 2018), so a tree is
// four splits and a table of 16 values, read by linear interpolation in the four answers. Eight
// trees are stored side by side. One instruction processes four of them, or all eight if the
// processor has AVX2, with the same result. Nothing is allocated.
//
// Limits: 256 splits, which trees refer to by number; 64 trees.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ridge::model {

inline constexpr std::size_t most_residual_features = 16;
inline constexpr std::size_t most_residual_splits = 256;
inline constexpr std::size_t most_residual_trees = 64;
inline constexpr std::size_t residual_levels = 4;
inline constexpr std::size_t residual_leaves = std::size_t{1} << residual_levels;

using FeatureValues = std::array<double, most_residual_features>;

/// A threshold of one feature.
struct ResidualSplit {
    std::uint8_t feature = 0;
    double threshold = 0.0;
    double width = 0.0;  ///< of the ramp around the threshold; above 0
};

/// The answer of a split for a value: 0 below its ramp, 1 above it.
[[nodiscard]] double side_of(double value, const ResidualSplit& split);

/// Thresholds, widths and values as descriptions state them: in ten-thousandths.
[[nodiscard]] double as_written(double value);
inline constexpr double residual_unit = 1e-4;

/// The number of a leaf has a bit for each level; the first level's is the highest.
struct ResidualTree {
    std::array<std::uint8_t, residual_levels> splits{};  ///< numbers of splits
    std::array<double, residual_leaves> values{};
};

class ResidualForest {
  public:
    ResidualForest() = default;

    /// Splits must be in the order of their features, and trees must name splits that exist.
    ResidualForest(std::vector<ResidualSplit> splits, std::vector<ResidualTree> trees);

    [[nodiscard]] bool empty() const { return trees_.empty(); }
    [[nodiscard]] const std::vector<ResidualSplit>& splits() const { return splits_; }
    [[nodiscard]] const std::vector<ResidualTree>& trees() const { return trees_; }

    [[nodiscard]] double at(const FeatureValues& features) const;
    /// The same, bit by bit, for processors without AVX2.
    [[nodiscard]] double at_anywhere(const FeatureValues& features) const;

    /// Trees side by side; those after the last one add nothing.
    struct alignas(64) Block {
        static constexpr std::size_t lanes = 8;
        using Each = std::array<float, lanes>;  ///< one number for each tree

        /// For each level, the features that the trees test.
        std::array<std::array<std::uint32_t, lanes>, residual_levels> features{};
        std::array<Each, residual_levels> thresholds{};
        std::array<Each, residual_levels> slopes{};
        std::array<Each, residual_leaves / 2> low{};   ///< leaves below the first level's threshold
        std::array<Each, residual_leaves / 2> rise{};  ///< difference from those to the leaves
                                                       ///< above it
    };

  private:
    std::vector<ResidualSplit> splits_;
    std::vector<ResidualTree> trees_;
    std::vector<Block> blocks_;
};

}  // namespace ridge::model
