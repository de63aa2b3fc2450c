// Attention kernels of engines: how a dispatch cuts a call, which kernel runs, what its time does.
#include <string>

#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/engine/attention_cut.h"
#include "model/predict.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

const Machine& attention_gpu(const std::string& name) {
    static const Catalogue all = Catalogue::embedded();
    static const Machine h200 = all.machine("h200-sxm");
    static const Machine b200 = all.machine("b200");
    static const Machine l40s = all.machine("l40s");
    return name == "b200" ? b200 : name == "l40s" ? l40s : h200;
}

Outcome attention_outcome(const std::string& gpu, const std::string& text) {
    const OperationText operation = parse_operation("attention " + text);
    return predict(make_operation(operation.kind, operation.parameters),
                   make_execution(operation.parameters), attention_gpu(gpu));
}

Prediction attention_prediction(const std::string& gpu, const std::string& text) {
    CAPTURE(gpu, text);
    const Outcome outcome = attention_outcome(gpu, text);
    REQUIRE(std::holds_alternative<Prediction>(outcome));
    return std::get<Prediction>(outcome);
}

std::string kernel_that_runs(const std::string& gpu, const std::string& text) {
    const Prediction p = attention_prediction(gpu, text);
    const auto* const named = noted<note::EngineKernel>(p);
    REQUIRE(named != nullptr);
    return std::string(named->kernel.name());
}

LawAttributes attributes_of(SplitMethod split, std::int64_t rows, std::int64_t keys,
                            std::int64_t pack) {
    LawAttributes values{};
    const auto set = [&values](WalkAttribute which, std::int64_t value) {
        values[static_cast<std::size_t>(which)] = value;
    };
    set(WalkAttribute::rows, rows);
    set(WalkAttribute::keys, keys);
    set(WalkAttribute::pack, pack);
    set(WalkAttribute::split, static_cast<std::int64_t>(split));
    set(WalkAttribute::waves, 1);
    set(WalkAttribute::part, 512);
    set(WalkAttribute::parts, 16);
    return values;
}

const std::string decode =
    "batch=16 heads=32 kv_heads=8 head_dim=128 seq_q=1 kv_write=1 launch=graph ";
const std::string prefill =
    "batch=2 heads=32 kv_heads=8 head_dim=128 causal=1 kv_write=1 launch=graph ";

}  // namespace

TEST_CASE("a dispatch cuts a call into tiles, blocks and parts", "[engine][attention]") {
    // 1024 queries in 8 tiles of 128 rows; tile i visits i + 1 blocks of 128 keys.
    const Attention causal{.batch = 2,
                           .heads = 4,
                           .kv_heads = 4,
                           .seq_q = 1024,
                           .seq_kv = 1024,
                           .head_dim = 64,
                           .causal = true};
    const WalkCut tiles =
        cut_attention(causal, attributes_of(SplitMethod::whole, 128, 128, 1), 132);
    CHECK(tiles.tiles == 64.0);
    CHECK(tiles.blocks == 8.0 * 36.0);
    CHECK(tiles.longest == 8.0);
    CHECK(tiles.triangle);
    // A window of 128 keys leaves two blocks to a tile, one to the first.
    Attention windowed = causal;
    windowed.window = 128;
    const WalkCut seen =
        cut_attention(windowed, attributes_of(SplitMethod::whole, 128, 128, 1), 132);
    CHECK(seen.blocks == 8.0 * 15.0);
    CHECK(seen.skipped == 8.0 * 21.0);
    CHECK(seen.longest == 2.0);
    CHECK(seen.longest_skipped == 6.0);
    // 8 tiles of one sequence each: 132 / 8 parts would fit, 4096 keys make 8 of at least 512.
    const Attention one{
        .batch = 1, .heads = 32, .kv_heads = 8, .seq_q = 1, .seq_kv = 4096, .head_dim = 128};
    const WalkCut parts = cut_attention(one, attributes_of(SplitMethod::fill, 64, 128, 4), 132);
    CHECK(parts.tiles == 8.0);
    CHECK(parts.parts == 8.0);
    CHECK(parts.longest == 4.0);
    CHECK(parts.filled == 4.0);
    CHECK(parts.combines);
    // 16 segments for 320 keys in blocks of 32: ten have a block, six return at once.
    Attention few = one;
    few.seq_kv = 320;
    const WalkCut segments = cut_attention(few, attributes_of(SplitMethod::fixed, 16, 32, 4), 132);
    CHECK(segments.parts == 10.0);
    CHECK(segments.idle == 8.0 * 6.0);
}

TEST_CASE("each engine picks its attention kernel by GPU, phase and cache", "[engine][attention]") {
    CHECK(kernel_that_runs("h200-sxm", decode + "seq_kv=4096 software=sglang-0.5.14") == "fa3");
    CHECK(kernel_that_runs("b200", decode + "seq_kv=4096 software=sglang-0.5.14") == "trtllm_mha");
    CHECK(kernel_that_runs("l40s", decode + "seq_kv=4096 software=sglang-0.5.14") == "flashinfer");
    CHECK(kernel_that_runs("l40s", prefill + "seq=2048 software=vllm-0.24.0") ==
          "vllm_flash_attn_fa2");
    CHECK(kernel_that_runs("l40s", decode + "seq_kv=4096 kv_dtype=fp8 software=vllm-0.24.0") ==
          "vllm_flashinfer_fidecode");
    CHECK(kernel_that_runs("b200", prefill + "seq=2048 software=trtllm-1.3.0rc20") == "torch_flow");
    const std::string encoder = "heads=16 head_dim=72 batch=4 seq=1024 software=sglang-0.5.14";
    CHECK(kernel_that_runs("h200-sxm", encoder) == "flash_attention_v3");
    CHECK(kernel_that_runs("b200", encoder) == "flash_attention_v4");
}

