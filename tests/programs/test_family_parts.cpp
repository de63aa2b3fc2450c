// Parts of families beside a decoder's layers: stages of a pipeline, images, sound, heads for further tokens,
// encoders and heads of other kinds, caches that pool.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "hardware/units.h"
#include "model/catalogue/catalogue.h"
#include "programs/configs/config_reader.h"
#include "programs/configs/presets.h"
#include "programs/configs/weights.h"
#include "programs/model_step.h"
#include "tests/catch.h"
#include "tests/support/error_message.h"

namespace ridge::programs {
namespace {

std::int64_t kernels_named(const ModelStep& step, std::string_view name) {
    std::int64_t count = 0;
    for (const Entry& entry : step.program.entries) {
        if (entry.name == name) count += entry.count;
    }
    return count;
}

std::string refusal(const Architecture& a, const Request& request) {
    return test::message_of([&] {
        static_cast<void>(make_step(a, request));
        return 0;
    });
}

constexpr std::int64_t block = std::int64_t{1} << 21;

/// Bytes of what a step of this phase allocates in a phase of its memory plan.
std::int64_t allocated(const ModelStep& step, std::string_view part) {
    for (const StepMemory::Part& each : memory_of(step).parts) {
        if (each.name == part) return each.bytes;
    }
    return 0;
}

TEST_CASE("the stages of a pipeline hold the model, to the byte") {
    for (const char* name :
         {"llama-3.2-1b", "llama-3.1-8b", "gpt2", "gemma-3-1b", "qwen3-30b-a3b", "deepseek-v2-lite",
          "deepseek-v4-flash", "gemma-4-26b-a4b", "nemotron-3-nano-30b-a3b", "qwen3-8b-fp8"}) {
        const Architecture a = find_model(name);
        for (const std::int64_t stages : {1, 2, 3, 4}) {
            CAPTURE(name, stages);
            const Request request{
                .phase = Phase::decode, .software = Software::serving, .batch = 3, .seq = 100};
            std::int64_t weights = 0;
            std::int64_t cache = 0;
            std::int64_t layers = 0;
            std::int64_t held = 0;
            for (std::int64_t i = 0; i < stages; ++i) {
                const Architecture stage = a.stage(i, stages);
                const ModelStep step = make_step(stage, request);
                CHECK(stage.first_layer == layers);
                layers += stage.layers();
                weights += step.weights_bytes;
                cache += step.kv_cache_bytes;
                held += allocated(step, model_phase::weights);
                CHECK(kernels_named(step, "embedding") == (i == 0 ? 1 : 0));
                CHECK(kernels_named(step, "lm_head") == (i + 1 == stages ? 1 : 0));
            }
            const ModelStep whole = make_step(a, request);
            const std::int64_t shared = a.value("tied") > 0 && stages > 1
                                            ? 2 * a.value("vocabulary") * a.value("hidden")
                                            : 0;
            CHECK(layers == a.layers());
            CHECK(weights == whole.weights_bytes + shared);
            CHECK(cache == whole.kv_cache_bytes);
            // The allocator rounds blocks up, each stage its own.
            const std::int64_t rounded = held - allocated(whole, model_phase::weights) - shared;
            CHECK(rounded >= 0);
            CHECK(rounded < 4 * stages * block);
        }
    }
}

TEST_CASE("an image is patches, encoder layers and tokens") {
    const Architecture a = find_model("qwen3-vl-8b-instruct");
    Request request{.software = Software::serving, .seq = 4096};
    const ModelStep text = make_step(a, request);
    CHECK(kernels_named(text, "vision: patch embedding") == 0);
    request.images = 2;
    request.image_width = 1024;
    request.image_height = 768;
    // Patches of 16 x 16, four of them a token.
    CHECK(input_tokens(a, request).of_image == 1024 / 32 * (768 / 32));
    const ModelStep seen = make_step(a, request);
    CHECK(kernels_named(seen, "vision: qkv") == 27);
    CHECK(kernels_named(seen, "vision: attention") == 27);
    for (const Entry& entry : seen.program.entries) {
        if (entry.name == "vision: patch embedding") {
            const auto& product = std::get<model::Matmul>(entry.operation);
            CHECK(product.m == 2 * (1024 / 16) * (768 / 16));
            CHECK(product.n == 1152);
            CHECK(product.k == 3 * 2 * 16 * 16);
        }
        if (entry.name == "vision: attention") {
            const auto& op = std::get<model::Attention>(entry.operation);
            CHECK(op.batch == 2);
            CHECK(op.seq_q == (1024 / 16) * (768 / 16));
            CHECK(op.seq_kv == op.seq_q);
            CHECK_FALSE(op.causal);
        }
        // The tower keeps its type.
        if (entry.module == Module::encoder &&
            std::holds_alternative<model::Matmul>(entry.operation)) {
            CHECK(std::get<model::Matmul>(entry.operation).type == model::DataType::bf16);
        }
    }
    // What is not the tower is as before.
    std::int64_t others = 0;
    std::int64_t before = 0;
    for (const Entry& entry : seen.program.entries) {
        if (entry.module != Module::encoder) others += entry.count;
    }
    for (const Entry& entry : text.program.entries) before += entry.count;
    CHECK(others == before);
    CHECK(seen.weights_bytes == text.weights_bytes);
    request.seq = 1000;
    CHECK(test::message_of([&] {
              check_inputs(a, request);
              return 0;
          }) == "seq is 1000; images and audio are 1536 tokens of it");
    CHECK(refusal(find_model("llama-3.2-1b"), request)
              .starts_with("image: llama-3.2-1b has no tower for images"));
    request.phase = Phase::train;
    CHECK(refusal(a, request) == "image, audio: a training step reads text");
}

struct Measured {  // records/torch-models/h200-encoders.csv
    const char* name;
    std::int64_t width;
    std::int64_t height;
    std::int64_t images;
    std::int64_t audio;
    std::int64_t batch;
    double time_us;
};
const std::vector<Measured>& measured_encoders() {
    static const std::vector<Measured> all{
        Measured{"qwen3-vl-8b-instruct", 1024, 768, 1, 0, 1, 13742},
        Measured{"qwen3-vl-8b-instruct", 1024, 768, 8, 0, 1, 105861},
        Measured{"qwen3-vl-8b-instruct", 448, 448, 4, 0, 1, 12792},
        Measured{"qwen3-vl-8b-instruct", 1920, 1088, 2, 0, 1, 109659},
        Measured{"qwen2.5-vl-7b", 1036, 756, 1, 0, 1, 43788},
        Measured{"qwen2.5-vl-7b", 1036, 756, 8, 0, 1, 319629},
        Measured{"qwen2.5-vl-7b", 448, 448, 4, 0, 1, 42512},
        Measured{"qwen2.5-vl-7b", 1932, 1092, 2, 0, 1, 224082},
        Measured{"qwen2-vl-7b", 1036, 756, 1, 0, 1, 25478},
        Measured{"qwen2-vl-7b", 448, 448, 8, 0, 1, 40840},
        Measured{"qwen2-vl-7b", 1932, 1092, 2, 0, 1, 191980},
        Measured{"gemma-3-12b", 896, 896, 1, 0, 1, 16546},
        Measured{"gemma-3-12b", 896, 896, 8, 0, 1, 143308},
        Measured{"gemma-3-12b", 896, 896, 24, 0, 1, 392222},
        Measured{"mistral-small-3.1-24b-instruct-2503", 1036, 756, 1, 0, 1, 18722},
        Measured{"mistral-small-3.1-24b-instruct-2503", 1036, 756, 4, 0, 1, 156961},
        Measured{"mistral-small-3.1-24b-instruct-2503", 1540, 1540, 2, 0, 1, 324849},
        Measured{"llama-4-scout-17b-16e", 336, 336, 1, 0, 1, 4128},
        Measured{"llama-4-scout-17b-16e", 336, 336, 8, 0, 1, 18992},
        Measured{"llama-4-scout-17b-16e", 336, 336, 32, 0, 1, 73924},
        Measured{"qwen2-audio-7b", 0, 0, 0, 30, 1, 7955},
        Measured{"qwen2-audio-7b", 0, 0, 0, 30, 8, 53940},
        Measured{"qwen2-audio-7b", 0, 0, 0, 30, 24, 161016},
        Measured{"voxtral-mini-3b-2507", 0, 0, 0, 30, 1, 8019},
        Measured{"voxtral-mini-3b-2507", 0, 0, 0, 30, 8, 53943}};
    return all;
}

TEST_CASE("encoders in eager transformers run the kernels that were measured") {
    const model::Machine machine = model::Catalogue::embedded().machine("h200-sxm");
    double sum = 0.0;
    int inside = 0;
    for (const Measured& row : measured_encoders()) {
        CAPTURE(row.name, row.images, row.batch);
        Request request{.batch = row.batch, .seq = 65536};
        request.images = row.images;
        request.image_width = row.width;
        request.image_height = row.height;
        request.audio = row.audio;
        const ModelStep step = make_step(find_model(row.name), request);
        double time = 0.0;
        double low = 0.0;
        double high = 0.0;
        for (const Entry& entry : step.program.entries) {
            if (entry.module != Module::encoder) continue;
            const model::Outcome outcome = predict(entry, machine);
            const auto& part = std::get<model::Prediction>(outcome);
            const auto count = static_cast<double>(entry.count);
            time += count * (part.time / units::us);
            low += count * (part.low / units::us);
            high += count * (part.high / units::us);
        }
        CHECK(time == Approx(row.time_us).epsilon(0.2));
        sum += std::abs(time / row.time_us - 1.0);
        inside += static_cast<int>(low < row.time_us && row.time_us < high);
    }
    CHECK(sum < 0.10 * static_cast<double>(measured_encoders().size()));
    CHECK(inside > 18);
}

TEST_CASE("towers of each family run in each software") {
    for (const char* name :
         {"qwen3-vl-8b-instruct", "qwen2-vl-7b", "qwen2.5-vl-7b", "gemma-4-26b-a4b", "gemma-4-e2b",
          "mistral-small-3.1-24b-instruct-2503", "llama-4-scout-17b-16e"}) {
        const Architecture a = find_model(name);
        for (const Software software :
             {Software::transformers, Software::compiled, Software::serving}) {
            CAPTURE(name, name_of(software));
            Request request{.software = software,
                            .batch = 2,
                            .seq = 8192,
                            .images = 1,
                            .image_width = 640,
                            .image_height = 480};
            const ModelStep step = make_step(a, request);
            CHECK(input_tokens(a, request).of_image > 100);
            CHECK(std::any_of(step.program.entries.begin(), step.program.entries.end(),
                              [](const Entry& entry) { return entry.module == Module::encoder; }));
        }
    }
}

TEST_CASE("sound is a spectrum, encoder layers and tokens") {
    for (const auto& [name, tokens] :
         {std::pair{"qwen2-audio-7b", 25 * 45}, std::pair{"voxtral-mini-3b-2507", 563},
          std::pair{"gemma-4-e2b", 25 * 45}}) {
        CAPTURE(name);
        const Architecture a = find_model(name);
        const Request request{.software = Software::serving, .seq = 4096, .audio = 45};
        CHECK(input_tokens(a, request).of_audio == tokens);
        const ModelStep step = make_step(a, request);
        const std::int64_t layers = std::string_view(name) == "gemma-4-e2b" ? 12 : 32;
        CHECK(kernels_named(step, "audio: attention") == layers);
    }
    CHECK(refusal(find_model("llama-3.2-1b"), {.audio = 1})
              .starts_with("audio: llama-3.2-1b has no audio encoder"));
}

TEST_CASE("heads for further tokens are a layer, a projection and the head again") {
    for (const char* name : {"deepseek-v3", "deepseek-v4-flash", "ernie-4.5-21b-a3b-pt"}) {
        CAPTURE(name);
        const Architecture a = find_model(name).value("further") > 0
                                   ? find_model(name)
                                   : find_model(name).with("further", 1);
        Request request{
            .phase = Phase::decode, .software = Software::serving, .batch = 8, .seq = 512};
        const ModelStep without = make_step(a, request);
        request.drafting = true;
        const ModelStep with = make_step(a, request);
        CHECK(kernels_named(with, "lm_head") == 2 * kernels_named(without, "lm_head"));
        CHECK(kernels_named(with, "experts") == kernels_named(without, "experts") + 1);
        CHECK(kernels_named(with, "further token: projection") >= 1);
        // Two matrices of hidden x hidden and three norms, with the layer that stands last.
        const std::int64_t hidden = a.value("hidden");
        CHECK(with.parameters > without.parameters + 2 * hidden * hidden + 3 * hidden);
        CHECK(with.weights_bytes > without.weights_bytes);
        CHECK(with.kv_cache_bytes > without.kv_cache_bytes);
    }
    CHECK(refusal(find_model("llama-3.2-1b"), {.drafting = true}) ==
          "mtp: llama-3.2-1b has no heads for further tokens");
}

TEST_CASE("an encoder keeps no cache and does not decode") {
    for (const char* name : {"bge-m3", "bert-base-uncased", "modernbert-large"}) {
        CAPTURE(name);
        const Architecture a = find_model(name);
        for (const Software software :
             {Software::transformers, Software::compiled, Software::serving}) {
            const ModelStep step = make_step(a, {.software = software, .batch = 4, .seq = 256});
            CHECK(step.kv_cache_bytes == 0);
            CHECK(allocated(step, model_phase::cache) == 0);
            CHECK(kernels_named(step, "lm_head") == 0);
            for (const Entry& entry : step.program.entries) {
                const auto* const op = std::get_if<model::Attention>(&entry.operation);
                if (op != nullptr) CHECK_FALSE(op->causal);
            }
        }
        CHECK(refusal(a, {.phase = Phase::decode, .seq = 64}).starts_with("phase: "));
    }
}

TEST_CASE("the head follows from what the config calls its architecture") {
    const auto read = [](const std::string& architecture) {
        return read_config(
            R"({"model_type": "llama", "architectures": [")" + architecture +
                R"("], "vocab_size": 1000, "hidden_size": 64, "intermediate_size": 128,
                "num_hidden_layers": 2, "num_attention_heads": 4, "id2label": {"0": "good"}})",
            "config.json");
    };
    const std::int64_t head = 1000 * 64;
    const std::int64_t language = parameters_of(read("LlamaForCausalLM"));
    CHECK(parameters_of(read("LlamaModel")) == language - head);
    CHECK(parameters_of(read("LlamaForSequenceClassification")) == language - head + 64);
    const ModelStep reward = make_step(read("LlamaForSequenceClassification"), {.seq = 64});
    CHECK(kernels_named(reward, "score") == 1);
    CHECK(kernels_named(reward, "lm_head") == 0);
    CHECK(refusal(read("LlamaModel"), {.phase = Phase::train}).starts_with("phase: training"));
}

