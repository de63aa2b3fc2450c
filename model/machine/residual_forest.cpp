#include "model/machine/residual_forest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
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
    std::vector<std::uint16_t> places;
    std::size_t lane = lanes;
    for (std::size_t i = 0; i < splits_.size(); ++i) {
        const ResidualSplit& split = splits_[i];
        RIDGE_CONTRACT(split.feature < most_residual_features && split.width > 0.0);
        RIDGE_CONTRACT(i == 0 || splits_[i - 1].feature <= split.feature);
        if (lane == lanes || splits_[i - 1].feature != split.feature) {
            groups_.emplace_back();
            ++first_[split.feature + 1U];
            lane = 0;
        }
        groups_.back().thresholds[lane] = static_cast<float>(split.threshold);
        groups_.back().slopes[lane] = static_cast<float>(1.0 / split.width);
        places.push_back(static_cast<std::uint16_t>((groups_.size() - 1) * lanes + lane));
        ++lane;
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    blocks_.resize((trees_.size() + lanes - 1) / lanes);
    for (std::size_t i = 0; i < trees_.size(); ++i) {
        const ResidualTree& tree = trees_[i];
        Block& block = blocks_[i / lanes];
        for (std::size_t level = 0; level < residual_levels; ++level) {
            RIDGE_CONTRACT(tree.splits[level] < splits_.size());
            block.sides[level][i % lanes] = places[tree.splits[level]];
        }
        for (std::size_t leaf = 0; leaf < residual_leaves / 2; ++leaf) {
            const auto low = static_cast<float>(tree.values[leaf]);
            const auto high = static_cast<float>(tree.values[leaf + residual_leaves / 2]);
            block.low[leaf][i % lanes] = low;
            block.rise[leaf][i % lanes] = high - low;
        }
    }
}

double ResidualForest::at(const FeatureValues& features) const {
    constexpr Lanes zero{};
    constexpr Lanes half{0.5F, 0.5F, 0.5F, 0.5F};
    constexpr Lanes one{1.0F, 1.0F, 1.0F, 1.0F};
    std::array<float, most_groups * lanes> sides;  // only those of groups are set and read
    for (std::size_t feature = 0; feature < most_residual_features; ++feature) {
        const auto value = static_cast<float>(features[feature]);
        for (std::size_t group = first_[feature]; group < first_[feature + 1]; ++group) {
            const Lanes ramp = (value - groups_[group].thresholds) * groups_[group].slopes + half;
            const Lanes above = ramp > zero ? ramp : zero;
            const Lanes side = above < one ? above : one;
            std::memcpy(sides.data() + group * lanes, &side, sizeof side);
        }
    }
    Lanes sums{};
    for (const Block& block : blocks_) {
        std::array<Lanes, residual_levels> side;
        for (std::size_t level = 0; level < residual_levels; ++level) {
            const auto& places = block.sides[level];
            side[level] =
                Lanes{sides[places[0]], sides[places[1]], sides[places[2]], sides[places[3]]};
        }
        std::array<Lanes, residual_leaves / 2> left;
        for (std::size_t leaf = 0; leaf < 8; ++leaf) {
            left[leaf] = block.low[leaf] + side[0] * block.rise[leaf];
        }
        for (std::size_t leaf = 0; leaf < 4; ++leaf) {
            left[leaf] += side[1] * (left[leaf + 4] - left[leaf]);
        }
        for (std::size_t leaf = 0; leaf < 2; ++leaf) {
            left[leaf] += side[2] * (left[leaf + 2] - left[leaf]);
        }
        sums += left[0] + side[3] * (left[1] - left[0]);
    }
    float sum = 0.0F;
    for (std::size_t i = 0; i < lanes; ++i) sum += sums[i];
    return static_cast<double>(sum);
}

}  // namespace ridge::model
