#include "effects/study.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "effects/text.h"
#include "hardware/algorithms.h"
#include "hardware/error.h"
#include "hardware/text.h"
#include "hardware/units.h"
#include "model/core/fields.h"
#include "model/predict.h"

namespace ridge::effects {
namespace {

/// One operation of a point and how often it runs.
struct Part {
    measure::Question question;
    std::int64_t count = 1;
};

/// The 16-bit type of products on this GPU: fp16 if it has no bf16.
model::DataType half_type(const model::Machine& machine) {
    using model::DataType;
    const auto has = [&machine](DataType type) {
        return machine.tensor_peak(type).has_value() || machine.vector_peak(type).has_value();
    };
    return has(DataType::bf16) || !has(DataType::fp16) ? DataType::bf16 : DataType::fp16;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
        text.replace(at, from.size(), to);
    }
}

/// Puts the values of the knobs in the place of "$name".
void set_knobs(Plan& plan, const Effect& effect, const Subject& subject) {
    Ratio& ratio = plan.ratio;
    for (const Knob* knob : effect.knobs) {
        const std::string value = std::to_string(subject.at(*knob));
        for (std::string* text :
             {&ratio.what, &ratio.above, &ratio.below, &ratio.why, &plan.text}) {
            replace_all(*text, "$" + std::string(knob->name), value);
        }
        for (Figure& figure : plan.figures) {
            replace_all(figure.title, "$" + std::string(knob->name), value);
        }
    }
}

/// The plan for this GPU: on a GPU without bf16, fp16 replaces bf16 in texts and operations.
Plan planned(const Effect& effect, const Subject& subject) {
    Plan plan = effect.plan(subject);
    set_knobs(plan, effect, subject);
    if (half_type(subject.machine) == model::DataType::bf16) return plan;
    const auto in_half = [](std::string& text) { replace_all(text, "bf16", "fp16"); };
    for (Figure& figure : plan.figures) {
        in_half(figure.title);
        for (std::string& name : figure.x.names) in_half(name);
        for (Series& series : figure.series) {
            for (std::string* text : {&series.id, &series.name, &series.detail}) in_half(*text);
            for (Point& point : series.points) {
                in_half(point.name);
                in_half(point.work);
            }
        }
    }
    for (Named& each : plan.kernels) in_half(each.work);
    Ratio& ratio = plan.ratio;
    for (std::string* text :
         {&ratio.what, &ratio.above, &ratio.below, &ratio.why, &plan.formula, &plan.text}) {
        in_half(*text);
    }
    return plan;
}

Part parse_part(std::string_view text, model::DataType half) {
    std::string words(text);
    measure::DataPattern pattern = measure::DataPattern::normal;
    constexpr std::string_view mark = " data=";
    if (const std::size_t at = words.find(mark); at != std::string::npos) {
        const std::size_t end = std::min(words.find(' ', at + 1), words.size());
        const std::size_t from = at + mark.size();
        pattern = measure::parse_data_pattern(words.substr(from, end - from));
        words.erase(at, end - at);
    }
    model::Parameters usual;
    usual.set(model::Field::dtype, name_of(half));
    const bool fp32_alone = words.starts_with("access");
    const model::StepText step = model::parse_step(words, fp32_alone ? model::Parameters{} : usual);
    return {.question = {.operation =
                             model::make_operation(step.operation.kind, step.operation.parameters),
                         .execution = model::make_execution(step.operation.parameters),
                         .pattern = pattern},
            .count = step.count};
}

std::vector<Part> parts_of(std::string_view work, model::DataType half) {
    std::vector<Part> parts;
    while (!work.empty()) {
        const std::size_t end = std::min(work.find(';'), work.size());
        if (const auto text = trimmed(work.substr(0, end)); !text.empty()) {
            parts.push_back(parse_part(text, half));
        }
        work.remove_prefix(std::min(end + 1, work.size()));
    }
    return parts;
}

/// The sums over a point's operations.
struct Sums {
    Time time;
    Time low;
    Time high;
    model::Work work;
    Bytes footprint;
    bool complete = true;                         ///< all operations have a time
    model::Grade grade = model::Grade::measured;  ///< the weakest of the operations
    std::string refused;
    std::optional<Time> measured = Time{};
    std::optional<Bytes> dram = Bytes{};
    std::optional<Bytes> l2 = Bytes{};
    std::optional<Frequency> clock;
};

template <class Q>
void add(std::optional<Q>& sum, const std::optional<Q>& further, double count) {
    if (sum && further) {
        *sum += *further * count;
    } else {
        sum.reset();
    }
}

Sums sums_of(const std::vector<Part>& parts, const model::Machine& machine,
             const Measured& measured) {
    Sums sums;
    for (Part part : parts) {
        const auto count = static_cast<double>(part.count);
        const model::Outcome outcome =
            model::predict(part.question.operation, part.question.execution, machine);
        if (const auto* p = std::get_if<model::Prediction>(&outcome)) {
            sums.grade = std::min(sums.grade, p->evidence.grade());
            sums.time += p->time * count;
            sums.low += p->low * count;
            sums.high += p->high * count;
            sums.work += model::repeated(p->work, part.count);
            sums.footprint = std::max(sums.footprint, p->footprint);
            part.question.execution.implementation = p->implementation;
        } else {
            sums.complete = false;
            sums.refused = std::get<model::NotModelled>(outcome).reason;
        }
        const Seen* seen = measured.find(measure::canonical_text(part.question));
        add(sums.measured, seen ? seen->time : std::nullopt, count);
        add(sums.dram, seen ? seen->dram : std::nullopt, count);
        add(sums.l2, seen ? seen->l2 : std::nullopt, count);
        if (seen != nullptr) sums.clock = seen->clock;
    }
    return sums;
}

/// The useful amount at a point: its own `amount`, or else what its operations count.
double amount_of(const Point& point, Quantity quantity, const model::Work& work) {
    if (point.amount > 0.0) return point.amount;
    return quantity == Quantity::rate ? work.flop().base() : work.compulsory().base();
}

void add_terms(Value& value, const Sums& sums) {
    value.terms.push_back({"predicted time", format(sums.time), sums.time.base()});
    if (sums.measured) {
        value.terms.push_back({"measured time", format(*sums.measured), sums.measured->base()});
    }
    if (sums.work.flop() > Flop{}) value.terms.push_back({"work", format(sums.work.flop())});
    value.terms.push_back({"DRAM traffic", format_traffic(sums.work.dram())});
    value.terms.push_back({"evidence", std::string(name_of(sums.grade))});
}

/// Fills y of a point whose operations all have a time.
void fill(Value& value, const Point& point, Quantity quantity, const Sums& sums) {
    const double amount = amount_of(point, quantity, sums.work);
    switch (quantity) {
        case Quantity::time:
            value.predicted = sums.time.base();
            value.low = sums.low.base();
            value.high = sums.high.base();
            if (sums.measured) value.measured = sums.measured->base();
            return;
        case Quantity::latency:
            value.predicted = sums.time.base() / amount;
            value.low = sums.low.base() / amount;
            value.high = sums.high.base() / amount;
            if (sums.measured) value.measured = sums.measured->base() / amount;
            return;
        case Quantity::bandwidth:
        case Quantity::rate:
            value.predicted = amount / sums.time.base();
            value.low = amount / sums.high.base();
            value.high = amount / sums.low.base();
            if (sums.measured) value.measured = amount / sums.measured->base();
            return;
        case Quantity::traffic:
            value.predicted = sums.work.dram().base();
            if (sums.dram) value.measured = sums.dram->base();
            return;
        case Quantity::l2_traffic:
            value.predicted = sums.work.l2.base();
            if (sums.l2) value.measured = sums.l2->base();
            return;
        case Quantity::memory:
            value.predicted = sums.footprint.base();
            return;
        case Quantity::clock:
            if (sums.clock) value.measured = sums.clock->base();
            return;
        case Quantity::number:
            value.predicted = sums.time.base();
            return;
    }
}

Value value_of(const Point& point, const Figure& figure, Quantity quantity, const Subject& subject,
               const Measured& measured) {
    Value value{.x = point.x, .name = point.name, .labelled = point.labelled};
    if (!point.work.empty()) {
        const Sums sums =
            sums_of(parts_of(point.work, half_type(subject.machine)), subject.machine, measured);
        if (sums.complete) {
            fill(value, point, quantity, sums);
            add_terms(value, sums);
            value.evidence = sums.grade;
            if (figure.roofline && sums.work.dram() > Bytes{}) {
                value.x = (sums.work.flop() / sums.work.compulsory()).base();
            }
        } else {
            value.refused = sums.refused;
        }
    }
    if (point.value) {
        value.predicted = point.value;
        value.evidence = model::Grade::datasheet;
        value.computed = true;
    }
    if (point.measured) value.measured = point.measured;
    if (const Seen* seen = measured.find(point.question); seen != nullptr) {
        if (quantity == Quantity::memory && seen->memory) value.measured = seen->memory->base();
        if (quantity == Quantity::time && seen->time) value.measured = seen->time->base();
    }
    return value;
}

/// Tile, parts along k, blocks and waves as text.
std::string kernel_text(const model::Prediction& prediction) {
    const model::Tiling& tiling = prediction.tiling;
    if (tiling.tiles == 0) return "one kernel";
    const std::int64_t blocks = tiling.tiles * tiling.split;
    std::string text = fmt::format("{} x {}", tiling.tile.m, tiling.tile.n);
    if (tiling.split > 1) text += fmt::format(", k in {} parts", tiling.split);
    return text + fmt::format(", {} block{} in {} wave{}", blocks, blocks == 1 ? "" : "s",
                              tiling.waves, tiling.waves == 1 ? "" : "s");
}

/// One row per operation, whatever its count.
std::vector<KernelRow> kernel_rows(const std::vector<Named>& named, const Subject& subject,
                                   const Measured& measured) {
    std::vector<KernelRow> rows;
    for (const Named& each : named) {
        for (Part part : parts_of(each.work, half_type(subject.machine))) {
            const model::Outcome outcome =
                model::predict(part.question.operation, part.question.execution, subject.machine);
            const auto* p = std::get_if<model::Prediction>(&outcome);
            if (p == nullptr) continue;
            part.question.execution.implementation = p->implementation;
            const Seen* seen = measured.find(measure::canonical_text(part.question));
            rows.push_back({.name = each.name,
                            .operation = measure::canonical_text(part.question.operation),
                            .predicted = kernel_text(*p),
                            .measured = seen == nullptr ? std::string() : seen->kernels});
        }
    }
    return rows;
}

std::string verdict_of(const Study& study, bool any_measured) {
    if (!study.predicted_ratio) return {};
    std::string text =
        fmt::format("{}: predicted {}", study.ratio.what, format_number(*study.predicted_ratio, 3));
    if (study.evidence && *study.evidence < model::Grade::related) {
        text += fmt::format(" (evidence: {})", name_of(*study.evidence));
    }
    if (!study.measured_ratio && !study.ratio.unmeasured.empty()) {
        return text + "; not measured: " + study.ratio.unmeasured + ".";
    }
    if (!study.measured_ratio) {
        text += any_measured ? "; this ratio was not measured on this GPU."
                             : fmt::format(
                                   "; not measured on this GPU yet (`ridge effect {} --measure` "
                                   "measures it where it can).",
                                   study.effect->name);
        return text;
    }
    const double far = apart(*study.predicted_ratio, *study.measured_ratio);
    const std::string distance = distance_text(*study.predicted_ratio, *study.measured_ratio);
    text += fmt::format(", measured {}: {}, {} apart.", format_number(*study.measured_ratio, 3),
                        same_direction(*study.predicted_ratio, *study.measured_ratio)
                            ? "the same direction"
                            : "not the same direction",
                        distance);
    if (far > close_enough && !study.ratio.why.empty()) text += " " + study.ratio.why;
    return text;
}

}  // namespace

