#include "cli/commands/sweep_power.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "cli/console/format.h"
#include "cli/console/json_document.h"
#include "cli/console/table.h"
#include "cli/options/energy_options.h"
#include "cli/options/operation_command.h"
#include "cli/options/sweep_range.h"
#include "cli/views/energy.h"
#include "cli/views/memory.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

using model::EnergyEstimate;

/// The operation at one limit or clock.
struct CapPoint {
    std::int64_t value = 0;  ///< W or MHz
    model::Prediction prediction;

    [[nodiscard]] const EnergyEstimate& energy() const { return *prediction.energy; }
};

std::vector<std::int64_t> values_of(std::string_view name, const std::string& text) {
    if (is_range(text)) return parse_range(name, text).values;
    throw InputError(std::string(name) + ": must be a range", {},
                     name == "power" ? "--power 300:700:50" : "--clock 1000:1900:100");
}

/// InputError for a limit or clock that the GPU does not have: a tenth of its own to its own.
template <class Quantity>
void require_own(std::string_view name, Quantity value, Quantity own, const std::string& gpu) {
    if (own <= Quantity{} || (value >= 0.1 * own && value <= own * (1.0 + 1e-9))) return;
    throw InputError(
        fmt::format("{}: must be {} to {}, that of {}", name, format(0.1 * own), format(own), gpu));
}

std::vector<CapPoint> points_of(const PowerSweep& sweep, Answer& answer) {
    const bool capped = !sweep.power.empty();
    std::vector<CapPoint> points;
    for (const std::int64_t value :
         values_of(capped ? "power" : "clock", capped ? sweep.power : sweep.clock)) {
        const std::string text = std::to_string(value);
        if (capped) {
            answer.conditions.limit = power_of(text);
            require_own("power", *answer.conditions.limit, answer.machine->power_limit,
                        answer.machine->name);
        } else {
            answer.conditions.clock = clock_of(text);
            require_own("clock", *answer.conditions.clock, answer.machine->boost_clock,
                        answer.machine->name);
        }
        predict(answer);
        if (const auto* none = std::get_if<model::NotModelled>(&answer.outcome)) {
            throw InputError("not modelled: " + none->reason);
        }
        const auto& prediction = std::get<model::Prediction>(answer.outcome);
        if (!prediction.energy) {
            throw InputError("gpu: " + answer.machine->name + " has no parameters of energy");
        }
        points.push_back({.value = value, .prediction = prediction});
    }
    return points;
}

const CapPoint& least_energy(const std::vector<CapPoint>& points) {
    return *std::min_element(
        points.begin(), points.end(),
        [](const CapPoint& a, const CapPoint& b) { return a.energy().energy < b.energy().energy; });
}

Table table_of(const std::vector<CapPoint>& points, bool capped) {
    const CapPoint& best = least_energy(points);
    Table table{.columns = {{capped ? "limit" : "clock", Align::right},
                            {"time", Align::right},
                            {"power", Align::right},
                            {"SM clock", Align::right},
                            {"energy", Align::right},
                            {"80 % band"},
                            {""}},
                .rows = {}};
    for (const CapPoint& point : points) {
        const EnergyEstimate& e = point.energy();
        table.rows.push_back({fmt::format("{} {}", point.value, capped ? "W" : "MHz"),
                              format(e.period, 4), format(e.power), format(e.clock, 4),
                              format(e.energy),
                              format(e.energy_low) + " to " + format(e.energy_high),
                              point.value == best.value ? "least energy" : ""});
    }
    return table;
}

Table exact_points(const std::vector<CapPoint>& points, bool capped) {
    Table table{
        .columns = {{capped ? "power_limit_w" : "clock_limit_mhz"}, {"period_us"}, {"clock_mhz"}},
        .rows = {}};
    for (const std::string& name : energy_columns()) table.columns.push_back({name});
    table.columns.push_back({"evidence"});
    for (const CapPoint& point : points) {
        const EnergyEstimate& e = point.energy();
        std::vector<std::string> row{std::to_string(point.value),
                                     format_number(e.period.in(units::us), 6),
                                     format_number(e.clock.in(units::MHz), 6)};
        const auto values = energy_values(point.prediction);
        for (std::size_t i = 0; i < energy_columns().size(); ++i) {
            row.push_back(format_number(values->at(i), 6));
        }
        row.push_back(energy_evidence_text(e));
        table.rows.push_back(std::move(row));
    }
    return table;
}

