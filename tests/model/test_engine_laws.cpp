// Laws of engine kernels beside products, worked by hand.
#include <cmath>
#include <map>
#include <memory>
#include <string>

#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/engine/laws.h"
#include "model/machine/tiled_product_parameters.h"
#include "model/moe/load.h"
#include "model/moe/work.h"
#include "model/predict.h"
#include "model/recurrence/work.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/model/parsed.h"

namespace ridge::model {
namespace {

using test::h200;

/// A kernel of that law with these values in base units; the others are as where no file states them.
LawTime law_of(const std::string& law, const std::string& text,
               const std::map<std::string, double>& values, LawAttributes attributes = {},
               Execution execution = {}) {
    const LawInfo& info = law_table()[law_index(law)];
    EngineKernel kernel;
    auto recipe = std::make_shared<EngineRecipe>();
    recipe->law = law_index(law);
    kernel.recipe = recipe;
    for (std::size_t i = 0; i < info.parameters.size(); ++i) {
        const auto stated = values.find(std::string(info.parameters[i].name));
        kernel.values[i] = stated != values.end() ? stated->second : info.parameters[i].usual;
    }
    const OperationText parsed = parse_operation(text);
    const Operation operation = make_operation(parsed.kind, parsed.parameters);
    const Outcome counts = predict(operation, {}, h200());
    const Work work = std::get<Prediction>(counts).work;
    return time_of({.operation = operation,
                    .execution = execution,
                    .machine = h200(),
                    .kernel = kernel,
                    .attributes = attributes,
                    .work = work});
}

constexpr double us = 1e-6;

/// Attributes of a product by DeepGEMM's rules for Hopper.
LawAttributes of_deepgemm(TileAttribute which, std::int64_t value) {
    LawAttributes attributes{};
    attributes[static_cast<std::size_t>(TileAttribute::chooses)] = 2;
    attributes[static_cast<std::size_t>(which)] = value;
    return attributes;
}

TEST_CASE("one wave of DeepGEMM's largest tiles takes a step of its own", "[engine]") {
    const double one_us = 1e-6 * h200().tensor_clock.base();  // in clocks
    const std::map<std::string, double> values{
        {"step_1", one_us / 2}, {"step_2", one_us}, {"step_3", 10 * one_us}, {"dram", 100.0}};
    const auto time = [&](const std::string& shape, std::int64_t percent) {
        return law_of("tiled_product", "matmul dtype=fp8_block k=12800 " + shape, values,
                      of_deepgemm(TileAttribute::alone, percent))
            .kernels.base();
    };
    // 112 tiles of 256 x 128 are 85 % of 132 multiprocessors; 100 steps of 1 or 10 us.
    CHECK(time("m=1792 n=2048", 80) == Approx(1000 * us).epsilon(0.01));
    CHECK(time("m=1792 n=2048", 90) == Approx(100 * us).epsilon(0.01));
    CHECK(time("m=1792 n=2048", 0) == Approx(100 * us).epsilon(0.01));
    // Two waves of them, and one wave of smaller tiles (128 x 128).
    CHECK(time("m=3584 n=2048", 80) == Approx(200 * us).epsilon(0.01));
    CHECK(time("m=512 n=4096", 80) == Approx(50 * us).epsilon(0.01));
}

TEST_CASE("an eager call whose rows are no multiple takes the host longer", "[engine]") {
    const auto host = [](int m, double usual) {
        const std::map<std::string, double> values{{"host", usual}, {"host_odd", 30 * us}};
        return law_of("tiled_product", "matmul dtype=fp8_block n=512 k=512 m=" + std::to_string(m),
                      values, of_deepgemm(TileAttribute::host_rows, 4))
            .host.base();
    };
    CHECK(host(36, 50 * us) == Approx(50 * us));
    CHECK(host(37, 50 * us) == Approx(80 * us));
    CHECK(host(37, 0.0) == 0.0);
}

TEST_CASE("an engine's all-reduce takes the fastest way", "[engine]") {
    const std::map<std::string, double> values{
        {"one_start", 3 * us}, {"peer", 0.5 * us},       {"one_rate", 0.5},
        {"two_start", 6 * us}, {"two_rate", 0.5},        {"library_start", 30 * us},
        {"library_rate", 0.8}, {"eight", 1.25},          {"host", 25 * us},
        {"four", 1.0},         {"library_host", 30 * us}};
    const auto time = [&](const std::string& bytes, const std::string& gpus, std::int64_t own) {
        LawAttributes attributes{};
        attributes[0] = own;
        return law_of("peer_reduce", "all_reduce bytes=" + bytes + " gpus=" + gpus, values,
                      attributes);
    };
    const double link = 450e9;
    CHECK(time("32768", "4", 1).kernels.base() ==
          Approx(3 * us + 3 * 0.5 * us + 3 * 32768 / (0.5 * link)));
    CHECK(time("2097152", "8", 1).kernels.base() ==
          Approx(6 * us + 7 * us + 2.0 * 7 / 8 * 2097152 / (0.5 * link)));
    CHECK(time("1073741824", "8", 1).kernels.base() ==
          Approx(30 * us + 2.0 * 7 / 8 * 1073741824 / (0.8 * 1.25 * link)));
    CHECK(time("32768", "4", 0).kernels.base() > 20 * us);
    CHECK(time("32768", "4", 1).host.base() == Approx(25 * us));
    CHECK(time("32768", "4", 0).host.base() == Approx(30 * us));
}

TEST_CASE("a convolution is a fixed time and a stream", "[engine]") {
    const std::map<std::string, double> values{
        {"start", 2 * us}, {"sequence", 0.1 * us}, {"rate", 10.0}, {"held", 1.0}};
    const LawTime one = law_of("channel_conv", "gdn part=conv seq=1 batch=4 k_heads=1", values);
    const double bytes = 2.0 * 4 * 4 * 384 * 2;  // one token and three before, of 384 channels
    CHECK(one.kernels.base() ==
          Approx(2 * us + 0.4 * us + bytes / (10.0 * 1.98e9 * 132)).epsilon(1e-6));
    LawAttributes keys{};
    keys[0] = 1;
    const LawTime less =
        law_of("channel_conv", "gdn part=conv seq=1 batch=4 k_heads=1", values, keys);
    CHECK((less.kernels - Time::from_base(2.4 * us)).base() ==
          Approx(bytes / 3.0 / (10.0 * 1.98e9 * 132)).epsilon(1e-4));
}

TEST_CASE("heads go along their chunks in waves", "[engine]") {
    const std::map<std::string, double> values{{"start", 5 * us}, {"step", 1980.0},
                                               {"block", 3960.0}, {"rate", 1e5},
                                               {"dram", 100.0},   {"state", 100.0}};
    const auto time = [&](const std::string& shape) {
        return law_of("chunked_scan", "gdn phase=context k_heads=4 " + shape, values)
            .kernels.base();
    };
    // 4 heads of one sequence: a chunk takes 1 us, 64 chunks one after the other.
    CHECK(time("seq=4096") == Approx(5 * us + 64 * us + 2 * us).epsilon(0.02));
    // 264 heads are two waves.
    CHECK(time("seq=4096 batch=66") == Approx(5 * us + 2 * (64 * us + 2 * us)).epsilon(0.02));
}

TEST_CASE("a step moves the states, drafted tokens one each", "[engine]") {
    const std::map<std::string, double> values{{"start", 4 * us}, {"rate", 1e5}};
    const LawTime one = law_of("state_step", "kda seq=1 batch=512 k_heads=32", values);
    const double states = 512.0 * 32 * 128 * 128 * 4;
    CHECK(one.kernels.base() == Approx(4 * us + 2 * states / 4.8e12).epsilon(0.02));
    const LawTime drafted =
        law_of("state_step", "kda phase=verify seq=3 batch=512 k_heads=32", values);
    CHECK(drafted.kernels.base() == Approx(4 * us + 4 * states / 4.8e12).epsilon(0.02));
}

TEST_CASE("queries run in rounds along their keys", "[engine]") {
    const std::map<std::string, double> values{{"start", 3 * us}, {"key", 19.8}};
    const LawTime few =
        law_of("query_blocks", "sparse_mla heads=128 topk=2048 seq_q=1 seq_kv=9000", values);
    CHECK(few.kernels.base() == Approx(3 * us + 2048 * 0.01 * us));
    const LawTime many =
        law_of("query_blocks", "indexer heads=64 batch=264 seq_q=1 seq_kv=9000 dtype=fp8", values);
    CHECK(many.kernels.base() == Approx(3 * us + 2 * 9000 * 0.01 * us));
}

TEST_CASE("rows of one expert fill whole tiles, and weights are read once", "[engine]") {
    const std::map<std::string, double> values{{"start", 20 * us}, {"rows", 1e5},
                                               {"tokens", 1e5},    {"load", 1e5},
                                               {"dram", 0.5},      {"overlap", 1e-4}};
    // 64 tokens at 2 of 8 experts: 16 rows each, all experts' weights.
    const std::string shape =
        "moe tokens=64 hidden=4096 intermediate=14336 topk=2 experts=8 dtype=bf16";
    const LawTime t = law_of("expert_block", shape, values);
    const double weights = 8.0 * 3 * 4096 * 14336 * 2;
    CHECK(t.kernels.base() == Approx(20 * us + weights / (0.5 * 4.8e12)).epsilon(0.03));
    CHECK(t.dram_read.base() == Approx(weights).epsilon(0.01));
    // 4-bit weights, unless an engine unpacks them beforehand.
    const LawTime narrow = law_of("expert_block", shape + " weight_dtype=mxfp4", values);
    CHECK(narrow.dram_read.base() == Approx(weights * 0.53125 / 2).epsilon(0.01));
    LawAttributes unpacked{};
    unpacked[2] = 1;
    const LawTime wide = law_of("expert_block", shape + " weight_dtype=mxfp4", values, unpacked);
    CHECK(wide.dram_read.base() == Approx(weights).epsilon(0.01));
}

TEST_CASE("a mixed step is tiles of the chunk and of the decoding sequences",
          "[engine][attention]") {
    const std::map<std::string, double> values{
        {"start", 1 * us}, {"block", 100.0},  {"decode_block", 50.0}, {"alone", 1.0},
        {"tile", 10.0},    {"overlap", 20.0}, {"dram", 1e4}};
    LawAttributes attributes{};
    attributes[0] = 64;
    attributes[1] = 128;
    const auto time = [&](const std::string& text, std::map<std::string, double> with = {}) {
        with.insert(values.begin(), values.end());
        return law_of("mixed_tiles", "mixed_attention heads=132 kv_heads=4 " + text, with,
                      attributes);
    };
    // 132 heads on 132 multiprocessors. The chunk's two tiles see 192 and 256 keys: two blocks each;
    // each of three sequences with 300 keys is one tile of three blocks.
    const std::string shape = "seq_q=128 seq_kv=256 decodes=3 decode_kv=300";
    const double clocks = 4 * 100.0 + 9 * 50.0 + 5 * 10.0;
    const double clock = h200().tensor_clock.base();
    CHECK(time(shape).kernels.base() == Approx(1 * us + clocks / clock).epsilon(1e-3));
    // Half as many elements of a head take half of the blocks' time.
    CHECK(time(shape + " head_dim=64").kernels.base() ==
          Approx(1 * us + (850.0 / 2.0 + 50.0) / clock).epsilon(1e-3));
    // One long sequence holds up the others.
    const double longest = 1e5 / 128.0 * 1000.0 / clock;
    CHECK(time("seq_q=1 seq_kv=1 decodes=1 decode_kv=100000", {{"alone", 1000.0}}).kernels.base() ==
          Approx(1 * us + longest).epsilon(2e-3));
    // Caches of one head of the cache beyond the L2 are read again by each head of its group.
    const std::string large = "seq_q=1 seq_kv=1 decodes=256 decode_kv=8192";
    const Bytes once = time(large).dram_read;
    const double keys = 2.0 * (256.0 * 8192.0 + 1.0) * 4.0 * 128.0 * 2.0;
    CHECK((time(large, {{"again", 0.5}}).dram_read - once).base() ==
          Approx(0.5 * 32.0 * keys).epsilon(1e-3));
}

TEST_CASE("a mixed step without a known kernel is bounded by its work", "[engine][attention]") {
    const auto of = [](const std::string& text) {
        return std::get<Prediction>(
            predict(test::make<MixedAttention>("mixed_attention " + text), {}, h200()));
    };
    const Prediction mixed = of("heads=8 kv_heads=2 seq_q=4 seq_kv=10 decodes=3 decode_kv=7");
    // Of the chunk 4 x 10 less 3 + 2 + 1 hidden ones, and 3 x 7: 55 scores of each head.
    CHECK(mixed.work.tensor.base() == 4.0 * 128.0 * 8.0 * 55.0);
    CHECK(mixed.work.compulsory_read.base() == 2.0 * 128.0 * (8.0 * 7.0 + 2.0 * 2.0 * 31.0));
    CHECK_THROWS_WITH(of("heads=8 kv_heads=3 seq_q=4 decodes=3 decode_kv=7"),
                      contains_text("kv_heads"));
    CHECK_THROWS_WITH(of("heads=8 seq_q=4 seq_kv=2 decodes=3 decode_kv=7"), contains_text("seq_q"));
    CHECK_THROWS_WITH(of("heads=8 seq_q=4 decodes=0 decode_kv=7"), contains_text("decodes"));
}

TEST_CASE("an engine's version without a file runs as the nearest, and says so", "[engine]") {
    static const Catalogue all = Catalogue::embedded();
    const Machine machine = all.machine("h200-sxm");
    const auto asked = [&machine](const std::string& software) {
        const OperationText text = parse_operation(
            "moe tokens=64 hidden=4096 intermediate=1536 topk=8 experts=128 software=" + software);
        return predict(make_operation(text.kind, text.parameters), make_execution(text.parameters),
                       machine);
    };
    const auto known = std::get<Prediction>(asked("vllm-0.24.0"));
    CHECK(noted<note::OtherVersion>(known) == nullptr);
    for (const char* const name : {"vllm-0.99.1", "vllm-0.1.dev19262"}) {
        const auto other = std::get<Prediction>(asked(name));
        REQUIRE(noted<note::OtherVersion>(other) != nullptr);
        CHECK(noted<note::OtherVersion>(other)->fitted.name() == "vllm-0.24.0");
        CHECK(other.time.base() == known.time.base());
        CHECK(other.high > known.high);
    }
    CHECK_THROWS_WITH(asked("vlm-0.24.0"), contains_text("unknown software"));
}

TEST_CASE("loads of experts add up to the pairs, and tiles cover them", "[moe]") {
    const auto even = expert_loads(
        test::make<Moe>("moe tokens=100 hidden=64 intermediate=64 topk=4 experts=8 ep=2"));
    CHECK(even.pairs == 200.0);
    CHECK(even.active == 4.0);
    CHECK(even.tiles(16.0) == 4.0 * 4.0);  // 50 rows each
    const auto uneven = expert_loads(test::make<Moe>(
        "moe tokens=1000 hidden=64 intermediate=64 topk=4 experts=64 distribution=power_law_1.2"));
    double sum = 0.0;
    for (const double each : uneven.rows) sum += each;
    CHECK(sum / 64.0 * 64.0 == Approx(4000.0));
    CHECK(uneven.tiles(1e9) == Approx(uneven.active));
    CHECK(uneven.tiles(16.0) > 4000.0 / 16.0);
}

}  // namespace
}  // namespace ridge::model
