#include "programs/configs/architecture.h"

#include <algorithm>

#include "hardware/error.h"

namespace ridge::programs {
namespace {

constexpr double most_parameters = 1e17;

Scope scope_of(const Architecture& a, const std::vector<std::vector<std::int64_t>>& symbols,
               std::size_t kind) {
    return {.symbols = symbols[kind], .fields = &a.fields, .kinds = symbols};
}

/// Evaluates definitions again: those that the step changes, or all.
void settle(const Architecture& a, std::vector<std::vector<std::int64_t>>& symbols, bool all) {
    const auto pinned = [&](std::int32_t slot) {
        return std::any_of(a.pinned.begin(), a.pinned.end(),
                           [slot](const auto& pin) { return pin.first == slot; });
    };
    for (const auto* list : {&a.rules->model, &a.rules->layer}) {
        for (const Definition& each : *list) {
            if ((!all && !each.changes) || pinned(each.slot)) continue;
            for (std::size_t kind = 0; kind < symbols.size(); ++kind) {
                symbols[kind][static_cast<std::size_t>(each.slot)] =
                    evaluate(a.rules->nodes, each.value, scope_of(a, symbols, kind));
            }
        }
    }
}

void add_weight(std::vector<Weight>& weights, const WeightRule& rule, const WeightShape& shape,
                std::int64_t count, std::size_t kind, std::size_t index) {
    if (!shape.exists || count == 0) return;
    Weight weight{.name = rule.name,
                  .role = rule.role,
                  .rows = shape.rows,
                  .columns = shape.columns,
                  .stacked = shape.stacked,
                  .count = count,
                  .kind = static_cast<std::uint8_t>(kind),
                  .rule = index,
                  .element = rule.element,
                  .table = rule.table};
    weights.push_back(weight);
    if (!shape.bias) return;
    weight.role = WeightRole::bias;
    weight.columns = 1;
    weights.push_back(weight);
}

void run_check(const Check& check, const Architecture& a, std::size_t kind) {
    const Scope scope = scope_of(a, a.kinds, kind);
    const auto of = [&](std::int32_t root) { return evaluate(a.rules->nodes, root, scope); };
    if (check.condition >= 0 && of(check.condition) == 0) return;
    const std::int64_t value = of(check.value);
    const std::string is = check.name + " is " + std::to_string(value) + "; it must ";
    switch (check.kind) {
        case Check::Kind::between:
            if (value >= of(check.least) && value <= of(check.most)) return;
            throw InputError(is + "be " + std::to_string(of(check.least)) + " to " +
                             std::to_string(of(check.most)));
        case Check::Kind::divides:
            if (value > 0 && of(check.least) % value == 0) return;
            throw InputError(is + "divide " + check.other + ", " + std::to_string(of(check.least)));
        case Check::Kind::refuse:
            if (value != 0) throw InputError(check.name);
    }
}

}  // namespace

std::int64_t Architecture::layers_of(std::size_t kind) const {
    return std::count(layer_kinds.begin(), layer_kinds.end(), static_cast<std::uint8_t>(kind));
}

std::int64_t Architecture::value(std::string_view symbol, std::size_t kind) const {
    const std::int32_t slot = rules == nullptr ? -1 : rules->slot_of(symbol);
    return slot < 0 ? 0 : kinds[kind][static_cast<std::size_t>(slot)];
}

std::int64_t Architecture::most(std::string_view symbol) const {
    std::int64_t most = 0;
    for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
        most = std::max(most, value(symbol, kind));
    }
    return most;
}

Architecture Architecture::with(std::string_view symbol, std::int64_t value) const {
    Architecture changed = *this;
    const std::int32_t slot = rules->slot_of(symbol);
    RIDGE_CONTRACT(slot >= 0);
    changed.pinned.emplace_back(slot, value);
    for (auto& kind : changed.kinds) kind[static_cast<std::size_t>(slot)] = value;
    settle(changed, changed.kinds, true);
    return changed;
}

Architecture Architecture::shortened(std::size_t count) const {
    Architecture changed = *this;
    changed.layer_kinds.resize(std::min(count, layer_kinds.size()));
    return changed;
}

