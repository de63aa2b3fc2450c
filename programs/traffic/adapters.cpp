#include "programs/traffic/adapters.h"

#include <algorithm>
#include <vector>

#include "hardware/checked.h"
#include "model/predict.h"
#include "programs/host.h"

namespace ridge::programs {
namespace {

/// Products with the same input, on one GPU.
struct AdaptedProduct {
    std::int64_t inputs = 0;
    std::int64_t outputs = 0;
    std::int64_t parts = 1;  ///< each with an A of its own
    std::int64_t count = 1;  ///< of layers
};

std::vector<AdaptedProduct> adapted_products(const Architecture& a, const Deployment& d) {
    std::vector<AdaptedProduct> all;
    const std::string* group = nullptr;
    std::uint8_t kind = 0;
    for (const Weight& weight : weights_of(a)) {
        const WeightRule& rule = a.rules->weights[weight.rule];
        if (weight.role != WeightRole::product || !rule.of_layer || weight.stacked > 1) continue;
        const bool shares = !rule.group.empty();
        if (shares && group != nullptr && rule.group == *group && weight.kind == kind) {
            all.back().outputs += ceil_divide(weight.rows, d.tensor);
            ++all.back().parts;
            continue;
        }
        group = shares ? &rule.group : nullptr;
        kind = weight.kind;
        // Products with others beside them cut their outputs, those that follow them their inputs.
        all.push_back({.inputs = shares ? weight.columns : ceil_divide(weight.columns, d.tensor),
                       .outputs = shares ? ceil_divide(weight.rows, d.tensor) : weight.rows,
                       .count = weight.count});
    }
    return all;
}

}  // namespace

std::int64_t adapter_bytes(const Architecture& a, const Deployment& d) {
    if (d.adapters.slots == 0) return 0;
    std::int64_t elements = 0;
    for (const AdaptedProduct& each : adapted_products(a, d)) {
        elements += d.adapters.rank * (each.parts * each.inputs + each.outputs) * each.count;
    }
    return elements * model::size_of(d.type) / d.pipeline;
}

Time adapter_time(const Architecture& a, const Deployment& d, const model::Machine& machine,
                  std::int64_t tokens, std::int64_t adapters) {
    Time sum;
    const std::int64_t mine = ceil_divide(tokens, d.data);
    const std::int64_t groups = std::clamp<std::int64_t>(adapters, 1, mine);
    const std::int64_t each = ceil_divide(mine, groups);
    for (const AdaptedProduct& product : adapted_products(a, d)) {
        const std::int64_t inner = product.parts * d.adapters.rank;
        const model::Matmul shrink{
            .batch = groups, .m = each, .n = inner, .k = product.inputs, .type = d.type};
        const model::Matmul expand{
            .batch = groups, .m = each, .n = product.outputs, .k = d.adapters.rank, .type = d.type};
        for (const model::Matmul& one : {shrink, expand}) {
            const model::Outcome outcome =
                model::predict(one, {.launch = model::LaunchMode::graph}, machine);
            const auto* const prediction = std::get_if<model::Prediction>(&outcome);
            if (prediction == nullptr) continue;
            sum = sum + static_cast<double>(product.count) * (prediction->time + gap_of_graph());
        }
    }
    return sum;
}

}  // namespace ridge::programs
