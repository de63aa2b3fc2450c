// Configs: parameter counts of model cards, weights and cache by hand, errors that name fields.
#include <string>

#include "hardware/error.h"
#include "programs/configs/config_reader.h"
#include "programs/configs/presets.h"
#include "programs/configs/weights.h"
#include "tests/catch.h"
#include "tests/support/error_message.h"

namespace ridge::programs {
namespace {

struct Known {
    std::string_view name;
    std::int64_t parameters;
};

std::string message_of(const std::string& config) {
    return test::message_of([&] { return read_config(config, "config.json"); });
}

// Parameters stated by the model cards, and counted in the models that transformers 5.17 builds.
constexpr Known known[] = {
    Known{"ai21-jamba-mini-1.5", 51570323328},
    Known{"apertus-8b-2509", 8053338176},
    Known{"bert-base-uncased", 109482240},
    Known{"bge-m3", 567754752},
    Known{"bge-reranker-v2-m3", 567755777},
    Known{"c4ai-command-a-03-2025", 111057580032},
    Known{"deepseek-r1", 671026404352},
    Known{"deepseek-v2", 235741434880},
    Known{"deepseek-v2-lite", 15706484224},
    Known{"deepseek-v3", 671026404352},
    Known{"deepseek-v3.2", 671877929216},
    Known{"deepseek-v4-flash", 284332240471},
    Known{"deepseek-v4-pro", 1572997201763},
    Known{"dots.llm1.inst", 142774373888},
    Known{"ernie-4.5-0.3b-pt", 360748032},
    Known{"ernie-4.5-21b-a3b-pt", 21825437888},
    Known{"exaone-4.0-32b", 32003216384},
    Known{"falcon-h1-7b", 7585513568},
    Known{"gemma-2-27b", 27227128320},
    Known{"gemma-2-2b", 2614341888},
    Known{"gemma-2-9b", 9241705984},
    Known{"gemma-2b", 2506172416},
    Known{"gemma-3-12b", 12187325040},
    Known{"gemma-3-1b", 999885952},
    Known{"gemma-3-270m", 268098176},
    Known{"gemma-3-27b", 27009346304},
    Known{"gemma-3-4b", 3880263168},
    Known{"gemma-4-26b-a4b", 25805933872},
    Known{"gemma-4-31b", 31273086512},
    Known{"gemma-4-e2b", 5104297504},
    Known{"gemma-4-e4b", 7941100832},
    Known{"gemma-7b", 8537680896},
    Known{"glm-4.7-flash", 29943390976},
    Known{"glm-5", 743911199232},
    Known{"gpt-neox-20b", 20554567680},
    Known{"gpt-oss-120b", 116829156672},
    Known{"gpt-oss-20b", 20914757184},
    Known{"gpt2", 124439808},
    Known{"gpt2-large", 774030080},
    Known{"gpt2-medium", 354823168},
    Known{"gpt2-xl", 1557611200},
    Known{"granite-3.3-8b", 8170864640},
    Known{"granite-4.0-h-small", 32207337984},
    Known{"grok-2", 269515497472},
    Known{"hunyuan-7b", 7504568320},
    Known{"hunyuan-a13b", 80393183232},
    Known{"kimi-k2-instruct", 1026408209408},
    Known{"kimi-linear-48b-a3b", 49122681728},
    Known{"lfm2-1.2b", 1170340608},
    Known{"llama-2-13b", 13015864320},
    Known{"llama-2-70b", 68976648192},
    Known{"llama-2-7b", 6738415616},
    Known{"llama-3-70b", 70553706496},
    Known{"llama-3-8b", 8030261248},
    Known{"llama-3.1-405b", 405853388800},
    Known{"llama-3.1-70b", 70553706496},
    Known{"llama-3.1-8b", 8030261248},
    Known{"llama-3.2-1b", 1235814400},
    Known{"llama-3.2-3b", 3212749824},
    Known{"llama-3.3-70b", 70553706496},
    Known{"llama-4-scout-17b-16e", 108641793536},
    Known{"mimo-v2-flash", 308778780864},
    Known{"minimax-m2.5", 228689764864},
    Known{"mistral-7b-v0.1", 7241732096},
    Known{"mistral-7b-v0.3", 7248023552},
    Known{"mistral-nemo-12b", 12247782400},
    Known{"mistral-small-24b", 23572403200},
    Known{"mistral-small-3.1-24b-instruct-2503", 24011361280},
    Known{"mixtral-8x22b", 140620634112},
    Known{"mixtral-8x7b", 46702792704},
    Known{"modernbert-large", 395881664},
    Known{"nemotron-3-nano-30b-a3b", 31577940288},
    Known{"olmo-2-7b", 7298617344},
    Known{"olmo-3-7b", 7298011136},
    Known{"olmoe-1b-7b", 6919161856},
    Known{"phi-1.5", 1418270720},
    Known{"phi-2", 2779683840},
    Known{"phi-3-medium-4k", 13960238080},
    Known{"phi-3-mini-4k", 3821079552},
    Known{"phi-4", 14659507200},
    Known{"phi-4-mini", 3836021760},
    Known{"pythia-1.4b", 1414647808},
    Known{"pythia-12b", 11846072320},
    Known{"pythia-160m", 162322944},
    Known{"pythia-1b", 1011781632},
    Known{"pythia-2.8b", 2775208960},
    Known{"pythia-410m", 405334016},
    Known{"pythia-6.9b", 6857302016},
    Known{"pythia-70m", 70426624},
    Known{"qwen1.5-moe-a2.7b", 14315784192},
    Known{"qwen2-0.5b", 494032768},
    Known{"qwen2-1.5b", 1543714304},
    Known{"qwen2-57b-a14b", 57408658944},
    Known{"qwen2-72b", 72706203648},
    Known{"qwen2-7b", 7615616512},
    Known{"qwen2-audio-7b", 8397094912},
    Known{"qwen2-vl-7b", 8291375616},
    Known{"qwen2.5-0.5b", 494032768},
    Known{"qwen2.5-1.5b", 1543714304},
    Known{"qwen2.5-14b", 14770033664},
    Known{"qwen2.5-32b", 32763876352},
    Known{"qwen2.5-3b", 3085938688},
    Known{"qwen2.5-72b", 72706203648},
    Known{"qwen2.5-7b", 7615616512},
    Known{"qwen2.5-vl-7b", 8292166656},
    Known{"qwen3-0.6b", 596049920},
    Known{"qwen3-1.7b", 1720574976},
    Known{"qwen3-14b", 14768307200},
    Known{"qwen3-235b-a22b", 235093634560},
    Known{"qwen3-235b-a22b-fp8", 235093634560},
    Known{"qwen3-30b-a3b", 30532122624},
    Known{"qwen3-30b-a3b-fp8", 30532122624},
    Known{"qwen3-32b", 32762123264},
    Known{"qwen3-32b-fp8", 32762123264},
    Known{"qwen3-4b", 4022468096},
    Known{"qwen3-8b", 8190735360},
    Known{"qwen3-8b-fp8", 8190735360},
    Known{"qwen3-next-80b-a3b", 79674391296},
    Known{"qwen3-vl-8b-instruct", 8767123696},
    Known{"seed-oss-36b", 36151104512},
    Known{"smollm2-1.7b", 1711376384},
    Known{"smollm2-135m", 134515008},
    Known{"smollm2-360m", 361821120},
    Known{"smollm3-3b", 3075098624},
    Known{"tinyllama-1.1b", 1100048384},
    Known{"voxtral-mini-3b-2507", 4676271104},
};

TEST_CASE("parameter counts of the presets are exact") {
    CHECK(std::size(known) == preset_names().size());
    for (const Known& each : known) {
        CAPTURE(each.name);
        CHECK(parameters_of(find_model(std::string(each.name))) == each.parameters);
    }
}

TEST_CASE("a preset names the source of its numbers") {
    for (const std::string& name : preset_names()) {
        CAPTURE(name);
        const Architecture a = find_model(name);
        CHECK(a.name == name);
        CHECK(a.source.starts_with("https://huggingface.co/"));
    }
}

TEST_CASE("only the experts of a token count as active") {
    // Mixtral's card: 12.9 billion of 46.7 billion parameters are used for a token.
    CHECK(active_parameters_of(find_model("mixtral-8x7b")) == 12879925248);
    CHECK(active_parameters_of(find_model("llama-3.1-8b")) == 8030261248);
    // Grok 2: 115 of 270 billion; the dense mlp beside the experts counts whole.
    CHECK(active_parameters_of(find_model("grok-2")) == 114896674816);
}

TEST_CASE("bytes of weights by hand") {
    const Architecture a = find_model("gpt2");
    CHECK(weights_bytes(a, {.bytes = 2}) == 2 * 124439808);
    // The layers' products have 12 x 12 x 768^2 weights and 12 x 9 x 768 outputs.
    const std::int64_t products = 12 * 12 * 768 * 768;
    const std::int64_t outputs = 12 * 9 * 768;
    CHECK(weights_bytes(a, {.bytes = 2, .quantisation = Quantisation::int8}) ==
          2 * (124439808 - products) + products + 2 * outputs);
    CHECK(weights_bytes(a, {.bytes = 2, .quantisation = Quantisation::int4, .group = 128}) ==
          2 * (124439808 - products) + products / 2 + 2 * products / 128);
    // Half a byte per weight, a byte per 16 weights, and an fp32 number for each of a layer's four
    // tensors.
    CHECK(weights_bytes(a, {.bytes = 2, .quantisation = Quantisation::nvfp4}) ==
          2 * (124439808 - products) + products / 2 + products / 16 + 4 * 4 * 12);
}

TEST_CASE("bytes of the cache by hand") {
    CHECK(kv_cache_bytes(find_model("llama-3.1-8b"), {.bytes = 2, .batch = 3, .tokens = 1000}) ==
          3 * 1000 * 131072);
    // A latent vector of 512 and a rotary key of 64 for each of 61 layers.
    CHECK(kv_cache_bytes(find_model("deepseek-v3"), {.bytes = 2, .batch = 1, .tokens = 7}) ==
          7 * 61 * 576 * 2);
    // Five of six layers, 22 of 26, see 512 tokens and keep 511 before the newest.
    CHECK(kv_cache_bytes(find_model("gemma-3-1b"), {.bytes = 2, .batch = 1, .tokens = 2048}) ==
          2 * 256 * 2 * (22 * 511 + 4 * 2048));
}

TEST_CASE("only the layers with windows have them") {
    const Architecture gemma = find_model("gemma-2-9b");
    const auto window = [](const Architecture& a, std::size_t layer) {
        return a.value("window", a.layer_kinds.at(layer));
    };
    CHECK(window(gemma, 0) == 4096);
    CHECK(window(gemma, 1) == 0);
    CHECK(window(find_model("mistral-7b-v0.1"), 31) == 4096);
    CHECK(window(find_model("mistral-7b-v0.3"), 31) == 0);
    CHECK(window(find_model("qwen2.5-7b"), 31 - 4) == 0);
}

TEST_CASE("an error in a config names the field") {
    CHECK(message_of("[]") == "config.json: not a JSON object");
    CHECK(message_of("{}") == "config.json: model_type is missing");
    CHECK(message_of(R"({"model_type": "lama"})").find("did you mean 'llama'?") !=
          std::string::npos);
    CHECK(message_of(R"({"model_type": "t5", "is_encoder_decoder": true, "d_model": 512})")
              .starts_with("config.json: is_encoder_decoder: a decoder that reads"));
    CHECK(message_of(R"({"model_type": "llama", "vocab_size": 10})") ==
          "config.json: hidden_size is missing");
    const std::string base =
        R"("vocab_size": 10, "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": )";
    CHECK(message_of(R"({"model_type": "llama", )" + base + R"(2, "num_attention_heads": 7})") ==
          "config.json: num_attention_heads must divide hidden_size, 64");
    CHECK(
        message_of(R"({"model_type": "llama", )" + base + R"("two", "num_attention_heads": 4})") ==
        "config.json: num_hidden_layers must be a whole number");
    CHECK(message_of(R"({"model_type": "llama", )" + base +
                     R"(99999999, "num_attention_heads": 4})") ==
          "config.json: num_hidden_layers must be 1 to 10000");
    CHECK(message_of(R"({"model_type": "llama", )" + base +
                     R"(2, "num_attention_heads": 4, "num_key_value_heads": 3})") ==
          "config.json: num_key_value_heads is 3; it must divide num_attention_heads, 4");
}

TEST_CASE("a name of the hub finds the preset") {
    CHECK(find_model("Qwen/Qwen3-32B-FP8").name == "qwen3-32b-fp8");
    CHECK(find_model("meta-llama/Meta-Llama-3.1-8B").name == "llama-3.1-8b");
    CHECK(find_model("meta-llama/Llama-3.1-8B-Instruct").name == "llama-3.1-8b");
    CHECK(find_model("openai/gpt-oss-20b").stored->weights.quantisation == Quantisation::mxfp4);
}

TEST_CASE("an unknown model name gets the nearest presets") {
    try {
        static_cast<void>(find_model("llama-3.1-8"));
        FAIL("found");
    } catch (const InputError& error) {
        CHECK(std::string(error.what()).find("llama-3.1-8b") != std::string::npos);
    }
}

TEST_CASE("a model can be written as TOML") {
    const Architecture a = read_model_toml(
        "name = \"mine\"\nvocabulary = 128256\nhidden = 4096\nlayers = 32\nheads = 32\n"
        "kv_heads = 8\nintermediate = 14336\n",
        "mine.toml");
    CHECK(parameters_of(a) == 8030261248);
    const auto message = [](const std::string& text) {
        return test::message_of([&] { return read_model_toml(text, "m.toml"); });
    };
    CHECK(message("hidden = 8") == "m.toml: vocabulary is missing");
    CHECK(message("vocabulary = 8\nhidden = 8\nlayers = 1\nheads = 1\nintermediate = 8\nhedas = 2")
              .starts_with("m.toml:6:1: hedas: this family does not know the field"));
}

}  // namespace
}  // namespace ridge::programs
