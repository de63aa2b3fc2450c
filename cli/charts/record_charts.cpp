#include "cli/charts/record_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/charts/record_labels.h"
#include "hardware/error.h"
#include "hardware/nearest.h"
#include "hardware/si.h"
#include "hardware/units.h"
#include "measure/record/statistics.h"
#include "plot/text.h"

namespace ridge::cli {
namespace {

using measure::Comparison;
using measure::Record;
using measure::Validation;
using model::Field;
using plot::NaturalOrder;

using si::tera;

std::string class_name(const Record& record) {
    return fmt::format("{} {} {}", name_of(record.question.operation),
                       name_of(type_of(record.question.operation)),
                       name_of(record.question.execution.implementation));
}

std::vector<plot::Term> tooltip(const Comparison& comparison, const Record& record) {
    std::vector<plot::Term> terms = terms_of(comparison.prediction, record.time());
    const auto add = [&terms](const char* name, const std::optional<double>& ratio) {
        if (ratio) terms.push_back({name, fmt::format("{:.3f}", *ratio), *ratio});
    };
    add("DRAM predicted / counted", comparison.dram);
    add("FLOP predicted / counted", comparison.flop);
    return terms;
}

bool several_devices(const Validation& validation) {
    return std::any_of(validation.comparisons.begin(), validation.comparisons.end(),
                       [&](const Comparison& comparison) {
                           return comparison.device != validation.comparisons.front().device;
                       });
}

/// The class of each compared record: operation and implementation, or the operation alone if the
/// legend cannot hold more; with the GPU if there are several.
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
            return {.title = "Performance", .unit = "TFLOP/s"};
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
        if (same_word(text.substr(0, equals), "op")) {
            operation_ = model::parse_operation_kind(text.substr(equals + 1));
            continue;
        }
        Condition condition{.field = field_of(text.substr(0, equals)),
                            .value = text.substr(equals + 1),
                            .other = std::nullopt};
        if (condition.value.front() == '@') condition.other = field_of(condition.value.substr(1));
        conditions_.push_back(std::move(condition));
    }
}

bool RecordFilter::accepts(const Record& record) const {
    if (operation_ && model::kind_of(record.question.operation) != *operation_) return false;
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

std::string unused_reasons(const Validation& validation) {
    std::map<std::string, std::size_t> reasons;
    for (const measure::Unused& unused : validation.unused) ++reasons[unused.reason];
    std::string out;
    for (const auto& [reason, count] : reasons) {
        out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", reason, count);
    }
    return out;
}

plot::Scatter record_scatter(const Validation& validation, std::span<const Record> records) {
    plot::Scatter scatter;
    scatter.x = {.title = "Measured time", .unit = "us", .scale = plot::Scale::log};
    const std::map<std::size_t, std::string> names = scatter_classes(validation, records);
    std::map<std::string, std::pair<plot::Series, std::vector<double>>, NaturalOrder> classes;
    for (const Comparison& comparison : validation.comparisons) {
        const Record& record = records[comparison.record];
        plot::SeriesPoint point;
        point.x = record.time().in(units::us);
        point.y = 1.0 + comparison.error;
        point.low = comparison.prediction.low.in(record.time());
        point.high = comparison.prediction.high.in(record.time());
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
    if (validation.overall) {
        const measure::ErrorSummary& errors = validation.overall->errors;
        scatter.subtitle = fmt::format(
            "{} records: median error {:.1f} %, 90 % within {:.1f} %; above 1 the prediction is "
            "too slow",
            errors.count, 100.0 * errors.median, 100.0 * errors.p90);
    }
    if (!validation.unused.empty()) {
        scatter.notes.push_back(fmt::format("{} of {} records are not compared: {}.",
                                            validation.unused.size(), records.size(),
                                            unused_reasons(validation)));
    }
    return scatter;
}

/// The fields of a record other than `x`, as text: equal for records that a line may join. With
/// `tied`, a field that equals x is written as such, so that squares of all sizes are one line.
std::string run_of(const Record& record, const model::Parameters& parameters, Field x, bool tied) {
    std::string out = fmt::format("{} {} {}", class_name(record), name_of(record.question.pattern),
                                  record.device.name);
    for (const model::FieldInfo& info : model::field_table()) {
        if (info.field == x || !parameters.has(info.field)) continue;
        const bool follows = tied && info.kind == model::FieldKind::count &&
                             parameters.count(info.field) == parameters.count(x);
        out += fmt::format(" {}={}", info.name, follows ? "x" : parameters.text(info.field));
    }
    return out;
}

/// Runs by number. A record belongs to the longest of the runs that can contain it.
class Runs {
  public:
    void add(const std::string& run, double x) { xs_[run].insert(x); }

    [[nodiscard]] std::size_t longer(const std::string& a, const std::string& b) {
        const std::string& chosen = xs_[a].size() >= xs_[b].size() ? a : b;
        return numbers_.try_emplace(chosen, numbers_.size()).first->second;
    }

  private:
    std::map<std::string, std::set<double>> xs_;
    std::map<std::string, std::size_t> numbers_;
};

plot::Sweep record_sweep(const Validation& validation, std::span<const Record> records, Field x,
                         Ordinate ordinate) {
    std::map<std::string, std::pair<plot::Series, plot::Series>, NaturalOrder> classes;
    Runs runs;
    const auto each = [&](const auto& visit) {
        for (const Comparison& comparison : validation.comparisons) {
            const Record& record = records[comparison.record];
            const model::Parameters parameters = parameters_of(record.question);
            if (!parameters.has(x)) continue;
            visit(comparison, record, static_cast<double>(parameters.count(x)),
                  run_of(record, parameters, x, true), run_of(record, parameters, x, false));
        }
    };
    each([&runs](const Comparison&, const Record&, double at, const std::string& tied,
                 const std::string& fixed) {
        runs.add(tied, at);
        runs.add(fixed, at);
    });
    each([&](const Comparison& comparison, const Record& record, double at, const std::string& tied,
             const std::string& fixed) {
        auto& [measured, predicted] = classes[class_name(record)];
        const std::size_t run = runs.longer(tied, fixed);
        const auto add = [&](plot::Series& series, Time time) {
            plot::SeriesPoint point;
            point.x = at;
            point.y = ordinate_value(ordinate, comparison.prediction.work.flop(),
                                     comparison.prediction.work.compulsory(), time);
            point.name = canonical_text(record.question);
            point.run = run;
            point.terms = tooltip(comparison, record);
            series.points.push_back(std::move(point));
        };
        add(measured, record.time());
        add(predicted, comparison.prediction.time);
    });
    plot::Sweep sweep;
    sweep.x = {.title = std::string(model::info_of(x).name), .unit = "", .scale = plot::Scale::log};
    sweep.y = ordinate_axis(ordinate, "Inputs and outputs over time");
    sweep.subtitle =
        "Lines join predictions that differ only in " + sweep.x.title + " or in fields equal to it";
    std::size_t index = 0;
    for (auto& [name, pair] : classes) {
        auto& [measured, predicted] = pair;
        const plot::Style style = plot::class_style(index++);
        measured.drawing = plot::Drawing::scatter;
        measured.origin = plot::Origin::measured;
        predicted.markers = plot::Markers::hidden;
        for (plot::Series* const series : {&predicted, &measured}) {
            series->name = name;
            series->style = style;
            sort_by_x(*series);
            sweep.series.push_back(std::move(*series));
        }
    }
    return sweep;
}

}  // namespace ridge::cli
