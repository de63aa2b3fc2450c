// Boosted trees find the step that made their values and pull parts towards each other. Noise is
// left to the choice of the number of trees.
#include "measure/fit/boosted_trees.h"

#include <cmath>
#include <random>

#include "tests/catch.h"

namespace ridge::measure {
namespace {

/// 800 rows in two parts, with three features from 0 to 10. Values step up where the first feature
/// is above 5 and the second above 3: by 0.08 in the first part, by `second` in the second part.
/// The third feature is noise.
TreeProblem made(double second, double noise = 0.0) {
    std::mt19937 random(11);  // NOLINT(cert-msc32-c,cert-msc51-cpp): must repeat
    const auto uniform = [&random] { return static_cast<double>(random()) / 4294967296.0; };
    TreeProblem problem;
    problem.features.resize(3);
    problem.part_count = 2;
    for (std::size_t row = 0; row < 800; ++row) {
        for (auto& column : problem.features) column.push_back(10.0 * uniform());
        const bool high = problem.features[0].back() > 5.0 && problem.features[1].back() > 3.0;
        problem.parts.push_back(row % 2);
        problem.values.push_back((high ? (row % 2 == 0 ? 0.08 : second) : 0.0) +
                                 noise * (uniform() - 0.5));
    }
    return problem;
}

double error_of(const TreeProblem& problem, const std::vector<BoostedTree>& trees) {
    double error = 0.0;
    for (std::size_t row = 0; row < problem.values.size(); ++row) {
        double left = problem.values[row];
        for (const BoostedTree& tree : trees) left -= value_of(tree, problem, row);
        error += std::abs(left);
    }
    return error / static_cast<double>(problem.values.size());
}

}  // namespace

TEST_CASE("boosted trees find the step that made their values", "[fit]") {
    const TreeProblem problem = made(0.08);
    const std::vector<BoostedTree> trees = boosted_trees(problem, {.trees = 20});
    REQUIRE(trees.size() == 20);
    CHECK(error_of(problem, {}) > 0.02);
    CHECK(error_of(problem, trees) < 0.003);
    CHECK(trees[0].splits[0].feature == 0);
    CHECK(trees[0].splits[0].threshold == Approx(5.0).margin(0.4));
    CHECK(trees[0].splits[1].feature == 1);
    CHECK(trees[0].splits[1].threshold == Approx(3.0).margin(0.4));
    // A tenth of the range, or four distances between quantiles if that is less.
    CHECK(trees[0].splits[0].width <= 1.0);
    CHECK(trees[0].splits[0].width > 0.2);
}

TEST_CASE("kinds have narrow ramps, and trees do not split a feature that is not for them",
          "[fit]") {
    TreeProblem problem = made(0.08);
    problem.uses = {FeatureUse::kind, FeatureUse::unused, FeatureUse::size};
    for (const BoostedTree& tree : boosted_trees(problem, {.trees = 20})) {
        for (const model::ResidualSplit& split : tree.splits) {
            CHECK(split.feature != 1);
            if (split.feature == 0) CHECK(split.width <= 0.2);
        }
    }
}

TEST_CASE("parts have their own values unless they are pulled together", "[fit]") {
    const TreeProblem problem = made(0.02);
    TreeOptions options{.trees = 30, .share = 1.0};
    const std::vector<BoostedTree> apart = boosted_trees(problem, options);
    options.share = 1e9;
    const std::vector<BoostedTree> together = boosted_trees(problem, options);
    CHECK(error_of(problem, apart) < 0.004);
    for (const BoostedTree& tree : together) {
        for (std::size_t leaf = 0; leaf < tree.values[0].size(); ++leaf) {
            CHECK(tree.values[0][leaf] == Approx(tree.values[1][leaf]).margin(2e-4));
        }
    }
    CHECK(error_of(problem, together) > 2.0 * error_of(problem, apart));
}

TEST_CASE("one wild value does not move a tree far, and constant features give no trees", "[fit]") {
    TreeProblem problem = made(0.0);
    problem.values.assign(problem.values.size(), 0.0);
    problem.values[17] = 100.0;
    const std::vector<BoostedTree> trees = boosted_trees(problem, {.trees = 1});
    for (const auto& part : trees[0].values) {
        for (const double value : part) CHECK(std::abs(value) <= 0.4 * 0.1);
    }
    for (auto& column : problem.features) column.assign(column.size(), 2.0);
    CHECK(boosted_trees(problem, {}).empty());
}

}  // namespace ridge::measure
