#include "programs/traces/counter_sums.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "hardware/packed_fma.h"

namespace ridge::programs {

/// A profiler returns NaN for a value that it could not count.
void CounterSums::Mean::add(double value) {
    if (!std::isfinite(value) || value < 0.0) return;
    sum += value;
    ++count;
}

double CounterSums::Mean::value() const {
    return count > 0 ? sum / static_cast<double>(count) : -1.0;
}

void CounterSums::add(std::int64_t process, const CounterActivity& counted) {
    constexpr std::uint32_t most_sets = 32;  // they are the bits of `missing`
    if (counted.set >= most_sets) return;
    Set& set = sets_[counted.set];
    ++set.launches;
    set.passes = counted.passes;
    missing_[process] = counted.missing;
    duration_.add(counted.duration_ns);
    dram_read_.add(counted.dram_read_bytes);
    dram_write_.add(counted.dram_write_bytes);
    l2_.add(counted.l2_bytes);
    shared_.add(counted.shared_bytes);
    tensor_.add(counted.tensor_flop);
    tensor_by_type_[counted.set].add(counted.tensor_type_flop);
    vector_.add(counted.vector_flop);
    packed_.add(counted.packed_fma_flop);
    packed_on_pipe_.add(counted.packed_on_tensor_pipe);
    special_.add(counted.special_results);
    occupancy_.add(counted.occupancy);
    tensor_active_.add(counted.tensor_active);
}

void CounterSums::add(std::string_view names, const MetricActivity& counted) {
    constexpr std::size_t most_metrics = 1000;
    std::string_view values = counted.values;
    while (!names.empty() && values.size() >= sizeof(double) && metrics_.size() < most_metrics) {
        const std::size_t end = std::min(names.find(' '), names.size());
        double value = 0.0;
        std::memcpy(&value, values.data(), sizeof value);
        if (end > 0) metrics_[std::string(names.substr(0, end))].add(value);
        values.remove_prefix(sizeof value);
        names.remove_prefix(std::min(end + 1, names.size()));
    }
}

double CounterSums::tensor_flop() const {
    // A kernel uses one type, so the set with the largest count has all of its FLOP.
    double flop = tensor_.value();
    for (const auto& [set, mean] : tensor_by_type_) flop = std::max(flop, mean.value());
    constexpr double busy = 0.001;
    const bool unseen = flop <= 0.0 && tensor_active_.value() > busy;
    return unseen ? -1.0 : flop;
}

KernelCounters CounterSums::mean() const {
    KernelCounters one{.duration_ns = duration_.value(),
                       .dram_read_bytes = dram_read_.value(),
                       .dram_write_bytes = dram_write_.value(),
                       .l2_bytes = l2_.value(),
                       .shared_bytes = shared_.value(),
                       .tensor_flop = tensor_flop(),
                       .vector_flop = vector_.value(),
                       .special_results = special_.value(),
                       .occupancy = occupancy_.value(),
                       .tensor_active = tensor_active_.value()};
    for (const auto& [name, mean] : metrics_) {
        if (mean.count > 0) one.metrics.emplace(name, mean.value());
    }
    for (const auto& [number, set] : sets_) {
        one.launches = std::max(one.launches, set.launches);
        one.passes += set.passes;
    }
    if (packed_.count > 0 && packed_on_pipe_.count > 0 && one.vector_flop >= 0.0) {
        one.vector_flop += packed_arithmetic(packed_.value(), packed_on_pipe_.value());
    } else if (packed_.value() > 0.0) {
        one.vector_flop = -1.0;  // operations with constants cannot be told apart
    }
    return one;
}

std::uint32_t CounterSums::missing() const {
    std::uint32_t common = missing_.empty() ? 0U : ~0U;
    for (const auto& [process, sets] : missing_) common &= sets;
    for (const auto& [number, set] : sets_) common &= ~(std::uint32_t{1} << number);
    return common;
}

}  // namespace ridge::programs
