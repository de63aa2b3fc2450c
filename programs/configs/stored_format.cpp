#include "programs/configs/stored_format.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <regex>
#include <utility>

#include "hardware/error.h"

namespace ridge::programs {
namespace {

constexpr std::int64_t fp32 = 4;

/// The fields of one object; errors name them with the object's name before them.
class Section {
  public:
    Section(const ConfigSource& source, const Json& json, std::string name)
        : source_(source), json_(json), name_(std::move(name)) {}

    [[nodiscard]] const Json* find(std::string_view key) const {
        const Json* value = json_.find(key);
        return value == nullptr || value->is_null() ? nullptr : value;
    }
    [[nodiscard]] std::string text(std::string_view key) const {
        const Json* value = find(key);
        const std::string* text = value == nullptr ? nullptr : value->if_text();
        return text == nullptr ? std::string() : *text;
    }
    [[nodiscard]] std::int64_t count(std::string_view key, std::int64_t otherwise) const {
        const Json* value = find(key);
        if (value == nullptr) return otherwise;
        const auto whole = value->if_whole();
        constexpr std::int64_t most = 1 << 20;
        if (!whole || *whole < -1 || *whole > most) fail(key, " must be -1 to 1048576");
        return *whole;
    }
    [[nodiscard]] bool flag(std::string_view key) const {
        const Json* value = find(key);
        const bool* flag = value == nullptr ? nullptr : value->if_flag();
        return flag != nullptr && *flag;
    }
    [[nodiscard]] std::vector<std::string> texts(std::string_view key) const {
        std::vector<std::string> texts;
        if (const Json* list = find(key)) {
            for (const Json& item : list->items()) {
                if (const std::string* text = item.if_text()) texts.push_back(*text);
            }
        }
        return texts;
    }
    [[noreturn]] void fail(std::string_view key, const std::string& what) const {
        source_.fail(name_ + "." + std::string(key), what);
    }
    [[nodiscard]] const ConfigSource& source() const { return source_; }
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    const ConfigSource& source_;
    const Json& json_;
    std::string name_;
};

WeightFormat fp8_format(const Section& s) {
    const Json* blocks = s.find("weight_block_size");
    const bool fixed = s.text("activation_scheme") == "static";
    if (blocks == nullptr) {
        return {.quantisation = Quantisation::fp8,
                .scale_bytes = 0,
                .tensor_bytes = fixed ? 2 * fp32 : fp32};
    }
    const auto& sizes = blocks->items();
    const auto side = [&](std::size_t i) {
        const auto whole = i < sizes.size() ? sizes[i].if_whole() : std::nullopt;
        if (!whole || *whole < 1) s.fail("weight_block_size", " must be two sizes");
        return *whole;
    };
    return {.quantisation = Quantisation::fp8_block,
            .group = side(1),
            .group_rows = side(0),
            .scale_bytes = fp32,
            .tensor_bytes = fixed ? fp32 : 0};
}

/// config_groups of compressed-tensors: the weights of the only group.
WeightFormat group_format(const Section& s, const Json& group) {
    const Json* weights = group.find("weights");
    if (weights == nullptr || !weights->is_object()) s.fail("config_groups", " has no weights");
    const Section w(s.source(), *weights, s.name() + ".config_groups.weights");
    const std::int64_t bits = w.count("num_bits", 0);
    const bool real = w.text("type") == "float";
    const std::string strategy = w.text("strategy");
    const std::int64_t size = w.count("group_size", 0);
    if (bits == 8 && strategy == "block") return {.quantisation = Quantisation::fp8_block};
    if (bits == 8) {
        const Quantisation kind = real ? Quantisation::fp8 : Quantisation::int8;
        if (strategy == "tensor") {
            return {.quantisation = kind, .scale_bytes = 0, .tensor_bytes = fp32};
        }
        return {.quantisation = kind, .group = strategy == "group" ? size : -1};
    }
    if (bits != 4) w.fail("num_bits", " is " + std::to_string(bits) + "; 4 and 8 are known");
    if (!real) {
        return {.quantisation = Quantisation::int4,
                .group = size > 0 ? size : -1,
                .zeros = w.find("symmetric") != nullptr && !w.flag("symmetric")};
    }
    if (size == 32) return {.quantisation = Quantisation::mxfp4};
    return {.quantisation = Quantisation::nvfp4, .group = size > 0 ? size : 0};
}

WeightFormat groups_format(const Section& s) {
    const Json* groups = s.find("config_groups");
    if (groups == nullptr || groups->members().empty()) s.fail("config_groups", " has no group");
    return group_format(s, groups->members().front().value);
}

/// Several groups of compressed-tensors: each names its modules.
void add_groups(const Section& s, StoredFormat& format) {
    const Json* groups = s.find("config_groups");
    if (groups == nullptr || groups->members().size() < 2) return;
    format.listed = true;
    for (const JsonMember& group : groups->members()) {
        const Section own(s.source(), group.value, s.name() + ".config_groups." + group.name);
        const WeightFormat weights = group_format(s, group.value);
        const std::vector<std::string> targets = own.texts("targets");
        if (targets.empty()) own.fail("targets", " is missing");
        for (const std::string& target : targets) {
            // "Linear" is the class of all modules that no other group names.
            const bool all = target == "Linear";
            if (all) format.weights = weights;
            if (all) format.listed = false;
            if (!all) format.parts.push_back({.module = target, .format = weights});
        }
    }
}

WeightFormat algorithm_format(const Section& s) {
    const std::string algorithm = s.text("quant_algo");
    if (algorithm == "FP8") {
        return {.quantisation = Quantisation::fp8, .scale_bytes = 0, .tensor_bytes = 2 * fp32};
    }
    if (algorithm == "NVFP4") {
        return {.quantisation = Quantisation::nvfp4,
                .group = s.count("group_size", 0),
                .tensor_bytes = 2 * fp32};
    }
    if (algorithm == "W4A16_AWQ" || algorithm == "W4A8_AWQ") {
        return {.quantisation = Quantisation::int4, .group = s.count("group_size", 0)};
    }
    if (algorithm == "FP8_PB_WO" || algorithm == "FP8_BLOCK_SCALES") {
        return {.quantisation = Quantisation::fp8_block};
    }
    if (algorithm == "FP8_PER_CHANNEL_PER_TOKEN") {
        return {.quantisation = Quantisation::fp8, .scale_bytes = fp32};
    }
    if (algorithm == "W4A8_MXFP4_FP8" || algorithm == "MXFP4") {
        return {.quantisation = Quantisation::mxfp4};
    }
    s.fail("quant_algo", " is '" + algorithm +
                             "'; FP8, FP8_PB_WO, FP8_PER_CHANNEL_PER_TOKEN, NVFP4, MXFP4, "
                             "W4A8_MXFP4_FP8, W4A16_AWQ and W4A8_AWQ are known");
}

WeightFormat modelopt_format(const Section& s) {
    const bool groups = s.text("quant_algo").empty() && s.find("config_groups") != nullptr;
    return groups ? groups_format(s) : algorithm_format(s);
}

/// What modelopt marks by parts: `quantized_layers` names modules with their algorithms. Beside a
/// checkpoint's own 8-bit blocks, the other modules are those.
void add_layers(const Section& s, StoredFormat& format) {
    const Json* layers = s.find("quantized_layers");
    if (layers == nullptr || layers->members().empty()) s.fail("quantized_layers", " is missing");
    for (const JsonMember& member : layers->members()) {
        const Section own(s.source(), member.value, s.name() + ".quantized_layers." + member.name);
        const std::size_t mark = member.name.find("layers.");
        // Every expert has an entry; one stands for all.
        const std::size_t expert = member.name.find("experts.");
        const bool repeats = expert != std::string::npos &&
                             member.name.compare(expert + 8, 2, "0.") != 0 &&
                             member.name.find("shared_experts.") == std::string::npos;
        if (repeats) continue;
        StoredFormat::Part part{.module = member.name, .format = algorithm_format(own)};
        if (mark != std::string::npos) {
            const std::size_t dot = member.name.find('.', mark + 7);
            if (dot == std::string::npos) own.fail("module", " has no name");
            part.layer = std::strtoll(member.name.c_str() + mark + 7, nullptr, 10);
            part.module = member.name.substr(dot + 1);
        }
        format.parts.push_back(std::move(part));
    }
    format.listed = s.find("weight_block_size") == nullptr;
}

/// Of the checkpoints whose experts are smaller than their other products.
void add_experts(const Section& s, StoredFormat& format) {
    const Json* stated = s.find("expert_dtype");
    if (stated == nullptr) stated = s.source().find("expert_dtype");
    const std::string* word = stated == nullptr ? nullptr : stated->if_text();
    if (word == nullptr || *word == "fp8" || !format.parts.empty()) return;
    if (*word != "fp4") {
        s.source().fail("expert_dtype", " is '" + *word + "'", "known: fp4, fp8");
    }
    format.experts = WeightFormat{.quantisation = Quantisation::mxfp4};
}

WeightFormat few_bits(const Section& s, bool zeros, std::int64_t input_bytes) {
    const std::int64_t bits = s.count(s.find("bits") != nullptr ? "bits" : "w_bit", 4);
    if (bits != 4 && bits != 8) {
        s.fail("bits", " is " + std::to_string(bits) + "; 4 and 8 are known");
    }
    const std::int64_t group =
        s.count(s.find("group_size") != nullptr ? "group_size" : "q_group_size", 0);
    return {.quantisation = bits == 4 ? Quantisation::int4 : Quantisation::int8,
            .group = group,
            .input_bytes = input_bytes,
            .zeros = zeros};
}

WeightFormat awq_format(const Section& s) {
    return few_bits(s, s.find("zero_point") == nullptr || s.flag("zero_point"), 0);
}
WeightFormat gptq_format(const Section& s) {
    return few_bits(s, true, fp32);
}

WeightFormat bitsandbytes_format(const Section& s) {
    if (s.flag("load_in_8bit")) {
        return {.quantisation = Quantisation::int8, .scale_bytes = fp32};
    }
    if (!s.flag("load_in_4bit")) s.fail("load_in_4bit", " or load_in_8bit must be true");
    constexpr std::int64_t block = 64;
    // With nested scales a byte stands for the four of a scale.
    return {.quantisation = Quantisation::int4,
            .group = block,
            .scale_bytes = s.flag("bnb_4bit_use_double_quant") ? 1 : fp32};
}

WeightFormat mxfp4_format(const Section& /*s*/) {
    return {.quantisation = Quantisation::mxfp4};
}

WeightFormat torchao_format(const Section& s) {
    const Json* type = s.find("quant_type");
    std::string word;
    if (type != nullptr && type->if_text() != nullptr) word = *type->if_text();
    if (type != nullptr && type->is_object()) {
        const Json* inner = type->find("default");
        const Json* name = inner == nullptr ? nullptr : inner->find("_type");
        if (name != nullptr && name->if_text() != nullptr) word = *name->if_text();
    }
    std::string plain;
    for (const char c : word) {
        if (c != '_') plain += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    }
    if (plain.starts_with("int4")) return {.quantisation = Quantisation::int4, .zeros = true};
    if (plain.starts_with("int8")) return {.quantisation = Quantisation::int8};
    if (plain.starts_with("float8")) return {.quantisation = Quantisation::fp8};
    s.fail("quant_type", " is '" + word + "'; int4, int8 and float8 are known");
}

struct Kind {
    std::string_view name;
    WeightFormat (*read)(const Section&);
    std::string_view kept;  ///< the list of modules that keep their type
};
constexpr std::array kinds{Kind{"fp8", fp8_format, "modules_to_not_convert"},
                           Kind{"compressed-tensors", groups_format, "ignore"},
                           Kind{"modelopt", modelopt_format, "ignore"},
                           Kind{"awq", awq_format, "modules_to_not_convert"},
                           Kind{"gptq", gptq_format, "modules_to_not_convert"},
                           Kind{"bitsandbytes", bitsandbytes_format, "llm_int8_skip_modules"},
                           Kind{"mxfp4", mxfp4_format, "modules_to_not_convert"},
                           Kind{"torchao", torchao_format, "modules_to_not_convert"}};

bool expression_matches(const std::string& pattern, const std::string& text) {
    try {
        return std::regex_match(text, std::regex(pattern));
    } catch (const std::regex_error&) {
        throw InputError("quantization_config: '" + pattern + "' is not a regular expression");
    }
}

/// Whether `module` is `path` or holds it: a whole component of the path begins there.
bool holds(std::string_view module, std::string_view path) {
    const std::size_t at = path.find(module);
    if (at == std::string_view::npos || module.empty()) return false;
    const std::size_t end = at + module.size();
    return (at == 0 || path[at - 1] == '.') && (end == path.size() || path[end] == '.');
}

}  // namespace

bool StoredFormat::excludes(std::string_view path, std::int64_t layer) const {
    const std::string of_layer = std::to_string(layer) + "." + std::string(path);
    const std::string full = layer < 0 ? std::string(path) : "model.layers." + of_layer;
    return std::any_of(kept.begin(), kept.end(), [&](std::string_view each) {
        if (each.starts_with("re:")) return expression_matches(std::string(each.substr(3)), full);
        const std::size_t layers = each.find("layers.");
        if (layers != std::string_view::npos) {
            const std::string_view own = each.substr(layers + 7);
            return layer >= 0 && (matches_pattern(own, of_layer) ||
                                  matches_pattern(std::string(own) + ".*", of_layer));
        }
        return matches_pattern(each, full) || holds(each, full);
    });
}

std::optional<WeightFormat> StoredFormat::of(WeightRole role, std::string_view path,
                                             std::int64_t layer) const {
    if (excludes(path, layer)) return std::nullopt;
    for (const Part& part : parts) {
        if (part.layer >= 0 && part.layer != layer) continue;
        const bool expression = part.module.starts_with("re:");
        const bool same = expression
                              ? expression_matches(part.module.substr(3),
                                                   "model.layers." + std::to_string(layer) + "." +
                                                       std::string(path))
                              : matches_pattern(part.module, path) || holds(part.module, path);
        if (same) return part.format;
    }
    if (listed) return std::nullopt;
    return role == WeightRole::expert && experts ? *experts : weights;
}

std::optional<StoredFormat> stored_format(const ConfigSource& source, const Json* other) {
    std::string name = "quantization_config";
    const Json* json = source.find(name);
    if (json == nullptr) json = source.find("compression_config");
    if (json == nullptr && other != nullptr) {
        json = other->find("quantization");
        name = "quantization";
    }
    if (json == nullptr || !json->is_object() || json->members().empty()) return std::nullopt;
    const Section section(source, *json, name);
    std::string kind = section.text("quant_method");
    if (kind.empty() && section.find("quant_algo") != nullptr) kind = "modelopt";
    const auto* const found = std::find_if(kinds.begin(), kinds.end(),
                                           [&](const Kind& each) { return each.name == kind; });
    if (found == kinds.end()) {
        std::string list;
        for (const Kind& each : kinds) list += (list.empty() ? "" : ", ") + std::string(each.name);
        source.fail(name + ".quant_method", " is '" + kind + "'", "known: " + list);
    }
    StoredFormat format{.kind = kind};
    const bool mixed = section.text("quant_algo") == "MIXED_PRECISION";
    if (mixed) add_layers(section, format);
    if (!mixed || !format.listed) format.weights = found->read(section);
    if (mixed && format.listed) format.weights = format.parts.front().format;
    add_groups(section, format);
    add_experts(section, format);
    if (mixed) return format;  // `ignore` says what no part names
    for (const std::string_view key : {found->kept, std::string_view("exclude_modules")}) {
        for (std::string& module : section.texts(key)) format.kept.push_back(std::move(module));
    }
    return format;
}

}  // namespace ridge::programs