Json json_of(const std::vector<CapPoint>& points, const Answer& answer, bool capped) {
    Json list = Json::array();
    for (const CapPoint& point : points) {
        Json json{{capped ? "power_limit_w" : "clock_limit_mhz", point.value}};
        add_energy(json, point.prediction);
        list.push_back(std::move(json));
    }
    return {{"op", text_of(answer.kind, answer.parameters)},
            {"gpu", answer.machine->name},
            {"points", std::move(list)},
            {"least_energy", least_energy(points).value}};
}

/// Time and energy relative to those of the last value.
plot::Chart chart_of(const std::vector<CapPoint>& points, const Answer& answer, bool capped) {
    const EnergyEstimate& last = points.back().energy();
    plot::Series time{.name = "time"};
    plot::Series energy{.name = "energy"};
    for (const CapPoint& point : points) {
        const EnergyEstimate& e = point.energy();
        const auto x = static_cast<double>(point.value);
        time.points.push_back({.x = x, .y = e.period / last.period});
        energy.points.push_back({.x = x,
                                 .y = e.energy / last.energy,
                                 .low = e.energy_low / last.energy,
                                 .high = e.energy_high / last.energy});
    }
    return plot::sweep_chart(
        {.title = text_of(answer.kind, answer.parameters) + " on " + answer.machine->title,
         .subtitle = fmt::format("at {}: {} and {} a run", points.back().value,
                                 format(last.period, 3), format(last.energy)),
         .x = {.title = capped ? "Power limit" : "Highest clock", .unit = capped ? "W" : "MHz"},
         .y = {.title = "Relative to the last"},
         .series = {std::move(time), std::move(energy)}});
}

void write_least(const Context& context, const std::vector<CapPoint>& points, bool capped) {
    const CapPoint& best = least_energy(points);
    const CapPoint& last = points.back();
    const double longer = best.energy().period / last.energy().period - 1.0;
    const double less = 1.0 - best.energy().energy / last.energy().energy;
    context.out << '\n';
    constexpr double nothing = 5e-4;
    if (std::abs(longer) < nothing && std::abs(less) < nothing) {
        write_sentence(context, fmt::format("No {} here changes its time or energy.",
                                            capped ? "limit" : "clock"));
        return;
    }
    write_sentence(
        context,
        fmt::format("Least energy at {} {}: {:.1f} % less than at {} {}, in {:.1f} % more time; "
                    "not measured away from the GPU's own limit and clock.",
                    best.value, capped ? "W" : "MHz", 100.0 * less, last.value,
                    capped ? "W" : "MHz", 100.0 * longer));
}

}  // namespace

int sweep_power(const Context& context, const PowerSweep& sweep, Answer answer,
                const std::string& given, const ChartOutput& output) {
    const std::string format = output.file.empty() ? format_in_pipe(context, given) : given;
    if (!sweep.power.empty() && !sweep.clock.empty()) {
        throw InputError("power: a sweep has a range of --power or of --clock, not both");
    }
    const bool capped = !sweep.power.empty();
    const std::vector<CapPoint> points = points_of(sweep, answer);
    const bool chart = format.empty() || format == "chart";
    if (chart || !output.file.empty()) {
        write_chart_output(context, output, chart_of(points, answer, capped));
    }
    if (chart) {
        write_least(context, points, capped);
        return success;
    }
    switch (parse_format(format)) {
        case Format::json:
            write_document(context.out, "power-sweep", json_of(points, answer, capped));
            break;
        case Format::csv:
            write_csv(context.out, exact_points(points, capped));
            break;
        case Format::markdown:
            write_markdown(context.out, exact_points(points, capped));
            break;
        case Format::table:
            write_text(context.out, table_of(points, capped));
            write_least(context, points, capped);
            break;
    }
    return success;
}

}  // namespace ridge::cli
