#include "cli/options/sweep_plan.h"

#include <algorithm>
#include <cmath>
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
    std::int64_t points = plan.variants();
    for (const SweptField& field : plan.swept) {
        points *= static_cast<std::int64_t>(field.values.size());
        if (points > most_points) throw InputError("the sweep has more than 50 million points");
    }
}

bool is_geometric(const std::vector<std::int64_t>& values) {
    if (values.size() < 3 || values.front() < 1 || values[1] <= values.front()) return false;
    const double factor = static_cast<double>(values[1]) / static_cast<double>(values[0]);
    constexpr double rounding = 1e-12;  // ratios, because products of large values would overflow
    for (std::size_t i = 2; i < values.size(); ++i) {
        const double ratio = static_cast<double>(values[i]) / static_cast<double>(values[i - 1]);
        if (std::abs(ratio / factor - 1.0) > rounding) return false;
    }
    return true;
}

/// The words of a list. InputError if the field does not know one.
ListedWords parse_words(Field field, std::string_view text) {
    ListedWords list{.field = field, .words = {}};
    while (true) {
        const std::size_t comma = text.find(',');
        model::Parameters checked;
        checked.set(field, text.substr(0, comma));
        const std::string word = checked.text(field);
        if (std::find(list.words.begin(), list.words.end(), word) == list.words.end()) {
            list.words.push_back(word);
        }
        if (comma == std::string_view::npos) return list;
        text.remove_prefix(comma + 1);
    }
}

/// Position of the field's option among the arguments; `order.size()` if it is not there.
std::size_t position_of(Field field, std::span<const std::string> order) {
    std::string name = "--" + std::string(model::info_of(field).name);
    std::replace(name.begin(), name.end(), '_', '-');
    for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i].substr(0, order[i].find('=')) == name) return i;
    }
    return order.size();
}

/// Moves the abscissa to the front.
void choose_abscissa(SweepPlan& plan, const std::string& x, std::span<const std::string> order) {
    if (plan.swept.empty()) return;
    auto chosen = plan.swept.begin();
    if (x.empty()) {
        chosen =
            std::min_element(plan.swept.begin(), plan.swept.end(),
                             [order](const SweptField& a, const SweptField& b) {
                                 return position_of(a.field, order) < position_of(b.field, order);
                             });
    } else {
        chosen = std::find_if(plan.swept.begin(), plan.swept.end(), [&x](const SweptField& field) {
            return model::info_of(field.field).name == x;
        });
        if (chosen == plan.swept.end()) {
            std::string known;
            for (const SweptField& field : plan.swept) {
                known +=
                    (known.empty() ? "" : ", ") + std::string(model::info_of(field.field).name);
            }
            throw InputError("x: '" + x + "' is not a range", {}, "one of " + known);
        }
    }
    std::rotate(plan.swept.begin(), chosen, chosen + 1);
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

std::int64_t SweepPlan::variants() const {
    return std::accumulate(listed.begin(), listed.end(), std::int64_t{1},
                           [](std::int64_t product, const ListedWords& list) {
                               return product * static_cast<std::int64_t>(list.words.size());
                           });
}

void SweepPlan::set_variant(std::int64_t index, model::Parameters& parameters) const {
    // NOLINTNEXTLINE(modernize-loop-convert): Clang 14 cannot compile libstdc++'s reverse_view.
    for (auto list = listed.rbegin(); list != listed.rend(); ++list) {
        const auto count = static_cast<std::int64_t>(list->words.size());
        parameters.set(list->field, list->words[static_cast<std::size_t>(index % count)]);
        index /= count;
    }
}

SweepPlan make_sweep_plan(model::OperationKind kind, const std::map<Field, std::string>& texts,
                          PlanUse use, const std::string& x, std::span<const std::string> order) {
    SweepPlan plan{.kind = kind, .fixed = {}, .swept = {}, .listed = {}};
    std::map<Field, std::string> followers;
    for (const auto& [field, text] : texts) {
        const model::FieldInfo& info = model::info_of(field);
        if (info.kind == model::FieldKind::word && text.find(',') != std::string::npos) {
            plan.listed.push_back(parse_words(field, text));
            continue;
        }
        if (info.kind != model::FieldKind::count || !is_range(text)) {
            plan.fixed.set(field, text);
            continue;
        }
        SweepRange range = parse_range(info.name, text);
        if (!range.follows.empty()) {
            followers[field] = range.follows;
        } else {
            const bool geometric = is_geometric(range.values);
            plan.swept.push_back({.field = field,
                                  .values = std::move(range.values),
                                  .followers = {},
                                  .geometric = geometric});
        }
    }
    for (const auto& [field, leader] : followers) attach_follower(plan, field, leader);
    if (plan.swept.empty() && use == PlanUse::sweep) {
        throw InputError("no field is a range", {}, "for example --m 1024:8192:128 --n @m --k @m");
    }
    choose_abscissa(plan, x, order);
    require_few_points(plan);
    return plan;
}

std::string variant_name(const SweepPlan& plan, const model::Parameters& parameters) {
    std::string name;
    for (const ListedWords& list : plan.listed) {
        name += (name.empty() ? "" : ", ") + parameters.text(list.field);
    }
    return name;
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
    for (const ListedWords& list : plan.listed) {
        if (!parameters.has(list.field)) return std::nullopt;
        const std::string word = parameters.text(list.field);
        if (std::find(list.words.begin(), list.words.end(), word) == list.words.end()) {
            return std::nullopt;
        }
        point.set(list.field, word);
    }
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
