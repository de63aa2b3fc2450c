// The bundled attention kernels: the tiles, grids and splits they choose, the work they execute,
// and their time by hand.
#include "model/attention/bundled.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "hardware/checked.h"
#include "model/attention/time.h"
#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/toy_machine.h"

namespace ridge::model {
namespace {

using units::us;

constexpr AttentionContext hopper{
    .compute_capability = 90,
    .sram = 228.0 * units::KiB,
    .sm_count = 132,
    .l2 = {.size = 60.0 * units::MiB, .partitions = 2.0, .steepness = 10.0}};

Attention decoding(std::int64_t batch, std::int64_t heads, std::int64_t kv_heads,
                   std::int64_t keys) {
    return {.batch = batch,
            .heads = heads,
            .kv_heads = kv_heads,
            .seq_q = 1,
            .seq_kv = keys,
            .head_dim = 128};
}

Attention prefill(std::int64_t heads, std::int64_t length, std::int64_t head_dim, bool causal) {
    return {.heads = heads,
            .kv_heads = heads,
            .seq_q = length,
            .seq_kv = length,
            .head_dim = head_dim,
            .causal = causal};
}

AttentionGrid grid_of(const Attention& op, Implementation implementation) {
    return attention_grid(op, implementation, hopper);
}

/// Counts the blocks that the tiled kernels visit, tile by tile as their code does.
double walked_scores(const Attention& op, const AttentionBlocks& blocks) {
    double scores = 0.0;
    for (std::int64_t tile = 0; tile * blocks.q < op.seq_q; ++tile) {
        std::int64_t visible = op.seq_kv;
        if (op.causal) visible = std::min(visible, (tile + 1) * blocks.q + op.seq_kv - op.seq_q);
        const std::int64_t walked = std::max<std::int64_t>(1, ceil_divide(visible, blocks.kv));
        scores += static_cast<double>(walked * blocks.kv * blocks.q);
    }
    return static_cast<double>(op.batch * op.heads) * scores;
}

TEST_CASE("tiles and grids of the bundled kernels", "[attention][bundled]") {
    CHECK(grid_of(prefill(16, 2048, 128, false), Implementation::wgmma).blocks ==
          AttentionBlocks{.q = 128, .kv = 176});
    CHECK(grid_of(prefill(16, 2048, 128, true), Implementation::wgmma).blocks ==
          AttentionBlocks{.q = 128, .kv = 128});
    CHECK(grid_of(prefill(16, 2048, 64, true), Implementation::wgmma).blocks ==
          AttentionBlocks{.q = 192, .kv = 128});
    const AttentionGrid mma = grid_of(prefill(16, 2050, 128, true), Implementation::mma);
    CHECK(mma.blocks == AttentionBlocks{.q = 128, .kv = 64});
    CHECK(mma.tiles == 16 * 17);
    CHECK(mma.blocks_per_sm == 2);
    CHECK(mma.turns == 16);
    // The keys and values of 20 heads of 4096 x 128, or of 5 heads of 16384, fit in 40 of 60 MiB.
    CHECK(grid_of(prefill(20, 4096, 128, true), Implementation::wgmma).turns == 1);
    CHECK(grid_of(prefill(16, 16384, 128, true), Implementation::wgmma).turns == 4);
    // 96 KiB per block: an A100 with 164 KiB holds one block, or two at head_dim 64.
    AttentionContext ampere = hopper;
    ampere.sram = 164.0 * units::KiB;
    CHECK(attention_grid(prefill(8, 512, 128, false), Implementation::mma, ampere).blocks_per_sm ==
          1);
    CHECK(attention_grid(prefill(8, 512, 64, false), Implementation::mma, ampere).blocks_per_sm ==
          2);
}

TEST_CASE("few queries against a longer cache run the decode kernel", "[attention][bundled]") {
    CHECK(decodes_with_splits(decoding(1, 32, 8, 8192)));
    CHECK_FALSE(decodes_with_splits(decoding(1, 32, 32, 1)));
    Attention several = decoding(1, 32, 8, 8192);
    several.seq_q = 16;
    CHECK(decodes_with_splits(several));
    several.seq_q = 17;  // 68 rows
    CHECK_FALSE(decodes_with_splits(several));
    // Splits seen in launches on an H200.
    const auto splits = [](std::int64_t batch, std::int64_t keys) {
        return grid_of(decoding(batch, 32, 8, keys), Implementation::mma).splits;
    };
    CHECK(splits(1, 1024) == 4);
    CHECK(splits(1, 8192) == 31);
    CHECK(splits(1, 65536) == 32);
    CHECK(splits(4, 8192) == 8);
    CHECK(splits(16, 4096) == 2);
    CHECK(splits(64, 65536) == 1);
    CHECK(grid_of(decoding(4, 32, 8, 8192), Implementation::mma).tiles == 4 * 8 * 8);
}

TEST_CASE("executed scores are those of the blocks that the kernels visit",
          "[attention][bundled][property]") {
    std::mt19937 random(11);  // NOLINT(cert-msc32-c,cert-msc51-cpp): cases must repeat
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
    for (int i = 0; i < 2000; ++i) {
        Attention op =
            prefill(1 + below(3), 65 + below(900), below(2) == 0 ? 64 : 128, below(2) == 0);
        op.batch = 1 + below(3);
        op.seq_kv = 1 + below(1200);
        for (const auto implementation : {Implementation::mma, Implementation::wgmma}) {
            const AttentionWork counted = count_attention(op, implementation, hopper);
            if (counted.grid.few_rows) continue;
            INFO(op.seq_q << " x " << op.seq_kv << " causal " << op.causal);
            REQUIRE(counted.scores.executed == walked_scores(op, counted.grid.blocks));
        }
    }
    // Exponentials: one per score, four per row and block of 64 keys, and 8 more per row.
    const AttentionWork special =
        count_attention(prefill(16, 2048, 128, false), Implementation::mma, hopper);
    CHECK(special.executed_special == 16.0 * 2048 * (2048 * (1 + 4.0 / 64) + 8));
    // Decoding: tiles of 16 rows and slices of 16 keys, whatever the mask hides.
    Attention op = decoding(2, 8, 2, 1000);
    op.seq_q = 5;  // 20 rows: two tiles
    op.causal = true;
    const AttentionWork counted = count_attention(op, Implementation::mma, hopper);
    CHECK(counted.executed_tensor.base() == 2.0 * 2 * 2 * 16 * 1008 * 4 * 128);
}

TEST_CASE("keys that do not fit twice in L2 are read from DRAM in every round",
          "[attention][bundled]") {
    const auto passes = [](const Attention& op, Implementation implementation) {
        return count_attention(op, implementation, hopper).kv_dram_passes;
    };
    // wgmma: 16 heads of 2 MiB run together, 512 tiles in 3.88 rounds. Two copies of 32 MiB and the
    // usual 1.5 copies of 8.25 MiB of rows share 60 MiB.
    const double rounds = 512.0 / 132.0;
    const double fill = (2 * 32 + 1.5 * 8.25) / 60;
    const double lost = 1.0 / (1.0 + std::pow(fill, -10));
    CHECK(passes(prefill(16, 4096, 128, false), Implementation::wgmma) ==
          Approx(1 + (rounds - 0.5) * lost));
    // Causal rounds see 1, 0.74, 0.48 and 0.23 of the keys. The second finds half of them in L2.
    CHECK(passes(prefill(16, 4096, 128, true), Implementation::wgmma) == Approx(1.3).margin(0.1));
    CHECK(passes(prefill(8, 4096, 128, false), Implementation::wgmma) < 1.1);
    // Eight query heads share the keys of a key-value head: half the set, four times the rounds.
    Attention grouped = prefill(64, 4096, 128, false);
    grouped.kv_heads = 8;
    const double shared = 1.0 / (1.0 + std::pow((2 * 16 + 1.5 * 8.25) / 60, -10));
    CHECK(passes(grouped, Implementation::wgmma) == Approx(1 + (4 * rounds - 0.5) * shared));
    // mma: 128 tiles per head and 264 per wave, so each of seven waves cuts one of 16 heads.
    const double cut = passes(prefill(16, 16384, 128, false), Implementation::mma) - 1;
    CHECK(cut > 0.7 * 7 / 16);
    CHECK(cut < 7.0 / 16);
    CHECK(passes(prefill(16, 16384, 128, true), Implementation::mma) == 1.0);
    CHECK(passes(prefill(16, 4096, 128, false), Implementation::mma) < 1.05);
}

AttentionParameters toy_parameters() {
    AttentionParameters sets;
    sets.mma = TiledAttentionParameters{
        .start = 3.0 * us, .tile_load = 1.0 * us, .softmax_fraction = 2.0, .overlap = 2.0};
    sets.wgmma = sets.mma;
    sets.decode = DecodeAttentionParameters{};
    return sets;
}

Time time_of(const Attention& op, Implementation implementation, L2State l2 = L2State::warm) {
    Machine gpu = toy();
    gpu.matmul.bundled.mma.emplace().issue_fraction = 0.5;
    gpu.matmul.bundled.wgmma = gpu.matmul.bundled.mma;
    AttentionContext context = attention_context(gpu);
    context.sram = 228.0 * units::KiB;
    const AttentionWork counted = count_attention(op, implementation, context);
    return bundled_attention_time(op, counted, implementation, toy_parameters(), {.l2 = l2}, gpu)
        .total;
}

TEST_CASE("times of tiled kernels by hand", "[attention][bundled][time]") {
    // mma, d 128: 4 x 128 x 64 x 128 = 4.194 MFLOP take 8.389 us at half of 1 TFLOP/s per SM; twice
    // 8192 exp2 at 10 per ns take 1.638 us. Alone that is 10.027 us; shared, the root of the sum of
    // squares, 8.547 us. A tile adds 2 us and 1 us per thread block on each SM; the call adds 3 us.
    constexpr double alone = 8.388608 + 1.6384;
    const double shared = std::sqrt(8.388608 * 8.388608 + 1.6384 * 1.6384);
    const auto mma = [](std::int64_t heads, bool causal) {
        return time_of(prefill(heads, 256, 128, causal), Implementation::mma).in(us);
    };
    // 256 queries are two tiles of four blocks; causal tiles visit four and two.
    CHECK(mma(5, false) == Approx(3 + 3 + 4 * alone));
    CHECK(mma(6, false) == Approx(3 + 3.2 + 4 * 2 * shared));
    CHECK(mma(11, false) == Approx(3 + 2 * 4 + 4 * 2 * shared + 4 * alone));
    // Tile i shares its SM with tile i + 10 of the same length: 20 tiles fill all SMs twice.
    CHECK(mma(10, true) == Approx(3 + 4 + 4 * 2 * shared));
    CHECK(mma(5, true) == Approx(3 + 3 + 4 * alone));
    // Each tile of wgmma waits for as long again if its first keys come from DRAM.
    const Attention two_tiles = prefill(1, 256, 128, true);
    CHECK((time_of(two_tiles, Implementation::wgmma, L2State::cold) -
           time_of(two_tiles, Implementation::wgmma))
              .in(us) == Approx(1.0));

    // wgmma, d 128 causal: 128 x 128 blocks of 16.78 us and 3.277 us, which overlap in one block.
    const double block = 2.0 * shared;
    const auto wgmma = [](std::int64_t heads, std::int64_t length) {
        return time_of(prefill(heads, length, 128, true), Implementation::wgmma).in(us);
    };
    CHECK(wgmma(5, 256) == Approx(3 + 1 + 2 * block));
    // 12 tiles on 10 SMs: after the longest tile comes the 11th, which is one block long.
    CHECK(wgmma(6, 256) == Approx(3 + (1 + 2 * block) + (1 + 1 * block)));
}

TEST_CASE("calls that the bundled kernels cannot run are refused", "[attention][bundled]") {
    const Machine h200 = make_machine(model::catalogue().at("h200-sxm"));
    const Machine a100 = make_machine(model::catalogue().at("a100-sxm-80gb"));
    const auto refused = [](Attention op, Implementation implementation, const Machine& machine) {
        const Outcome outcome = predict(op, {.implementation = implementation}, machine);
        return std::holds_alternative<NotModelled>(outcome);
    };
    const Attention plain = prefill(8, 512, 128, true);
    CHECK_FALSE(refused(plain, Implementation::wgmma, h200));
    CHECK_FALSE(refused(plain, Implementation::mma, h200));
    CHECK_FALSE(refused(plain, Implementation::mma, a100));
    CHECK(refused(plain, Implementation::wgmma, a100));
    Attention other = plain;
    other.head_dim = 96;
    CHECK(refused(other, Implementation::mma, h200));
    other = plain;
    other.window = 100;
    CHECK(refused(other, Implementation::wgmma, h200));
    other = plain;
    other.direction = Direction::backward;
    CHECK(refused(other, Implementation::mma, h200));
    other = plain;
    other.type = DataType::fp8;
    CHECK(refused(other, Implementation::wgmma, h200));
}

TEST_CASE("unfused attention is the sum of its three kernels", "[attention][bundled]") {
    const Machine h200 = make_machine(model::catalogue().at("h200-sxm"));
    const auto predicted = [&](std::int64_t length, Implementation implementation) {
        return std::get<Prediction>(
            predict(prefill(16, length, 64, false), {.implementation = implementation}, h200));
    };
    // 8192 tokens: 2.15 GB of scores pass through DRAM four times.
    const Prediction large = predicted(8192, Implementation::standard);
    CHECK(large.limiter == Resource::dram);
    CHECK(large.time > 8.59 * units::GB / h200.dram_bandwidth);
    // 512 tokens: 8 MB of scores stay in L2; the kernels of an eager framework are slower.
    const Prediction small = predicted(512, Implementation::standard);
    CHECK(small.limiter != Resource::dram);
    // Two products, whose tiles read Q, K, the scores and V at least once, and the softmax.
    CHECK(large.work.l2 > 4.0 * 2.147 * units::GB);
    // A causal softmax does not read the hidden half of the scores.
    const auto causal = std::get<Prediction>(
        predict(prefill(16, 8192, 64, true), {.implementation = Implementation::standard}, h200));
    const Bytes hidden = Bytes::from_base(16.0 * 8192 * 8191 / 2 * 2);
    CHECK((large.work.dram_read - causal.work.dram_read).base() == Approx(hidden.base()));
    CHECK((large.work.l2 - causal.work.l2).base() == Approx(hidden.base()));
    CHECK(predicted(8192, Implementation::torch).time > large.time);
    Execution graph{.implementation = Implementation::standard, .launch = LaunchMode::graph};
    const auto replayed = std::get<Prediction>(predict(prefill(16, 512, 64, false), graph, h200));
    CHECK(replayed.time > small.time);
}

}  // namespace
}  // namespace ridge::model
