// The softmax of a row in one walk, with a running maximum and a running sum.
//
//   OnlineSoftmax state;
//   for (const double x : {2.0, 5.0, 1.0, 7.0}) state = with_value(state, x);
//   state.maximum, state.sum      // 7 and 1.1446: the sum of exp(x - 7)
//
// Method: docs/model.md equation A16 (Milakov and Gimelshein, arXiv 1805.02867, algorithm 3). Two
// parts of a row merge the same way, which makes attention in blocks possible.
// Limits: finite values.
#pragma once

#include <limits>

namespace ridge::model {

struct OnlineSoftmax {
    double maximum = -std::numeric_limits<double>::infinity();
    double sum = 0.0;  ///< of exp(x - maximum)
};

[[nodiscard]] OnlineSoftmax merged(const OnlineSoftmax& one, const OnlineSoftmax& other);
[[nodiscard]] OnlineSoftmax with_value(const OnlineSoftmax& state, double value);

}  // namespace ridge::model
