// Comparisons with a reference; see verify.h.
#include "measure/cuda/memory/verify.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "hardware/error.h"

namespace ridge::measure::cuda {

void Comparison::add(double got, double expected) {
    const double difference = std::abs(got - expected);
    difference_ += difference * difference;
    reference_ += expected * expected;
    // Comparisons with NaN are false, so this test is written to let NaN through.
    if (!(difference <= largest_difference_)) largest_difference_ = difference;
    largest_reference_ = std::max(largest_reference_, std::abs(expected));
    ++count_;
}

Verification Comparison::verdict(double tolerance, std::int64_t unwritten) const {
    const double frobenius =
        reference_ > 0.0 ? std::sqrt(difference_ / reference_) : std::sqrt(difference_);
    const double largest =
        largest_reference_ > 0.0 ? largest_difference_ / largest_reference_ : largest_difference_;
    return {.max_error = largest,
            .frobenius_error = frobenius,
            .tolerance = tolerance,
            .checked = count_,
            .ok = unwritten == 0 && count_ > 0 && frobenius <= tolerance};
}

double rounding_tolerance(StoredType type) {
    switch (type) {
        case StoredType::float64:
            return 1e-13;
        case StoredType::float32:
            return 1e-5;
        case StoredType::float16:
            return 1e-3;
        case StoredType::bfloat16:
            return 4e-3;
        case StoredType::float8_e4m3:
            return 6e-2;
        case StoredType::int8:
        case StoredType::int32:
        case StoredType::int64:
            return 1e-15;
    }
    throw ContractViolation("unknown stored type");
}

std::vector<std::int64_t> sampled(std::int64_t extent, std::int64_t count, std::uint64_t seed) {
    if (extent <= count) {
        std::vector<std::int64_t> all(static_cast<std::size_t>(extent));
        std::iota(all.begin(), all.end(), 0);
        return all;
    }
    std::mt19937_64 random(seed);
    std::set<std::int64_t> chosen{0, extent - 1};
    while (static_cast<std::int64_t>(chosen.size()) < count) {
        chosen.insert(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(extent)));
    }
    return {chosen.begin(), chosen.end()};
}

}  // namespace ridge::measure::cuda
