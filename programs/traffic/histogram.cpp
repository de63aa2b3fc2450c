#include "programs/traffic/histogram.h"

#include <algorithm>
#include <cmath>

#include "programs/traffic/random.h"

namespace ridge::programs {
namespace {

constexpr double least = 1e-9;
constexpr double most = 1e9;
constexpr double bins_per_e = 500.0;  ///< bins are 0.2 % wide

}  // namespace

void Histogram::add(double value, std::int64_t times) {
    if (times == 0) return;
    const double held = std::clamp(value, least, most);
    const auto bin = static_cast<std::size_t>(bins_per_e * portable_log(held / least));
    if (bin >= bins_.size()) bins_.resize(bin + 1);
    bins_[bin] += times;
    count_ += times;
    sum_ += static_cast<double>(times) * value;
}

void Histogram::add(const Histogram& other) {
    if (other.bins_.size() > bins_.size()) bins_.resize(other.bins_.size());
    for (std::size_t i = 0; i < other.bins_.size(); ++i) bins_[i] += other.bins_[i];
    count_ += other.count_;
    sum_ += other.sum_;
}

double Histogram::mean() const {
    return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
}

double Histogram::quantile(double share) const {
    const auto rank = static_cast<std::int64_t>(
        std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_)));
    std::int64_t below = 0;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
        below += bins_[i];
        if (below > 0 && below >= rank) {
            return least * portable_exp((static_cast<double>(i) + 0.5) / bins_per_e);
        }
    }
    return 0.0;
}

}  // namespace ridge::programs
