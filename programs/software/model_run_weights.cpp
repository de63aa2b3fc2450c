// The weights of a model as resident tensors, its cache, gradients' buckets and optimizer states.
#include <algorithm>

#include "hardware/checked.h"
#include "programs/configs/weights.h"
#include "programs/software/model_run.h"

namespace ridge::programs {

using model::DataType;

/// The shape of a weight, with the outputs of all its group if the software runs them as one.
WeightShape ModelRun::joined_shape(std::size_t rule, std::size_t kind) const {
    const auto& rules = architecture_.rules->weights;
    WeightShape shape = shape_of(rules[rule], architecture_, symbols_, kind);
    if (!procedures_.merges() || rules[rule].group.empty()) return shape;
    if (procedures_.group_of(static_cast<std::int32_t>(rule)) != static_cast<std::int32_t>(rule)) {
        // Another rule has the product, unless that rule does not apply here.
        std::size_t leader = rule;
        for (std::size_t i = 0; i < rule; ++i) {
            if (rules[i].group == rules[rule].group && rows_[kind][i] > 0) leader = i;
        }
        if (leader != rule) shape.exists = false;
    }
    if (!shape.exists) return shape;
    for (std::size_t i = rule + 1; i < rules.size(); ++i) {
        if (rules[i].group == rules[rule].group) shape.rows += rows_[kind][i];
    }
    return shape;
}

void ModelRun::make_weight(Weights& weights, std::size_t rule, std::size_t kind) {
    const WeightRule& stated = architecture_.rules->weights[rule];
    const WeightShape shape = joined_shape(rule, kind);
    if (!shape.exists || !architecture_.holds(stated)) return;
    const Weight weight{.name = stated.name,
                        .role = stated.role,
                        .rows = shape.rows,
                        .columns = shape.columns,
                        .stacked = shape.stacked,
                        .element = stated.element};
    const DataType type = stated.element == 4 ? DataType::fp32 : stored_type();
    Linear& made = weights.by_rule[rule];
    made.inputs = shape.columns;
    made.outputs = shape.rows;
    made.transposed = stated.transposed;
    if (request_.training()) {
        made.weight = run_.parameter(weight.elements(), type, stated.name);
    } else {
        // Where layers of this kind differ, the run takes the format of most.
        const std::int64_t bytes = model::size_of(stored_type());
        const std::vector<LayersFormat> formats =
            formats_of(architecture_, request_.quantisation, bytes, stated, kind);
        const WeightFormat format =
            std::max_element(formats.begin(), formats.end(), [](const auto& x, const auto& y) {
                return x.layers < y.layers;
            })->format;
        made.plain = format.quantisation == Quantisation::none;
        made.weight =
            run_.parameter(weight.elements(), type, stated.name, weight_bytes(weight, format));
    }
    if (shape.bias) made.bias = run_.parameter(shape.rows, type, stated.name);
}

ModelRun::Weights ModelRun::make_layer(std::size_t kind) {
    const auto& rules = architecture_.rules->weights;
    Weights layer;
    layer.by_rule.resize(rules.size());
    const std::int64_t before = run_.allocated_elements();
    const std::int64_t bytes_before = run_.allocated_bytes();
    for (std::size_t rule = 0; rule < rules.size(); ++rule) {
        if (rules[rule].of_layer) make_weight(layer, rule, kind);
    }
    layer.elements = run_.allocated_elements() - before;
    layer.bytes = run_.allocated_bytes() - bytes_before;
    return layer;
}

/// The weights of the layers that are not run: allocated, but not read here.
void ModelRun::allocate_rest() {
    std::int64_t others = 0;
    std::int64_t bytes = 0;
    for (std::size_t kind = 0; kind < layers_.size(); ++kind) {
        others += (architecture_.layers_of(kind) - 1) * layers_[kind].elements;
        bytes += (architecture_.layers_of(kind) - 1) * layers_[kind].bytes;
    }
    rest_ = run_.parameter(others, request_.type, "weights of the other layers", bytes);
}

void ModelRun::make_weights() {
    const auto& rules = architecture_.rules->weights;
    run_.begin(model_phase::weights);
    run_.purpose(Purpose::weight);
    model_.by_rule.resize(rules.size());
    const auto layers = std::find_if(rules.begin(), rules.end(),
                                     [](const WeightRule& rule) { return rule.of_layer; });
    const auto behind =
        std::find_if(layers, rules.end(), [](const WeightRule& rule) { return !rule.of_layer; });
    const auto make = [&](auto begin, auto end) {
        for (auto rule = begin; rule != end; ++rule) {
            make_weight(model_, static_cast<std::size_t>(rule - rules.begin()), 0);
        }
    };
    make(rules.begin(), layers);
    if (request_.training()) {
        for (const std::uint8_t kind : architecture_.layer_kinds) {
            layers_.push_back(make_layer(kind));
        }
    } else {
        for (std::size_t kind = 0; kind < architecture_.kinds.size(); ++kind) {
            const bool held = architecture_.layers_of(kind) > 0;  // or of another stage
            layers_.push_back(held ? make_layer(kind) : Weights{});
        }
    }
    const auto head = std::find_if(
        behind, rules.end(), [](const WeightRule& rule) { return rule.role != WeightRole::norm; });
    make(behind, head);
    if (!request_.training()) allocate_rest();
    make(head, rules.end());
    weight_elements_ = run_.allocated_elements();
    run_.purpose(Purpose::activation);
}

/// The part of a parameter that this GPU's optimizer holds under ZeRO.
std::int64_t ModelRun::own_part(std::int64_t elements) const {
    return request_.zero > 0 ? ceil_divide(elements, request_.data_parallel) : elements;
}

/// DistributedDataParallel sums gradients in its own buckets, which are allocated with the model; with
/// ZeRO 2 this GPU's share of the weights stays beside the gathered ones.
void ModelRun::make_buckets() {
    if (!request_.training() || request_.data_parallel < 2 || frees()) return;
    std::int64_t elements = 0;
    for (const Buffer& parameter : run_.parameters()) elements += parameter.elements();
    if (gathers()) {
        run_.purpose(Purpose::weight);
        share_ = run_.allocate(own_part(elements), stored_type(), "share of the weights");
        run_.purpose(Purpose::activation);
        return;
    }
    run_.purpose(Purpose::gradient);
    buckets_ = run_.allocate(elements, run_.parameters().front().type(), "gradient buckets");
    run_.purpose(Purpose::activation);
}

/// Both moments of AdamW, allocated since the first step.
void ModelRun::make_states() {
    make_buckets();
    if (!request_.training() || request_.optimizer == Optimizer::none) return;
    run_.begin(model_phase::optimizer);
    run_.purpose(Purpose::optimizer);
    for (const Buffer& parameter : run_.parameters()) {
        for (int moment = 0; moment < 2; ++moment) {
            states_.push_back(
                run_.allocate(own_part(parameter.elements()), stored_type(), "moments"));
        }
    }
    run_.purpose(Purpose::activation);
}

void ModelRun::make_cache() {
    if (request_.training() || !request_.cache) return;
    run_.begin(model_phase::cache);
    run_.purpose(Purpose::cache);
    cache_.resize(architecture_.layer_kinds.size());
    const bool decode = request_.phase == Phase::decode;
    const Family& family = *architecture_.rules;
    const auto slot = [&](std::string_view name) {
        return static_cast<std::size_t>(family.slot_of(name));
    };
    const std::size_t keys = slot("keys_width");
    const std::size_t values = slot("values_width");
    const std::size_t kept = slot("kept");
    const std::size_t state = slot("state");
    const std::size_t pooled = slot("pooled");
    for (std::size_t i = 0; i < cache_.size(); ++i) {
        const auto& symbols = symbols_[architecture_.layer_kinds[i]];
        const std::int64_t bytes =
            symbols[state] +
            symbols[pooled] * static_cast<std::int64_t>(model::size_of(request_.cache_type));
        if (bytes > 0) {
            cache_[i].state = run_.allocate(bytes * request_.batch, DataType::int8, "state");
        }
        if (!decode) continue;
        // A layer with a window keeps a view of the tensor that held one more token.
        const std::int64_t tokens = symbols[kept] * request_.batch;
        cache_[i].keys = run_.allocate(tokens * symbols[keys], request_.cache_type, "keys");
        cache_[i].values = run_.allocate(tokens * symbols[values], request_.cache_type, "values");
    }
    run_.purpose(Purpose::activation);
}

}  // namespace ridge::programs
