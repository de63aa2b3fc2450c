#include "cli/charts/record_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "hardware/error.h"
#include "hardware/schema.h"
#include "hardware/units.h"
#include "measure/record/statistics.h"

namespace ridge::cli {
namespace {

using measure::Comparison;
using measure::Record;
using measure::Validation;
using model::Field;

constexpr double tera = 1e12;

std::string class_name(const Record& record) {
    return fmt::format("{} {} {}", name_of(record.question.operation),
                       name_of(type_of(record.question.operation)),
                       name_of(record.question.execution.implementation));
}

/// Short and yet one of its kind among records of one type: "matmul wgmma 4096x4096x4096".
std::string label_of(const Record& record) {
    const measure::Question& question = record.question;
    const model::Parameters parameters = model::parameters_of(question.operation);
    std::string shape;
    std::string rest;
    for (const model::FieldInfo& info : model::field_table()) {
        if (!parameters.has(info.field) || info.field == Field::dtype) continue;
        const std::string value = parameters.text(info.field);
        if (info.kind == model::FieldKind::count) {
            shape += (shape.empty() ? " " : "x") + value;
        } else {
            rest += " " + (info.kind == model::FieldKind::flag ? std::string(info.name) : value);
        }
    }
    if (question.execution.l2 != model::L2State::warm) {
        rest += ' ';
        rest += name_of(question.execution.l2);
    }
    if (question.execution.launch != model::LaunchMode::kernel) {
        rest += " " + std::string(name_of(question.execution.launch));
    }
    if (question.pattern != measure::DataPattern::normal) {
        rest += " " + std::string(name_of(question.pattern));
    }
    return fmt::format("{} {}{}{}", name_of(question.operation),
                       name_of(question.execution.implementation), shape, rest);
}

std::vector<plot::Term> tooltip(const Comparison& comparison, const Record& record) {
    std::vector<plot::Term> terms{{"measured", format(record.time(), 4)},
                                  {"predicted", format(comparison.prediction.time, 4)},
                                  {"error", fmt::format("{:+.1f} %", 100.0 * comparison.error)},
                                  {"limiter", std::string(name_of(comparison.prediction.limiter))}};
    if (comparison.dram)
        terms.push_back({"DRAM predicted / counted", fmt::format("{:.3f}", *comparison.dram)});
    if (comparison.flop)
        terms.push_back({"FLOP predicted / counted", fmt::format("{:.3f}", *comparison.flop)});
    return terms;
}

/// Two points of one name: the chart joins them.
void add_pair(plot::Roofline& chart, const std::string& name, const Comparison& comparison,
              const Record& record, std::optional<Bytes> counted, Bytes predicted) {
    const Flop flop = comparison.prediction.work.flop();
    if (flop <= Flop{} || predicted <= Bytes{}) return;
    const std::vector<plot::Term> terms = tooltip(comparison, record);
    const Bytes measured = counted && *counted > Bytes{} ? *counted : predicted;
    chart.points.push_back({.name = name,
                            .x = (flop / predicted).base(),
                            .y = (flop / comparison.prediction.time).base() / tera,
                            .origin = plot::Origin::predicted,
                            .terms = terms});
    chart.points.push_back({.name = name,
                            .x = (flop / measured).base(),
                            .y = (flop / record.time()).base() / tera,
                            .origin = plot::Origin::measured,
                            .terms = terms});
}

bool several_devices(const Validation& validation) {
    return std::any_of(validation.comparisons.begin(), validation.comparisons.end(),
                       [&](const Comparison& comparison) {
                           return comparison.device != validation.comparisons.front().device;
                       });
}

/// Class of each compared record: operation and implementation, or the operation alone where the
/// legend would not hold them; with the GPU where there are several.
std::map<std::size_t, std::string> scatter_classes(const Validation& validation,
                                                   std::span<const Record> records) {
    constexpr std::size_t most_classes = 14;
    const bool several = several_devices(validation);
    const auto named = [&](bool with_implementation) {
        std::map<std::size_t, std::string> names;
        for (const Comparison& comparison : validation.comparisons) {
            std::string name(name_of(records[comparison.record].question.operation));
            if (with_implementation) {
                name += " " + std::string(name_of(comparison.prediction.implementation));
            }
            names[comparison.record] = name + (several ? " " + comparison.device : std::string());
        }
        return names;
    };
    std::map<std::size_t, std::string> names = named(true);
    std::set<std::string_view> distinct;
    for (const auto& [record, name] : names) distinct.insert(name);
    return distinct.size() > most_classes ? named(false) : names;
}

void sort_by_x(plot::Series& series) {
    std::stable_sort(
        series.points.begin(), series.points.end(),
        [](const plot::SeriesPoint& a, const plot::SeriesPoint& b) { return a.x < b.x; });
}

}  // namespace

Ordinate ordinate_of(const std::string& word, std::string_view operation) {
    if (word == "rate") return Ordinate::rate;
    if (word == "bandwidth") return Ordinate::bandwidth;
    if (word == "time") return Ordinate::time;
    const bool computes = operation == "matmul" || operation == "attention";
    return computes ? Ordinate::rate : Ordinate::bandwidth;
}

double ordinate_value(Ordinate ordinate, Flop flop, Bytes moved, Time time) {
    switch (ordinate) {
        case Ordinate::rate:
            return (flop / time).base() / tera;
        case Ordinate::bandwidth:
            return (moved / time).base() * 1e-9;
        case Ordinate::time:
            break;
    }
    return time.in(units::us);
}

plot::Axis ordinate_axis(Ordinate ordinate, const std::string& bandwidth) {
    switch (ordinate) {
        case Ordinate::rate:
            return {.title = "Rate", .unit = "TFLOP/s"};
        case Ordinate::bandwidth:
            return {.title = bandwidth, .unit = "GB/s"};
        case Ordinate::time:
            break;
    }
    return {.title = "Time", .unit = "us", .scale = plot::Scale::log};
}

RecordFilter::RecordFilter(const std::vector<std::string>& conditions) {
    for (const std::string& text : conditions) {
        const std::size_t equals = text.find('=');
        const auto field_of = [&text](std::string_view name) {
            const std::optional<Field> field = model::find_field(name);
            if (!field)
                throw InputError("where: '" + std::string(name) + "' in '" + text +
                                 "' is not a field");
            return *field;
        };
        if (equals == std::string::npos || equals + 1 == text.size()) {
            throw InputError("where: '" + text + "' is not a condition", {},
                             "write field=value, or n=@m");
        }
        Condition condition{.field = field_of(text.substr(0, equals)),
                            .value = text.substr(equals + 1),
                            .other = std::nullopt};
        if (condition.value.front() == '@') condition.other = field_of(condition.value.substr(1));
        conditions_.push_back(std::move(condition));
    }
}

bool RecordFilter::accepts(const Record& record) const {
    if (conditions_.empty()) return true;
    const model::Parameters parameters = parameters_of(record.question);
    return std::all_of(conditions_.begin(), conditions_.end(), [&](const Condition& condition) {
        if (!parameters.has(condition.field)) return false;
        if (!condition.other) return parameters.text(condition.field) == condition.value;
        return parameters.has(*condition.other) &&
               parameters.text(condition.field) == parameters.text(*condition.other);
    });
}

std::vector<Record> RecordFilter::apply(std::vector<Record> records) const {
    std::erase_if(records, [this](const Record& record) { return !accepts(record); });
    if (records.empty()) throw InputError("no record meets the conditions of --where");
    return records;
}

model::Parameters parameters_of(const measure::Question& question) {
    model::Parameters parameters = model::parameters_of(question.operation);
    // Fields that the canonical text leaves out, so that conditions can name them.
    const auto fill = [&parameters, &question](Field field, Field source, std::int64_t otherwise) {
        if (!applies(model::kind_of(question.operation), field) || parameters.has(field)) return;
        parameters.set_count(field, parameters.count_or(source, otherwise));
    };
    fill(Field::batch, Field::batch, 1);
    fill(Field::kv_heads, Field::heads, 1);
    fill(Field::seq_kv, Field::seq_q, 1);
    fill(Field::causal, Field::causal, 0);
    parameters.set(Field::impl, name_of(question.execution.implementation));
    parameters.set(Field::l2, name_of(question.execution.l2));
    parameters.set(Field::launch, name_of(question.execution.launch));
    return parameters;
}

plot::Scatter record_scatter(const Validation& validation, std::span<const Record> records) {
    plot::Scatter scatter;
    scatter.x = {.title = "Predicted time", .unit = "us", .scale = plot::Scale::log};
    scatter.y = {.title = "Measured time", .unit = "us", .scale = plot::Scale::log};
    const std::map<std::size_t, std::string> names = scatter_classes(validation, records);
    std::map<std::string, std::pair<plot::Series, std::vector<double>>> classes;
    for (const Comparison& comparison : validation.comparisons) {
        const Record& record = records[comparison.record];
        plot::SeriesPoint point;
        point.x = comparison.prediction.time.in(units::us);
        point.y = record.time().in(units::us);
        point.name = canonical_text(record.question);
        point.terms = tooltip(comparison, record);
        auto& [series, errors] = classes[names.at(comparison.record)];
        series.points.push_back(std::move(point));
        errors.push_back(std::abs(comparison.error));
    }
    for (auto& [name, members] : classes) {
        auto& [series, errors] = members;
        series.name = name;
        series.detail = fmt::format("n = {}, median {:.1f} %", errors.size(),
                                    100.0 * measure::median_of(errors));
        series.drawing = plot::Drawing::scatter;
        series.origin = plot::Origin::measured;
        scatter.groups.push_back(std::move(series));
    }
    if (!validation.unused.empty()) {
        scatter.notes.push_back(
            fmt::format("{} records are not compared", validation.unused.size()));
    }
    return scatter;
}

plot::Sweep record_sweep(const Validation& validation, std::span<const Record> records, Field x,
                         Ordinate ordinate) {
    std::map<std::string, std::pair<plot::Series, plot::Series>> classes;
    for (const Comparison& comparison : validation.comparisons) {
        const Record& record = records[comparison.record];
        const model::Parameters parameters = parameters_of(record.question);
        if (!parameters.has(x)) continue;
        const auto abscissa = static_cast<double>(parameters.count(x));
        auto& [measured, predicted] = classes[class_name(record)];
        const auto add = [&](plot::Series& series, Time time) {
            plot::SeriesPoint point;
            point.x = abscissa;
            point.y = ordinate_value(ordinate, comparison.prediction.work.flop(),
                                     comparison.prediction.work.compulsory(), time);
            point.name = canonical_text(record.question);
            point.terms = tooltip(comparison, record);
            series.points.push_back(std::move(point));
        };
        add(measured, record.time());
        add(predicted, comparison.prediction.time);
    }
    if (classes.empty()) {
        throw InputError("x: no record has the field " + std::string(model::info_of(x).name));
    }
    plot::Sweep sweep;
    sweep.x = {.title = std::string(model::info_of(x).name), .unit = "", .scale = plot::Scale::log};
    sweep.y = ordinate_axis(ordinate, "Inputs and outputs over time");
    std::size_t index = 0;
    for (auto& [name, pair] : classes) {
        auto& [measured, predicted] = pair;
        const plot::Style style = plot::class_style(index++);
        measured.name = name + ", measured";
        measured.drawing = plot::Drawing::scatter;
        measured.origin = plot::Origin::measured;
        measured.style = style;
        predicted.name = name + ", predicted";
        predicted.style = style;
        predicted.markers = plot::Markers::hidden;
        sort_by_x(measured);
        sort_by_x(predicted);
        sweep.series.push_back(std::move(measured));
        sweep.series.push_back(std::move(predicted));
    }
    return sweep;
}

void add_record_points(plot::Roofline& chart, const Validation& validation,
                       std::span<const Record> records, Levels levels) {
    for (const Comparison& comparison : validation.comparisons) {
        const Record& record = records[comparison.record];
        const model::Work& work = comparison.prediction.work;
        const auto* counters = std::get_if<measure::Counters>(&record.counters);
        const std::string name = label_of(record);
        std::optional<Bytes> dram;
        if (counters != nullptr && counters->dram_read && counters->dram_write) {
            dram = *counters->dram_read + *counters->dram_write;
        }
        // Counters are read in replays, which leave the L2 in a state of their own: what stays in a
        // warm L2 is placed by its compulsory bytes.
        add_pair(chart, name, comparison, record, dram, std::max(work.dram(), work.compulsory()));
        if (levels == Levels::dram || counters == nullptr) continue;
        if (counters->sm_l2)
            add_pair(chart, "L2: " + name, comparison, record, counters->sm_l2, work.l2);
        if (counters->shared) {
            add_pair(chart, "shared: " + name, comparison, record, counters->shared, work.shared);
        }
    }
}

void add_measured_roofs(plot::Roofline& chart, const hardware::Description& gpu,
                        model::DataType type) {
    const auto memory = [&](const char* name, const char* path, bool emphasised) {
        const auto bandwidth = gpu.quantity<Bandwidth>(path);
        if (!bandwidth) return;
        chart.memory.push_back({.name = name,
                                .value = format(*bandwidth),
                                .slope = bandwidth->base() / tera,
                                .evidence = plot::Evidence::measured,
                                .emphasised = emphasised,
                                .terms = {{"bandwidth", format(*bandwidth)}, {"field", path}}});
    };
    const auto compute = [&](const std::string& name, const std::string& path) {
        if (hardware::device_schema().find(path) == nullptr) return;
        const auto rate = gpu.quantity<FlopRate>(path);
        if (!rate) return;
        chart.compute.push_back({.name = name,
                                 .value = format(*rate),
                                 .rate = rate->base() / tera,
                                 .evidence = plot::Evidence::measured,
                                 .terms = {{"rate", format(*rate)}, {"field", path}}});
    };
    memory("DRAM, measured", "measured.dram.read", false);
    memory("L2, measured", "measured.l2.read", false);
    memory("shared memory, measured", "measured.shared.read", false);
    const std::string tensor = fmt::format("measured.tensor.{}.", name_of(type));
    compute(fmt::format("{} tensor, burst", name_of(type)), tensor + "burst");
    compute(fmt::format("{} tensor, sustained", name_of(type)), tensor + "sustained");
    const bool double_precision = type == model::DataType::fp64;
    compute(double_precision ? "fp64 FMA, measured" : "fp32 FMA, measured",
            double_precision ? "measured.fma.fp64" : "measured.fma.fp32");
}

}  // namespace ridge::cli
