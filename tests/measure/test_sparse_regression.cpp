// A short linear model: it finds the columns that made the data, and none where there are none.
#include "measure/statistics/sparse_regression.h"

#include <cmath>
#include <random>

#include "tests/catch.h"

namespace ridge::measure {
namespace {

/// 400 rows in 40 groups of 30 columns of noise; the values are 0.3 x column 4 - 0.2 x column 17.
SparseProblem made(double noise, double strength = 1.0) {
    std::mt19937 random(7);  // NOLINT(cert-msc32-c,cert-msc51-cpp): must repeat
    const auto uniform = [&random] { return static_cast<double>(random()) / 2147483648.0 - 1.0; };
    SparseProblem problem;
    problem.columns.resize(30);
    for (std::uint64_t row = 0; row < 400; ++row) {
        for (auto& column : problem.columns) column.push_back(uniform());
        problem.values.push_back(
            strength * (0.3 * problem.columns[4].back() - 0.2 * problem.columns[17].back()) +
            noise * uniform());
        problem.groups.push_back(row / 10);
    }
    return problem;
}

}  // namespace

TEST_CASE("a sparse regression finds the columns that made its values", "[fit]") {
    const SparseFit fit = sparse_regression(made(0.02), {});
    REQUIRE(fit.terms.size() >= 2);
    CHECK(fit.terms.size() <= 10);
    CHECK(fit.terms[0].column == 4);
    CHECK(fit.terms[0].coefficient == Approx(0.3).epsilon(0.03));
    CHECK(fit.terms[1].column == 17);
    CHECK(fit.terms[1].coefficient == Approx(-0.2).epsilon(0.03));
    CHECK(fit.error_after < 0.1 * fit.error_before);
}

TEST_CASE("a sparse regression of noise has no terms", "[fit]") {
    const SparseFit fit = sparse_regression(made(0.1, 0.0), {});
    CHECK(fit.terms.empty());
    CHECK(fit.error_after == Approx(fit.error_before));
}

TEST_CASE("a sparse regression repeats to the last digit", "[fit]") {
    const SparseFit once = sparse_regression(made(0.05), {});
    const SparseFit again = sparse_regression(made(0.05), {});
    REQUIRE(once.terms.size() == again.terms.size());
    for (std::size_t i = 0; i < once.terms.size(); ++i) {
        CHECK(once.terms[i].coefficient == again.terms[i].coefficient);
    }
}

TEST_CASE("coefficients are drawn as strongly as asked", "[fit]") {
    const SparseProblem problem = made(0.0);
    const std::vector<SparseTerm> start{{4, 0.0}, {17, 0.0}};
    const auto loose = drawn_towards(problem, start, 1e-9);
    CHECK(loose[0].coefficient == Approx(0.3).epsilon(1e-6));
    CHECK(loose[1].coefficient == Approx(-0.2).epsilon(1e-6));
    CHECK(drawn_towards(problem, start, 1e12)[0].coefficient == Approx(0.0).margin(1e-6));
}

}  // namespace ridge::measure
