#include "cli/charts/own_points.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "hardware/units.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

using measure::Record;

bool is_own(const Record& record) {
    return record.measured() && record.row && !record.row->unknown_implementation.empty();
}

/// The FLOP and the compulsory traffic of the operation, from its usual implementation. Nothing if
/// that has no prediction either.
std::optional<model::Work> work_of(const Record& record, Machines& machines) {
    if (machines.catalogue().canonical_name(record.device.name).empty()) return std::nullopt;
    const model::Outcome outcome =
        model::predict(record.question.operation, {}, machines.at(record.device.name));
    const auto* p = std::get_if<model::Prediction>(&outcome);
    return p == nullptr ? std::nullopt : std::optional(p->work);
}

std::string label_of(const Record& record) {
    const measure::TableRow& row = *record.row;
    if (!row.name.empty()) return row.name;
    return row.unknown_implementation + " " + measure::canonical_text(record.question.operation);
}

std::vector<plot::Term> terms_of(const Record& record) {
    return {{"measured", format(record.time(), 4)},
            {"implementation", record.row->unknown_implementation},
            {"question", measure::canonical_text(record.question.operation)}};
}

}  // namespace

std::set<std::size_t> add_own_points(RooflineCharts& charts, const measure::Validation& validation,
                                     std::span<const Record> records, Machines& machines) {
    std::set<std::size_t> drawn;
    for (const measure::Unused& unused : validation.unused) {
        const Record& record = records[unused.record];
        if (!is_own(record)) continue;
        const std::optional<model::Work> work = work_of(record, machines);
        if (!work || work->flop() <= Flop{} || work->compulsory() <= Bytes{}) continue;
        charts.add(label_of(record), record, *work);
        drawn.insert(unused.record);
    }
    return drawn;
}

std::set<std::size_t> add_own_series(plot::Sweep& sweep, const measure::Validation& validation,
                                     std::span<const Record> records, Machines& machines,
                                     model::Field x, Ordinate ordinate) {
    std::set<std::size_t> drawn;
    std::map<std::string, plot::Series> classes;
    for (const measure::Unused& unused : validation.unused) {
        const Record& record = records[unused.record];
        if (!is_own(record)) continue;
        const model::Parameters parameters = parameters_of(record.question);
        const std::optional<model::Work> work = work_of(record, machines);
        if (!parameters.has(x) || !work) continue;
        plot::SeriesPoint point;
        point.x = static_cast<double>(parameters.count(x));
        point.y = ordinate_value(ordinate, work->flop(), work->compulsory(), record.time());
        point.name = label_of(record);
        point.terms = terms_of(record);
        const std::string name = fmt::format("{} {} {}", name_of(record.question.operation),
                                             name_of(type_of(record.question.operation)),
                                             record.row->unknown_implementation);
        classes[name].points.push_back(std::move(point));
        drawn.insert(unused.record);
    }
    std::size_t index = sweep.series.size();
    for (auto& [name, series] : classes) {
        std::stable_sort(
            series.points.begin(), series.points.end(),
            [](const plot::SeriesPoint& a, const plot::SeriesPoint& b) { return a.x < b.x; });
        series.name = name;
        series.drawing = plot::Drawing::scatter;
        series.origin = plot::Origin::measured;
        series.style = plot::class_style(index++);
        sweep.series.push_back(std::move(series));
    }
    return drawn;
}

}  // namespace ridge::cli
