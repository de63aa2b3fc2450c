#include "model/attention/online_softmax.h"

#include <algorithm>
#include <cmath>

namespace ridge::model {

OnlineSoftmax merged(const OnlineSoftmax& one, const OnlineSoftmax& other) {
    const double maximum = std::max(one.maximum, other.maximum);
    const auto scaled = [maximum](const OnlineSoftmax& part) {
        return part.sum > 0.0 ? part.sum * std::exp(part.maximum - maximum) : 0.0;
    };
    return {.maximum = maximum, .sum = scaled(one) + scaled(other)};
}

OnlineSoftmax with_value(const OnlineSoftmax& state, double value) {
    return merged(state, {.maximum = value, .sum = 1.0});
}

}  // namespace ridge::model
