#include "cli/charts/record_labels.h"

#include <fmt/format.h>

#include "hardware/units.h"
#include "model/core/fields.h"
#include "model/explain.h"

namespace ridge::cli {
namespace {

template <class Q>
plot::Term sized(std::string name, const Q& quantity) {
    return {.name = std::move(name), .value = format(quantity), .number = quantity.base()};
}

}  // namespace

std::string label_of(const model::Operation& operation, const model::Execution& execution) {
    using model::Field;
    const model::Parameters parameters = model::parameters_of(operation);
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
    if (execution.l2 != model::L2State::warm) rest += " " + std::string(name_of(execution.l2));
    if (execution.launch != model::LaunchMode::kernel) {
        rest += " " + std::string(name_of(execution.launch));
    }
    const bool asked = execution.implementation != model::Implementation::automatic;
    const std::string type =
        parameters.has(Field::dtype) ? " " + parameters.text(Field::dtype) : "";
    return fmt::format("{}{}{}{}{}", name_of(operation), type,
                       asked ? " " + std::string(name_of(execution.implementation)) : "", shape,
                       rest);
}

std::string label_of(const measure::Question& question) {
    std::string label = label_of(question.operation, question.execution);
    if (question.pattern != measure::DataPattern::normal) {
        label += " " + std::string(name_of(question.pattern));
    }
    return label;
}

std::vector<plot::Term> terms_of(const model::Prediction& p, const std::optional<Time>& measured) {
    std::vector<plot::Term> terms;
    const Flop flop = p.work.flop();
    if (flop > Flop{}) {
        terms.push_back(sized("predicted", flop / p.time));
        if (measured) terms.push_back(sized("measured", flop / *measured));
        if (p.lower_bound > Time{}) terms.push_back(sized("attainable", flop / p.lower_bound));
    }
    terms.push_back(sized("predicted time", p.time));
    if (measured) {
        terms.push_back(sized("measured time", *measured));
        terms.push_back(error_term(p.time, *measured));
    }
    if (p.lower_bound > Time{}) terms.push_back(sized("attainable time", p.lower_bound));
    terms.push_back({.name = "80 % band",
                     .value = format(p.low) + " to " + format(p.high),
                     .number = p.low.base()});
    terms.push_back({"bound", std::string(name_of(p.bound))});
    terms.push_back({"limiter", std::string(name_of(p.limiter))});
    terms.push_back({"evidence", std::string(name_of(p.evidence.grade()))});
    if (p.algorithmic > Intensity{}) {
        terms.push_back(sized("algorithmic intensity", p.algorithmic));
        if (const auto dram = model::dram_intensity(p)) {
            terms.push_back(sized("DRAM intensity, predicted", *dram));
        }
    }
    return terms;
}

plot::Term error_term(Time predicted, Time measured) {
    const double error = predicted / measured - 1.0;
    return {.name = "error", .value = fmt::format("{:+.1f} %", 100.0 * error), .number = error};
}

std::optional<Bytes> counted_dram(const measure::Comparison& comparison,
                                  const measure::Record& record) {
    const auto* counters = std::get_if<measure::Counters>(&record.counters);
    if (!comparison.dram || counters == nullptr) return std::nullopt;
    const Bytes bytes =
        counters->dram_read.value_or(Bytes{}) + counters->dram_write.value_or(Bytes{});
    return bytes > Bytes{} ? std::optional(bytes) : std::nullopt;
}

}  // namespace ridge::cli
