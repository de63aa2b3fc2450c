// Attention on Blackwell by TensorRT-LLM's kernels: tiles, splits of the keys, and their use.
#include <map>
#include <string>

#include "model/attention/blocks.h"
#include "model/attention/work.h"
#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

namespace ridge::model {
namespace {

constexpr AttentionContext b200{.compute_capability = 100, .sm_count = 148};
constexpr auto flashinfer = Implementation::flashinfer;

Attention call(std::int64_t batch, std::int64_t heads, std::int64_t kv_heads, std::int64_t seq_q,
               std::int64_t seq_kv, std::int64_t head_dim) {
    return {.batch = batch,
            .heads = heads,
            .kv_heads = kv_heads,
            .seq_q = seq_q,
            .seq_kv = seq_kv,
            .head_dim = head_dim,
            .type = DataType::bf16,
            .causal = seq_q > 1,
            .kv_write = true,
            .paged = true};
}

using test::machine;

TEST_CASE("tiles of prefill depend on the head dimension", "[attention][flashinfer]") {
    const auto blocks = [](std::int64_t head_dim) {
        return attention_grid(call(2, 16, 4, 1024, 1024, head_dim), flashinfer, b200);
    };
    CHECK(blocks(64).blocks == AttentionBlocks{256, 128});
    CHECK(blocks(128).blocks == AttentionBlocks{256, 128});
    CHECK(blocks(256).blocks == AttentionBlocks{128, 128});
    CHECK(blocks(512).blocks == AttentionBlocks{64, 128});
    // Heads are not packed and keys are not split: 2 x 16 heads of 4 tiles.
    CHECK(blocks(128).pack == 1);
    CHECK(blocks(128).splits == 1);
    CHECK(blocks(128).tiles == 2 * 16 * 4);
}

TEST_CASE("one query packs its group and splits the keys", "[attention][flashinfer]") {
    const auto grid = [](std::int64_t batch, std::int64_t heads, std::int64_t kv_heads,
                         std::int64_t seq_kv) {
        return attention_grid(call(batch, heads, kv_heads, 1, seq_kv, 128), flashinfer, b200);
    };
    CHECK(grid(1, 5, 1, 64).blocks.q == 8);
    CHECK(grid(1, 12, 1, 64).blocks.q == 16);
    CHECK(grid(1, 32, 1, 64).blocks.q == 32);
    CHECK(grid(1, 64, 1, 64).blocks.q == 64);
    CHECK(grid(1, 64, 8, 64).pack == 8);
    // Eight blocks of 128 keys are two parts of four; there are at most 148 parts, one per SM.
    CHECK(grid(1, 8, 1, 1024).splits == 2);
    CHECK(grid(1, 8, 1, 131072).splits == 148);
    CHECK(grid(4, 64, 8, 65536).splits == 148 / 32);
    CHECK(grid(64, 64, 8, 65536).splits == 1);
    // The last part adds them up, so the only other kernel is the one that writes the cache.
    CHECK(count_attention(call(1, 8, 1, 1, 131072, 128), flashinfer, b200).work.kernels == 2);
}

TEST_CASE("which GPUs and calls use flashinfer", "[attention][flashinfer]") {
    const Attention op = call(8, 32, 8, 1, 4096, 128);
    const auto usual = std::get<Prediction>(predict(op, {}, machine("b200")));
    CHECK(usual.implementation == flashinfer);
    CHECK(usual.confidence() == Confidence::calibrated);
    CHECK(std::get<Prediction>(predict(op, {}, machine("b300"))).implementation == flashinfer);
    Execution asked;
    asked.implementation = flashinfer;
    CHECK(std::get<NotModelled>(predict(op, asked, machine("h200-sxm"))).reason ==
          "flashinfer needs compute capability 10.0 or 10.3; h200-sxm does not have it");
    Attention backward = call(8, 32, 32, 1024, 1024, 128);
    backward.kv_write = backward.paged = false;
    backward.direction = Direction::backward;
    CHECK(std::get<NotModelled>(predict(backward, asked, machine("b200"))).reason ==
          "flashinfer has no backward pass");
    CHECK(std::get<Prediction>(predict(backward, {}, machine("b200"))).implementation ==
          Implementation::flash2);
}

TEST_CASE("products and exponentials of a tile overlap", "[attention][flashinfer]") {
    // In a long causal head the longest tile visits 64 blocks. Doubling the exp2 rate or the tensor
    // rate shortens it by less than half, because the other still takes its time.
    const Attention op = call(1, 1, 1, 8192, 8192, 128);
    const auto time = [&](const Machine& on) {
        return std::get<Prediction>(predict(op, {}, on)).time;
    };
    const Machine& gpu = machine("b200");
    Machine special = gpu;
    *special.special_rate *= 2.0;
    Machine tensor = gpu;
    *tensor.tensor[static_cast<std::size_t>(DataType::bf16)] *= 2.0;
    Machine both = special;
    *both.tensor[static_cast<std::size_t>(DataType::bf16)] *= 2.0;
    CHECK(time(special) < time(gpu));
    CHECK(time(tensor) < time(gpu));
    CHECK(time(special) > 0.6 * time(gpu));
    CHECK(time(tensor) > 0.6 * time(gpu));
    CHECK(time(both) < 0.65 * time(gpu));
}

}  // namespace
}  // namespace ridge::model
