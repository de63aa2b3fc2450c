// Random valid operations of all kinds for property tests: seeded, with log-uniform counts.
//
//   Random random(7);
//   for (std::size_t i = 0; i < case_count(1000); ++i) {
//       const Operation operation = random_operation(random);
//       const Execution execution = random_execution(operation, random);
//
// An operation kind without a case in `random_operation` does not compile, and implementations come
// from the operation table, so every property covers what is added to the model. For a long run
// (scripts/soak), RIDGE_CASES multiplies `case_count` and RIDGE_SEED changes every seed.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/core/fields.h"
#include "model/core/implementation.h"
#include "model/core/operation.h"

namespace ridge::test {

class Random {
  public:
    explicit Random(std::uint64_t seed);
    /// Of this seed alone, whatever RIDGE_SEED says: for what is compared with a table.
    [[nodiscard]] static Random of_table(std::uint64_t seed);

    /// Uniform in [low, high].
    [[nodiscard]] std::int64_t whole(std::int64_t low, std::int64_t high);
    [[nodiscard]] double real(double low, double high);
    /// Log-uniform in [1, largest]; a power of two in half of the cases.
    [[nodiscard]] std::int64_t size(std::int64_t largest);
    [[nodiscard]] bool coin() { return whole(0, 1) == 1; }

    template <class Container>
    [[nodiscard]] const auto& pick(const Container& values) {
        return values[static_cast<std::size_t>(
            whole(0, static_cast<std::int64_t>(std::size(values)) - 1))];
    }

  private:
    std::mt19937_64 engine_;
};

/// `usual`, more in a long run, fewer under sanitizers (`one_in` in tests/support/sample.h).
[[nodiscard]] std::size_t case_count(std::size_t usual);

enum class Heads : std::uint8_t { equal, grouped };

[[nodiscard]] model::Attention random_attention(Random& random, Heads heads);
/// An operation of any kind; products and attention are drawn most often.
[[nodiscard]] model::Operation random_operation(Random& random);
[[nodiscard]] model::Operation random_operation(Random& random, model::OperationKind kind);

/// The text of an expression of functions, operators and inputs, nested at most `depth` deep.
[[nodiscard]] std::string random_expression(Random& random, int depth);

/// An implementation from the operation table, an L2 state, a launch mode and sometimes a tile.
[[nodiscard]] model::Execution random_execution(const model::Operation& operation, Random& random);

/// Copies of the operation with one dimension made larger, each with that dimension's name.
[[nodiscard]] std::vector<std::pair<std::string, model::Operation>> grown(
    const model::Operation& operation);

/// Describes the shape for messages of failing cases.
[[nodiscard]] std::string describe(const model::Operation& operation);

}  // namespace ridge::test
