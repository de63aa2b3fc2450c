#include "programs/configs/config_reader.h"

#include <array>
#include <optional>
#include <utility>

#include "hardware/error.h"
#include "hardware/nearest.h"
#include "programs/configs/config_families.h"

namespace ridge::programs {
namespace {

constexpr std::size_t longest_config = std::size_t{1} << 20;

struct Family {
    std::string_view model_type;
    Architecture (*read)(const ConfigFields&);
};

constexpr std::array families{Family{"llama", read_llama},
                              Family{"mistral", read_mistral},
                              Family{"qwen2", read_qwen2},
                              Family{"qwen3", read_qwen3},
                              Family{"gemma", read_gemma},
                              Family{"gemma2", read_gemma2},
                              Family{"gemma3", read_gemma3},
                              Family{"gemma3_text", read_gemma3},
                              Family{"phi", read_phi},
                              Family{"phi3", read_phi3},
                              Family{"gpt2", read_gpt2},
                              Family{"gpt_neox", read_gpt_neox},
                              Family{"olmo2", read_olmo2},
                              Family{"mixtral", read_mixtral},
                              Family{"olmoe", read_olmoe},
                              Family{"qwen2_moe", read_qwen2_moe},
                              Family{"qwen3_moe", read_qwen3_moe},
                              Family{"deepseek_v2", read_deepseek_v2},
                              Family{"deepseek_v3", read_deepseek_v3}};

const Family& family_of(const ConfigFields& fields) {
    if (!fields.has("model_type")) fields.fail("model_type", " is missing");
    const std::string type = fields.text_or("model_type", "");
    for (const Family& family : families) {
        if (family.model_type == type) return family;
    }
    const std::vector<std::string> known = known_families();
    const std::string close = nearest(type, known);
    std::string list;
    for (const std::string& name : known) list += (list.empty() ? "" : ", ") + name;
    throw InputError("model_type: unknown family '" + type + "'", {.file = fields.file()},
                     (close.empty() ? "" : "did you mean '" + close + "'? ") + ("known: " + list));
}

}  // namespace

std::vector<std::string> known_families() {
    std::vector<std::string> names;
    names.reserve(families.size());
    for (const Family& family : families) names.emplace_back(family.model_type);
    return names;
}

bool parse_activation(std::string_view text, Activation& activation) {
    constexpr std::array<std::pair<std::string_view, Activation>, 8> words{{
        {"silu", Activation::silu},
        {"swish", Activation::silu},
        {"relu", Activation::relu},
        {"gelu", Activation::gelu_erf},
        {"gelu_pytorch_tanh", Activation::gelu_tanh},
        {"gelu_tanh", Activation::gelu_tanh},
        {"gelu_new", Activation::gelu_new},
        {"gelu_fast", Activation::gelu_fast},
    }};
    for (const auto& [word, value] : words) {
        if (word == text) {
            activation = value;
            return true;
        }
    }
    return false;
}

Architecture read_config(std::string_view text, const std::string& file) {
    if (text.size() > longest_config) {
        throw InputError("a config has at most 1 MiB", {.file = file});
    }
    const std::optional<Json> json = Json::parse(text);
    if (!json || !json->is_object()) throw InputError("not a JSON object", {.file = file});
    const ConfigFields fields(*json, file);
    const Json* inner = json->find("text_config");
    const bool nested = inner != nullptr && inner->is_object();
    const Family& family = family_of(fields);
    Architecture a = family.read(nested ? ConfigFields(*inner, file) : fields);
    a.family = family.model_type;
    a.name = fields.text_or("ridge_name", fields.text_or("_name_or_path", ""));
    a.source = fields.text_or("ridge_source", "");
    try {
        validate(a);
    } catch (const InputError& error) {
        throw InputError(error.message(), {.file = file}, error.hint());
    }
    return a;
}

}  // namespace ridge::programs
