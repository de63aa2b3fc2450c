#include "model/machine/residual_forest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "hardware/error.h"

namespace ridge::model {

namespace {

/// The code of an answer between 0 and 1: a leaf's number with one in it is no leaf's.
constexpr std::uint32_t ramp = residual_leaves;

}  // namespace

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
    std::vector<std::uint16_t> places;  // of splits among the answers
    std::size_t lane = lanes;
    for (std::size_t i = 0; i < splits_.size(); ++i) {
        const ResidualSplit& split = splits_[i];
        RIDGE_CONTRACT(split.feature < most_residual_features && split.width > 0.0);
        RIDGE_CONTRACT(i == 0 || splits_[i - 1].feature <= split.feature);
        if (lane == lanes || cuts_.back().feature != split.feature) {
            Cuts& added = cuts_.emplace_back();
            added.feature = split.feature;
            added.thresholds.fill(std::numeric_limits<float>::max());
            added.slopes.fill(1.0F);
            lane = 0;
        }
        places.push_back(static_cast<std::uint16_t>(lanes * (cuts_.size() - 1) + lane));
        cuts_.back().thresholds[lane] = static_cast<float>(split.threshold);
        cuts_.back().slopes[lane] = static_cast<float>(1.0 / split.width);
        ++lane;
    }
    for (const ResidualTree& tree : trees_) {
        Leaves& each = leaves_.emplace_back();
        for (std::size_t level = 0; level < residual_levels; ++level) {
            RIDGE_CONTRACT(tree.splits[level] < splits_.size());
            each.answers[level] = places[tree.splits[level]];
        }
        for (std::size_t leaf = 0; leaf < residual_leaves; ++leaf) {
            each.values[leaf] = static_cast<float>(tree.values[leaf]);
        }
    }
}

float ResidualForest::interpolated(const Leaves& tree, const Answers& sides) {
    std::array<float, residual_leaves> values = tree.values;
    std::size_t half = residual_leaves / 2;
    for (const std::uint16_t answer : tree.answers) {
        const float side = std::clamp(sides[answer], 0.0F, 1.0F);
        for (std::size_t leaf = 0; leaf < half; ++leaf) {
            values[leaf] += side * (values[leaf + half] - values[leaf]);
        }
        half /= 2;
    }
    return values[0];
}

double ResidualForest::at(const FeatureValues& features) const {
    Answers sides;                                  // only those of cuts are set and read
    std::array<std::uint32_t, most_answers> codes;  // 0, 1, or `ramp`
    std::size_t answer = 0;
    for (const Cuts& cuts : cuts_) {
        const auto value = static_cast<float>(features[cuts.feature]);
        for (std::size_t i = 0; i < lanes; ++i) {
            const float side = (value - cuts.thresholds[i]) * cuts.slopes[i] + 0.5F;
            sides[answer + i] = side;
            codes[answer + i] = side >= 1.0F ? 1U : (side > 0.0F ? ramp : 0U);
        }
        answer += lanes;
    }
    double sum = 0.0;
    for (const Leaves& tree : leaves_) {
        std::uint32_t leaf = 0;
        for (const std::uint16_t each : tree.answers) leaf = 2 * leaf + codes[each];
        sum += static_cast<double>(leaf < residual_leaves ? tree.values[leaf]
                                                          : interpolated(tree, sides));
    }
    return sum;
}

}  // namespace ridge::model
