#include "measure/fit/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

using model::residual_leaves;
using model::residual_levels;
using model::ResidualSplit;

/// Sums over the rows of a node, in one part.
struct Sums {
    double residual = 0.0;
    double rows = 0.0;
};

constexpr double most_quantiles = 4.0;  ///< widest ramp, in distances to the next quantile

/// The features, divided into bins.
class Binned {
  public:
    Binned(const TreeProblem& problem, const TreeOptions& options) {
        for (std::size_t i = 0; i < problem.features.size(); ++i) {
            const std::vector<double>& column = problem.features[i];
            const FeatureUse use = problem.uses.empty() ? FeatureUse::size : problem.uses[i];
            std::vector<double> sorted = column;
            std::sort(sorted.begin(), sorted.end());
            widths_.push_back((use == FeatureUse::kind ? options.kind_ramp : options.ramp) *
                              (sorted.back() - sorted.front()));
            if (use == FeatureUse::unused) sorted.assign(sorted.size(), 0.0);
            std::vector<double>& edges = edges_.emplace_back();
            for (std::size_t b = 1; b <= options.bins; ++b) {
                const double value = sorted[b * sorted.size() / (options.bins + 1)];
                const auto same = std::lower_bound(sorted.begin(), sorted.end(), value);
                if (same == sorted.begin()) continue;
                const double edge = model::as_written(0.5 * (value + *(same - 1)));
                if (edges.empty() || edge > edges.back()) edges.push_back(edge);
            }
            std::vector<std::uint8_t>& bins = bins_.emplace_back();
            for (const double value : column) {
                const auto above = std::upper_bound(edges.begin(), edges.end(), value);
                bins.push_back(static_cast<std::uint8_t>(above - edges.begin()));
            }
            most_ = std::max(most_, edges.size() + 1);
        }
    }

    [[nodiscard]] std::size_t features() const { return edges_.size(); }
    [[nodiscard]] std::size_t most_bins() const { return most_; }
    [[nodiscard]] std::size_t bins(std::size_t feature) const { return edges_[feature].size() + 1; }
    [[nodiscard]] const std::vector<std::uint8_t>& of(std::size_t feature) const {
        return bins_[feature];
    }

    [[nodiscard]] ResidualSplit split(std::size_t feature, std::size_t bin) const {
        const std::vector<double>& edges = edges_[feature];
        double nearest = std::numeric_limits<double>::infinity();
        if (bin > 0) nearest = edges[bin] - edges[bin - 1];
        if (bin + 1 < edges.size()) nearest = std::min(nearest, edges[bin + 1] - edges[bin]);
        const double width =
            model::as_written(std::min(widths_[feature], most_quantiles * nearest));
        return {static_cast<std::uint8_t>(feature), edges[bin],
                std::max(width, model::residual_unit)};
    }

  private:
    std::vector<std::vector<double>> edges_;
    std::vector<std::vector<std::uint8_t>> bins_;
    std::vector<double> widths_;
    std::size_t most_ = 1;
};

class Booster {
  public:
    Booster(const TreeProblem& problem, const TreeOptions& options)
        : problem_(problem),
          options_(options),
          binned_(problem, options),
          left_(problem.values),
          held_(left_.size()),
          leaf_(left_.size()) {}

    BoostedTree next() {
        hold();
        std::fill(leaf_.begin(), leaf_.end(), std::size_t{0});
        BoostedTree tree;
        for (std::size_t level = 0; level < residual_levels; ++level) {
            const auto [feature, bin] = best_split(std::size_t{1} << level);
            tree.splits[level] = binned_.split(feature, bin);
            const std::vector<std::uint8_t>& bins = binned_.of(feature);
            for (std::size_t i = 0; i < leaf_.size(); ++i) {
                leaf_[i] = 2 * leaf_[i] + (bins[i] > bin ? 1 : 0);
            }
        }
        set_values(tree);
        take_off(tree);
        return tree;
    }

    /// Takes off a related GPU's tree.
    void build_on(const BoostedTree& start) { take_off(start); }

    /// Whether no feature has two different values.
    [[nodiscard]] bool is_constant() const { return binned_.most_bins() == 1; }

  private:
    struct Choice {
        std::size_t feature = 0;
        std::size_t bin = 0;
    };

