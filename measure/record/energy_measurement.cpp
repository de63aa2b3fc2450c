#include "measure/record/energy_measurement.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "measure/record/record_reader.h"

namespace ridge::measure {
namespace {

/// Slope of the steps by least squares, and its standard error, in W.
struct Slope {
    double watts = 0.0;
    double error = 0.0;
};

Slope slope_of(const std::vector<CounterStep>& steps) {
    const auto count = static_cast<double>(steps.size());
    double seconds = 0.0;
    double joules = 0.0;
    for (const CounterStep& each : steps) {
        seconds += (each.at - steps.front().at).base() / count;
        joules += (each.total - steps.front().total).base() / count;
    }
    double spread = 0.0;
    double together = 0.0;
    for (const CounterStep& each : steps) {
        const double x = (each.at - steps.front().at).base() - seconds;
        spread += x * x;
        together += x * ((each.total - steps.front().total).base() - joules);
    }
    const Slope slope{.watts = together / spread};
    double rest = 0.0;
    for (const CounterStep& each : steps) {
        const double x = (each.at - steps.front().at).base() - seconds;
        const double y = (each.total - steps.front().total).base() - joules;
        rest += std::pow(y - slope.watts * x, 2);
    }
    return {.watts = slope.watts, .error = std::sqrt(rest / std::max(1.0, count - 2.0) / spread)};
}

Time median_step(const std::vector<CounterStep>& steps) {
    std::vector<Time> between;
    for (std::size_t i = 1; i < steps.size(); ++i) between.push_back(steps[i].at - steps[i - 1].at);
    const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
    std::nth_element(between.begin(), middle, between.end());
    return *middle;
}

template <class Read>
std::optional<double> mean_of(const std::vector<Environment>& states, Read read) {
    double sum = 0.0;
    double count = 0.0;
    for (const Environment& each : states) {
        if (const std::optional<double> value = read(each)) {
            sum += *value;
            count += 1.0;
        }
    }
    if (count == 0.0) return std::nullopt;
    return sum / count;
}

void note_states(const std::vector<Environment>& states, EnergyMeasurement& found) {
    found.temperature_celsius =
        mean_of(states, [](const Environment& each) { return each.temperature_celsius; });
    const auto clock = mean_of(states, [](const Environment& each) -> std::optional<double> {
        if (!each.sm_clock) return std::nullopt;
        return each.sm_clock->base();
    });
    if (clock) found.clock = Frequency::from_base(*clock);
    std::set<std::string> reasons;
    for (const Environment& each : states) {
        if (each.power_limit) found.limit = each.power_limit;
        reasons.insert(each.clock_reasons.begin(), each.clock_reasons.end());
    }
    found.clock_reasons.assign(reasons.begin(), reasons.end());
}

}  // namespace

Maybe<Power> power_of(const SteadyRun& run) {
    if (run.steps.size() < 2) {
        return Unavailable{.reason = "the energy counter did not move twice in the window",
                           .remedy = "measure for longer"};
    }
    return (run.steps.back().total - run.steps.front().total) /
           (run.steps.back().at - run.steps.front().at);
}

Maybe<EnergyMeasurement> energy_of(const SteadyRun& run) {
    const Maybe<Power> power = power_of(run);
    if (const auto* const missing = std::get_if<Unavailable>(&power)) return *missing;
    if (run.finished.size() < 2 || run.finished.back().runs == run.finished.front().runs) {
        return Unavailable{.reason = "no two runs were finished in the window",
                           .remedy = "measure for longer"};
    }
    EnergyMeasurement found;
    found.power = std::get<Power>(power);
    found.window = run.steps.back().at - run.steps.front().at;
    found.runs = run.finished.back().runs - run.finished.front().runs;
    found.update = median_step(run.steps);
    found.time = (run.finished.back().at - run.finished.front().at) *
                 (1.0 / static_cast<double>(found.runs));
    found.energy = found.power * found.time;
    const Slope slope = slope_of(run.steps);
    const Time gap = std::max(run.steps.front().gap, run.steps.back().gap);
    const double edges = 2.0 * (gap / found.window);
    found.error = std::hypot(edges, slope.watts > 0.0 ? slope.error / slope.watts : 0.0);
    note_states(run.states, found);
    return found;
}

Json json_of(const EnergyMeasurement& measurement) {
    Json json{{"power_w", measurement.power.base()},
              {"energy_j", measurement.energy.base()},
              {"time_s", measurement.time.base()},
              {"seconds", measurement.window.base()},
              {"runs", measurement.runs},
              {"update_s", measurement.update.base()},
              {"error", measurement.error}};
    if (measurement.idle) json["idle_w"] = measurement.idle->base();
    if (measurement.idle_up) json["idle_up_w"] = measurement.idle_up->base();
    if (measurement.limit) json["power_limit_w"] = measurement.limit->base();
    if (measurement.temperature_celsius) {
        json["temperature_celsius"] = *measurement.temperature_celsius;
    }
    if (measurement.clock) json["clock_hz"] = measurement.clock->base();
    if (!measurement.clock_reasons.empty()) json["clock_reasons"] = measurement.clock_reasons;
    return json;
}

EnergyMeasurement energy_measurement_in(const Json& json) {
    const RecordReader reader(json, "energy");
    EnergyMeasurement found{.power = Power::from_base(reader.real("power_w")),
                            .energy = Energy::from_base(reader.real("energy_j")),
                            .time = Time::from_base(reader.real("time_s")),
                            .window = Time::from_base(reader.real("seconds")),
                            .runs = reader.count("runs"),
                            .update = Time::from_base(reader.real("update_s")),
                            .error = reader.real("error"),
                            .idle = reader.quantity_if<Power>("idle_w"),
                            .idle_up = reader.quantity_if<Power>("idle_up_w"),
                            .limit = reader.quantity_if<Power>("power_limit_w"),
                            .temperature_celsius = reader.real_if("temperature_celsius"),
                            .clock = reader.quantity_if<Frequency>("clock_hz")};
    for (const char* const name : {"power_w", "energy_j", "time_s", "seconds"}) {
        const double value = reader.real(name);
        if (!(value > 0.0) || !std::isfinite(value)) reader.fail(name, "must be positive");
    }
    if (reader.has("clock_reasons")) {
        for (const Json& word : reader.array("clock_reasons")) {
            const std::string* const text = word.if_text();
            if (text == nullptr) reader.fail("clock_reasons", "must hold strings");
            found.clock_reasons.push_back(*text);
        }
    }
    return found;
}

}  // namespace ridge::measure
