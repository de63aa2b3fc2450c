#include "model/machine/residual_forest.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hardware/error.h"

namespace ridge::model {

double side_of(double value, const ResidualSplit& split) {
    return std::clamp((value - split.threshold) / split.width + 0.5, 0.0, 1.0);
}

double as_written(double value) {
    return std::round(value / residual_unit) * residual_unit;
}

ResidualForest::ResidualForest(std::vector<ResidualSplit> splits, std::vector<ResidualTree> trees)
    : splits_(std::move(splits)), trees_(std::move(trees)) {
    RIDGE_CONTRACT(splits_.size() <= most_residual_splits);
    RIDGE_CONTRACT(trees_.size() <= most_residual_trees);
    for (std::size_t i = 0; i < splits_.size(); ++i) {
        const ResidualSplit& split = splits_[i];
        RIDGE_CONTRACT(split.feature < most_residual_features && split.width > 0.0);
        RIDGE_CONTRACT(i == 0 || splits_[i - 1].feature <= split.feature);
        ++first_[split.feature + 1U];
        thresholds_.push_back(static_cast<float>(split.threshold));
        slopes_.push_back(static_cast<float>(1.0 / split.width));
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    blocks_.resize((trees_.size() + lanes - 1) / lanes);
    for (std::size_t i = 0; i < trees_.size(); ++i) {
        Block& block = blocks_[i / lanes];
        for (std::size_t level = 0; level < residual_levels; ++level) {
            RIDGE_CONTRACT(trees_[i].splits[level] < splits_.size());
            block.splits[level][i % lanes] = trees_[i].splits[level];
        }
        for (std::size_t leaf = 0; leaf < residual_leaves; ++leaf) {
            block.values[leaf][i % lanes] = static_cast<float>(trees_[i].values[leaf]);
        }
    }
}

double ResidualForest::at(const FeatureValues& features) const {
    std::array<float, most_residual_splits> sides;  // only those of splits are set and read
    for (std::size_t feature = 0; feature < most_residual_features; ++feature) {
        const auto value = static_cast<float>(features[feature]);
        for (std::size_t i = first_[feature]; i < first_[feature + 1]; ++i) {
            const float side = (value - thresholds_[i]) * slopes_[i] + 0.5F;
            const float above = side > 0.0F ? side : 0.0F;
            sides[i] = above < 1.0F ? above : 1.0F;
        }
    }
    std::array<float, lanes> sums{};
    for (const Block& block : blocks_) {
        std::array<std::array<float, lanes>, residual_levels> side;
        for (std::size_t level = 0; level < residual_levels; ++level) {
            for (std::size_t i = 0; i < lanes; ++i) side[level][i] = sides[block.splits[level][i]];
        }
        std::array<std::array<float, lanes>, residual_leaves / 2> left;
        for (std::size_t leaf = 0; leaf < 8; ++leaf) {
            for (std::size_t i = 0; i < lanes; ++i) {
                left[leaf][i] = block.values[leaf][i] +
                                side[0][i] * (block.values[leaf + 8][i] - block.values[leaf][i]);
            }
        }
        for (std::size_t leaf = 0; leaf < 4; ++leaf) {
            for (std::size_t i = 0; i < lanes; ++i) {
                left[leaf][i] += side[1][i] * (left[leaf + 4][i] - left[leaf][i]);
            }
        }
        for (std::size_t leaf = 0; leaf < 2; ++leaf) {
            for (std::size_t i = 0; i < lanes; ++i) {
                left[leaf][i] += side[2][i] * (left[leaf + 2][i] - left[leaf][i]);
            }
        }
        for (std::size_t i = 0; i < lanes; ++i) {
            sums[i] += left[0][i] + side[3][i] * (left[1][i] - left[0][i]);
        }
    }
    return static_cast<double>(std::accumulate(sums.begin(), sums.end(), 0.0F));
}

}  // namespace ridge::model
