#include "measure/statistics/quantile.h"

#include <algorithm>

#include "hardware/error.h"

namespace ridge::measure {

double quantile(std::span<const double> sorted, double q) {
    RIDGE_CONTRACT(!sorted.empty() && q >= 0.0 && q <= 1.0);
    const double position = q * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(position);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    const double fraction = position - static_cast<double>(below);
    return sorted[below] + fraction * (sorted[above] - sorted[below]);
}

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return quantile(values, 0.5);
}

}  // namespace ridge::measure
