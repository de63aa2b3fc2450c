#include "programs/report/program_energy.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "hardware/units.h"
#include "kernel/causes/kernel_name.h"

namespace ridge::programs {
namespace {

constexpr std::size_t most_classes = 8;  // beside the others and the rest
constexpr double nanosecond = 1e-9;

/// Kernels of one name, and the time that they ran between each two steps of the counter.
struct Class {
    std::string name;
    std::int64_t kernels = 0;
    double busy = 0.0;             // s
    std::vector<double> in_steps;  // s
};

/// Adds the part of [start, end) within each step.
void spread(std::span<const EnergyReading> readings, std::int64_t start, std::int64_t end,
            std::vector<double>& in_steps) {
    auto first = std::upper_bound(
        readings.begin(), readings.end(), start,
        [](std::int64_t time, const EnergyReading& each) { return time < each.time_ns; });
    if (first != readings.begin()) --first;
    for (; first + 1 < readings.end() && first->time_ns < end; ++first) {
        const std::int64_t from = std::max(start, first->time_ns);
        const std::int64_t to = std::min(end, (first + 1)->time_ns);
        if (to <= from) continue;
        in_steps[static_cast<std::size_t>(first - readings.begin())] +=
            static_cast<double>(to - from) * nanosecond;
    }
}

std::vector<Class> classes_of(const Trace& trace, std::span<const EnergyReading> readings) {
    std::map<std::string, std::pair<double, std::int64_t>> totals;
    std::map<TextId, std::string> names;
    for (const Kernel& each : trace.kernels) {
        std::string& name = names[each.name];
        if (name.empty()) name = kernel::short_kernel_name(trace.text(each.name));
        totals[name].first += static_cast<double>(each.duration_ns) * nanosecond;
        ++totals[name].second;
    }
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [name, total] : totals) order.emplace_back(-total.first, name);
    std::sort(order.begin(), order.end());
    std::vector<Class> classes;
    std::map<std::string, std::size_t> place;
    for (std::size_t i = 0; i < order.size(); ++i) {
        const std::string& name = order[i].second;
        const bool apart = i < most_classes || order.size() == most_classes + 1;
        if (apart || classes.size() == most_classes) {
            classes.push_back({.name = apart ? name : "others",
                               .in_steps = std::vector<double>(readings.size())});
        }
        Class& made = classes.back();
        made.kernels += totals[name].second;
        made.busy += totals[name].first;
        place[name] = classes.size() - 1;
    }
    for (const Kernel& each : trace.kernels) {
        spread(readings, each.start_ns, each.end_ns(), classes[place[names[each.name]]].in_steps);
    }
    return classes;
}

using Matrix = std::vector<std::vector<double>>;

/// The inverse of a small positive definite matrix, by Gauss and Jordan.
Matrix inverse_of(Matrix a) {
    const std::size_t n = a.size();
    Matrix made(n, std::vector<double>(n));
    for (std::size_t i = 0; i < n; ++i) made[i][i] = 1.0;
    for (std::size_t i = 0; i < n; ++i) {
        const double pivot = a[i][i];
        for (std::size_t j = 0; j < n; ++j) {
            a[i][j] /= pivot;
            made[i][j] /= pivot;
        }
        for (std::size_t k = 0; k < n; ++k) {
            const double factor = a[k][i];
            if (k == i || factor == 0.0) continue;
            for (std::size_t j = 0; j < n; ++j) {
                a[k][j] -= factor * a[i][j];
                made[k][j] -= factor * made[i][j];
            }
        }
    }
    return made;
}

struct Powers {
    std::vector<double> watts;  // the rest first, then the classes
    std::vector<double> errors;
};

/// Least squares with an expectation for each class; powers below zero are held at zero. (eq. EN10)
Powers powers_of(const std::vector<Class>& classes, std::span<const EnergyReading> readings) {
    constexpr double doubt = 0.5;       // of the expected power above rest
    constexpr double noise = 0.02;      // of the energy of a step: when it was read
    constexpr double rest_share = 0.2;  // of the mean power: what a GPU takes at rest, at first
    const double span =
        static_cast<double>(readings.back().time_ns - readings.front().time_ns) * nanosecond;
    const double mean = (readings.back().joules - readings.front().joules) / span;
    double busy = 0.0;
    for (const Class& each : classes) busy += each.busy;
    const double above = std::max(1.0, (1.0 - rest_share) * mean * span / std::max(busy, 1e-9));
    const std::size_t n = classes.size() + 1;
    std::vector<double> expected(n, above);
    expected[0] = rest_share * mean;
    Matrix normal(n, std::vector<double>(n));
    std::vector<double> right(n);
    for (std::size_t i = 0; i < n; ++i) {
        const double weight = 1.0 / std::pow(doubt * expected[i], 2);
        normal[i][i] = weight;
        right[i] = weight * expected[i];
    }
    for (std::size_t s = 0; s + 1 < readings.size(); ++s) {
        const double joules = readings[s + 1].joules - readings[s].joules;
        const double length =
            static_cast<double>(readings[s + 1].time_ns - readings[s].time_ns) * nanosecond;
        const double weight = 1.0 / std::pow(noise * std::max(joules, mean * length), 2);
        std::vector<double> row(n, length);
        for (std::size_t c = 0; c < classes.size(); ++c) row[c + 1] = classes[c].in_steps[s];
        for (std::size_t i = 0; i < n; ++i) {
            right[i] += weight * row[i] * joules;
            for (std::size_t j = 0; j < n; ++j) normal[i][j] += weight * row[i] * row[j];
        }
    }
    const Matrix inverse = inverse_of(normal);
    Powers found{.watts = std::vector<double>(n), .errors = std::vector<double>(n)};
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) found.watts[i] += inverse[i][j] * right[j];
        found.watts[i] = std::max(0.0, found.watts[i]);
        found.errors[i] = std::sqrt(inverse[i][i]);
    }
    return found;
}