    Choice best_split(std::size_t nodes) {
        Choice best;
        double most = -std::numeric_limits<double>::infinity();
        for (std::size_t feature = 0; feature < binned_.features(); ++feature) {
            if (binned_.bins(feature) < 2) continue;
            accumulate(feature, nodes);
            for (std::size_t bin = 0; bin + 1 < binned_.bins(feature); ++bin) {
                const double gained = gain(nodes, bin, binned_.bins(feature) - 1);
                if (gained <= most) continue;
                most = gained;
                best = {feature, bin};
            }
        }
        return best;
    }

    [[nodiscard]] Sums& sums(std::size_t part, std::size_t nodes, std::size_t node,
                             std::size_t bin) {
        return sums_[((part * nodes) + node) * binned_.most_bins() + bin];
    }

    /// Sums the rows of each part and node up to each bin.
    void accumulate(std::size_t feature, std::size_t nodes) {
        sums_.assign(problem_.part_count * nodes * binned_.most_bins(), Sums{});
        const std::vector<std::uint8_t>& bins = binned_.of(feature);
        for (std::size_t i = 0; i < held_.size(); ++i) {
            Sums& each = sums(problem_.parts[i], nodes, leaf_[i], bins[i]);
            each.residual += held_[i];
            each.rows += 1.0;
        }
        for (std::size_t part = 0; part < problem_.part_count; ++part) {
            for (std::size_t node = 0; node < nodes; ++node) {
                for (std::size_t bin = 1; bin < binned_.bins(feature); ++bin) {
                    const Sums& below = sums(part, nodes, node, bin - 1);
                    Sums& each = sums(part, nodes, node, bin);
                    each.residual += below.residual;
                    each.rows += below.rows;
                }
            }
        }
    }

    /// How much a split behind `bin` of all nodes reduces the penalised sum of squares.
    double gain(std::size_t nodes, std::size_t bin, std::size_t last) {
        double whole = 0.0;
        std::vector<Sums>& of_parts = of_parts_;
        for (std::size_t node = 0; node < nodes; ++node) {
            for (const bool above : {false, true}) {
                of_parts.clear();
                for (std::size_t part = 0; part < problem_.part_count; ++part) {
                    const Sums& below = sums(part, nodes, node, bin);
                    const Sums& all = sums(part, nodes, node, last);
                    of_parts.push_back(
                        above ? Sums{all.residual - below.residual, all.rows - below.rows} : below);
                }
                whole += gain_of_leaf(of_parts);
            }
        }
        return whole;
    }

    [[nodiscard]] double shared_value(const std::vector<Sums>& of_parts) const {
        Sums all;
        for (const Sums& each : of_parts) {
            all.residual += each.residual;
            all.rows += each.rows;
        }
        return all.residual / (all.rows + options_.pull);
    }

    /// The value of a part; if there is only one part, it is the shared value.
    [[nodiscard]] double value_of_part(const Sums& part, double shared) const {
        if (problem_.part_count == 1) return shared;
        return (part.residual + options_.share * shared) / (part.rows + options_.share);
    }

    [[nodiscard]] double gain_of_leaf(const std::vector<Sums>& of_parts) const {
        const double shared = shared_value(of_parts);
        double gain = -options_.pull * shared * shared;
        for (const Sums& part : of_parts) {
            const double value = value_of_part(part, shared);
            const double apart = value - shared;
            gain +=
                value * (2.0 * part.residual - part.rows * value) - options_.share * apart * apart;
        }
        return gain;
    }

    void hold() {
        for (std::size_t i = 0; i < left_.size(); ++i) {
            held_[i] = std::clamp(left_[i], -options_.outlier, options_.outlier);
        }
    }

    void take_off(const BoostedTree& tree) {
        for (std::size_t i = 0; i < left_.size(); ++i) left_[i] -= value_of(tree, problem_, i);
    }

    /// The residuals in each leaf, by part.
    [[nodiscard]] std::vector<std::vector<Sums>> sums_of_leaves(const BoostedTree& tree) const {
        std::vector<std::vector<Sums>> leaves(residual_leaves,
                                              std::vector<Sums>(problem_.part_count));
        for (std::size_t i = 0; i < held_.size(); ++i) {
            const LeafWeights weights = leaf_weights(tree, problem_, i);
            for (std::size_t leaf = 0; leaf < residual_leaves; ++leaf) {
                Sums& sum = leaves[leaf][problem_.parts[i]];
                sum.residual += weights[leaf] * held_[i];
                sum.rows += weights[leaf] * weights[leaf];
            }
        }
        return leaves;
    }

