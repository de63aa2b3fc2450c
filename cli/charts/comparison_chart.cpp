#include "cli/charts/comparison_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "effects/chart.h"
#include "hardware/units.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

/// The unit in which the shortest time is at least 1.
std::pair<const char*, Time> unit_of(std::span<const Answer> answers) {
    Time least = Time::from_base(1e30);
    for (const Answer& answer : answers) {
        const auto* p = std::get_if<model::Prediction>(&answer.outcome);
        if (p != nullptr && p->time > Time{}) least = std::min(least, p->time);
    }
    if (least >= 1.0 * units::s) return {"s", 1.0 * units::s};
    if (least >= 1.0 * units::ms) return {"ms", 1.0 * units::ms};
    return {"us", 1.0 * units::us};
}

std::size_t place_in(std::vector<std::string>& list, const std::string& name) {
    const auto found = std::find(list.begin(), list.end(), name);
    const auto at = static_cast<std::size_t>(found - list.begin());
    if (found == list.end()) list.push_back(name);
    return at;
}

plot::SeriesPoint point_of(const model::Prediction& p, const std::string& name, double x,
                           Time unit) {
    plot::SeriesPoint point{.x = x, .y = p.time / unit, .low = p.low / unit, .high = p.high / unit};
    point.name = name;
    point.origin = effects::origin_of(p.evidence.grade());
    point.terms = {{"predicted", format(p.time)},
                   {"80 % band", format(p.low) + " to " + format(p.high)},
                   {"bound", std::string(name_of(p.bound))},
                   {"limiter", std::string(name_of(p.limiter))},
                   {"evidence", evidence_text(p)}};
    return point;
}

/// Linear, so that lengths show ratios, up to a factor of 20; logarithmic beyond.
plot::Scale scale_for(const plot::Sweep& sweep) {
    double least = 1e300;
    double most = 0.0;
    for (const plot::Series& series : sweep.series) {
        for (const plot::SeriesPoint& point : series.points) {
            least = std::min(least, point.y);
            most = std::max(most, point.y);
        }
    }
    return most > 20.0 * least ? plot::Scale::log : plot::Scale::linear;
}

}  // namespace

plot::Chart comparison_chart(std::span<const Answer> answers, std::span<const ComparedName> names,
                             const std::string& title) {
    const auto [unit_name, unit] = unit_of(answers);
    std::vector<std::string> places;
    std::vector<std::string> classes;
    plot::Sweep sweep;
    std::size_t missing = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
        const std::size_t place = place_in(places, names[i].place);
        const std::size_t index = place_in(classes, names[i].series);
        if (index == sweep.series.size()) {
            plot::Series series;
            series.name = names[i].series.empty() ? "predicted" : names[i].series;
            series.drawing = plot::Drawing::scatter;
            series.style = plot::class_style(index);
            sweep.series.push_back(std::move(series));
        }
        const auto* p = std::get_if<model::Prediction>(&answers[i].outcome);
        if (p == nullptr || p->time <= Time{}) {
            ++missing;
            continue;
        }
        sweep.series[index].points.push_back(
            point_of(*p, names[i].place, static_cast<double>(place + 1), unit));
    }
    // Dots of one place are drawn side by side.
    const double step = std::min(0.12, 0.6 / static_cast<double>(classes.size()));
    for (std::size_t i = 0; i < sweep.series.size(); ++i) {
        const double shift =
            step * (static_cast<double>(i) - static_cast<double>(classes.size() - 1) / 2.0);
        for (plot::SeriesPoint& point : sweep.series[i].points) point.x += shift;
    }
    sweep.title = title;
    sweep.subtitle = "predicted time with its 80 % band";
    sweep.x = {.low = 0.5, .high = static_cast<double>(places.size()) + 0.5, .names = places};
    sweep.y = {.title = "Time", .unit = unit_name, .scale = scale_for(sweep)};
    if (missing > 0)
        sweep.notes.push_back(fmt::format("{} of {} not modelled", missing, answers.size()));
    return plot::sweep_chart(sweep);
}

}  // namespace ridge::cli
