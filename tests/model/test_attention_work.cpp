// Attention work and traffic: the conventions of the literature, worked by hand.
#include "model/attention/work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/catch.h"
#include "tests/model/square_attention.h"

namespace ridge::model {
namespace {

using test::attention;

constexpr std::array implementations{Implementation::standard, Implementation::flash1,
                                     Implementation::flash2, Implementation::flash3};

/// GPT-2 medium with 1024 tokens and batch 64, as in the FlashAttention paper's figure 2.
Attention gpt2_medium(Direction direction = Direction::forward) {
    Attention op = attention(64, 16, 1024, 64);
    op.direction = direction;
    return op;
}
constexpr double gpt2_t = 64.0 * 16 * 1024 * 64 * 2;    // 0.134218 GB
constexpr double gpt2_s = 64.0 * 16 * 1024 * 1024 * 2;  // 2.147484 GB

double dram(const Attention& op, Implementation implementation,
            const AttentionContext& context = {}) {
    return count_attention(op, implementation, context).work.dram().in(units::B);
}

/// Traffic without softmax statistics, as the literature counts it.
double tensors(const Attention& op, const AttentionContext& context) {
    const AttentionWork work = count_attention(op, Implementation::flash1, context);
    return (work.work.dram() - work.statistics).in(units::B);
}

/// Masked pairs and visited blocks, counted one by one.
struct Counted {
    std::int64_t pairs = 0;
    std::int64_t visits = 0;
};
bool sees(const Attention& op, std::int64_t query, std::int64_t key) {
    const std::int64_t diagonal = query + op.seq_kv - op.seq_q;
    if (op.causal && key > diagonal) return false;
    if (op.window == 0) return true;
    if (op.causal) return key > diagonal - op.window;
    return key >= diagonal - op.window / 2 && key < diagonal - op.window / 2 + op.window;
}
Counted count_one_by_one(const Attention& op, const AttentionBlocks& blocks) {
    Counted counted;
    for (std::int64_t q0 = 0; q0 < op.seq_q; q0 += blocks.q) {
        for (std::int64_t k0 = 0; k0 < op.seq_kv; k0 += blocks.kv) {
            std::int64_t in_block = 0;
            for (std::int64_t q = q0; q < std::min(q0 + blocks.q, op.seq_q); ++q) {
                for (std::int64_t k = k0; k < std::min(k0 + blocks.kv, op.seq_kv); ++k) {
                    if (sees(op, q, k)) ++in_block;
                }
            }
            counted.pairs += in_block;
            if (in_block > 0) ++counted.visits;
        }
    }
    return counted;
}

TEST_CASE("standard attention moves 4S + 4T forward and 7S + 8T backward", "[attention]") {
    CHECK(dram(gpt2_medium(), Implementation::standard) == 4 * gpt2_s + 4 * gpt2_t);
    CHECK(dram(gpt2_medium(Direction::backward), Implementation::standard) ==
          7 * gpt2_s + 8 * gpt2_t);
    const AttentionContext dropout{.dropout = true};
    CHECK(dram(gpt2_medium(), Implementation::standard, dropout) == 6.5 * gpt2_s + 4 * gpt2_t);
    CHECK(dram(gpt2_medium(Direction::backward), Implementation::standard, dropout) ==
          9.5 * gpt2_s + 8 * gpt2_t);
}

TEST_CASE("FlashAttention paper, figure 2: 40.3 GB standard, 4.4 GB flash1", "[attention]") {
    // 11S + 12T, dropout 2.5S each way, and a separate mask kernel over the scores forward, 2S:
    // 18S + 12T = 38.6547 + 1.6106 = 40.265 GB.
    const AttentionContext paper{.dropout = true, .separate_mask = true};
    const double standard = dram(gpt2_medium(), Implementation::standard, paper) +
                            dram(gpt2_medium(Direction::backward), Implementation::standard, paper);
    CHECK(standard == 18 * gpt2_s + 12 * gpt2_t);
    CHECK(standard / 1e9 == Approx(40.265).epsilon(1e-4));

    // Bc = 256, Tc = 4: forward K, V 2T, Q 4T, O written 4T and read 3T; backward K, V, dK, dV 4T,
    // Q and dO 8T, O T, dQ written 4T and read 3T: 13T + 20T = 33T = 4.429 GB.
    const double forward = tensors(gpt2_medium(), {});
    const double backward = tensors(gpt2_medium(Direction::backward), {});
    CHECK(forward == 13 * gpt2_t);
    CHECK(backward == 20 * gpt2_t);
    CHECK((forward + backward) / 1e9 == Approx(4.429).epsilon(1e-4));
}

TEST_CASE("traffic of the literal flash1 algorithm", "[attention]") {
    // Tc = 4: (2 + 12)T and (4 + 20)T; if zeros are not read, (1 + 12)T and (3 + 20)T.
    const AttentionContext literal{.flash1 = Flash1Convention::algorithm};
    CHECK(tensors(gpt2_medium(), literal) == 14 * gpt2_t);
    CHECK(tensors(gpt2_medium(Direction::backward), literal) == 24 * gpt2_t);
    const AttentionContext skipping{.flash1 = Flash1Convention::skip_zero_reads};
    CHECK(tensors(gpt2_medium(), skipping) == 13 * gpt2_t);
    CHECK(tensors(gpt2_medium(Direction::backward), skipping) == 23 * gpt2_t);
    // The paper's blocks: M = 192 KiB of fp16 = 98304, Bc = 98304 / 256 = 384, Br = 64, Tc = 3.
    const AttentionContext blocks{.block_rule = FlashBlockRule::paper,
                                  .flash1 = Flash1Convention::algorithm};
    CHECK(attention_blocks(gpt2_medium(), Implementation::flash1, blocks) ==
          AttentionBlocks{.q = 64, .kv = 384});
    CHECK(tensors(gpt2_medium(), blocks) == 11 * gpt2_t);
    CHECK(tensors(gpt2_medium(Direction::backward), blocks) == 19 * gpt2_t);
}

/// Slope of log(traffic) against log(x) by least squares.
double exponent(const std::vector<double>& x, const std::vector<double>& traffic) {
    double sx = 0.0;
    double sy = 0.0;
    double sxx = 0.0;
    double sxy = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const double a = std::log(x[i]);
        const double b = std::log(traffic[i]);
        sx += a;
        sy += b;
        sxx += a * a;
        sxy += a * b;
    }
    const auto n = static_cast<double>(x.size());
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

TEST_CASE("flash1 traffic grows as N^2 d^2 / M", "[attention][property]") {
    // M >> d, and N is large compared with the block, so that reading K and V once hardly counts.
    const auto traffic = [](std::int64_t seq, std::int64_t d, double sram_kib) {
        return tensors(attention(1, 1, seq, d), {.block_rule = FlashBlockRule::paper,
                                                 .sram = sram_kib * units::KiB,
                                                 .flash1 = Flash1Convention::algorithm});
    };
    std::vector<double> over_n;
    std::vector<double> over_d;
    std::vector<double> over_m;
    const std::vector<double> factors{1, 2, 4, 8};
    for (const double factor : factors) {
        const auto whole = static_cast<std::int64_t>(factor);
        over_n.push_back(traffic(32768 * whole, 128, 128));
        over_d.push_back(traffic(65536, 32 * whole, 64));
        over_m.push_back(traffic(131072, 128, 32 * factor));
    }
    CHECK(exponent(factors, over_n) == Approx(2.0).margin(0.02));
    CHECK(exponent(factors, over_d) == Approx(2.0).margin(0.03));
    CHECK(exponent(factors, over_m) == Approx(-1.0).margin(0.02));
}

TEST_CASE("FLOP: 4 N^2 d forward, 2.5 times as many in a flash backward pass", "[attention]") {
    const double pairs = 64.0 * 16 * 1024 * 1024;
    const auto tensor = [](Direction direction, Implementation implementation) {
        return count_attention(gpt2_medium(direction), implementation, {})
            .work.tensor.in(units::FLOP);
    };
    CHECK(tensor(Direction::forward, Implementation::standard) == 4 * 64 * pairs);
    CHECK(tensor(Direction::forward, Implementation::flash2) == 4 * 64 * pairs);
    CHECK(tensor(Direction::backward, Implementation::standard) == 8 * 64 * pairs);
    CHECK(tensor(Direction::backward, Implementation::flash2) == 10 * 64 * pairs);
    // Forward and backward together: 12 N^2 d standard, 14 N^2 d flash: 824.6 and 962.1 GFLOP.
    CHECK((tensor(Direction::forward, Implementation::standard) +
           tensor(Direction::backward, Implementation::standard)) /
              1e9 ==
          Approx(824.6).epsilon(1e-4));
    CHECK((tensor(Direction::forward, Implementation::flash1) +
           tensor(Direction::backward, Implementation::flash1)) /
              1e9 ==
          Approx(962.1).epsilon(1e-4));
    // FA3 table 2: B 4, N 8448, H 16, d 128: 2.3386e12 FLOP.
    CHECK(count_attention(attention(4, 16, 8448, 128), Implementation::flash3, {})
              .work.tensor.in(units::FLOP) == Approx(2.3386e12).epsilon(1e-4));
    // One exponential per score, and a reciprocal and a logarithm per row.
    const AttentionWork work = count_attention(gpt2_medium(), Implementation::flash2, {});
    CHECK(work.work.special == pairs + 2.0 * 64 * 16 * 1024);
}

TEST_CASE("closed forms agree with counting pair by pair", "[attention][property]") {
    const std::vector<std::array<std::int64_t, 2>> shapes{
        {1, 1}, {1, 130}, {64, 64}, {100, 100}, {37, 211}, {211, 37}, {256, 96}};
    const std::vector<AttentionBlocks> blocks{{16, 64}, {64, 16}, {48, 20}, {1, 7}, {128, 176}};
    for (const auto& shape : shapes) {
        for (const AttentionBlocks& block : blocks) {
            for (const std::int64_t window : {0, 1, 5, 64, 1000}) {
                for (const bool causal : {false, true}) {
                    Attention op = attention(1, 1, shape[0], 64);
                    op.seq_kv = shape[1];
                    op.window = window;
                    op.causal = causal;
                    const ScoreCounts counts = count_scores(op, {.blocks = block});
                    const Counted counted = count_one_by_one(op, block);
                    INFO("seq_q " << op.seq_q << " seq_kv " << op.seq_kv << " window " << window
                                  << " causal " << causal << " blocks " << block.q << "x"
                                  << block.kv);
                    CHECK(counts.exact == static_cast<double>(counted.pairs));
                    CHECK(counts.visits == static_cast<double>(counted.visits));
                }
            }
        }
    }
}

TEST_CASE("causal work by hand", "[attention]") {
    Attention op = attention(1, 1, 1024, 128);
    op.causal = true;
    // Exactly N(N+1)/2. Blocks 128 x 64: row block i visits 2(i+1) blocks: 2(1+...+8) = 72.
    const AttentionWork work = count_attention(op, Implementation::flash2, {});
    CHECK(work.scores.exact == 1024.0 * 1025 / 2);
    CHECK(work.grid.blocks == AttentionBlocks{.q = 128, .kv = 64});
    CHECK(work.scores.visits == 72.0);
    CHECK(work.scores.executed == 72.0 * 128 * 64);
    CHECK(work.executed_ratio() == Approx(72.0 * 8192 / 524800.0));
    // Two new tokens after 1022: the first sees 1023 keys, the second 1024.
    op.seq_q = 2;
    CHECK(count_attention(op, Implementation::flash2, {}).scores.exact == 2047.0);
    // A window of 100 keys: 100 for every query but the first 99.
    op.seq_q = 1024;
    op.window = 100;
    CHECK(count_attention(op, Implementation::flash2, {}).scores.exact ==
          1024.0 * 100 - 99.0 * 100 / 2);
}

TEST_CASE("causal work is between half and all of full work", "[attention][property]") {
    for (const std::int64_t seq : {1, 2, 63, 64, 1000, 4096, 131072}) {
        for (const Implementation implementation : implementations) {
            Attention op = attention(2, 4, seq, 64);
            const AttentionWork full = count_attention(op, implementation, {});
            op.causal = true;
            const AttentionWork causal = count_attention(op, implementation, {});
            CHECK(causal.scores.exact >= 0.5 * full.scores.exact);
            CHECK(causal.scores.exact <= full.scores.exact);
            CHECK(causal.scores.executed >= causal.scores.exact);
            const double masked_blocks = count_scores(op, full.grid).executed;
            op.causal = false;
            const double all_blocks = count_scores(op, full.grid).executed;
            CHECK(masked_blocks >= 0.5 * all_blocks);
            CHECK(masked_blocks <= all_blocks);
        }
    }
}

TEST_CASE("GQA with as many KV heads as query heads is MHA", "[attention][property]") {
    for (const Implementation implementation : implementations) {
        for (const Direction direction : {Direction::forward, Direction::backward}) {
            Attention grouped = attention(2, 8, 1024, 128);
            grouped.direction = direction;
            const AttentionWork mha = count_attention(grouped, implementation, {});
            grouped.kv_heads = 4;
            const AttentionWork gqa = count_attention(grouped, implementation, {});
            CHECK(gqa.work.tensor == mha.work.tensor);
            CHECK(gqa.work.compulsory() < mha.work.compulsory());
            if (direction == Direction::forward && implementation != Implementation::flash1) {
                CHECK(gqa.work.dram() < mha.work.dram());
            }
            grouped.kv_heads = 8;
            const AttentionWork equal = count_attention(grouped, implementation, {});
            CHECK(equal.work.dram() == mha.work.dram());
            CHECK(equal.work.l2 == mha.work.l2);
            CHECK(equal.work.kernels == mha.work.kernels);
        }
    }
    // 4 instead of 8 KV heads: K and V halve, 2T + 2U + statistics.
    const Attention op{.batch = 1,
                       .heads = 8,
                       .kv_heads = 4,
                       .seq_q = 1024,
                       .seq_kv = 1024,
                       .head_dim = 128,
                       .type = DataType::bf16};
    const double t = 8.0 * 1024 * 128 * 2;
    CHECK(dram(op, Implementation::flash2) == 3 * t + 4.0 * 8 * 1024);
}

TEST_CASE("decoding has an intensity of one FLOP per byte for each query head of a group",
          "[attention]") {
    for (const std::int64_t group : {1, 4, 8, 32}) {
        const Attention op{.batch = 4,
                           .heads = 32,
                           .kv_heads = 32 / group,
                           .seq_q = 1,
                           .seq_kv = 65536,
                           .head_dim = 128,
                           .type = DataType::bf16};
        const AttentionWork work = count_attention(op, Implementation::flash2, {});
        CHECK((work.work.tensor / work.work.compulsory()).base() ==
              Approx(static_cast<double>(group)).epsilon(1e-3));
        // The group is folded into one block of 128 rows instead of `group` blocks.
        CHECK(work.scores.query_blocks == 1);
        CHECK(work.grid.pack == group);
    }
}

/// num_splits_heuristic of flash-attention's flash_api.cpp: at most 128 splits, of those that
/// shorten the longest part; the fewest whose last wave is at least 85 % as full as the best.
std::int64_t published_splits(std::int64_t tiles, std::int64_t slots, std::int64_t key_blocks) {
    if (static_cast<double>(tiles) >= 0.8 * static_cast<double>(slots)) return 1;
    const auto part = [key_blocks](std::int64_t n) { return (key_blocks + n - 1) / n; };
    const auto fill = [&](std::int64_t n) {
        if (n > 1 && part(n) == part(n - 1)) return 0.0;
        const std::int64_t waves = (tiles * n + slots - 1) / slots;
        return static_cast<double>(tiles * n) / static_cast<double>(waves * slots);
    };
    const std::int64_t most = std::min<std::int64_t>({128, slots, key_blocks});
    double best = 0.0;
    for (std::int64_t n = 1; n <= most; ++n) best = std::max(best, fill(n));
    for (std::int64_t n = 1; n <= most; ++n) {
        if (fill(n) >= 0.85 * best) return n;
    }
    return 1;
}

TEST_CASE("splits follow the published heuristic", "[attention]") {
    constexpr std::int64_t sm_count = 132;
    std::vector<std::int64_t> seen;
    for (std::int64_t heads = 1; heads <= 240; heads += heads < 40 ? 1 : 13) {
        for (std::int64_t keys = 100; keys < 40000; keys += 1 + keys / 3) {
            Attention op = attention(1, heads, keys, 128);
            op.seq_q = 1;
            constexpr std::int64_t block = 128;
            const std::int64_t expected =
                published_splits(heads, 2 * sm_count, (keys + block - 1) / block);
            const auto grid = attention_grid(op, Implementation::flash2, {.sm_count = sm_count});
            INFO("heads " << heads << ", keys " << keys);
            REQUIRE(grid.splits == expected);
            seen.push_back(expected);
        }
    }
    std::sort(seen.begin(), seen.end());
    seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
    CHECK(seen.size() > 20);
}

TEST_CASE("decoding splits the keys if the heads do not fill the GPU", "[attention]") {
    Attention op{.batch = 1,
                 .heads = 32,
                 .kv_heads = 8,
                 .seq_q = 1,
                 .seq_kv = 8192,
                 .head_dim = 128,
                 .type = DataType::bf16};
    // flash2: 8 tiles, 264 slots, 64 key blocks. The best fill is 97 %: 256 tiles with 32 splits,
    // or 512 tiles in 1.94 waves with 64 splits. 33 splits would make 264 tiles, one full wave, but
    // 33 to 63 splits leave a longest part of 2 blocks like 32 and do not count. 85 % of the best
    // needs 0.85 x 0.970 x 264 / 8 = 27.2 splits; the next eligible number is 32.
    const AttentionGrid grid =
        attention_grid(op, Implementation::flash2, {.compute_capability = 90, .sm_count = 132});
    CHECK(grid.splits == 32);
    CHECK(grid.blocks == AttentionBlocks{.q = 64, .kv = 128});
    CHECK(grid.tiles == 8 * 32);
    const AttentionWork work =
        count_attention(op, Implementation::flash2, {.compute_capability = 90, .sm_count = 132});
    CHECK(work.work.kernels == 2);
    // The splits write and read 32 x (128 + 1) fp32 values for each of 32 rows.
    CHECK((work.work.dram() - count_attention(op, Implementation::flash2, {}).work.dram())
              .in(units::B) == 2.0 * 32 * 32 * 129 * 4);
    op.batch = 64;
    CHECK(attention_grid(op, Implementation::flash2, {.sm_count = 132}).splits == 1);
}

TEST_CASE("writing the cache adds the new tokens", "[attention]") {
    Attention op{.batch = 2,
                 .heads = 8,
                 .kv_heads = 2,
                 .seq_q = 16,
                 .seq_kv = 1024,
                 .head_dim = 64,
                 .type = DataType::bf16,
                 .causal = true};
    const AttentionWork without = count_attention(op, Implementation::flash3, {});
    op.kv_write = true;
    const AttentionWork with = count_attention(op, Implementation::flash3, {});
    // K and V of 16 tokens: 2 x 2 x 2 x 16 x 64 x 2 B read and written.
    CHECK((with.work.dram() - without.work.dram()).in(units::B) == 2.0 * 2 * 2 * 2 * 16 * 64 * 2);
    CHECK(with.work.kernels == without.work.kernels + 1);
}

TEST_CASE("flash2 reads K and V from L2 once per block of queries", "[attention]") {
    // N 4096, d 128, blocks of 128 queries: Tr = 32; 2T + 2T x 32 + statistics.
    const Attention op = attention(1, 16, 4096, 128);
    const double t = 16.0 * 4096 * 128 * 2;
    const double statistics = 16.0 * 4096 * 4;
    const AttentionWork work = count_attention(op, Implementation::flash2, {});
    CHECK(work.work.l2.in(units::B) == 2 * t + 64 * t + statistics);
    CHECK(work.work.dram().in(units::B) == 4 * t + statistics);
    // In 16 bits, the L2 intensity approaches Br = 128 FLOP/B.
    CHECK((work.work.tensor / work.work.l2).base() == Approx(128.0).epsilon(0.04));
}

TEST_CASE("K and V that do not fit in L2 are read again", "[attention]") {
    // One head of 131072 tokens: K and V are 67 MB; 1024 query blocks over 132 SMs are 8 waves.
    const Attention op = attention(1, 1, 131072, 128);
    // Every multiprocessor reads them, so both partitions keep a copy and half of 50 MiB fits.
    const AttentionContext h100{
        .compute_capability = 90,
        .sm_count = 132,
        .l2 = {.size = 50.0 * units::MiB, .partitions = 2.0, .steepness = 10.0}};
    const double found = h100.l2.found(67.1 * units::MB, Readers::all);
    CHECK(found < 1e-3);
    CHECK(count_attention(op, Implementation::flash2, h100).kv_dram_passes ==
          Approx(8.0 - 7.0 * found).epsilon(1e-4));
    CHECK(
        count_attention(attention(1, 16, 4096, 128), Implementation::flash2, h100).kv_dram_passes ==
        Approx(1.0).epsilon(1e-3));
}

TEST_CASE("traffic is at least compulsory and grows with every dimension",
          "[attention][property]") {
    const Attention base{.batch = 2,
                         .heads = 8,
                         .kv_heads = 4,
                         .seq_q = 300,
                         .seq_kv = 500,
                         .head_dim = 64,
                         .type = DataType::bf16};
    for (const Implementation implementation : implementations) {
        for (const Direction direction : {Direction::forward, Direction::backward}) {
            Attention op = base;
            op.direction = direction;
            const AttentionWork before = count_attention(op, implementation, {});
            CHECK(before.work.dram() >= before.work.compulsory());
            CHECK(before.work.l2 >= before.work.compulsory());
            std::vector<Attention> larger(5, op);
            larger[0].batch *= 2;
            larger[1].heads *= 2;
            larger[2].seq_q *= 2;
            larger[3].seq_kv *= 2;
            larger[4].head_dim *= 2;
            for (const Attention& each : larger) {
                const AttentionWork after = count_attention(each, implementation, {});
                CHECK(after.work.tensor > before.work.tensor);
                CHECK(after.work.dram() > before.work.dram());
                CHECK(after.work.compulsory() > before.work.compulsory());
            }
        }
    }
}

TEST_CASE("block sizes of the released kernels", "[attention]") {
    const auto blocks = [](Implementation implementation, std::int64_t d, bool causal,
                           std::int32_t compute_capability) {
        Attention op = attention(1, 1, 1024, d);
        op.causal = causal;
        return attention_blocks(op, implementation, {.compute_capability = compute_capability});
    };
    CHECK(blocks(Implementation::flash1, 64, false, 80).kv == 256);
    CHECK(blocks(Implementation::flash1, 128, false, 80).kv == 128);
    CHECK(blocks(Implementation::flash1, 64, false, 75).kv == 128);
    CHECK(blocks(Implementation::flash2, 64, false, 80) == AttentionBlocks{128, 128});
    CHECK(blocks(Implementation::flash2, 128, false, 80) == AttentionBlocks{128, 64});
    CHECK(blocks(Implementation::flash2, 128, true, 89) == AttentionBlocks{64, 64});
    CHECK(blocks(Implementation::flash2, 256, false, 90) == AttentionBlocks{64, 64});
    CHECK(blocks(Implementation::flash3, 128, false, 90) == AttentionBlocks{128, 176});
    CHECK(blocks(Implementation::flash3, 128, true, 90) == AttentionBlocks{128, 128});
    CHECK(blocks(Implementation::flash3, 64, true, 90) == AttentionBlocks{192, 128});

    Attention backward = attention(1, 1, 1024, 128);
    backward.direction = Direction::backward;
    CHECK(attention_blocks(backward, Implementation::flash2, {.compute_capability = 80}) ==
          AttentionBlocks{64, 128});
    CHECK(attention_blocks(backward, Implementation::flash2, {.compute_capability = 89}) ==
          AttentionBlocks{64, 64});
    CHECK(attention_blocks(backward, Implementation::flash3, {.compute_capability = 90}) ==
          AttentionBlocks{80, 128});
}

}  // namespace
}  // namespace ridge::model
