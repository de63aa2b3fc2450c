#include "programs/configs/weights.h"

#include <algorithm>
#include <string>

#include "hardware/checked.h"
#include "hardware/error.h"

namespace ridge::programs {

std::int64_t weight_bytes(const Weight& weight, const WeightFormat& format) {
    const bool quantised =
        format.quantisation != Quantisation::none &&
        (weight.role == WeightRole::product || weight.role == WeightRole::expert);
    if (!quantised) return weight.elements() * format.bytes;
    if (format.quantisation == Quantisation::nvfp4) {
        constexpr std::int64_t run = 16;
        constexpr std::int64_t tensor_scale = 4;
        const std::int64_t row = ceil_divide(weight.columns, 2) + ceil_divide(weight.columns, run);
        return weight.stacked * (weight.rows * row + tensor_scale);
    }
    if (format.quantisation != Quantisation::int4) {
        return weight.elements() + weight.rows * weight.stacked * format.bytes;
    }
    const std::int64_t groups = ceil_divide(weight.columns, format.group);
    return weight.stacked * weight.rows * (ceil_divide(weight.columns, 2) + groups * format.bytes);
}

std::int64_t weights_bytes(const Architecture& architecture, const WeightFormat& format) {
    std::int64_t sum = 0;
    for (const Weight& weight : weights_of(architecture)) {
        sum += weight_bytes(weight, format) * weight.count;
    }
    return sum;
}

std::int64_t kv_cache_bytes(const Architecture& a, const CacheShape& shape) {
    std::int64_t sum = 0;
    for (std::size_t kind = 0; kind < a.kinds.size(); ++kind) {
        const std::int64_t window = a.value("window", kind);
        const std::int64_t tokens = window > 0 ? std::min(shape.tokens, window - 1) : shape.tokens;
        const std::int64_t layers = a.layers_of(kind);
        if (const std::int64_t state = a.value("state", kind); state > 0) {
            sum += checked_product({{"layers", layers},
                                    {"bytes of a sequence's state", state},
                                    {"batch", shape.batch}});
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

Quantisation parse_quantisation(std::string_view text, std::string_view field) {
    if (text.empty()) return Quantisation::none;
    for (const Quantisation each : {Quantisation::none, Quantisation::fp8, Quantisation::int8,
                                    Quantisation::int4, Quantisation::nvfp4}) {
        if (name_of(each) == text) return each;
    }
    throw InputError(std::string(field) + ": '" + std::string(text) +
                     "' is not none, fp8, int8, int4 or nvfp4");
}

std::string_view name_of(Quantisation quantisation) {
    switch (quantisation) {
        case Quantisation::none:
            return "none";
        case Quantisation::fp8:
            return "fp8";
        case Quantisation::int8:
            return "int8";
        case Quantisation::int4:
            return "int4";
        case Quantisation::nvfp4:
            return "nvfp4";
    }
    return "";
}

}  // namespace ridge::programs
