#include "cli/charts/sweep_chart.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/charts/record_labels.h"
#include "effects/chart.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

using model::Field;

double height_of(const model::Prediction& p, Time time, Ordinate ordinate) {
    return ordinate_value(ordinate, p.work.flop(), p.work.compulsory(), time);
}

plot::SeriesPoint predicted_point(const model::Prediction& p, double x, Ordinate ordinate) {
    plot::SeriesPoint point;
    point.x = x;
    point.y = height_of(p, p.time, ordinate);
    point.terms = terms_of(p, std::nullopt);
    point.origin = effects::origin_of(p.evidence.grade());
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
    point.terms = terms_of(p, record.time());
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

bool SweepChart::one_line() const {
    return !several_gpus_ && plan_.listed.empty() && plan_.swept.size() == 1;
}

std::string SweepChart::class_of(const model::Machine& machine, const model::Parameters& parameters,
                                 const model::Prediction& prediction) const {
    if (one_line()) {
        if (const auto* const cliff = model::noted<model::note::AlignmentCliff>(prediction)) {
            return fmt::format("rows aligned to {} B", cliff->bytes);
        }
        return "rows aligned to 16 B";
    }
    std::string name = several_gpus_ ? machine.name : std::string();
    const auto add = [&name](const std::string& part) {
        if (!part.empty()) name += (name.empty() ? "" : ", ") + part;
    };
    add(variant_name(plan_, parameters));
    for (std::size_t i = 1; i < plan_.swept.size(); ++i) {
        const Field field = plan_.swept[i].field;
        add(fmt::format("{} = {}", model::info_of(field).name, parameters.count(field)));
    }
    return name;
}

void SweepChart::add_predicted(const Answer& answer) {
    const auto* p = std::get_if<model::Prediction>(&answer.outcome);
    if (p == nullptr || p->time <= Time{}) {
        ++skipped_;
        return;
    }
    const auto x = static_cast<double>(answer.parameters.count(plan_.swept.front().field));
    implementation_ = p->implementation;
    Class& own = classes_[class_of(*answer.machine, answer.parameters, *p)];
    own.predicted.points.push_back(predicted_point(*p, x, ordinate_));
    own.weakest = std::min(own.weakest, p->evidence.grade());
    own.strongest = std::max(own.strongest, p->evidence.grade());
    std::string name = several_gpus_ ? answer.machine->name + " " : std::string();
    const bool several_types =
        std::any_of(plan_.listed.begin(), plan_.listed.end(),
                    [](const ListedWords& list) { return list.field == Field::dtype; });
    if (several_types) name += std::string(name_of(type_of(answer.operation))) + " ";
    peaks_[name + "peak " + format(p->peak)] = p->peak;
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
    const bool own = record.row && !record.row->unknown_implementation.empty();
    plot::SeriesPoint point = measured_point(record, *p, static_cast<double>(x), ordinate_);
    if (own) point.terms.resize(1);  // there is no prediction for this implementation
    classes_[own ? record.row->unknown_implementation : class_of(machine, *parameters, *p)]
        .measured.points.push_back(std::move(point));
    return true;
}

std::string SweepChart::evidence_of(const Class& of) {
    const std::string weakest(name_of(of.weakest));
    if (of.weakest == of.strongest) return "evidence: " + weakest;
    return fmt::format("evidence: {} to {}", weakest, name_of(of.strongest));
}

plot::Sweep SweepChart::finish() {
    plot::Sweep sweep;
    sweep.x = {.title = abscissa_title(plan_.swept.front()), .unit = ""};
    sweep.y = ordinate_axis(ordinate_, "Inputs and outputs over time");
    if (plan_.swept.front().geometric) sweep.x.scale = plot::Scale::log;
    // Classes of alignment alternate along the axis, so their points are not joined.
    const bool by_alignment = one_line() && classes_.size() > 1;
    std::size_t index = 0;
    for (auto& [name, both] : classes_) {
        const plot::Style style = plot::class_style(index++);
        const bool alone = classes_.size() == 1 && one_line();
        both.predicted.name =
            alone && implementation_ ? std::string(name_of(*implementation_)) : name;
        both.predicted.drawing = by_alignment ? plot::Drawing::scatter : plot::Drawing::line;
        both.predicted.style = style;
        if (!both.predicted.points.empty()) both.predicted.detail = evidence_of(both);
        both.measured.name = both.predicted.name;
        both.measured.drawing = plot::Drawing::scatter;
        both.measured.origin = plot::Origin::measured;
        both.measured.style = style;
        for (plot::Series* const series : {&both.predicted, &both.measured}) {
            if (!series->points.empty()) sweep.series.push_back(std::move(*series));
        }
    }
    for (const auto& [name, peak] : peaks_) {
        if (ordinate_ != Ordinate::rate) break;
        sweep.limits.push_back({.name = name, .y = peak.base() * 1e-12});
    }
    if (skipped_ > 0) sweep.notes.push_back(fmt::format("{} shapes are not modelled", skipped_));
    return sweep;
}

}  // namespace ridge::cli
