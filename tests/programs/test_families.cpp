// Families as data: a family from a file alone, errors with file and line, fields that nobody knows.
#include <string>

#include "hardware/error.h"
#include "programs/configs/config_reader.h"
#include "programs/configs/presets.h"
#include "programs/families/family.h"
#include "programs/model_step.h"
#include "programs/software/rules.h"
#include "tests/catch.h"
#include "tests/support/error_message.h"

namespace ridge::programs {
namespace {

/// No model of transformers: every third layer has experts, and the norm stands behind attention.
constexpr const char* odd_family = R"(model_types = ["oddity"]
base = "decoder"
fields = '''
hidden = count() as "width"
layers = count() as "depth"
every = count(3) as "experts_every"
expert_count = count() as "experts"
intermediate = count(4 * hidden) as "inner"
'''
kinds = '''
sparse = i % every == every - 1
'''
layer = '''
experts = expert_count if sparse else 0
active = 2
'''
run = '''
layer(x) in attention:
    h = attention(x)
    h = norm(h, norm1, hidden, 'own', "behind attention")
    x = residual(x, h)
    h = feed_forward(x)
    return residual(x, h)
'''
layer_weights = '''
norm2 = norm(hidden) if norms > 2
'''
)";
constexpr const char* odd_config =
    R"({"model_type": "oddity", "vocab_size": 1000, "width": 256, "depth": 7,
        "num_attention_heads": 4, "num_key_value_heads": 2, "experts": 8})";

Architecture odd() {
    return read_config(odd_config, "config.json", read_family(odd_family, "odd.toml"));
}

std::string family_message(const std::string& text) {
    return test::message_of([&] {
        check_procedures(*read_family(text, "mine.toml"));
        return 0;
    });
}

TEST_CASE("a family that does not ship is a file") {
    const Architecture a = odd();
    CHECK(a.layers() == 7);
    CHECK(a.kinds.size() == 2);
    CHECK(a.layers_of(1) == 2);
    // Attention 256 x 256 for q and o, 256 x 128 for k and v; mlp 3 x 256 x 1024; one norm.
    const std::int64_t attention = 2 * 256 * 256 + 2 * 256 * 128 + 256;
    const std::int64_t mlp = 3 * 256 * 1024;
    CHECK(parameters_of(a) ==
          2 * 1000 * 256 + 256 + 7 * attention + 5 * mlp + 2 * (8 * mlp + 8 * 256));
    CHECK(active_parameters_of(a) == parameters_of(a) - 2 * 6 * mlp);
    for (const Software software :
         {Software::transformers, Software::compiled, Software::serving}) {
        for (const Phase phase : {Phase::prefill, Phase::decode, Phase::train}) {
            if (software == Software::serving && phase == Phase::train) continue;
            CAPTURE(name_of(software), name_of(phase));
            const ModelStep step =
                make_step(a, {.phase = phase, .software = software, .batch = 2, .seq = 64});
            CHECK(step.program.kernels() > 7 * 6);
            CHECK(memory_of(step).peak > step.weights_bytes);
            std::int64_t grouped = 0;
            for (const Entry& entry : step.program.entries) {
                if (entry.module == Module::experts) grouped += entry.count;
            }
            CHECK(grouped > 0);
        }
    }
}

TEST_CASE("a step of a family that does not ship spreads over GPUs") {
    const Architecture a = odd();
    const ModelStep one = make_step(a, {.batch = 2, .seq = 64});
    const ModelStep four =
        make_step(a, {.batch = 2, .seq = 64, .tensor_parallel = 2, .expert_parallel = 2});
    CHECK(four.weights_bytes < one.weights_bytes);
    CHECK(four.kv_cache_bytes == one.kv_cache_bytes / 2);
}

TEST_CASE("every family that ships fits every software") {
    for (const hardware::EmbeddedFile& file : embedded_families()) {
        CAPTURE(file.path);
        if (file.text.find("\nbase = []") != std::string_view::npos) continue;  // a part of others
        check_procedures(*read_family(file.text, std::string(file.path)));
    }
}

TEST_CASE("an error in a family names the line") {
    const std::string begin = "model_types = [\"m\"]\nbase = \"decoder\"\n";
    CHECK(family_message(begin + "model = '''\nnorms = 2\nrotary = halvs + 1\n'''\n") ==
          "mine.toml:5:10: unknown name halvs");
    CHECK(family_message(begin + "model = '''\na = b\nb = a\n'''\n") ==
          "mine.toml:4:1: a depends on itself");
    CHECK(family_message(begin + "layer = '''\na = 1\n'''\nmodel = '''\nb = a\n'''\n")
              .starts_with("mine.toml:7:1: a belongs to the later section 'layer'"));
    CHECK(family_message(begin + "run = '''\nlayer(x):\n    return layer(x)\n'''\n") ==
          "mine.toml:4:1: layer calls itself");
    CHECK(family_message(begin +
                         "run = '''\nlayer(x):\n    y = linear(x, q_prj)\n    return y\n'''\n")
              .starts_with("mine.toml:5:19: unknown tensor q_prj (did you mean 'q_proj'?)"));
    CHECK(family_message("base = \"nothing\"\n") == "mine.toml:1:8: base: no family 'nothing'");
    CHECK(family_message(begin + "fields = '''\na = count(1 as \"a\"\n'''\n")
              .starts_with("mine.toml:4:13: expected"));
}

TEST_CASE("a field that may change the cost is an error that names it") {
    const std::string begin =
        R"({"model_type": "llama", "vocab_size": 10, "hidden_size": 64, "intermediate_size": 128,
            "num_hidden_layers": 2, "num_attention_heads": 4)";
    const auto message = [&](const std::string& more) {
        return test::message_of([&] { return read_config(begin + more + "}", "config.json"); });
    };
    CHECK(message(R"(, "num_experts": 8)")
              .starts_with("config.json: num_experts: this family does not know the field"));
    // What is off costs nothing, and what is known to cost nothing is read over.
    static_cast<void>(read_config(begin + R"(, "num_experts": 0, "moe": null, "window": false,
        "rope_theta": 1e6, "rope_scaling": {"factor": 8.0}})",
                                  "config.json"));
}

TEST_CASE("a config is read as Python reads it") {
    const Architecture a = read_config(R"({// a comment
        "model_type": "llama", "vocab_size": 10, "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 2, /* another */ "num_attention_heads": 4, "rope_theta": Infinity,
        "rope_scaling": [0.0, -Infinity, NaN, "Infinity // not a comment"]})",
                                       "config.json");
    CHECK(a.value("hidden") == 64);
}

}  // namespace
}  // namespace ridge::programs
