// What quantization_config says about weights: bytes by hand, modules left out, kinds that nobody knows.
#include <string>

#include "hardware/error.h"
#include "programs/configs/config_reader.h"
#include "programs/configs/weights.h"
#include "programs/model_step.h"
#include "tests/catch.h"
#include "tests/support/error_message.h"

namespace ridge::programs {
namespace {

/// One layer: q and o of 256 x 256, k and v of 128 x 256, mlp 3 x 512 x 256; embedding and head of
/// 100 x 256; three norms.
std::string config(const std::string& format) {
    return R"({"model_type": "llama", "vocab_size": 100, "hidden_size": 256, "intermediate_size": 512,
        "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2,
        "quantization_config": )" +
           format + "}";
}
constexpr std::int64_t attention = 2 * 256 * 256 + 2 * 128 * 256;
constexpr std::int64_t mlp = 3 * 512 * 256;
constexpr std::int64_t rest = 2 * (2 * 100 * 256 + 3 * 256);

std::int64_t bytes_of(const std::string& format) {
    return stored_bytes(read_config(config(format), "c.json"), Quantisation::stored, 2);
}

TEST_CASE("bytes of weights by quantization_config, by hand") {
    constexpr std::int64_t all = attention + mlp;
    CHECK(bytes_of(R"({"quant_method": "fp8", "activation_scheme": "dynamic"})") ==
          rest + all + 7 * 4);
    // Scales of 128 x 128: q, o 4 each, k, v 2 each, mlp 8 each.
    CHECK(bytes_of(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})") ==
          rest + all + 4 * (2 * 4 + 2 * 2 + 3 * 8));
    const std::int64_t groups = (attention + mlp) / 128;
    CHECK(
        bytes_of(R"({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": true})") ==
        rest + all / 2 + 2 * groups + groups / 2);
    CHECK(bytes_of(R"({"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16})") ==
          rest + all / 2 + all / 16 + 7 * 8);
    CHECK(bytes_of(R"({"quant_method": "mxfp4"})") == rest + all / 2 + all / 32);
    CHECK(bytes_of(R"({"quant_method": "bitsandbytes", "load_in_4bit": true})") ==
          rest + all / 2 + 4 * (all / 64));
    CHECK(
        bytes_of(R"({"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights":
          {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": true}}}})") ==
        rest + all / 2 + 2 * (all / 32));
}

TEST_CASE("modules that a format leaves out keep their type") {
    constexpr std::int64_t kept = rest + 2 * attention + mlp + 3 * 4;
    for (const char* pattern : {"model.layers.0.self_attn*", "self_attn",
                                "model.layers.*.self_attn.*", "re:.*self_attn.*"}) {
        CAPTURE(pattern);
        const std::string list = std::string("[\"lm_head\", \"") + pattern + "\"]";
        CHECK(bytes_of(R"({"quant_method": "fp8", "modules_to_not_convert": )" + list + "}") ==
              kept);
    }
    CHECK(
        bytes_of(
            R"({"quant_method": "fp8", "modules_to_not_convert": ["model.layers.1.self_attn*"]})") ==
        rest + attention + mlp + 7 * 4);
}

TEST_CASE("modules with formats of their own") {
    // Attention in 8 bits, the mlp in 4 with scales of 16; what no entry names keeps its type.
    const std::string q = R"({"quant_algo": "FP8"})";
    const std::string f = R"({"quant_algo": "NVFP4", "group_size": 16})";
    std::string layers;
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) {
        layers += std::string(R"("model.layers.0.self_attn.)") + name + "\": " + q + ", ";
    }
    const std::string begin =
        R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": {)";
    CHECK(bytes_of(begin + layers + R"("model.layers.0.mlp": )" + f + "}}") ==
          rest + attention + 4 * 8 + mlp / 2 + mlp / 16 + 3 * 8);
    CHECK(bytes_of(begin + layers + R"("model.layers.0.mlp.up_proj": )" + f + "}}") ==
          rest + attention + 4 * 8 + 2 * (2 * mlp / 3) + mlp / 6 + mlp / 48 + 8);
    // Groups of compressed-tensors: what one does not name is "Linear".
    CHECK(bytes_of(R"({"quant_method": "compressed-tensors", "config_groups": {
              "a": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float", "strategy": "tensor"}},
              "b": {"targets": ["re:.*mlp.*"], "weights": {"num_bits": 4, "type": "int", "strategy": "group",
                    "group_size": 32, "symmetric": true}}}})") ==
          rest + attention + 4 * 4 + mlp / 2 + 2 * (mlp / 32));
}

TEST_CASE("a format that is not known is an error, never bf16") {
    const auto message = [](const std::string& format) {
        return test::message_of([&] { return read_config(config(format), "c.json"); });
    };
    CHECK(message(R"({"quant_method": "aqlm"})")
              .starts_with("c.json: quantization_config.quant_method is 'aqlm'"));
    CHECK(message(R"({"quant_method": "gptq", "bits": 3})")
              .starts_with("c.json: quantization_config.bits is 3"));
    CHECK(message(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"})")
              .starts_with("c.json: quantization_config.quantized_layers is missing"));
    CHECK(message(R"({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION",
              "quantized_layers": {"layers.0.self_attn.q_proj": {"quant_algo": "W3A3"}}})")
              .starts_with("c.json: quantization_config.quantized_layers.layers.0.self_attn.q_proj."
                           "quant_algo is 'W3A3'"));
    CHECK(message(R"({"quant_method": "fp8", "expert_dtype": "fp2"})")
              .starts_with("c.json: expert_dtype is 'fp2'"));
}

TEST_CASE("a step takes the checkpoint's format unless it is told another") {
    const Architecture a = read_config(
        config(R"({"quant_method": "fp8", "weight_block_size": [128, 128]})"), "c.json");
    const ModelStep stored = make_step(a, {.batch = 1, .seq = 64});
    CHECK(stored.weight_format == "fp8_block");
    CHECK(stored.weight_format_source == "fp8");
    CHECK(stored.weights_bytes == stored_bytes(a, Quantisation::stored, 2));
    const ModelStep plain =
        make_step(a, {.batch = 1, .seq = 64, .quantisation = Quantisation::none});
    CHECK(plain.weights_bytes == 2 * plain.parameters);
    CHECK(plain.weight_format_source.empty());
    // hf_quant_config.json beside a config without a format says the same.
    std::string bare = config("null");
    const Architecture b = read_config(
        bare, "c.json", nullptr,
        R"({"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}})");
    CHECK(stored_bytes(b, Quantisation::stored, 2) == rest + attention + mlp + 7 * 8);
}

}  // namespace
}  // namespace ridge::programs
