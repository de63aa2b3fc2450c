// Configs that nobody wrote: a sequential dense or expert decoder of an unknown family is read by its
// fields, and a field that nothing knows is named; configs of the families that ship, with any of their
// fields changed, are read or refused by the name of a field.
//
// Method: seeded draws. Parameters are counted again from the drawn sizes, without the family files.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "hardware/error.h"
#include "hardware/json.h"
#include "programs/configs/config_reader.h"
#include "programs/configs/presets.h"
#include "programs/families/family.h"
#include "programs/model_step.h"
#include "tests/catch.h"
#include "tests/support/sample.h"

namespace ridge::programs {
namespace {

constexpr std::size_t usual_cases = 3000;

class ConfigDraw {
  public:
    explicit ConfigDraw(std::uint64_t seed) : engine_(seed) {}
    std::int64_t whole(std::int64_t low, std::int64_t high) {
        const auto range = static_cast<std::uint64_t>(high - low + 1);
        return low + static_cast<std::int64_t>(engine_() % range);
    }
    bool coin() { return whole(0, 1) == 1; }
    template <class T>
    T pick(const std::vector<T>& values) {
        return values[static_cast<std::size_t>(
            whole(0, static_cast<std::int64_t>(values.size()) - 1))];
    }

  private:
    std::mt19937_64 engine_;
};

struct DrawnConfig {
    Json json = Json::object();
    std::int64_t parameters = 0;
};

/// Experts of some layers, under one of the names that configs use. Returns parameters of the layers.
std::int64_t add_experts(Json& json, ConfigDraw& draw, std::int64_t hidden, std::int64_t inner,
                         std::int64_t layers) {
    const std::int64_t experts = draw.whole(2, 64);
    const std::int64_t size = 8 * draw.whole(4, 200);
    const std::int64_t first = draw.coin() ? draw.whole(0, layers - 1) : 0;
    json[draw.pick<std::string>(
        {"num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"})] = experts;
    json[draw.pick<std::string>({"num_experts_per_tok", "moe_topk"})] = draw.whole(1, 2);
    json["moe_intermediate_size"] = size;
    if (first > 0) json["first_k_dense_replace"] = first;
    std::int64_t shared = 0;
    if (draw.coin()) {
        json["n_shared_experts"] = 1;
        shared = size;
    }
    const std::int64_t sparse = layers - first;
    return first * 3 * hidden * inner +
           sparse * (experts * hidden + 3 * experts * hidden * size + 3 * hidden * shared);
}

DrawnConfig drawn_config(ConfigDraw& draw, std::size_t number) {
    DrawnConfig made;
    const std::int64_t kv_heads = draw.whole(1, 8);
    const std::int64_t heads = kv_heads * draw.whole(1, 8);
    const std::int64_t head = 2 * draw.whole(8, 128);
    const std::int64_t hidden = draw.coin() ? heads * head : 16 * draw.whole(4, 500);
    const std::int64_t layers = draw.whole(1, 40);
    const std::int64_t inner = 8 * draw.whole(8, 2000);
    const std::int64_t vocabulary = draw.whole(100, 200000);
    const bool tied = draw.coin();
    const bool normed = draw.coin();
    const bool biased = draw.coin();
    Json& json = made.json;
    json = Json{{"model_type", "unlisted" + std::to_string(number)},
                {"vocab_size", vocabulary},
                {"hidden_size", hidden},
                {"num_hidden_layers", layers},
                {"num_attention_heads", heads},
                {"num_key_value_heads", kv_heads},
                {"head_dim", head},
                {"intermediate_size", inner},
                {"hidden_act", draw.pick<std::string>({"silu", "gelu", "gelu_pytorch_tanh"})},
                {"rms_norm_eps", 1e-6},
                {"tie_word_embeddings", tied}};
    if (normed || draw.coin()) json["use_qk_norm"] = normed;
    if (biased || draw.coin()) {
        json[draw.pick<std::string>({"attention_bias", "use_qkv_bias"})] = biased;
        json["attention_out_bias"] = false;
    }
    if (draw.coin()) json["sliding_window"] = draw.whole(1, 8192);
    if (draw.coin()) json["partial_rotary_factor"] = 0.5;
    if (draw.coin()) json["rope_theta"] = 10000.0;
    const std::int64_t attention = hidden * head * (2 * heads + 2 * kv_heads) +
                                   (biased ? head * (heads + 2 * kv_heads) : 0) +
                                   (normed ? 2 * head : 0);
    made.parameters =
        vocabulary * hidden * (tied ? 1 : 2) + hidden + layers * (attention + 2 * hidden);
    made.parameters +=
        draw.coin() ? add_experts(json, draw, hidden, inner, layers) : layers * 3 * hidden * inner;
    return made;
}

TEST_CASE("a sequential decoder of an unknown family is read, or its unknown field is named") {
    ConfigDraw draw(81);
    const std::size_t cases = usual_cases / test::one_in();
    for (std::size_t i = 0; i < cases; ++i) {
        DrawnConfig drawn = drawn_config(draw, i);
        const std::string text = drawn.json.text();
        CAPTURE(text);
        const Architecture read = read_config(text, "config.json");
        REQUIRE(parameters_of(read) == drawn.parameters);
        REQUIRE(read.family.find("unknown family") != std::string::npos);
        if (i % 16 == 0) {
            const ModelStep step = make_step(read, {.batch = 1, .seq = draw.whole(1, 256)});
            REQUIRE(step.program.kernels() > 5 * read.value("layers"));
        }
        const std::string unknown = "mystery_" + std::to_string(draw.whole(0, 99));
        drawn.json[unknown] = draw.whole(1, 9);
        try {
            static_cast<void>(read_config(drawn.json.text(), "config.json"));
            FAIL("read over " << unknown);
        } catch (const InputError& error) {
            REQUIRE(error.message().find(unknown) != std::string::npos);
        }
    }
}

/// A value near the old one, or something else.
Json changed_value(const Json& value, ConfigDraw& draw) {
    if (const auto number = value.if_number(); number && draw.coin()) {
        return static_cast<std::int64_t>(*number) + draw.whole(-2, 3);
    }
    switch (draw.whole(0, 5)) {
        case 0:
            return Json();
        case 1:
            return draw.whole(-3, 100000);
        case 2:
            return Json(draw.coin());
        case 3:
            return Json("word");
        case 4:
            return 0.37;
        default:
            return Json::array();
    }
}

TEST_CASE("a preset with changed fields is read, or refused by the name of a field") {
    ConfigDraw draw(82);
    std::size_t read = 0;
    std::size_t refused = 0;
    const std::size_t cases = usual_cases / test::one_in();
    const auto all = embedded_presets();
    for (std::size_t i = 0; i < cases; ++i) {
        const auto json = Json::parse(all[i % all.size()].text);
        REQUIRE(json);
        Json changed = *json;
        std::vector<std::string> names;
        for (const JsonMember& member : json->members()) names.push_back(member.name);
        for (std::int64_t times = draw.whole(1, 3); times > 0; --times) {
            const std::string name = draw.pick(names);
            changed[name] = changed_value(*json->find(name), draw);
        }
        const std::string text = changed.text();
        CAPTURE(text);
        try {
            const Architecture a = read_config(text, "config.json");
            ++read;
            REQUIRE(parameters_of(a) > 0);
            if (i % 8 == 0) static_cast<void>(make_step(a, {.batch = 1, .seq = 16}));
        } catch (const InputError& error) {
            ++refused;
            REQUIRE(error.message().size() > 8);
        }
    }
    CHECK(read > cases / 4);
    CHECK(refused > cases / 20);
}

}  // namespace
}  // namespace ridge::programs
