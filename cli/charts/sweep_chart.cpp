#include "cli/charts/sweep_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "hardware/error.h"
#include "hardware/units.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

using model::Field;

double height_of(const model::Prediction& p, Time time, Ordinate ordinate) {
    const Bytes moved = p.work.dram() > Bytes{} ? p.work.dram() : p.work.compulsory();
    return ordinate_value(ordinate, p.work.flop(), moved, time);
}

plot::SeriesPoint predicted_point(const model::Prediction& p, double x, Ordinate ordinate) {
    plot::SeriesPoint point;
    point.x = x;
    point.y = height_of(p, p.time, ordinate);
    point.terms = {
        {"time", format(p.time)},
        {"bound", fmt::format("{}; limited by {}", name_of(p.bound), name_of(p.limiter))}};
    if (p.tiling.tiles > 0) {
        point.terms.push_back({"tiles", fmt::format("{} of {}x{}", p.tiling.tiles, p.tiling.tile.m,
                                                    p.tiling.tile.n)});
        point.terms.push_back({"waves", std::to_string(p.tiling.waves)});
    }
    return point;
}

plot::SeriesPoint measured_point(const measure::Record& record, const model::Prediction& p,
                                 double x, Ordinate ordinate) {
    plot::SeriesPoint point;
    point.x = x;
    point.y = height_of(p, record.time(), ordinate);
    point.terms = {{"measured", format(record.time(), 4)},
                   {"predicted", format(p.time, 4)},
                   {"error", fmt::format("{:+.1f} %", 100.0 * (p.time.in(record.time()) - 1.0))}};
    return point;
}

std::string abscissa_title(const SweptField& swept) {
    std::string title(model::info_of(swept.field).name);
    for (const Field follower : swept.followers) {
        title += " = " + std::string(model::info_of(follower).name);
    }
    return title;
}

}  // namespace

std::string SweepChart::class_of(const model::Parameters& parameters) const {
    if (plan_.swept.size() > 1) {
        const Field second = plan_.swept[1].field;
        return fmt::format("{} = {}", model::info_of(second).name, parameters.count(second));
    }
    if (plan_.kind != model::OperationKind::matmul) return "predicted";
    const std::int64_t value = parameters.count(plan_.swept.front().field);
    for (const std::int64_t divisor : {64, 8, 2}) {
        if (value % divisor == 0) return fmt::format("multiple of {}", divisor);
    }
    return "odd";
}

void SweepChart::add_predicted(const Answer& answer) {
    const auto* p = std::get_if<model::Prediction>(&answer.outcome);
    if (p == nullptr || p->time <= Time{}) {
        ++skipped_;
        return;
    }
    const auto x = static_cast<double>(answer.parameters.count(plan_.swept.front().field));
    classes_[class_of(answer.parameters)].predicted.points.push_back(
        predicted_point(*p, x, ordinate_));
    peak_ = p->peak;
}

bool SweepChart::add_measured(const measure::Record& record, const model::Machine& machine) {
    const measure::Question& question = record.question;
    if (!record.measured() || name_of(question.operation) != model::info_of(plan_.kind).name) {
        return false;
    }
    const auto parameters = at_values_of(plan_, parameters_of(question));
    if (!parameters) return false;
    const SweptField& abscissa = plan_.swept.front();
    const std::int64_t x = parameters->count(abscissa.field);
    const auto [low, high] = std::minmax_element(abscissa.values.begin(), abscissa.values.end());
    if (x < *low || x > *high) return false;

    const model::Operation operation = model::make_operation(plan_.kind, *parameters);
    const model::Execution execution = model::make_execution(*parameters);
    if (measure::canonical_text(operation) != measure::canonical_text(question.operation) ||
        execution.l2 != question.execution.l2 || execution.launch != question.execution.launch) {
        return false;
    }
    const model::Outcome outcome = model::predict(operation, execution, machine);
    const auto* p = std::get_if<model::Prediction>(&outcome);
    const model::Implementation asked = question.execution.implementation;
    if (p == nullptr || (asked != model::Implementation::automatic && asked != p->implementation)) {
        return false;
    }
    classes_[class_of(*parameters)].measured.points.push_back(
        measured_point(record, *p, static_cast<double>(x), ordinate_));
    return true;
}

plot::Sweep SweepChart::finish() {
    plot::Sweep sweep;
    sweep.x = {.title = abscissa_title(plan_.swept.front()), .unit = ""};
    sweep.y = ordinate_axis(ordinate_, "DRAM bandwidth");
    const bool by_alignment = plan_.swept.size() == 1 && plan_.kind == model::OperationKind::matmul;
    const auto drawing =
        by_alignment && classes_.size() > 1 ? plot::Drawing::scatter : plot::Drawing::line;
    std::size_t index = 0;
    for (auto& [name, both] : classes_) {
        const plot::Style style = plot::class_style(index++);
        both.predicted.name = name;
        both.predicted.drawing = drawing;
        both.predicted.style = style;
        if (!both.predicted.points.empty()) sweep.series.push_back(std::move(both.predicted));
        if (both.measured.points.empty()) continue;
        both.measured.name = name == "predicted" ? "measured" : name + ", measured";
        both.measured.drawing = plot::Drawing::scatter;
        both.measured.origin = plot::Origin::measured;
        both.measured.style = style;
        sweep.series.push_back(std::move(both.measured));
    }
    if (peak_ && ordinate_ == Ordinate::rate) {
        sweep.limits.push_back({.name = "peak " + format(*peak_), .y = peak_->base() * 1e-12});
    }
    if (skipped_ > 0) sweep.notes.push_back(fmt::format("{} shapes are not modelled", skipped_));
    return sweep;
}

}  // namespace ridge::cli
