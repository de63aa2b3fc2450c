#include "cli/charts/traffic_chart.h"

#include <algorithm>

#include "cli/views/traffic.h"
#include "effects/chart.h"
#include "hardware/si.h"
#include "hardware/units.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

using answers::ServedLoad;
using answers::TrafficAnswer;
using programs::Quantiles;
using programs::TrafficSummary;

plot::Series latency_series(const TrafficAnswer& answer, const char* name,
                            Quantiles TrafficSummary::*of, double Quantiles::*part) {
    plot::Series series{.name = name};
    for (const ServedLoad& load : answer.loads) {
        const double x = load.rate > 0.0 ? load.rate : static_cast<double>(load.concurrency);
        series.points.push_back({.x = x,
                                 .y = load.summary.*of.*part / si::millisecond,
                                 .origin = effects::origin_of(answer.evidence)});
    }
    return series;
}

plot::Chart latency_chart_of(const TrafficAnswer& answer) {
    const bool by_rate = !answer.question.rates.empty();
    plot::Sweep sweep{.title = "Latency of " + title_of(answer),
                      .subtitle = load_of(answer),
                      .x = {.title = by_rate ? "Requests" : "Requests at a time",
                            .unit = by_rate ? "1/s" : "",
                            .scale = plot::Scale::log},
                      .y = {.title = "Latency", .unit = "ms", .scale = plot::Scale::log}};
    sweep.series = {latency_series(answer, "TTFT p50", &TrafficSummary::ttft, &Quantiles::p50),
                    latency_series(answer, "TTFT p99", &TrafficSummary::ttft, &Quantiles::p99),
                    latency_series(answer, "TPOT p50", &TrafficSummary::tpot, &Quantiles::p50),
                    latency_series(answer, "TPOT p99", &TrafficSummary::tpot, &Quantiles::p99)};
    const programs::Targets& targets = answer.question.targets;
    if (targets.ttft) {
        sweep.limits.push_back({.name = "target of TTFT", .y = targets.ttft->in(units::ms)});
    }
    if (targets.tpot) {
        sweep.limits.push_back({.name = "target of TPOT", .y = targets.tpot->in(units::ms)});
    }
    return plot::sweep_chart(sweep);
}

plot::Chart timeline_of(const TrafficAnswer& answer) {
    plot::Sweep sweep{.title = "Batch and queue: " + title_of(answer),
                      .subtitle = load_of(answer),
                      .x = {.title = "Time", .unit = "s"},
                      .y = {.title = "Sequences"}};
    struct Line {
        const char* name;
        double programs::TrafficSample::*value;
    };
    const programs::TrafficRun& run = answer.loads.back().runs.front();
    for (const Line& line : {Line{"running", &programs::TrafficSample::running},
                             Line{"waiting", &programs::TrafficSample::waiting}}) {
        plot::Series series{
            .name = line.name, .drawing = plot::Drawing::steps, .markers = plot::Markers::hidden};
        for (const programs::TrafficSample& sample : run.timeline) {
            series.points.push_back({.x = static_cast<double>(sample.from_ns) * si::nanosecond,
                                     .y = sample.*line.value});
        }
        sweep.series.push_back(std::move(series));
    }
    if (answer.loads.back().runs.size() > 1) sweep.notes.emplace_back("The first of the servers.");
    return plot::sweep_chart(sweep);
}

}  // namespace

std::vector<plot::Chart> traffic_charts(const TrafficAnswer& answer) {
    std::vector<plot::Chart> charts;
    if (answer.loads.size() > 1) charts.push_back(latency_chart_of(answer));
    charts.push_back(timeline_of(answer));
    return charts;
}

}  // namespace ridge::cli
