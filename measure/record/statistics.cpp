#include "measure/record/statistics.h"

#include <algorithm>
#include <cmath>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

/// P(X <= k) for X binomial(n, 1/2), summed with logarithms so that n may be large.
double binomial_half_cdf(std::int64_t n, std::int64_t k) {
    const double log_half_n = static_cast<double>(n) * std::log(0.5);
    double sum = 0.0;
    double log_choose = 0.0;
    for (std::int64_t i = 0; i <= k; ++i) {
        sum += std::exp(log_choose + log_half_n);
        log_choose += std::log(static_cast<double>(n - i) / static_cast<double>(i + 1));
    }
    return std::min(sum, 1.0);
}

double drift_of(std::span<const double> values) {
    if (values.size() < 4) return 0.0;
    const std::size_t half = values.size() / 2;
    const double first =
        median_of({values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half)});
    const double second =
        median_of({values.end() - static_cast<std::ptrdiff_t>(half), values.end()});
    return first > 0.0 ? second / first - 1.0 : 0.0;
}

}  // namespace

double Statistics::relative_half_width() const {
    return median > 0.0 ? (high - low) / 2.0 / median : 0.0;
}

OrderInterval median_interval(std::int64_t count, double confidence) {
    RIDGE_CONTRACT(count >= 1);
    // [x_(k+1), x_(n-k)] covers the median with probability 1 - 2 P(X <= k), X ~ binomial(n, 1/2).
    // k starts from 0, so the last k that still covers enough gives the narrowest interval.
    const auto coverage = [count](std::int64_t k) {
        return 1.0 - 2.0 * binomial_half_cdf(count, k);
    };
    OrderInterval interval{.low = 0, .high = count - 1, .confidence = coverage(0)};
    if (count == 1) return {.low = 0, .high = 0, .confidence = 0.0};
    // The coverage falls with k; bisection keeps this cheap for thousands of samples.
    std::int64_t enough = 0;
    std::int64_t too_narrow = (count + 1) / 2;
    while (too_narrow - enough > 1) {
        const std::int64_t middle = (enough + too_narrow) / 2;
        (coverage(middle) >= confidence ? enough : too_narrow) = middle;
    }
    interval = {.low = enough, .high = count - 1 - enough, .confidence = coverage(enough)};
    return interval;
}

Statistics summarise(std::span<const double> values) {
    RIDGE_CONTRACT(!values.empty());
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const OrderInterval interval = median_interval(static_cast<std::int64_t>(sorted.size()));
    return {.count = static_cast<std::int64_t>(sorted.size()),
            .median = quantile(sorted, 0.5),
            .p5 = quantile(sorted, 0.05),
            .p95 = quantile(sorted, 0.95),
            .low = sorted[static_cast<std::size_t>(interval.low)],
            .high = sorted[static_cast<std::size_t>(interval.high)],
            .confidence = interval.confidence,
            .drift = drift_of(values)};
}

std::vector<double> steady_times(std::span<const Sample> samples) {
    std::vector<double> times;
    times.reserve(samples.size());
    for (const Sample& sample : samples) {
        if (!sample.throttled) times.push_back(sample.time.base());
    }
    return times;
}

}  // namespace ridge::measure