TEST_CASE("of kernels with one name, the one whose condition holds runs", "[engine][attention]") {
    const std::string named = " software=trtllm-1.3.0rc20 kernel=torch_flow";
    const Prediction prompt = attention_prediction("h200-sxm", prefill + "seq=2048" + named);
    CHECK(prompt.tiling.tile.m == 64);
    const Prediction group = attention_prediction("h200-sxm", decode + "seq_kv=2048" + named);
    CHECK(group.tiling.tile.m == 32);
    const Prediction wide = attention_prediction(
        "h200-sxm", "batch=16 heads=64 kv_heads=1 head_dim=128 seq_q=1 seq_kv=2048" + named);
    CHECK(wide.tiling.tiles == 16 * 64);  // a kernel for each head
}

TEST_CASE("more keys, sequences and heads never take less time by much", "[engine][attention]") {
    for (const std::string software : {"sglang-0.5.14", "trtllm-1.3.0rc20"}) {
        for (const std::string gpu : {"h200-sxm", "b200", "l40s"}) {
            const auto time = [&](const std::string& shape) {
                return attention_prediction(gpu, shape + " software=" + software).time;
            };
            for (int keys = 512; keys <= 32768; keys *= 4) {
                const Time shorter = time(decode + "seq_kv=" + std::to_string(keys));
                const Time longer = time(decode + "seq_kv=" + std::to_string(2 * keys));
                CHECK(longer >= 0.97 * shorter);
            }
            for (int seq = 256; seq <= 8192; seq *= 2) {
                const Time shorter = time(prefill + "seq=" + std::to_string(seq));
                const Time longer = time(prefill + "seq=" + std::to_string(2 * seq));
                CHECK(longer >= shorter);
            }
        }
    }
}

TEST_CASE("a cache in 8 bits is read in half the bytes, a cold one from DRAM",
          "[engine][attention]") {
    const std::string shape = decode + "seq_kv=16384 software=sglang-0.5.14 ";
    const Prediction wide = attention_prediction("h200-sxm", shape);
    const Prediction narrow = attention_prediction("h200-sxm", shape + "kv_dtype=fp8");
    CHECK(narrow.work.dram_read < 0.55 * wide.work.dram_read);
    CHECK(narrow.time < wide.time);
    const std::string small = decode + "seq_kv=256 software=sglang-0.5.14 ";
    const Prediction warm = attention_prediction("h200-sxm", small + "l2=warm");
    const Prediction cold = attention_prediction("h200-sxm", small + "l2=cold");
    CHECK(warm.work.dram_read < 0.1 * cold.work.dram_read);
    CHECK(warm.time < cold.time);
}

TEST_CASE("an engine has no backward pass, and its answer has an explanation",
          "[engine][attention]") {
    const Outcome outcome = attention_outcome(
        "h200-sxm",
        "heads=8 head_dim=128 seq=1024 causal=1 direction=backward software=sglang-0.5.14");
    REQUIRE(std::holds_alternative<NotModelled>(outcome));
    CHECK_THAT(std::get<NotModelled>(outcome).reason, contains_text("no backward pass"));
}

TEST_CASE("parts without keys cost what finding their sequence costs", "[engine]") {
    const auto time_of = [](int batch, int heads, int keys) {
        return attention_prediction(
                   "h200-sxm",
                   "batch=" + std::to_string(batch) + " heads=" + std::to_string(heads) +
                       " kv_heads=1 head_dim=512 seq_q=1 seq_kv=" + std::to_string(keys) +
                       " kv_write=1 l2=warm launch=graph software=vllm-0.24.0 "
                       "kernel=vllm_flash_attn_fa4")
            .time;
    };
    // From 993 sequences on the kernel does not divide keys; until then every part looks for its sequence.
    CHECK(time_of(512, 8, 16) > 8.0 * time_of(1024, 8, 16));
    CHECK(time_of(512, 1, 16) > 2.3 * time_of(256, 1, 16));
    // The combining kernel's grid grows with heads and with the square of the sequences.
    const Time few = time_of(128, 8, 16) - time_of(128, 1, 16);
    CHECK(time_of(512, 8, 16) - time_of(512, 1, 16) > 10.0 * few);
}

TEST_CASE("a part that waits for its loads takes longer where they come from DRAM", "[engine]") {
    const auto time_of = [](int keys) {
        return attention_prediction("h200-sxm",
                                    "batch=4 heads=8 kv_heads=1 head_dim=512 seq_q=1 seq_kv=" +
                                        std::to_string(keys) +
                                        " kv_write=1 l2=warm launch=graph software=sglang-0.5.14 "
                                        "kernel=triton")
            .time;
    };
    CHECK(time_of(16384) > 4.4 * time_of(4096));  // 134 MB of K and V, and 34 that the L2 holds
}

TEST_CASE("FlashAttention 3 of vLLM decodes by values of its own where a window hides keys",
          "[engine]") {
    const auto of_window = [](int window) {
        return attention_prediction("h200-sxm",
                                    "batch=8 heads=40 kv_heads=8 head_dim=64 seq_q=1 seq_kv=4096 "
                                    "kv_write=1 launch=graph software=vllm-0.24.0 "
                                    "kernel=vllm_flash_attn_fa3 window=" +
                                        std::to_string(window))
            .implementation;
    };
    CHECK(of_window(128) == Implementation::engine);
    CHECK(of_window(4096) != Implementation::engine);
}

}  // namespace ridge::model
