#include "cli/charts/occupancy_chart.h"

#include <fmt/format.h>

#include <functional>

#include "cli/console/percent.h"
#include "hardware/units.h"
#include "plot/ticks.h"

namespace ridge::cli {
namespace {

using model::BlockResources;
using model::SmLimits;

/// One resource of a block, from none to the most that it may have.
struct Swept {
    plot::Axis axis;
    std::int64_t first = 0;
    std::int64_t last = 0;
    std::int64_t step = 1;
    std::function<void(BlockResources&, std::int64_t)> set;
    double now = 0.0;
};

plot::Vertex warps_at(const BlockResources& block, const SmLimits& limits, double x) {
    return {x, static_cast<double>(occupancy(block, limits).warps)};
}

plot::Chart chart_of(const Swept& swept, const BlockResources& block, const SmLimits& limits,
                     const std::string& gpu) {
    plot::Chart chart{.title = "Warps that a multiprocessor of " + gpu + " holds",
                      .subtitle = "the other resources of the block as they are",
                      .x = swept.axis,
                      .y = {.title = "Warps of a multiprocessor", .low = 0.0}};
    plot::Curve curve{.name = "warps", .series = "warps", .style = plot::class_style(0)};
    for (std::int64_t value = swept.first; value <= swept.last; value += swept.step) {
        BlockResources changed = block;
        swept.set(changed, value);
        const plot::Vertex next = warps_at(changed, limits, static_cast<double>(value));
        // A step, not a slope.
        if (!curve.vertices.empty() && curve.vertices.back().y != next.y) {
            curve.vertices.push_back({next.x, curve.vertices.back().y});
        }
        curve.vertices.push_back(next);
    }
    chart.x_range = {static_cast<double>(swept.first), static_cast<double>(swept.last)};
    chart.y_range = {0.0, 1.05 * static_cast<double>(limits.warps)};
    const model::Occupancy found = occupancy(block, limits);
    plot::Mark mark{.name = "this kernel",
                    .series = "this kernel",
                    .x = swept.now,
                    .y = static_cast<double>(found.warps),
                    .style = plot::class_style(1)};
    mark.terms = {{"warps", std::to_string(found.warps)},
                  {"occupancy", percent(found.fraction)},
                  {"limited by", std::string(name_of(found.limiter))}};
    chart.curves.push_back(std::move(curve));
    chart.marks.push_back(std::move(mark));
    return plot::without_undrawable(std::move(chart));
}

}  // namespace

std::vector<plot::Chart> occupancy_charts(const BlockResources& block, const SmLimits& limits,
                                          const std::string& gpu) {
    constexpr double kib = 1024.0;
    const auto most_shared = static_cast<std::int64_t>(limits.shared_per_block.base() / kib);
    const std::vector<Swept> all{
        {.axis = {.title = "Registers of a thread"},
         .first = 16,
         .last = limits.registers_per_thread,
         .set = [](BlockResources& b, std::int64_t v) { b.registers = v; },
         .now = static_cast<double>(block.registers)},
        {.axis = {.title = "Shared memory of a block", .unit = "KiB"},
         .first = 0,
         .last = most_shared,
         .set = [](BlockResources& b,
                   std::int64_t v) { b.shared = static_cast<double>(v) * units::KiB; },
         .now = block.shared.base() / kib},
        {.axis = {.title = "Threads of a block"},
         .first = limits.warp_size,
         .last = limits.threads_per_block,
         .step = limits.warp_size,
         .set = [](BlockResources& b, std::int64_t v) { b.threads = v; },
         .now = static_cast<double>(block.threads)}};
    std::vector<plot::Chart> charts;
    charts.reserve(all.size());
    for (const Swept& swept : all) charts.push_back(chart_of(swept, block, limits, gpu));
    return charts;
}

}  // namespace ridge::cli
