#include "cli/charts/plan_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "answers/plan_text.h"
#include "cli/views/memory.h"
#include "cli/views/plan.h"
#include "hardware/units.h"
#include "plot/ticks.h"
#include "plot/timeline.h"

namespace ridge::cli {
namespace {

using answers::MemoryNeed;
using answers::PlanRow;

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

struct Part {
    const char* name;
    std::int64_t MemoryNeed::*bytes;
    plot::Color color;
};
constexpr std::array parts{Part{"weights", &MemoryNeed::weights, plot::Color::blue},
                           Part{"cache", &MemoryNeed::cache, plot::Color::green},
                           Part{"gradients", &MemoryNeed::gradients, plot::Color::purple},
                           Part{"optimizer", &MemoryNeed::optimizer, plot::Color::vermillion},
                           Part{"activations", &MemoryNeed::activations, plot::Color::orange},
                           Part{"reserve", &MemoryNeed::reserve, plot::Color::silver}};

void add_bar(plot::Timeline& bars, const PlanRow& row) {
    const std::size_t lane = bars.lanes.size();
    bars.lanes.push_back(fmt::format("{}{}", name_of(row), row.fits ? "" : " (too small)"));
    double from = 0.0;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const double size = static_cast<double>(row.memory.*parts[i].bytes) / gib;
        if (size <= 0.0) continue;
        bars.bars.push_back({.from = from, .to = from + size, .lane = lane, .sort = i});
        from += size;
    }
}

/// A line across the bar of each row at its usable memory.
void add_limits(plot::Chart& chart, const std::vector<const PlanRow*>& rows) {
    constexpr double half = 0.46;
    const plot::Style style{.color = plot::Color::ink, .width = 2.5};
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const double lane = static_cast<double>(rows.size() - i);
        const double usable = static_cast<double>(rows[i]->usable) / gib;
        chart.curves.push_back(
            {.role = plot::CurveRole::reference,
             .name = "usable",
             .series = "usable",
             .vertices = {{usable, lane - half}, {usable, lane + half}},
             .style = style,
             .terms = {{.name = "usable", .value = format_capacity(bytes_of(rows[i]->usable))}}});
    }
    chart.samples.push_back({.name = "usable", .style = style, .line = true});
}

}  // namespace

plot::Chart plan_memory_chart(const answers::Plan& plan) {
    plot::Timeline bars{.title = "Memory of each GPU: " + plan.model,
                        .subtitle = answers::question_of(plan),
                        .unit = "GiB"};
    std::vector<const PlanRow*> rows;
    double most = 0.0;
    for (const PlanRow& row : plan.rows) {
        if (row.memory.total() == 0) continue;
        rows.push_back(&row);
        most = std::max(most, static_cast<double>(std::max(row.memory.total(), row.usable)) / gib);
    }
    for (const Part& part : parts) {
        plot::SpanSort sort{.name = part.name, .series = {}, .color = part.color};
        const bool used = std::any_of(rows.begin(), rows.end(), [&](const PlanRow* row) {
            return row->memory.*part.bytes > 0;
        });
        if (used) sort.series = part.name;
        bars.sorts.push_back(std::move(sort));
    }
    for (const PlanRow* row : rows) add_bar(bars, *row);
    plot::Chart chart = plot::timeline_chart(bars);
    chart.x.title = "Memory of each GPU";
    chart.x_range = {.low = 0.0, .high = 1.04 * most};
    add_limits(chart, rows);
    return chart;
}

}  // namespace ridge::cli
