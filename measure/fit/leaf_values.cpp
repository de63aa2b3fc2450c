#include "measure/fit/leaf_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

using model::residual_leaves;

constexpr double share_strength = 4.0;  ///< of the pull to the value that the parts share
constexpr double small_rest = 1e-7;     ///< of the residual of the normal equations
constexpr int most_steps = 400;

double product_of(const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

LeafFit::LeafFit(const TreeProblem& problem, std::vector<BoostedTree> trees, double outlier,
                 std::size_t start)
    : trees_(std::move(trees)), parts_(problem.part_count), start_(start), values_(problem.values) {
    begins_.reserve(values_.size() * (trees_.size() + 1));
    for (std::size_t row = 0; row < values_.size(); ++row) {
        double left = values_[row];
        for (std::size_t tree = 0; tree < trees_.size(); ++tree) {
            begins_.push_back(shares_.size());
            const LeafWeights weights = leaf_weights(trees_[tree], problem, row);
            for (std::size_t leaf = 0; leaf < residual_leaves; ++leaf) {
                if (!(weights[leaf] > 0.0)) continue;
                const std::size_t part = problem.parts[row];
                const std::size_t value = (tree * residual_leaves + leaf) * parts_ + part;
                shares_.push_back({static_cast<std::uint32_t>(value), weights[leaf]});
                left -= weights[leaf] * trees_[tree].values[part][leaf];
            }
        }
        begins_.push_back(shares_.size());
        weights_.push_back(std::abs(left) > outlier ? outlier / std::abs(left) : 1.0);
    }
}

/// With parts, the best shared value s of pull s^2 + own sum (v - s)^2 leaves own (sum v^2 - own (sum v)^2
/// / (pull + parts own)).
LeafFit::Pulls LeafFit::pulls_of(double pull) const {
    if (parts_ == 1) return {.own = pull, .common = 0.0};
    const double own = share_strength * pull;
    return {.own = own, .common = own * own / (pull + static_cast<double>(parts_) * own)};
}

/// Adds the normal equations' matrix times `values`.
void LeafFit::add_normal(const std::vector<double>& values, std::size_t count, const Pulls& pulls,
                         std::vector<double>& sums) const {
    for (std::size_t first = 0; first < values.size(); first += parts_) {
        double all = 0.0;
        for (std::size_t part = 0; part < parts_; ++part) all += values[first + part];
        for (std::size_t part = 0; part < parts_; ++part) {
            sums[first + part] += pulls.own * values[first + part] - pulls.common * all;
        }
    }
    for (std::size_t row = 0; row < values_.size(); ++row) {
        const std::size_t begin = begins_[row * (trees_.size() + 1)];
        const std::size_t end = begins_[row * (trees_.size() + 1) + count];
        double sum = 0.0;
        for (std::size_t i = begin; i < end; ++i)
            sum += shares_[i].weight * values[shares_[i].value];
        sum *= weights_[row];
        for (std::size_t i = begin; i < end; ++i) sums[shares_[i].value] += shares_[i].weight * sum;
    }
}

double LeafFit::first_value(std::size_t tree, std::size_t leaf, std::size_t part) const {
    return tree < start_ ? trees_[tree].values[part][leaf] : 0.0;
}

/// How far the values lie from where the trees began.
std::vector<double> LeafFit::solved(std::size_t count, double pull) const {
    const Pulls pulls = pulls_of(pull);
    const std::size_t size = count * residual_leaves * parts_;
    std::vector<double> left(size);
    std::vector<double> diagonal(size, pulls.own - pulls.common);
    std::vector<double> first(size);
    for (std::size_t i = 0; i < size; ++i) {
        const std::size_t leaf = i / parts_;
        first[i] = first_value(leaf / residual_leaves, leaf % residual_leaves, i % parts_);
    }
    if (std::isinf(pull)) return first;
    for (std::size_t row = 0; row < values_.size(); ++row) {
        const std::size_t begin = begins_[row * (trees_.size() + 1)];
        const std::size_t end = begins_[row * (trees_.size() + 1) + count];
        double residual = values_[row];
        for (std::size_t i = begin; i < end; ++i) {
            residual -= shares_[i].weight * first[shares_[i].value];
        }
        for (std::size_t i = begin; i < end; ++i) {
            const Share& share = shares_[i];
            left[share.value] += weights_[row] * share.weight * residual;
            diagonal[share.value] += weights_[row] * share.weight * share.weight;
        }
    }
    std::vector<double> moved(size);
    const auto scaled = [&] {
        std::vector<double> all(size);
        for (std::size_t i = 0; i < size; ++i) all[i] = left[i] / diagonal[i];
        return all;
    };
    std::vector<double> direction = scaled();
    double rest = product_of(left, direction);
    const double enough = small_rest * small_rest * rest;
    for (int step = 0; step < most_steps && rest > enough; ++step) {
        std::vector<double> along(size);
        add_normal(direction, count, pulls, along);
        const double length = rest / product_of(direction, along);
        for (std::size_t i = 0; i < size; ++i) {
            moved[i] += length * direction[i];
            left[i] -= length * along[i];
        }
        const std::vector<double> next = scaled();
        const double before = std::exchange(rest, product_of(left, next));
        for (std::size_t i = 0; i < size; ++i) {
            direction[i] = next[i] + rest / before * direction[i];
        }
    }
    for (std::size_t i = 0; i < size; ++i) moved[i] += first[i];
    return moved;
}

std::vector<BoostedTree> LeafFit::values(std::size_t count, double pull) const {
    RIDGE_CONTRACT(pull > 0.0);
    count = std::min(count, trees_.size());
    const std::vector<double> found = solved(count, pull);
    std::vector<BoostedTree> trees(trees_.begin(),
                                   trees_.begin() + static_cast<std::ptrdiff_t>(count));
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::size_t leaf = i / parts_;
        const double value = model::as_written(std::clamp(found[i], -1.0, 1.0));
        trees[leaf / residual_leaves].values[i % parts_][leaf % residual_leaves] = value;
    }
    return trees;
}

std::vector<BoostedTree> fitted_trees(const TreeProblem& problem, const TreeOptions& options) {
    const LeafFit fit(problem, boosted_trees(problem, options), options.outlier,
                      options.start.size());
    return fit.values(fit.size(), options.leaves);
}

}  // namespace ridge::measure
