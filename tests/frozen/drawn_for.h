// The question "MODEL SEED" of a frozen table whose lines stand for many drawn cases.
//
//   auto [model, random] = drawn_for("gpt2 4000001");
#pragma once

#include <cstdint>
#include <sstream>
#include <string>

#include "tests/model/random_operation.h"

namespace ridge::test {

struct DrawnFor {
    std::string model;
    Random random;
};

inline DrawnFor drawn_for(const std::string& question) {
    std::istringstream words(question);
    std::string model;
    std::uint64_t seed = 0;
    words >> model >> seed;
    return {.model = model, .random = Random::of_table(seed)};
}

}  // namespace ridge::test