TEST_CASE("pooled keys by hand") {
    // Of the 43 layers of DeepSeek V4 Flash, 2 only see a window, 21 pool 4 tokens, 20 pool 128.
    const Architecture a = find_model("deepseek-v4-flash");
    const std::int64_t tokens = 4096;
    const std::int64_t window = 127 * 512;
    const std::int64_t sparse = tokens / 4 * (512 + 128);
    const std::int64_t heavy = tokens / 128 * 512;
    // Sums of what is not pooled yet: twice series x ratio numbers of fp32 for each element.
    const std::int64_t sums = 21 * 8 * 2 * 4 * 2 * (512 + 128) + 20 * 8 * 128 * 512;
    CHECK(kv_cache_bytes(a, {.bytes = 2, .batch = 1, .tokens = tokens}) ==
          2 * (43 * window + 21 * sparse + 20 * heavy) + sums);
    const ModelStep step = make_step(
        a, {.phase = Phase::decode, .software = Software::serving, .batch = 2, .seq = tokens});
    CHECK(allocated(step, model_phase::cache) >= step.kv_cache_bytes);
    CHECK(allocated(step, model_phase::cache) < step.kv_cache_bytes + a.layers() * block / 2);
    // Experts in 4 bits with a scale of a byte for 32, other products in 8.
    CHECK(step.weight_format == "fp8_block, experts mxfp4");
}

TEST_CASE("layers that read other layers' keys have none of their own") {
    const Architecture a = find_model("gemma-4-e2b");
    // 35 layers, of which the last 20 read; of the first 15, every fifth sees everything.
    const std::int64_t tokens = 3000;
    const std::int64_t windows = 12 * 511 * 2 * 256;
    const std::int64_t full = 3 * tokens * 2 * 512;
    CHECK(kv_cache_bytes(a, {.bytes = 2, .batch = 1, .tokens = tokens}) == 2 * (windows + full));
    const ModelStep step =
        make_step(a, {.phase = Phase::decode, .software = Software::serving, .seq = tokens});
    CHECK(kernels_named(step, "attention") == 35);
}

}  // namespace
}  // namespace ridge::programs