    void set_values(BoostedTree& tree) {
        const std::vector<std::vector<Sums>> leaves = sums_of_leaves(tree);
        tree.values.resize(problem_.part_count);
        for (std::size_t leaf = 0; leaf < residual_leaves; ++leaf) {
            const double shared = shared_value(leaves[leaf]);
            for (std::size_t part = 0; part < problem_.part_count; ++part) {
                tree.values[part][leaf] =
                    model::as_written(options_.rate * value_of_part(leaves[leaf][part], shared));
            }
        }
    }

    const TreeProblem& problem_;
    const TreeOptions& options_;
    Binned binned_;
    std::vector<double> left_;  ///< residuals of the trees so far
    std::vector<double> held_;  ///< the same, clamped to `outlier`
    std::vector<std::size_t> leaf_;
    std::vector<Sums> sums_;
    std::vector<Sums> of_parts_;
};

}  // namespace

std::vector<BoostedTree> boosted_trees(const TreeProblem& problem, const TreeOptions& options) {
    Booster booster(problem, options);
    std::vector<BoostedTree> trees;
    if (booster.is_constant()) return trees;
    for (const BoostedTree& each : options.start) {
        if (trees.size() == options.trees) break;
        booster.build_on(each);
        trees.push_back(each);
    }
    while (trees.size() < options.trees) trees.push_back(booster.next());
    return trees;
}

LeafWeights leaf_weights(const BoostedTree& tree, const TreeProblem& problem, std::size_t row) {
    LeafWeights weights{1.0};
    std::size_t nodes = 1;
    for (const ResidualSplit& split : tree.splits) {
        const double above = model::side_of(problem.features[split.feature][row], split);
        for (std::size_t node = nodes; node-- > 0;) {
            const double whole = weights[node];
            weights[2 * node] = whole * (1.0 - above);
            weights[2 * node + 1] = whole * above;
        }
        nodes *= 2;
    }
    return weights;
}

double value_of(const BoostedTree& tree, const TreeProblem& problem, std::size_t row) {
    const LeafWeights weights = leaf_weights(tree, problem, row);
    const std::array<double, residual_leaves>& values = tree.values[problem.parts[row]];
    double sum = 0.0;
    for (std::size_t leaf = 0; leaf < residual_leaves; ++leaf) sum += weights[leaf] * values[leaf];
    return sum;
}

model::ResidualForest forest_of(const std::vector<BoostedTree>& grown, std::size_t part) {
    const auto before = [](const ResidualSplit& a, const ResidualSplit& b) {
        return std::tie(a.feature, a.threshold, a.width) <
               std::tie(b.feature, b.threshold, b.width);
    };
    std::set<ResidualSplit, decltype(before)> splits(before);
    for (const BoostedTree& tree : grown) splits.insert(tree.splits.begin(), tree.splits.end());
    std::vector<model::ResidualTree> trees;
    for (const BoostedTree& tree : grown) {
        model::ResidualTree& each = trees.emplace_back();
        for (std::size_t level = 0; level < residual_levels; ++level) {
            const auto found = splits.find(tree.splits[level]);
            each.splits[level] = static_cast<std::uint8_t>(std::distance(splits.begin(), found));
        }
        each.values = tree.values[part];
        for (const double value : each.values) {
            if (!std::isfinite(value)) throw InputError("a correction is not a number");
        }
    }
    return {{splits.begin(), splits.end()}, std::move(trees)};
}

std::vector<BoostedTree> trees_of(const model::ResidualForest& forest) {
    std::vector<BoostedTree> trees;
    for (const model::ResidualTree& each : forest.trees()) {
        BoostedTree& tree = trees.emplace_back();
        for (std::size_t level = 0; level < residual_levels; ++level) {
            tree.splits[level] = forest.splits()[each.splits[level]];
        }
        tree.values = {each.values};
    }
    return trees;
}

}  // namespace ridge::measure