Architecture Architecture::stage(std::int64_t index, std::int64_t stages) const {
    const auto bound = [&](std::int64_t i) { return i * layers() / stages; };
    Architecture part = *this;
    part.first_layer = first_layer + bound(index);
    const auto at = [&](std::int64_t i) {
        return layer_kinds.begin() + static_cast<std::ptrdiff_t>(bound(i));
    };
    part.layer_kinds.assign(at(index), at(index + 1));
    part.embeds = embeds && index == 0;
    part.ends = ends && index + 1 == stages;
    return part;
}

bool Architecture::holds(const WeightRule& rule) const {
    if (rule.of_layer || (embeds && ends)) return true;
    if (rule.last) return ends;
    return embeds || (ends && rule.name == "embedding" && value("tied") > 0);
}

Architecture Architecture::drafting() const {
    Architecture changed = with("drafting", 1);
    if (layer_kinds.empty()) return changed;
    changed.layer_kinds.insert(changed.layer_kinds.end(),
                               static_cast<std::size_t>(value("further")), layer_kinds.back());
    return changed;
}

std::vector<std::vector<std::int64_t>> symbols_of(const Architecture& a, const StepValues& step) {
    auto symbols = a.kinds;
    for (auto& kind : symbols) std::copy(step.values.begin(), step.values.end(), kind.begin());
    settle(a, symbols, false);
    return symbols;
}

WeightShape shape_of(const WeightRule& rule, const Architecture& a,
                     const std::vector<std::vector<std::int64_t>>& symbols, std::size_t kind) {
    const Scope scope = scope_of(a, symbols, kind);
    const auto of = [&](std::int32_t root, std::int64_t otherwise) {
        return root < 0 ? otherwise : evaluate(a.rules->nodes, root, scope);
    };
    WeightShape shape;
    shape.exists = of(rule.condition, 1) != 0;
    if (!shape.exists) return shape;
    shape.rows = of(rule.rows, 1);
    shape.columns = of(rule.columns, 1);
    shape.stacked = of(rule.stacked, 1);
    shape.bias = of(rule.bias, 0) != 0;
    return shape;
}

std::vector<Weight> weights_of(const Architecture& a) {
    std::vector<Weight> weights;
    for (std::size_t index = 0; index < a.rules->weights.size(); ++index) {
        const WeightRule& rule = a.rules->weights[index];
        if (!a.holds(rule)) continue;
        if (!rule.of_layer) {
            add_weight(weights, rule, shape_of(rule, a, a.kinds, 0), 1, 0, index);
            continue;
        }
        for (std::size_t kind = 0; kind < a.kinds.size(); ++kind) {
            add_weight(weights, rule, shape_of(rule, a, a.kinds, kind), a.layers_of(kind), kind,
                       index);
        }
    }
    return weights;
}

std::int64_t parameters_of(const Architecture& architecture) {
    std::int64_t sum = 0;
    for (const Weight& weight : weights_of(architecture)) {
        if (!weight.table) sum += weight.elements() * weight.count;
    }
    return sum;
}

std::int64_t active_parameters_of(const Architecture& architecture) {
    std::int64_t sum = 0;
    for (const Weight& weight : weights_of(architecture)) {
        if (weight.table) continue;
        const bool expert = weight.role == WeightRole::expert && weight.stacked > 1;
        const std::int64_t elements =
            expert ? weight.rows * weight.columns * architecture.value("active", weight.kind)
                   : weight.elements();
        sum += elements * weight.count;
    }
    return sum;
}

void validate(const Architecture& a) {
    for (const Check& check : a.rules->checks) {
        for (std::size_t kind = 0; kind < a.kinds.size(); ++kind) run_check(check, a, kind);
    }
    double parameters = 0.0;
    for (const Weight& weight : weights_of(a)) {
        for (const std::int64_t size : {weight.rows, weight.columns, weight.stacked}) {
            if (size < 1) {
                throw InputError(std::string(weight.name) + " would have a size of " +
                                 std::to_string(size));
            }
        }
        parameters += static_cast<double>(weight.rows) * static_cast<double>(weight.columns) *
                      static_cast<double>(weight.stacked) * static_cast<double>(weight.count);
    }
    if (parameters > most_parameters) {
        throw InputError("the config describes more than 10^17 parameters");
    }
}

}  // namespace ridge::programs
