#include "model/access/divergence.h"

#include <cmath>

namespace ridge::model {

double both_branches(double probability, std::int64_t lanes) {
    const auto n = static_cast<double>(lanes);
    return 1.0 - std::pow(probability, n) - std::pow(1.0 - probability, n);
}

double branch_time(double probability, double taken, double other, std::int64_t lanes) {
    const auto n = static_cast<double>(lanes);
    return taken * (1.0 - std::pow(1.0 - probability, n)) +
           other * (1.0 - std::pow(probability, n));
}

}  // namespace ridge::model
