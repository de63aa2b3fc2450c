#include "cli/charts/rank_chart.h"

#include <fmt/format.h>

#include "plot/timeline.h"

namespace ridge::cli {
namespace {

constexpr std::size_t most_spans_of_rank = 4000;

}  // namespace

plot::Chart rank_chart(const programs::RankReport& report) {
    plot::Timeline timeline{
        .title = "Ranks",
        .subtitle = "computing, communication that nothing hides, and waiting for other ranks",
        .unit = "ms",
        .sorts = {{.name = "computing", .series = "computing", .color = plot::Color::blue},
                  {.name = "transfer", .series = "exposed transfer", .color = plot::Color::orange},
                  {.name = "waiting", .series = "waiting", .color = plot::Color::vermillion}}};
    for (const programs::RankRow& row : report.ranks) timeline.lanes.push_back(row.name);
    std::vector<std::size_t> shown(report.ranks.size(), 0);
    for (const programs::RankSpan& span : report.spans) {
        if (++shown[span.rank] > most_spans_of_rank) continue;
        timeline.bars.push_back({.from = span.from.in(units::ms),
                                 .to = span.to.in(units::ms),
                                 .lane = span.rank,
                                 .sort = static_cast<std::size_t>(span.work)});
    }
    for (std::size_t rank = 0; rank < shown.size(); ++rank) {
        if (shown[rank] <= most_spans_of_rank) continue;
        timeline.notes.push_back(fmt::format("{}: {} of {} spans are shown.",
                                             report.ranks[rank].name, most_spans_of_rank,
                                             shown[rank]));
    }
    return plot::timeline_chart(timeline);
}

}  // namespace ridge::cli