double apart(double one, double other) {
    return std::max(one, other) / std::min(one, other) - 1.0;
}

std::string distance_text(double one, double other) {
    const double far = apart(one, other);
    return far < 0.01 ? "less than 1 %" : format_number(100.0 * far, 2) + " %";
}

bool same_direction(double one, double other) {
    const auto direction = [](double ratio) {
        return ratio > 1.05 ? 1 : ratio < 1.0 / 1.05 ? -1 : 0;
    };
    return direction(one) == direction(other) || apart(one, other) < 0.05;
}

namespace {

/// Puts the figure first that the answer speaks of: that of its first relation, or of the ratio.
void put_answer_first(Study& study) {
    const bool related = !study.claims.empty() && !study.claims[0][0].relations.empty();
    const std::string& place = related ? study.claims[0][0].relations[0].left : study.ratio.above;
    const std::string id = place.substr(0, place.find('@'));
    const auto holder = algorithms::find_if(study.figures, [&id](const StudiedFigure& figure) {
        return algorithms::find(figure.series, id, &StudiedSeries::id) != figure.series.end();
    });
    if (holder != study.figures.end()) std::rotate(study.figures.begin(), holder, holder + 1);
}

}  // namespace

Study evaluate(const Effect& effect, const Subject& subject, const Measured& measured) {
    Plan plan = planned(effect, subject);
    Study study;
    study.effect = &effect;
    study.gpu = subject.machine.title;
    study.gpu_name = subject.machine.name;
    study.formula = plan.formula;
    study.ratio = plan.ratio;
    study.refused = plan.refused;
    bool any_measured = false;
    std::string reason;
    for (Figure& figure : plan.figures) {
        StudiedFigure studied;
        for (const Series& series : figure.series) {
            StudiedSeries out{.id = series.id,
                              .name = series.name,
                              .detail = series.detail,
                              .joined = series.joined,
                              .quantity = series.quantity.value_or(figure.quantity)};
            for (const Point& point : series.points) {
                out.values.push_back(value_of(point, figure, out.quantity, subject, measured));
                any_measured = any_measured || out.values.back().measured;
                const Value& value = out.values.back();
                if (value.evidence && !value.computed) {
                    study.evidence =
                        std::min(study.evidence.value_or(*value.evidence), *value.evidence);
                }
                if (reason.empty()) reason = out.values.back().refused;
            }
            studied.series.push_back(std::move(out));
        }
        figure.series.clear();
        studied.figure = std::move(figure);
        study.figures.push_back(std::move(studied));
    }
    if (!study.evidence) study.evidence = model::Grade::datasheet;
    const Places places(study, subject, plan.facts, plan.numbers);
    study.predicted_ratio = places.ratio(plan.ratio.above, plan.ratio.below, Taken::predicted);
    study.measured_ratio = places.ratio(plan.ratio.above, plan.ratio.below, Taken::measured);
    if (study.refused.empty() && !study.predicted_ratio) {
        study.refused = reason.empty() ? "its ratio is not modelled on this GPU" : reason;
    }
    if (study.refused.empty() && !study.measured_ratio &&
        (places.only_bounded(plan.ratio.above) || places.only_bounded(plan.ratio.below))) {
        study.refused = "only its data sheet is known; its kernels are not modelled";
    }
    if (study.refused.empty()) {
        study.kernels = kernel_rows(plan.kernels, subject, measured);
        study.claims = places.claims(plan.text, study.unfilled);
        study.paragraphs = paragraphs_of(study.claims);
        study.ratio.why.clear();
        for (const std::string& why :
             paragraphs_of(places.claims(plan.ratio.why, study.unfilled))) {
            study.ratio.why = why;
        }
        study.verdict = verdict_of(study, any_measured);
        put_answer_first(study);
    }
    return study;
}

