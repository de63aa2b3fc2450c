#include "cli/charts/timeline_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "hardware/count.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

constexpr std::string_view year_announced = "Year announced";

std::optional<FlopRate> compute_of(const model::Machine& machine) {
    using model::DataType;
    for (const DataType type : {DataType::bf16, DataType::fp16}) {
        if (const auto peak = machine.tensor_peak(type)) return peak;
    }
    for (const DataType type : {DataType::fp16, DataType::fp32}) {
        if (const auto peak = machine.vector_peak(type)) return peak;
    }
    return std::nullopt;
}

/// "2022-03" as the middle of the month.
double year_of(const std::string& gpu, const std::string& date) {
    const auto broken = [&] {
        return InputError(gpu + ": product.announced: '" + date + "' is not a year and a month", {},
                          "such as 2022-03");
    };
    if (date.size() != 7 || date[4] != '-') throw broken();
    const std::int64_t year = parse_count(date.substr(0, 4), "product.announced");
    const std::int64_t month = parse_count(date.substr(5), "product.announced");
    if (month < 1 || month > 12) throw broken();
    return static_cast<double>(year) + (static_cast<double>(month) - 0.5) / 12.0;
}

/// One of the three figures: its name, and how it is read and written.
struct Figure {
    const char* name;
    std::function<std::optional<double>(const TimelineEntry&)> value;
    std::function<std::string(double)> text;
};

const std::array<Figure, 3>& figures() {
    static const std::array<Figure, 3> all{
        Figure{.name = "compute, dense 16 bit",
               .value = [](const TimelineEntry& each) -> std::optional<double> {
                   if (!each.compute) return std::nullopt;
                   return each.compute->base();
               },
               .text = [](double value) { return format(FlopRate::from_base(value)); }},
        Figure{.name = "DRAM bandwidth",
               .value = [](const TimelineEntry& each) -> std::optional<double> {
                   return each.dram.base();
               },
               .text = [](double value) { return format(Bandwidth::from_base(value)); }},
        Figure{.name = "interconnect, one way",
               .value = [](const TimelineEntry& each) -> std::optional<double> {
                   if (!each.link) return std::nullopt;
                   return each.link->base();
               },
               .text = [](double value) { return format(Bandwidth::from_base(value)); }}};
    return all;
}

/// A straight line through logarithms: log(y) = at_zero + slope x.
struct Trend {
    double at_zero = 0.0;
    double slope = 0.0;

    [[nodiscard]] double at(double x) const { return std::exp(at_zero + slope * x); }
};

std::optional<Trend> trend_of(const std::vector<plot::SeriesPoint>& points) {
    double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
    for (const plot::SeriesPoint& point : points) {
        n += 1.0;
        sx += point.x;
        sy += std::log(point.y);
    }
    if (n < 2.0) return std::nullopt;
    for (const plot::SeriesPoint& point : points) {
        sxx += (point.x - sx / n) * (point.x - sx / n);
        sxy += (point.x - sx / n) * (std::log(point.y) - sy / n);
    }
    if (sxx <= 0.0) return std::nullopt;
    const double slope = sxy / sxx;
    return Trend{.at_zero = sy / n - slope * sx / n, .slope = slope};
}

void add_figure(plot::Sweep& sweep, const std::vector<TimelineEntry>& entries, const Figure& figure,
                double unit, std::size_t index) {
    const plot::Style style = plot::class_style(index);
    plot::Series points;
    points.name = figure.name;
    points.drawing = plot::Drawing::scatter;
    points.style = style;
    points.kind = "datasheet";
    std::vector<plot::SeriesPoint> records;
    double best = 0.0;
    for (const TimelineEntry& entry : entries) {
        const std::optional<double> value = figure.value(entry);
        if (!value) continue;
        plot::SeriesPoint point{.x = entry.year, .y = *value / unit};
        point.name = entry.name;
        point.terms = {{std::string(year_announced), entry.announced},
                       {"value", figure.text(*value)}};
        if (*value > best) {
            point.labelled = index == 0;
            best = *value;
            records.push_back(point);
        }
        points.points.push_back(std::move(point));
    }
    const std::optional<Trend> trend = trend_of(records);
    if (trend) {
        points.detail =
            fmt::format("x {} every two years", format_number(std::exp(2.0 * trend->slope), 2));
        plot::Series line;
        line.name = figure.name;
        line.detail = points.detail;
        line.markers = plot::Markers::hidden;
        line.style = style;
        for (const double x : {records.front().x, records.back().x}) {
            line.points.push_back({.x = x, .y = trend->at(x)});
        }
        sweep.series.push_back(std::move(line));
    }
    sweep.series.push_back(std::move(points));
}

}  // namespace

std::vector<TimelineEntry> timeline(Machines& machines) {
    std::vector<TimelineEntry> entries;
    for (const model::CatalogueEntry& entry : machines.catalogue().entries()) {
        const auto announced = machines.description(entry.name).text("product.announced");
        if (!announced) continue;
        const model::Machine& machine = machines.at(entry.name);
        entries.push_back({.name = entry.name,
                           .announced = *announced,
                           .year = year_of(entry.name, *announced),
                           .compute = compute_of(machine),
                           .dram = machine.dram_bandwidth,
                           .link = machine.link_per_direction});
    }
    std::stable_sort(entries.begin(), entries.end(),
                     [](const auto& a, const auto& b) { return a.year < b.year; });
    return entries;
}

plot::Chart timeline_chart(const std::vector<TimelineEntry>& entries) {
    const auto first = std::find_if(entries.begin(), entries.end(), [](const TimelineEntry& each) {
        return each.compute && each.link;
    });
    if (first == entries.end()) {
        throw InputError("no GPU has a date, a peak, a bandwidth and a link", {},
                         "product.announced gives the date");
    }
    plot::Sweep sweep;
    sweep.title = "Compute, memory and interconnect over the years";
    sweep.subtitle = "times " + first->name + " (" + figures()[0].text(first->compute->base()) +
                     ", " + figures()[1].text(first->dram.base()) + ", " +
                     figures()[2].text(first->link->base()) + ")";
    sweep.x = {.title = std::string(year_announced)};
    sweep.y = {.title = "Times " + first->name, .scale = plot::Scale::log};
    for (std::size_t i = 0; i < figures().size(); ++i) {
        add_figure(sweep, entries, figures()[i], *figures()[i].value(*first), i);
    }
    sweep.notes.emplace_back(
        "Lines: least squares through the records, in logarithms. Peaks are dense.");
    return plot::sweep_chart(sweep);
}

}  // namespace ridge::cli
