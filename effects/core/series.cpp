#include "effects/core/effect.h"

#include <algorithm>

namespace ridge::effects {

Series sweep(std::string id, std::string name, const std::vector<double>& xs, const Work& work,
             const std::function<double(std::int64_t)>& amount) {
    Series series{.id = std::move(id), .name = std::move(name)};
    for (const double x : xs) {
        const auto count = static_cast<std::int64_t>(x);
        series.points.push_back(
            {.x = x, .work = work(count), .amount = amount ? amount(count) : 0.0});
    }
    return series;
}

Series named(std::string id, std::string name, const std::vector<Named>& points) {
    Series series{.id = std::move(id), .name = std::move(name)};
    series.joined = false;
    for (const Named& each : points) {
        const auto x = static_cast<double>(series.points.size() + 1);
        series.points.push_back({.x = x, .name = each.name, .work = each.work});
    }
    return series;
}

std::vector<double> with(std::vector<double> values, std::int64_t further) {
    const auto x = static_cast<double>(further);
    const auto at = std::lower_bound(values.begin(), values.end(), x);
    if (at == values.end() || *at != x) values.insert(at, x);
    return values;
}

std::vector<double> doubling(double first, double last, double factor) {
    std::vector<double> xs;
    double x = first;
    while (x <= last) {
        xs.push_back(x);
        x *= factor;
    }
    return xs;
}

}  // namespace ridge::effects
