#include "programs/configs/weights.h"

#include <algorithm>
#include <array>
#include <string>

#include "hardware/checked.h"
#include "hardware/error.h"

namespace ridge::programs {

namespace {

struct Usual {
    std::int64_t bits;
    std::int64_t group;
    std::int64_t group_rows;
    std::int64_t scale_bytes;  ///< -1: of the model's type
    std::int64_t tensor_bytes;
};

Usual usual_of(Quantisation quantisation) {
    switch (quantisation) {
        case Quantisation::fp8_block:
            return {
                .bits = 8, .group = 128, .group_rows = 128, .scale_bytes = 4, .tensor_bytes = 0};
        case Quantisation::int4:
            return {.bits = 4, .group = 128, .group_rows = 1, .scale_bytes = -1, .tensor_bytes = 0};
        case Quantisation::nvfp4:
            return {.bits = 4, .group = 16, .group_rows = 1, .scale_bytes = 1, .tensor_bytes = 4};
        case Quantisation::mxfp4:
            return {.bits = 4, .group = 32, .group_rows = 1, .scale_bytes = 1, .tensor_bytes = 0};
        default:
            return {.bits = 8, .group = -1, .group_rows = 1, .scale_bytes = -1, .tensor_bytes = 0};
    }
}

bool is_quantised(WeightRole role) {
    return role == WeightRole::product || role == WeightRole::expert;
}

}  // namespace

std::int64_t weight_bytes(const Weight& weight, const WeightFormat& format) {
    const bool plain = format.quantisation == Quantisation::none ||
                       format.quantisation == Quantisation::stored || !is_quantised(weight.role);
    if (plain) return weight.elements() * (weight.element > 0 ? weight.element : format.bytes);
    const Usual usual = usual_of(format.quantisation);
    const auto chosen = [](std::int64_t stated, std::int64_t otherwise, std::int64_t whole) {
        const std::int64_t size = stated == 0 ? otherwise : stated;
        return size < 0 ? whole : size;
    };
    const std::int64_t group = chosen(format.group, usual.group, weight.columns);
    const std::int64_t rows = chosen(format.group_rows, usual.group_rows, weight.rows);
    const std::int64_t usual_scale = usual.scale_bytes < 0 ? format.bytes : usual.scale_bytes;
    const std::int64_t scale = format.scale_bytes < 0 ? usual_scale : format.scale_bytes;
    const std::int64_t tensor = format.tensor_bytes < 0 ? usual.tensor_bytes : format.tensor_bytes;
    const std::int64_t groups = ceil_divide(weight.columns, group);
    constexpr std::int64_t bits_of_byte = 8;
    std::int64_t bytes = weight.rows * ceil_divide(weight.columns * usual.bits, bits_of_byte) +
                         ceil_divide(weight.rows, rows) * groups * scale + tensor +
                         weight.columns * format.input_bytes;
    if (format.zeros) bytes += ceil_divide(weight.rows * usual.bits, bits_of_byte) * groups;
    return weight.stacked * bytes;
}

std::int64_t weights_bytes(const Architecture& architecture, const WeightFormat& format) {
    std::int64_t sum = 0;
    for (const Weight& weight : weights_of(architecture)) {
        sum += weight_bytes(weight, format) * weight.count;
    }
    return sum;
}

std::int64_t stored_bytes(const Architecture& a, Quantisation asked, std::int64_t bytes) {
    if (asked != Quantisation::stored || !a.stored) {
        return weights_bytes(a, format_of(a, asked, bytes));
    }
    std::int64_t sum = 0;
    for (const Weight& weight : weights_of(a)) {
        for (const LayersFormat& each :
             formats_of(a, asked, bytes, a.rules->weights[weight.rule], weight.kind)) {
            sum += weight_bytes(weight, each.format) * each.layers;
        }
    }
    return sum;
}

namespace {

WeightFormat completed(const Architecture& a, WeightFormat format, std::int64_t bytes) {
    const bool blocks = format.quantisation == Quantisation::fp8_block;
    if (blocks && a.value("scale_bytes") > 0) format.scale_bytes = a.value("scale_bytes");
    format.bytes = bytes;
    return format;
}

}  // namespace

WeightFormat format_of(const Architecture& a, Quantisation asked, std::int64_t bytes,
                       WeightRole role) {
    if (asked != Quantisation::stored) return {.bytes = bytes, .quantisation = asked};
    if (!a.stored) return {.bytes = bytes};
    if (a.stored->parts.empty()) {
        const bool own = role == WeightRole::expert && a.stored->experts;
        return completed(a, own ? *a.stored->experts : a.stored->weights, bytes);
    }
    // Of several formats, that of most elements.
    std::vector<std::pair<WeightFormat, std::int64_t>> all;
    for (const Weight& weight : weights_of(a)) {
        if (weight.role != role) continue;
        for (const LayersFormat& each :
             formats_of(a, asked, bytes, a.rules->weights[weight.rule], weight.kind)) {
            const auto known = std::find_if(
                all.begin(), all.end(), [&](const auto& one) { return one.first == each.format; });
            const std::int64_t elements = weight.elements() * each.layers;
            if (known == all.end()) {
                all.emplace_back(each.format, elements);
            } else {
                known->second += elements;
            }
        }
    }
    const auto most = std::max_element(
        all.begin(), all.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
    return most == all.end() ? completed(a, a.stored->weights, bytes) : most->first;
}

std::vector<LayersFormat> formats_of(const Architecture& a, Quantisation asked, std::int64_t bytes,
                                     const WeightRule& rule, std::size_t kind) {
    const WeightFormat plain{.bytes = bytes};
    const std::int64_t count = rule.of_layer ? a.layers_of(kind) : 1;
    if (!is_quantised(rule.role)) return {{.format = plain, .layers = count}};
    const bool one = asked != Quantisation::stored || !a.stored ||
                     (a.stored->kept.empty() && a.stored->parts.empty());
    if (one) return {{.format = format_of(a, asked, bytes, rule.role), .layers = count}};
    std::vector<LayersFormat> formats;
    const auto add = [&](std::int64_t layer) {
        const auto stored = a.stored->of(rule.role, rule.path, layer);
        const WeightFormat format = stored ? completed(a, *stored, bytes) : plain;
        for (LayersFormat& each : formats) {
            if (each.format == format) {
                ++each.layers;
                return;
            }
        }
        formats.push_back({.format = format, .layers = 1});
    };
    if (!rule.of_layer) add(-1);
    for (std::size_t i = 0; rule.of_layer && i < a.layer_kinds.size(); ++i) {
        if (a.layer_kinds[i] == kind) add(a.first_layer + static_cast<std::int64_t>(i));
    }
    return formats;
}

namespace {

/// Elements of pooled keys of a sequence, in each kind of layers.
std::vector<std::int64_t> pooled_of(const Architecture& a, std::int64_t tokens) {
    std::vector<std::int64_t> pooled(a.kinds.size(), 0);
    const std::int32_t slot = a.rules->slot_of("pooled");
    const auto& defined = a.rules->layer;
    const bool changes =
        std::any_of(defined.begin(), defined.end(),
                    [slot](const Definition& each) { return each.slot == slot && each.changes; });
    if (!changes) return pooled;
    StepValues step;
    step[StepSymbol::seq] = tokens;
    step[StepSymbol::tp] = 1;
    step[StepSymbol::ep] = 1;
    const auto symbols = symbols_of(a, step);
    for (std::size_t kind = 0; kind < pooled.size(); ++kind) {
        pooled[kind] = symbols[kind][static_cast<std::size_t>(slot)];
    }
    return pooled;
}

}  // namespace

std::int64_t kv_cache_bytes(const Architecture& a, const CacheShape& shape) {
    std::int64_t sum = 0;
    const auto pooled = pooled_of(a, shape.tokens);
    for (std::size_t kind = 0; kind < a.kinds.size(); ++kind) {
        const std::int64_t window = a.value("window", kind);
        const std::int64_t tokens = window > 0 ? std::min(shape.tokens, window - 1) : shape.tokens;
        const std::int64_t layers = a.layers_of(kind);
        if (layers == 0) continue;  // a stage of a pipeline may have none of a kind
        if (const std::int64_t state = a.value("state", kind); state > 0) {
            sum += checked_product({{"layers", layers},
                                    {"bytes of a sequence's state", state},
                                    {"batch", shape.batch}});
        }
        if (pooled[kind] > 0) {
            sum += checked_product({{"layers", layers},
                                    {"elements of pooled keys", pooled[kind]},
                                    {"batch", shape.batch},
                                    {"bytes per element", shape.bytes}});
        }
        const std::int64_t elements = a.value("keys_width", kind) + a.value("values_width", kind);
        if (tokens == 0 || elements == 0) continue;
        sum += checked_product({{"layers", layers},
                                {"elements per token", elements},
                                {"seq", tokens},
                                {"batch", shape.batch},
                                {"bytes per element", shape.bytes}});
    }
    // Every GPU has the whole of what its heads share.
    return a.value("cache_shards") > 0 ? sum / shape.tensor_parallel : sum;
}

namespace {
constexpr std::array quantisations{Quantisation::none, Quantisation::fp8,  Quantisation::fp8_block,
                                   Quantisation::int8, Quantisation::int4, Quantisation::nvfp4,
                                   Quantisation::mxfp4};
}  // namespace

std::vector<std::string> quantisation_words() {
    std::vector<std::string> words;
    words.reserve(quantisations.size());
    for (const Quantisation each : quantisations) words.emplace_back(name_of(each));
    return words;
}

Quantisation parse_quantisation(std::string_view text, std::string_view field) {
    if (text.empty()) return Quantisation::stored;
    // Weights as wide as the activations.
    if (text == "bf16") return Quantisation::none;
    for (const Quantisation each : quantisations) {
        if (name_of(each) == text) return each;
    }
    throw InputError(std::string(field) + ": '" + std::string(text) +
                     "' is not none, fp8, fp8_block, int8, int4, nvfp4 or mxfp4");
}

std::string_view name_of(Quantisation quantisation) {
    switch (quantisation) {
        case Quantisation::stored:
            return "stored";
        case Quantisation::none:
            return "none";
        case Quantisation::fp8:
            return "fp8";
        case Quantisation::fp8_block:
            return "fp8_block";
        case Quantisation::int8:
            return "int8";
        case Quantisation::int4:
            return "int4";
        case Quantisation::nvfp4:
            return "nvfp4";
        case Quantisation::mxfp4:
            return "mxfp4";
    }
    return "";
}

}  // namespace ridge::programs
