#include "cli/charts/memory_chart.h"

#include <fmt/format.h>

#include "cli/views/memory.h"
#include "hardware/units.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

struct Unit {
    const char* name;
    double bytes;
};

Unit unit_for(std::int64_t bytes) {
    if (bytes >= (std::int64_t{1} << 30)) return {.name = "GiB", .bytes = 1024.0 * 1024.0 * 1024.0};
    if (bytes >= (1 << 20)) return {.name = "MiB", .bytes = 1024.0 * 1024.0};
    return {.name = "KiB", .bytes = 1024.0};
}

plot::Series series_of(const char* name, const model::MemoryTimeline& timeline, const Unit& unit,
                       std::int64_t model::MemoryLevel::*figure) {
    plot::Series series;
    series.name = name;
    series.drawing = plot::Drawing::steps;
    series.markers = plot::Markers::hidden;
    for (std::size_t i = 0; i < timeline.levels.size(); ++i) {
        series.points.push_back(
            {.x = static_cast<double>(i + 1),
             .y = static_cast<double>(timeline.levels[i].*figure) / unit.bytes});
    }
    return series;
}

plot::Series peak_series(const MemoryPeak& peak, const std::string& tensor, const Unit& unit) {
    plot::SeriesPoint point;
    point.x = static_cast<double>(peak.step + 1);
    point.y = static_cast<double>(peak.level.allocated) / unit.bytes;
    point.name = "peak " + format_capacity(bytes_of(peak.level.allocated));
    point.labelled = true;
    point.terms = {{"phase", std::string(peak.phase)},
                   {"with", tensor},
                   {"requested", format_capacity(bytes_of(peak.level.requested))},
                   {"allocated", format_capacity(bytes_of(peak.level.allocated))},
                   {"reserved", format_capacity(bytes_of(peak.level.reserved))}};
    plot::Series series;
    series.name = "peak";
    series.drawing = plot::Drawing::scatter;
    series.points = {point};
    return series;
}

}  // namespace

plot::Chart memory_chart(const std::string& title, const model::MemoryPlan& plan,
                         const model::MemoryTimeline& timeline, std::optional<Bytes> capacity) {
    const MemoryPeak peak = peak_of(plan, timeline);
    std::int64_t highest = peak.level.allocated;
    for (const model::MemoryLevel& level : timeline.levels) {
        highest = std::max(highest, level.reserved);
    }
    const Unit unit = unit_for(highest);
    plot::Sweep sweep;
    sweep.title = "Memory of " + title;
    sweep.subtitle = "peak " + format_capacity(bytes_of(peak.level.allocated)) + " allocated";
    sweep.x = {.title = "allocation or release"};
    sweep.y = {.title = "Memory", .unit = unit.name};
    sweep.series.push_back(series_of("reserved", timeline, unit, &model::MemoryLevel::reserved));
    sweep.series.push_back(series_of("allocated", timeline, unit, &model::MemoryLevel::allocated));
    sweep.series.push_back(peak_series(
        peak, std::string(plan.allocations()[plan.steps()[peak.step].allocation].name), unit));
    std::string phases;
    for (const model::MemoryPlan::Phase& phase : plan.phases()) {
        if (phase.first == phase.last) continue;
        phases += fmt::format("{}{} {} to {}", phases.empty() ? "" : ", ", phase.name,
                              phase.first + 1, phase.last);
    }
    sweep.notes.push_back("Steps: " + phases + ".");
    if (capacity && capacity->base() < 4.0 * static_cast<double>(highest)) {
        sweep.limits.push_back(
            {.name = "usable " + format_capacity(*capacity), .y = capacity->base() / unit.bytes});
    }
    return plot::sweep_chart(sweep);
}

}  // namespace ridge::cli
