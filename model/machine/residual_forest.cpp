#include "model/machine/residual_forest.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hardware/error.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace ridge::model {
namespace {

using Block = ResidualForest::Block;

/// The answers of the splits of a block's trees, level by level.
using Sides = std::array<Block::Each, residual_levels>;
using SidesOfBlocks = std::array<Sides, most_residual_trees / Block::lanes>;
using Values = std::array<float, most_residual_features>;

Values singles(const FeatureValues& features) {
    Values values;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(features[i]);
    return values;
}

/// Adds the trees of a block, lane by lane. Compilers turn this loop into instructions as wide as
/// the function into which it is inlined allows.
[[gnu::always_inline]] inline void add_trees(const Block& block, const Sides& side,
                                             Block::Each& sums) {
    for (std::size_t lane = 0; lane < Block::lanes; ++lane) {
        std::array<float, residual_leaves / 2> left;
        for (std::size_t leaf = 0; leaf < 8; ++leaf) {
            left[leaf] = block.low[leaf][lane] + side[0][lane] * block.rise[leaf][lane];
        }
        for (std::size_t leaf = 0; leaf < 4; ++leaf) {
            left[leaf] += side[1][lane] * (left[leaf + 4] - left[leaf]);
        }
        for (std::size_t leaf = 0; leaf < 2; ++leaf) {
            left[leaf] += side[2][lane] * (left[leaf + 2] - left[leaf]);
        }
        sums[lane] += left[0] + side[3][lane] * (left[1] - left[0]);
    }
}

[[gnu::always_inline]] inline double sum_of(const std::vector<Block>& blocks,
                                            const SidesOfBlocks& sides) {
    Block::Each sums{};
    for (std::size_t i = 0; i < blocks.size(); ++i) add_trees(blocks[i], sides[i], sums);
    for (std::size_t half = Block::lanes / 2; half > 0; half /= 2) {
        for (std::size_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
    }
    return static_cast<double>(sums[0]);
}

#if defined(__x86_64__) && defined(__GNUC__)
#define RIDGE_HAS_AVX2
/// The same result as `at_anywhere`, bit by bit.
[[gnu::target("avx2")]] double sum_with_avx2(const std::vector<Block>& blocks,
                                             const FeatureValues& features) {
    static_assert(most_residual_features == 2 * Block::lanes);
    const Values values = singles(features);
    const __m256 front = _mm256_loadu_ps(values.data());
    const __m256 back = _mm256_loadu_ps(values.data() + Block::lanes);
    const __m256 zero = _mm256_setzero_ps();
    const __m256 half = _mm256_set1_ps(0.5F);
    const __m256 one = _mm256_set1_ps(1.0F);
    const __m256i last_in_front = _mm256_set1_epi32(Block::lanes - 1);
    alignas(64) SidesOfBlocks sides;  // only the entries of the blocks are set and read
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        for (std::size_t level = 0; level < residual_levels; ++level) {
            const Block& block = blocks[i];
            const __m256i feature =
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(block.features[level].data()));
            // A permutation sees the three lowest bits; the fourth selects the half of the
            // features.
            const __m256 is_back = _mm256_castsi256_ps(_mm256_cmpgt_epi32(feature, last_in_front));
            const __m256 value =
                _mm256_or_ps(_mm256_andnot_ps(is_back, _mm256_permutevar8x32_ps(front, feature)),
                             _mm256_and_ps(is_back, _mm256_permutevar8x32_ps(back, feature)));
            const __m256 threshold = _mm256_loadu_ps(block.thresholds[level].data());
            const __m256 slope = _mm256_loadu_ps(block.slopes[level].data());
            const __m256 ramp =
                _mm256_add_ps(_mm256_mul_ps(_mm256_sub_ps(value, threshold), slope), half);
            const __m256 side = _mm256_min_ps(_mm256_max_ps(ramp, zero), one);
            _mm256_storeu_ps(sides[i][level].data(), side);
        }
    }
    return sum_of(blocks, sides);
}
#endif

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
    for (std::size_t i = 0; i < splits_.size(); ++i) {
        RIDGE_CONTRACT(splits_[i].feature < most_residual_features && splits_[i].width > 0.0);
        RIDGE_CONTRACT(i == 0 || splits_[i - 1].feature <= splits_[i].feature);
    }
    blocks_.resize((trees_.size() + Block::lanes - 1) / Block::lanes);
    for (std::size_t i = 0; i < trees_.size(); ++i) {
        const ResidualTree& tree = trees_[i];
        Block& block = blocks_[i / Block::lanes];
        const std::size_t lane = i % Block::lanes;
        for (std::size_t level = 0; level < residual_levels; ++level) {
            RIDGE_CONTRACT(tree.splits[level] < splits_.size());
            const ResidualSplit& split = splits_[tree.splits[level]];
            block.features[level][lane] = split.feature;
            block.thresholds[level][lane] = static_cast<float>(split.threshold);
            block.slopes[level][lane] = static_cast<float>(1.0 / split.width);
        }
        for (std::size_t leaf = 0; leaf < residual_leaves / 2; ++leaf) {
            const auto low = static_cast<float>(tree.values[leaf]);
            const auto high = static_cast<float>(tree.values[leaf + residual_leaves / 2]);
            block.low[leaf][lane] = low;
            block.rise[leaf][lane] = high - low;
        }
    }
}

double ResidualForest::at(const FeatureValues& features) const {
#ifdef RIDGE_HAS_AVX2
    static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
    if (has_avx2) return sum_with_avx2(blocks_, features);
#endif
    return at_anywhere(features);
}

double ResidualForest::at_anywhere(const FeatureValues& features) const {
    const Values values = singles(features);
    SidesOfBlocks sides;  // only the entries of the blocks are set and read
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
        const Block& block = blocks_[i];
        for (std::size_t level = 0; level < residual_levels; ++level) {
            for (std::size_t lane = 0; lane < Block::lanes; ++lane) {
                const float value = values[block.features[level][lane]];
                const float ramp =
                    (value - block.thresholds[level][lane]) * block.slopes[level][lane] + 0.5F;
                const float above = ramp > 0.0F ? ramp : 0.0F;
                sides[i][level][lane] = above < 1.0F ? above : 1.0F;
            }
        }
    }
    return sum_of(blocks_, sides);
}

}  // namespace ridge::model
