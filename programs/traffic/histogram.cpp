#include "programs/traffic/histogram.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "programs/traffic/random.h"

namespace ridge::programs {
namespace {

constexpr double least = 1e-9;
constexpr double most = 1e9;
constexpr double bins_per_e = 500.0;  ///< bins are 0.2 % wide
constexpr std::size_t most_stretches = 32;

double middle_of(std::int32_t bin) {
    return least * portable_exp((static_cast<double>(bin) + 0.5) / bins_per_e);
}

}  // namespace

void Histogram::add(double value, std::int64_t times) {
    if (times == 0) return;
    const double held = std::clamp(value, least, most);
    const auto bin = static_cast<std::size_t>(bins_per_e * portable_log(held / least));
    if (bin >= bins_.size()) bins_.resize(bin + 1);
    bins_[bin] += times;
    count_ += times;
    sum_ += static_cast<double>(times) * value;
    count_in_stretch(static_cast<std::int32_t>(bin), times);
}

void Histogram::count_in_stretch(std::int32_t bin, std::int64_t times) {
    if (stretches_.empty() || stretches_.back().count >= length_) {
        if (stretches_.size() == most_stretches) {
            for (std::size_t i = 0; 2 * i + 1 < most_stretches; ++i) {
                Stretch both = std::move(stretches_[2 * i]);
                const Stretch& second = stretches_[2 * i + 1];
                for (const auto& each : second.bins) both.bins[each.first] += each.second;
                both.count += second.count;
                stretches_[i] = std::move(both);
            }
            stretches_.resize(most_stretches / 2);
            length_ *= 2;
        }
        stretches_.emplace_back();
    }
    stretches_.back().bins[bin] += times;
    stretches_.back().count += times;
}

void Histogram::add(const Histogram& other) {
    if (other.bins_.size() > bins_.size()) bins_.resize(other.bins_.size());
    for (std::size_t i = 0; i < other.bins_.size(); ++i) bins_[i] += other.bins_[i];
    count_ += other.count_;
    sum_ += other.sum_;
    stretches_.insert(stretches_.end(), other.stretches_.begin(), other.stretches_.end());
}

double Histogram::mean() const {
    return count_ == 0 ? 0.0 : sum_ / static_cast<double>(count_);
}

std::int32_t Histogram::bin_at(double share) const {
    const auto rank = static_cast<std::int64_t>(
        std::ceil(std::clamp(share, 0.0, 1.0) * static_cast<double>(count_)));
    std::int64_t below = 0;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
        below += bins_[i];
        if (below > 0 && below >= rank) return static_cast<std::int32_t>(i);
    }
    return -1;
}

double Histogram::quantile(double share) const {
    const std::int32_t bin = bin_at(share);
    return bin < 0 ? 0.0 : middle_of(bin);
}

Histogram::Interval Histogram::interval(double share) const {
    const std::int32_t bin = bin_at(share);
    if (bin < 0 || stretches_.size() < 2) return {.low = quantile(0.0), .high = quantile(1.0)};
    std::vector<double> above;
    double all = 0.0;
    for (const Stretch& stretch : stretches_) {
        double sum = 0.0;
        for (auto each = stretch.bins.upper_bound(bin); each != stretch.bins.end(); ++each) {
            sum += static_cast<double>(each->second);
        }
        above.push_back(sum);
        all += sum;
    }
    const double mean = all / static_cast<double>(count_);
    double squares = 0.0;
    for (std::size_t i = 0; i < above.size(); ++i) {
        const double off = above[i] - mean * static_cast<double>(stretches_[i].count);
        squares += off * off;
    }
    const auto parts = static_cast<double>(above.size());
    constexpr double deviations = 1.96;
    const double error =
        deviations * std::sqrt(squares * parts / (parts - 1.0)) / static_cast<double>(count_);
    return {.low = quantile(share - error), .high = quantile(share + error)};
}

}  // namespace ridge::programs
