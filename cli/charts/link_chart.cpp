#include "cli/charts/link_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/units.h"

namespace ridge::cli {
namespace {

constexpr double half_cell = 0.47;
constexpr double faintest = 0.15;
constexpr double darkest = 0.75;

plot::Band cell_of(double x, double y, double opacity, const std::string& name) {
    return {.name = name,
            .low = {{x - half_cell, y - half_cell}, {x + half_cell, y - half_cell}},
            .high = {{x - half_cell, y + half_cell}, {x + half_cell, y + half_cell}},
            .color = plot::Color::blue,
            .opacity = opacity};
}

plot::Mark value_of(double x, double y, const measure::LinkSurvey& survey, std::size_t from,
                    std::size_t to) {
    const Bandwidth rate = *survey.one_way[from][to];
    plot::Mark mark{.name = fmt::format("{:.0f}", rate.in(units::GB / units::s)),
                    .x = x,
                    .y = y,
                    .origin = plot::Origin::measured,
                    .radius = 2.0,
                    .terms = {{"from", fmt::format("GPU {}", from)},
                              {"to", fmt::format("GPU {}", to)},
                              {"one way", format(rate)}}};
    if (const auto& both = survey.both_ways[from][to]) {
        mark.terms.push_back({"both ways at once", format(*both)});
    }
    if (const auto& load = survey.load[from][to]) {
        mark.terms.push_back({"latency of a load", format(*load)});
    }
    return mark;
}

}  // namespace

plot::Chart link_chart(const measure::LinkSurvey& survey) {
    const std::size_t count = survey.gpus.size();
    const double edge = static_cast<double>(count) + 0.5;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < count; ++i) names.push_back(fmt::format("GPU {}", i));
    plot::Chart chart{.title = "Bandwidth between GPUs, GB/s",
                      .subtitle = count == 0 ? "" : survey.gpus.front(),
                      .x = {.title = "receives", .names = names},
                      .y = {.title = "sends", .names = names},
                      .x_range = {0.5, edge},
                      .y_range = {0.5, edge},
                      .aspect = plot::Aspect::square};
    double fastest = 0.0;
    for (const auto& row : survey.one_way) {
        for (const auto& rate : row) fastest = std::max(fastest, rate ? rate->base() : 0.0);
    }
    for (std::size_t from = 0; from < count; ++from) {
        for (std::size_t to = 0; to < count; ++to) {
            if (!survey.one_way[from][to]) continue;
            const double share = survey.one_way[from][to]->base() / fastest;
            const double x = static_cast<double>(to) + 1.0;
            const double y = static_cast<double>(from) + 1.0;
            chart.bands.push_back(cell_of(x, y, faintest + (darkest - faintest) * share,
                                          fmt::format("GPU {} to GPU {}", from, to)));
            chart.marks.push_back(value_of(x, y, survey, from, to));
        }
    }
    return chart;
}

}  // namespace ridge::cli
