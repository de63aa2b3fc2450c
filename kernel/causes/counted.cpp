#include "kernel/causes/counted.h"

#include <algorithm>

namespace ridge::kernel {
namespace {

std::int64_t product(const std::array<std::int64_t, 3>& sizes) {
    std::int64_t all = 1;
    for (const std::int64_t size : sizes) all *= std::max<std::int64_t>(1, size);
    return all;
}

}  // namespace

std::optional<double> Counted::value(std::string_view name) const {
    const auto found = metrics.find(std::string(name));
    return found == metrics.end() ? std::nullopt : std::optional(found->second);
}

double Counted::first_of(std::initializer_list<std::string_view> names) const {
    for (const std::string_view name : names) {
        if (const auto counted = value(name)) return *counted;
    }
    return 0.0;
}

double Counted::sum_of(std::initializer_list<std::string_view> names) const {
    double sum = 0.0;
    for (const std::string_view name : names) sum += value(name).value_or(0.0);
    return sum;
}

std::int64_t Counted::blocks() const {
    return product(grid);
}

std::int64_t Counted::threads_per_block() const {
    return product(block);
}

}  // namespace ridge::kernel
