#include "cli/options/sweep_plan.h"

#include <algorithm>
#include <numeric>

#include "cli/options/sweep_range.h"
#include "hardware/error.h"
#include "model/predict.h"

namespace ridge::cli {
namespace {

using model::Field;

constexpr std::int64_t most_points = 50'000'000;

void attach_follower(SweepPlan& plan, Field follower, const std::string& leader) {
    for (SweptField& field : plan.swept) {
        if (model::info_of(field.field).name == leader) {
            field.followers.push_back(follower);
            return;
        }
    }
    throw InputError(std::string(model::info_of(follower).name) + ": '@" + leader +
                     "' does not name a swept field");
}

void require_few_points(const SweepPlan& plan) {
    std::int64_t points = 1;
    for (const SweptField& field : plan.swept) {
        points *= static_cast<std::int64_t>(field.values.size());
        if (points > most_points) throw InputError("the sweep has more than 50 million points");
    }
}

}  // namespace

std::int64_t SweepPlan::size() const {
    return std::accumulate(swept.begin(), swept.end(), std::int64_t{1},
                           [](std::int64_t product, const SweptField& field) {
                               return product * static_cast<std::int64_t>(field.values.size());
                           });
}

void SweepPlan::set_point(std::int64_t index, model::Parameters& parameters) const {
    // NOLINTNEXTLINE(modernize-loop-convert): Clang 14 cannot compile libstdc++'s reverse_view.
    for (auto field = swept.rbegin(); field != swept.rend(); ++field) {
        const auto count = static_cast<std::int64_t>(field->values.size());
        const std::int64_t value = field->values[static_cast<std::size_t>(index % count)];
        index /= count;
        parameters.set_count(field->field, value);
        for (const Field follower : field->followers) parameters.set_count(follower, value);
    }
}

std::vector<Field> SweepPlan::varying() const {
    std::vector<Field> fields;
    for (const SweptField& field : swept) {
        fields.push_back(field.field);
        fields.insert(fields.end(), field.followers.begin(), field.followers.end());
    }
    std::sort(fields.begin(), fields.end());
    return fields;
}

SweepPlan make_sweep_plan(model::OperationKind kind, const std::map<Field, std::string>& texts) {
    SweepPlan plan{.kind = kind, .fixed = {}, .swept = {}};
    std::map<Field, std::string> followers;
    for (const auto& [field, text] : texts) {
        const model::FieldInfo& info = model::info_of(field);
        if (info.kind != model::FieldKind::count || !is_range(text)) {
            plan.fixed.set(field, text);
            continue;
        }
        SweepRange range = parse_range(info.name, text);
        if (!range.follows.empty()) {
            followers[field] = range.follows;
        } else {
            plan.swept.push_back(
                {.field = field, .values = std::move(range.values), .followers = {}});
        }
    }
    for (const auto& [field, leader] : followers) attach_follower(plan, field, leader);
    if (plan.swept.empty()) {
        throw InputError("no field is a range", {}, "for example --m 1024:8192:128 --n @m --k @m");
    }
    require_few_points(plan);
    return plan;
}

void predict_point(const SweepPlan& plan, std::int64_t index, Answer& answer) {
    plan.set_point(index, answer.parameters);
    try {
        predict(answer);
    } catch (const InputError& error) {
        answer.outcome = model::NotModelled{error.what()};
    }
}

std::optional<model::Parameters> at_values_of(const SweepPlan& plan,
                                              const model::Parameters& parameters) {
    model::Parameters point = plan.fixed;
    for (const SweptField& field : plan.swept) {
        if (!parameters.has(field.field)) return std::nullopt;
        const std::int64_t value = parameters.count(field.field);
        const bool abscissa = &field == &plan.swept.front();
        if (!abscissa &&
            std::find(field.values.begin(), field.values.end(), value) == field.values.end()) {
            return std::nullopt;
        }
        point.set_count(field.field, value);
        for (const Field follower : field.followers) {
            if (!parameters.has(follower) || parameters.count(follower) != value) {
                return std::nullopt;
            }
            point.set_count(follower, value);
        }
    }
    return point;
}

}  // namespace ridge::cli
