// Leaf values that are fitted together: the values that made the rows, pulls, parts and wild rows.
#include "measure/fit/leaf_values.h"

#include <cmath>
#include <limits>
#include <random>

#include "tests/catch.h"

namespace ridge::measure {
namespace {

/// Two trees with one split each, of the first and of the second feature, and ramps.
std::vector<BoostedTree> two_trees(std::size_t parts) {
    std::vector<BoostedTree> trees(2);
    for (std::uint8_t i = 0; i < 2; ++i) {
        trees[i].splits.fill({.feature = i, .threshold = 5.0, .width = 4.0});
        trees[i].values.resize(parts);
    }
    return trees;
}

TreeProblem rows_in(std::size_t parts) {
    std::mt19937 random(5);  // NOLINT(cert-msc32-c,cert-msc51-cpp): must repeat
    const auto uniform = [&random] { return static_cast<double>(random()) / 4294967296.0; };
    TreeProblem problem;
    problem.features.resize(2);
    problem.part_count = parts;
    for (std::size_t row = 0; row < 600; ++row) {
        for (auto& column : problem.features) column.push_back(10.0 * uniform());
        problem.parts.push_back(row % parts);
        problem.values.push_back(0.0);
    }
    return problem;
}

/// The values of rows that these trees make.
TreeProblem made_by(const std::vector<BoostedTree>& trees, std::size_t parts) {
    TreeProblem problem = rows_in(parts);
    for (std::size_t row = 0; row < problem.values.size(); ++row) {
        for (const BoostedTree& tree : trees) problem.values[row] += value_of(tree, problem, row);
    }
    return problem;
}

double largest_error(const TreeProblem& problem, const std::vector<BoostedTree>& trees) {
    double largest = 0.0;
    for (std::size_t row = 0; row < problem.values.size(); ++row) {
        double left = problem.values[row];
        for (const BoostedTree& tree : trees) left -= value_of(tree, problem, row);
        largest = std::max(largest, std::abs(left));
    }
    return largest;
}

}  // namespace

TEST_CASE("leaf values that are fitted together give back what made the rows", "[fit]") {
    std::vector<BoostedTree> truth = two_trees(1);
    for (std::size_t leaf = 0; leaf < model::residual_leaves; ++leaf) {
        truth[0].values[0][leaf] = leaf < 8 ? -0.03 : 0.05;
        truth[1].values[0][leaf] = leaf < 8 ? 0.02 : -0.04;
    }
    const TreeProblem problem = made_by(truth, 1);
    const LeafFit fit(problem, two_trees(1), 1.0);
    REQUIRE(fit.size() == 2);
    CHECK(largest_error(problem, fit.values(2, 1e-3)) < 1e-3);
    // One tree alone leaves what the other explains; a strong pull leaves nearly everything.
    CHECK(largest_error(problem, fit.values(1, 1e-3)) > 0.02);
    CHECK(largest_error(problem, fit.values(2, 1e6)) ==
          Approx(largest_error(problem, {})).epsilon(0.01));
    CHECK(fit.values(0, 1.0).empty());
}

TEST_CASE("parts of a leaf are pulled together, and a related GPU's trees to their own values",
          "[fit]") {
    std::vector<BoostedTree> truth = two_trees(2);
    for (std::size_t leaf = 8; leaf < model::residual_leaves; ++leaf) {
        truth[0].values[0][leaf] = 0.08;
        truth[0].values[1][leaf] = 0.04;
    }
    const TreeProblem problem = made_by(truth, 2);
    const LeafFit fit(problem, two_trees(2), 1.0);
    TreeProblem corner = rows_in(2);
    for (auto& column : corner.features) column[0] = column[1] = 10.0;
    const auto apart = [&corner](const std::vector<BoostedTree>& trees) {
        double between = 0.0;
        for (const BoostedTree& tree : trees) {
            between += value_of(tree, corner, 0) - value_of(tree, corner, 1);
        }
        return between;
    };
    CHECK(apart(fit.values(2, 1e-3)) == Approx(0.04).margin(1e-3));
    // Parts are pulled together four times as strongly as to 0.
    const std::vector<BoostedTree> pulled = fit.values(2, 30.0);
    const double both = value_of(pulled[0], corner, 0) + value_of(pulled[0], corner, 1) +
                        value_of(pulled[1], corner, 0) + value_of(pulled[1], corner, 1);
    CHECK(both > 0.5 * 0.12);
    CHECK(apart(pulled) > 0.0);
    CHECK(apart(pulled) / 0.04 < 0.8 * both / 0.12);

    std::vector<BoostedTree> start = two_trees(1);
    start[0].values[0].fill(0.01);
    const TreeProblem flat = rows_in(1);
    const LeafFit related(flat, start, 1.0, 1);
    CHECK(related.values(1, std::numeric_limits<double>::infinity())[0].values == start[0].values);
    CHECK(related.values(1, 1e9)[0].values[0][0] == Approx(0.01));
    CHECK(std::abs(related.values(1, 1e-3)[0].values[0][0]) < 2e-4);
}

TEST_CASE("a wild row hardly moves the values that are fitted together", "[fit]") {
    TreeProblem problem = rows_in(1);
    problem.values[17] = 100.0;
    for (const BoostedTree& tree : LeafFit(problem, two_trees(1), 0.1).values(2, 8.0)) {
        for (const double value : tree.values[0]) CHECK(std::abs(value) <= 0.1 / 8.0);
    }
}

}  // namespace ridge::measure
