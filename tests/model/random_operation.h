// Random valid operations for property tests: seeded, of all kinds, counts log-uniform.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "model/core/implementation.h"
#include "model/core/operation.h"

namespace ridge::test {

class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}

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

enum class Heads : std::uint8_t { equal, grouped };

[[nodiscard]] model::Attention random_attention(Random& random, Heads heads);
[[nodiscard]] model::Operation random_operation(Random& random);

/// An implementation that suits the operation, L2 state, launch mode; now and then a tile.
[[nodiscard]] model::Execution random_execution(const model::Operation& operation, Random& random);

/// The operation with each of its dimensions made larger in turn, and that dimension's name.
[[nodiscard]] std::vector<std::pair<std::string, model::Operation>> grown(
    const model::Operation& operation);

/// The shape in words, for messages of failing cases.
[[nodiscard]] std::string describe(const model::Operation& operation);

}  // namespace ridge::test