namespace {

/// Whether no run can answer the question: a library chooses its tiles itself, and no bundled
/// kernel takes single fp8 numbers.
bool is_predicted_only(const measure::Question& question) {
    using model::Implementation;
    const Implementation how = question.execution.implementation;
    if (how == Implementation::library) return question.execution.tile.has_value();
    return std::holds_alternative<model::Elementwise>(question.operation) &&
           (how == Implementation::fused || how == Implementation::unfused) &&
           type_of(question.operation) == model::DataType::fp8;
}

}  // namespace

std::vector<measure::Question> questions(const Effect& effect, const Subject& subject) {
    std::vector<measure::Question> out;
    std::set<std::string> known;
    const Plan plan = planned(effect, subject);
    for (const Figure& figure : plan.figures) {
        for (const Series& series : figure.series) {
            for (const Point& point : series.points) {
                for (const Part& part : parts_of(point.work, half_type(subject.machine))) {
                    measure::Question question = part.question;
                    const model::Outcome outcome =
                        model::predict(question.operation, question.execution, subject.machine);
                    const auto* p = std::get_if<model::Prediction>(&outcome);
                    if (p == nullptr) continue;
                    question.execution.implementation = p->implementation;
                    if (is_predicted_only(question)) continue;
                    if (!known.insert(measure::canonical_text(question)).second) continue;
                    out.push_back(std::move(question));
                }
            }
        }
    }
    return out;
}

std::vector<std::string> further_questions(const Effect& effect, const Subject& subject) {
    std::vector<std::string> out;
    for (const Figure& figure : planned(effect, subject).figures) {
        for (const Series& series : figure.series) {
            for (const Point& point : series.points) {
                const bool known = std::find(out.begin(), out.end(), point.question) != out.end();
                if (!point.question.empty() && !known) out.push_back(point.question);
            }
        }
    }
    return out;
}

std::string text_of(Quantity quantity, double value) {
    switch (quantity) {
        case Quantity::time:
        case Quantity::latency:
            return format(Time::from_base(value));
        case Quantity::bandwidth:
            return format(Bandwidth::from_base(value));
        case Quantity::rate:
            return format(FlopRate::from_base(value));
        case Quantity::traffic:
        case Quantity::l2_traffic:
            return format_traffic(Bytes::from_base(value));
        case Quantity::memory:
            return format_capacity(Bytes::from_base(value), 3);
        case Quantity::clock:
            return format(Frequency::from_base(value));
        case Quantity::number:
            return format_number(value, 3);
    }
    return {};
}

}  // namespace ridge::effects
