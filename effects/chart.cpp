#include "effects/chart.h"

#include <algorithm>
#include <array>

#include "hardware/units.h"
#include "plot/roofline.h"
#include "plot/sweep.h"

namespace ridge::effects {
namespace {

constexpr double tera = 1e12;

plot::SeriesPoint point_of(const Value& value, double y, const Figure& figure, double shift) {
    plot::SeriesPoint point{.x = value.x + shift, .y = y / figure.unit};
    point.name = value.name;
    point.labelled = value.labelled;
    point.terms = value.terms;
    return point;
}

plot::Origin predicted_origin(const Value& value) {
    return value.evidence ? origin_of(*value.evidence) : plot::Origin::predicted;
}

/// On an axis of names, series stand side by side, and measured marks next to predicted ones.
double shift_of(const Figure& figure, std::size_t index, std::size_t count, plot::Origin origin) {
    if (figure.x.names.empty()) return 0.0;
    const double middle = (static_cast<double>(count) - 1.0) / 2.0;
    const double step = std::min(0.16, 0.6 / static_cast<double>(count));
    const double side = origin == plot::Origin::measured ? 0.02 : -0.02;
    return (static_cast<double>(index) - middle) * step + side;
}

void add_series(plot::Sweep& sweep, const StudiedSeries& series, const Figure& figure,
                std::size_t index, std::size_t count) {
    const plot::Style style = plot::class_style(index);
    const auto base = [&](plot::Origin origin, plot::Drawing drawing) {
        plot::Series out;
        out.name = series.name;
        out.detail = series.detail;
        out.origin = origin;
        out.drawing = drawing;
        out.style = style;
        return out;
    };
    plot::Series predicted =
        base(plot::Origin::predicted, series.joined ? plot::Drawing::line : plot::Drawing::scatter);
    plot::Series measured = base(plot::Origin::measured, plot::Drawing::scatter);
    for (const Value& value : series.values) {
        if (value.predicted) {
            predicted.points.push_back(
                point_of(value, *value.predicted, figure,
                         shift_of(figure, index, count, plot::Origin::predicted)));
            if (value.evidence) predicted.points.back().origin = predicted_origin(value);
        }
        if (value.measured)
            measured.points.push_back(
                point_of(value, *value.measured, figure,
                         shift_of(figure, index, count, plot::Origin::measured)));
    }
    if (!predicted.points.empty()) sweep.series.push_back(std::move(predicted));
    if (!measured.points.empty()) sweep.series.push_back(std::move(measured));
}

plot::Chart sweep_of(const StudiedFigure& studied, const Study& study) {
    const Figure& figure = studied.figure;
    plot::Sweep sweep;
    sweep.title = figure.title;
    sweep.subtitle = study.effect->on(study.effect->name, study.gpu);
    sweep.x = figure.x;
    sweep.y = figure.y;
    if (!sweep.x.names.empty()) {
        sweep.x.low = 0.5;
        sweep.x.high = static_cast<double>(sweep.x.names.size()) + 0.5;
    }
    std::size_t index = 0;
    for (const StudiedSeries& series : studied.series)
        add_series(sweep, series, figure, index++, studied.series.size());
    for (const auto& [name, y] : figure.limits) {
        sweep.limits.push_back({.name = name, .y = y / figure.unit});
    }
    return plot::sweep_chart(sweep);
}

plot::MemoryRoof memory_roof(plot::Resource resource, Bandwidth bandwidth) {
    return {.name = std::string(plot::name_of(resource)),
            .resource = resource,
            .value = format(bandwidth),
            .slope = bandwidth.base() / tera,
            .terms = {{"bandwidth", format(bandwidth)}}};
}

plot::Chart roofline_of(const StudiedFigure& studied, const Study& study,
                        const model::Machine& machine) {
    plot::Roofline chart;
    chart.title = studied.figure.title;
    chart.subtitle = study.effect->on(study.effect->name, study.gpu);
    chart.memory.push_back(memory_roof(plot::Resource::dram, machine.dram_bandwidth));
    if (machine.l2_bandwidth) {
        chart.memory.push_back(memory_roof(plot::Resource::l2, *machine.l2_bandwidth));
    }
    const auto add = [&chart](const char* type, const char* name, plot::Resource resource,
                              const std::optional<FlopRate>& rate) {
        if (!rate) return;
        chart.compute.push_back({.type = type,
                                 .name = name,
                                 .resource = resource,
                                 .value = format(*rate),
                                 .rate = rate->base() / tera,
                                 .terms = {{"peak", format(*rate)}}});
    };
    using model::DataType;
    add("fp32", "FMA", plot::Resource::fma, machine.vector_peak(DataType::fp32));
    add("tf32", "tensor", plot::Resource::tensor, machine.tensor_peak(DataType::tf32));
    add("fp16", "tensor", plot::Resource::tensor,
        machine.tensor_peak(DataType::bf16) ? std::nullopt : machine.tensor_peak(DataType::fp16));
    add("bf16", "tensor", plot::Resource::tensor, machine.tensor_peak(DataType::bf16));
    add("fp8", "tensor", plot::Resource::tensor, machine.tensor_peak(DataType::fp8));
    for (const StudiedSeries& series : studied.series) {
        for (const Value& value : series.values) {
            const std::array both{std::pair{value.predicted, predicted_origin(value)},
                                  std::pair{value.measured, plot::Origin::measured}};
            for (const auto& [y, origin] : both) {
                if (!y) continue;
                plot::OperationPoint point;
                point.name = value.name;
                point.series = series.name;
                point.x = value.x;
                point.y = *y / tera;
                point.origin = origin;
                point.order = value.x;
                point.terms = value.terms;
                chart.points.push_back(std::move(point));
            }
        }
    }
    chart.key_terms = {"predicted time", "measured time"};
    return plot::roofline_chart(chart);
}

}  // namespace

plot::Origin origin_of(model::Grade evidence) {
    return evidence >= model::Grade::related ? plot::Origin::calibrated : plot::Origin::predicted;
}

std::vector<plot::Chart> charts_of(const Study& study, const Subject& subject) {
    std::vector<plot::Chart> charts;
    for (const StudiedFigure& studied : study.figures) {
        bool any = false;
        for (const StudiedSeries& series : studied.series) {
            for (const Value& value : series.values) {
                any = any || value.predicted || value.measured;
            }
        }
        if (!any) continue;
        charts.push_back(studied.figure.roofline ? roofline_of(studied, study, subject.machine)
                                                 : sweep_of(studied, study));
    }
    return charts;
}

}  // namespace ridge::effects