/// The counter at any time, in proportion between its steps.
double joules_at(std::span<const EnergyReading> readings, std::int64_t time) {
    const auto after = std::upper_bound(
        readings.begin(), readings.end(), time,
        [](std::int64_t at, const EnergyReading& each) { return at < each.time_ns; });
    if (after == readings.begin()) return readings.front().joules;
    if (after == readings.end()) return readings.back().joules;
    const EnergyReading& before = *(after - 1);
    const double part = static_cast<double>(time - before.time_ns) /
                        static_cast<double>(after->time_ns - before.time_ns);
    return before.joules + part * (after->joules - before.joules);
}

std::vector<RangeEnergy> ranges_of(const Trace& trace, std::span<const EnergyReading> readings) {
    constexpr std::int64_t shortest = 300'000'000;  // ns
    const double step = static_cast<double>(readings.back().time_ns - readings.front().time_ns) /
                        static_cast<double>(readings.size() - 1);
    std::map<std::string, RangeEnergy> by_name;
    for (const Operator& each : trace.operators) {
        const bool inside =
            each.start_ns >= readings.front().time_ns && each.end_ns <= readings.back().time_ns;
        const std::int64_t length = each.end_ns - each.start_ns;
        if (!each.range || !inside || length < shortest) continue;
        RangeEnergy& range = by_name[trace.text(each.name)];
        ++range.count;
        range.time += static_cast<double>(length) * units::ns;
        range.energy += Energy::from_base(joules_at(readings, each.end_ns) -
                                          joules_at(readings, each.start_ns));
        range.error = std::max(range.error, step / static_cast<double>(length));
    }
    std::vector<RangeEnergy> ranges;
    for (auto& [name, range] : by_name) {
        range.name = name;
        ranges.push_back(std::move(range));
    }
    std::stable_sort(ranges.begin(), ranges.end(), [](const RangeEnergy& a, const RangeEnergy& b) {
        return a.energy > b.energy;
    });
    return ranges;
}

/// From the step before the first kernel to the one after the last.
std::span<const EnergyReading> while_kernels_ran(const Trace& trace,
                                                 std::span<const EnergyReading> readings) {
    std::int64_t first = trace.kernels.front().start_ns;
    std::int64_t last = trace.kernels.front().end_ns();
    for (const Kernel& each : trace.kernels) {
        first = std::min(first, each.start_ns);
        last = std::max(last, each.end_ns());
    }
    std::size_t from = 0;
    while (from + 1 < readings.size() && readings[from + 1].time_ns <= first) ++from;
    std::size_t to = from;
    while (to < readings.size() && readings[to].time_ns < last) ++to;
    return readings.subspan(from, std::min(readings.size(), to + 1) - from);
}

}  // namespace

ProgramEnergy energy_of(const Trace& trace, std::span<const EnergyReading> readings) {
    constexpr std::size_t fewest = 4;
    if (trace.kernels.empty() || readings.size() < fewest) return {};
    const auto used = while_kernels_ran(trace, readings);
    if (used.size() < fewest) return {};
    const std::vector<Class> classes = classes_of(trace, used);
    const Powers powers = powers_of(classes, used);
    ProgramEnergy found;
    found.steps = used.size() - 1;
    found.span = static_cast<double>(used.back().time_ns - used.front().time_ns) * units::ns;
    found.all = Energy::from_base(used.back().joules - used.front().joules);
    const auto add = [&](const std::string& name, std::int64_t kernels, double busy,
                         std::size_t i) {
        const double watts = powers.watts[i];
        found.classes.push_back({.name = name,
                                 .kernels = kernels,
                                 .busy = busy * units::s,
                                 .energy = Energy::from_base(watts * busy),
                                 .error = watts > 0.0 ? powers.errors[i] / watts : 1.0});
    };
    add("rest", 0, found.span.base(), 0);
    for (std::size_t c = 0; c < classes.size(); ++c) {
        double busy = 0.0;
        for (const double each : classes[c].in_steps) busy += each;
        add(classes[c].name, classes[c].kernels, busy, c + 1);
    }
    Energy sum;
    for (const ClassEnergy& each : found.classes) sum += each.energy;
    const double scale = sum > Energy{} ? found.all / sum : 1.0;
    for (ClassEnergy& each : found.classes) each.energy = scale * each.energy;
    std::stable_sort(
        found.classes.begin(), found.classes.end(),
        [](const ClassEnergy& a, const ClassEnergy& b) { return a.energy > b.energy; });
    found.ranges = ranges_of(trace, used);
    return found;
}

}  // namespace ridge::programs
