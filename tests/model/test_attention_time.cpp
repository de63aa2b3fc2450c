// The attention time model: one call worked by hand, and properties of all calls.
#include "model/attention/time.h"

#include <array>
#include <cmath>
#include <random>
#include <string>

#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/model/toy_machine.h"

namespace ridge::model {
namespace {

using test::analytic_machine;
using units::us;

Execution with(Implementation implementation, LaunchMode launch = LaunchMode::kernel) {
    Execution execution;
    execution.implementation = implementation;
    execution.launch = launch;
    return execution;
}

Prediction predicted(const Attention& op, const Execution& execution, const Machine& on) {
    validate(op);
    return std::get<Prediction>(predict(op, execution, on));
}

TEST_CASE("a full call by hand", "[attention][time]") {
    // 25 heads of 128 queries and 352 keys, d 128, flash3: each head is one tile of two blocks of
    // 128 x 176, and 25 tiles fill 10 SMs, so no split. Block: 4 x 128 x 176 x 128 = 11.534 MFLOP
    // take 23.069 us at half of 1 TFLOP/s per SM; 22528 exp2 at 10 per ns take 2.253 us, half of it
    // exposed: 24.195 us. Tile: 5 + 2 x 1 (rows) + 2 x 0.5 (columns) = 8 us. Mean per SM: 2.5 x (2
    // x 24.195 + 8) = 140.976 us. Three waves, not 2.5, add half a tile of 56.390 us: 169.171 us.
    const Attention op{
        .batch = 1, .heads = 25, .kv_heads = 25, .seq_q = 128, .seq_kv = 352, .head_dim = 128};
    FlashParameters fitted;
    fitted.start = 3.0 * us;
    fitted.tensor_fraction = 0.5;
    fitted.softmax_fraction = 0.5;
    fitted.tile = 5.0 * us;
    fitted.tile_rows = 1.0 * us;
    fitted.tile_columns = 0.5 * us;
    const Machine gpu = toy();
    const AttentionWork counted =
        count_attention(op, Implementation::flash3, attention_context(gpu));
    REQUIRE(counted.grid.blocks == AttentionBlocks{.q = 128, .kv = 176});
    REQUIRE(counted.grid.tiles == 25);
    const AttentionTime time = attention_time(op, counted, Implementation::flash3, fitted,
                                              with(Implementation::flash3), gpu);
    CHECK(time.tensor.in(us) == Approx(2.5 * 2 * 23.068672));
    CHECK(time.softmax.in(us) == Approx(2.5 * 2 * 1.1264));
    CHECK(time.tiles.in(us) == Approx(2.5 * 8));
    CHECK(time.tail.in(us) == Approx(0.5 * 56.390144));
    CHECK(time.dram < 1e-3 * time.total);  // 6 MB stay in an L2 of 100 MB
    CHECK(time.total.in(us) == Approx(3.0 + 169.170432));

    // Cold: (2 x 25 x 128 + 2 x 25 x 352) x 256 B = 6.144 MB, all from DRAM.
    Execution cold = with(Implementation::flash3);
    cold.l2 = L2State::cold;
    CHECK(attention_time(op, counted, Implementation::flash3, fitted, cold, gpu)
              .dram_bytes.in(units::B) == 6144000.0);
}

TEST_CASE("decoding one sequence splits its keys and combines the parts", "[attention][time]") {
    const Attention op{.heads = 32,
                       .kv_heads = 8,
                       .seq_q = 1,
                       .seq_kv = 65536,
                       .head_dim = 128,
                       .kv_write = true,
                       .paged = true};
    const Prediction p = predicted(op, with(Implementation::flash3), analytic_machine("h200-sxm"));
    // 8 tiles of 512 blocks on 132 SMs: ceil(1.1 x 4096 / 132) = 35 blocks per SM, 15 splits.
    CHECK(p.tiling.split == 15);
    CHECK(p.tiling.tiles == 8);
    CHECK(p.confidence() == Confidence::calibrated);
    Attention whole = op;
    whole.seq_kv = 128;
    CHECK(
        predicted(whole, with(Implementation::flash3), analytic_machine("h200-sxm")).tiling.split ==
        1);
}

TEST_CASE("executed FLOP count whole blocks", "[attention][time]") {
    // One head, 300 causal queries and keys, d 128: blocks of 128 x 128. The three tiles of queries
    // see the keys up to 128, 256 and 300: 1 + 2 + 3 blocks.
    const Attention op{
        .heads = 1, .kv_heads = 1, .seq_q = 300, .seq_kv = 300, .head_dim = 128, .causal = true};
    const Prediction p = predicted(op, with(Implementation::flash3), analytic_machine("h200-sxm"));
    CHECK(p.executed_tensor.base() == 6.0 * 128 * 128 * 4 * 128);
    CHECK(p.work.tensor.base() == 300.0 * 301 / 2 * 4 * 128);
    // The two products of unfused attention ignore the mask and multiply whole tiles. A GPU without
    // tensor cores executes no tensor work.
    const Prediction unfused =
        predicted(op, with(Implementation::standard), analytic_machine("h200-sxm"));
    CHECK(unfused.executed_tensor.base() >= 300.0 * 300 * 4 * 128);
    CHECK(unfused.executed_tensor.base() <= 384.0 * 384 * 4 * 128);
    Machine vector = analytic_machine("h200-sxm");
    vector.tensor[static_cast<std::size_t>(DataType::bf16)].reset();
    CHECK(predicted(op, with(Implementation::flash2), vector).executed_tensor == Flop{});
    // 512 is a multiple of the tile, so the product executes no padding.
    const Matmul product{.m = 512, .n = 512, .k = 512};
    const auto matmul = std::get<Prediction>(predict(product, {}, analytic_machine("h200-sxm")));
    CHECK(matmul.executed_tensor == matmul.work.tensor);
}

TEST_CASE("launch modes add the gaps of their kernels", "[attention][time]") {
    const Attention op{.heads = 32,
                       .kv_heads = 8,
                       .seq_q = 4096,
                       .seq_kv = 4096,
                       .head_dim = 128,
                       .causal = true,
                       .kv_write = true,
                       .paged = true};
    const Machine& h200 = analytic_machine("h200-sxm");
    const auto time = [&](LaunchMode mode) {
        return predicted(op, with(Implementation::flash3, mode), h200).time;
    };
    CHECK((time(LaunchMode::graph) - time(LaunchMode::kernel)).in(us) ==
          Approx(2.0 * h200.library_gap.in(us)));
    Attention read_only = op;
    read_only.kv_write = false;
    CHECK(predicted(read_only, with(Implementation::flash3), h200).work.kernels == 1);
    CHECK(predicted(op, with(Implementation::flash3), h200).work.kernels == 2);
}

struct Draw {
    std::mt19937_64 engine{11};

    std::int64_t among(std::initializer_list<std::int64_t> values) {
        return *(values.begin() + static_cast<std::ptrdiff_t>(engine() % values.size()));
    }
    Attention call(bool paged) {
        Attention op;
        op.batch = among({1, 2, 3, 7, 16, 64});
        op.kv_heads = among({1, 2, 4, 8});
        op.heads = op.kv_heads * among({1, 2, 3, 4, 8});
        op.head_dim = among({32, 64, 96, 128, 192, 256});
        op.seq_kv = 1 + static_cast<std::int64_t>(engine() % 16000);
        op.seq_q = among({0, 1}) == 0 ? 1 : op.seq_kv;
        op.causal = op.seq_q > 1;
        op.kv_write = paged;
        op.paged = paged;
        return op;
    }
};

std::string describe(const Attention& op) {
    return "batch " + std::to_string(op.batch) + " heads " + std::to_string(op.heads) + "/" +
           std::to_string(op.kv_heads) + " seq " + std::to_string(op.seq_q) + "x" +
           std::to_string(op.seq_kv) + " d " + std::to_string(op.head_dim) +
           (op.kv_write ? " paged" : " contiguous");
}

constexpr std::array gpus{"h200-sxm", "h100-sxm", "a100-sxm-80gb", "l40s", "b200"};

TEST_CASE("faster hardware is never slower, and a cold L2 is never faster",
          "[attention][property]") {
    Draw draw;
    for (int i = 0; i < 4000; ++i) {
        const Attention op = draw.call(i % 2 == 0);
        const Machine& gpu = analytic_machine(gpus.at(static_cast<std::size_t>(i) % gpus.size()));
        const Execution execution = with(Implementation::automatic);
        const Time time = predicted(op, execution, gpu).time;
        INFO(describe(op) << " on " << gpu.name);
        Machine faster = gpu;
        faster.dram_bandwidth *= 1.3;
        CHECK(predicted(op, execution, faster).time <= time * (1.0 + 1e-12));
        *faster.tensor[static_cast<std::size_t>(DataType::bf16)] *= 1.2;
        *faster.special_rate *= 1.2;
        CHECK(predicted(op, execution, faster).time <= time * (1.0 + 1e-12));
        Machine larger_l2 = gpu;
        larger_l2.l2.size *= 1.5;
        CHECK(predicted(op, execution, larger_l2).time <= time * (1.0 + 1e-12));
        Execution cold = execution;
        cold.l2 = L2State::cold;
        CHECK(predicted(op, cold, gpu).time >= time * (1.0 - 1e-12));
    }
}

TEST_CASE("a causal mask never adds time once there are blocks to leave out",
          "[attention][property]") {
    // Allow 3 %: the last causal tile has its SM to itself, where a block takes longer.
    Draw draw;
    for (int i = 0; i < 4000; ++i) {
        Attention op = draw.call(false);
        op.seq_q = op.seq_kv = 2048 + op.seq_kv;
        op.causal = true;
        const Machine& gpu = analytic_machine(gpus.at(static_cast<std::size_t>(i) % gpus.size()));
        const Time causal = predicted(op, with(Implementation::automatic), gpu).time;
        op.causal = false;
        INFO(describe(op) << " on " << gpu.name);
        const Time full = predicted(op, with(Implementation::automatic), gpu).time;
        CHECK(causal.in(us) <= 1.03 * full.in(us));
    }
}

TEST_CASE("longer sequences take longer, up to the steps of the kernels", "[attention][property]") {
    // Within a tile and a block only the bytes change. Across a step, the kernels' choice of splits
    // and the fill of the last wave may save time, but twice the length saves at most a fifth.
    Draw draw;
    for (int i = 0; i < 4000; ++i) {
        Attention op = draw.call(i % 2 == 0);
        const Machine& gpu = analytic_machine(gpus.at(static_cast<std::size_t>(i) % gpus.size()));
        const Prediction before = predicted(op, with(Implementation::automatic), gpu);
        Attention next = op;
        next.seq_kv += 1;
        if (op.seq_q > 1) next.seq_q += 1;
        const Prediction after = predicted(next, with(Implementation::automatic), gpu);
        INFO(describe(op) << " on " << gpu.name);
        const auto steps = [](const Prediction& p, const Attention& of) {
            return std::array<std::int64_t, 4>{p.tiling.tiles, p.tiling.split,
                                               (of.seq_kv + p.tiling.tile.n - 1) / p.tiling.tile.n,
                                               p.tiling.tile.m};
        };
        if (steps(before, op) == steps(after, next)) {
            CHECK(after.time.in(us) >= before.time.in(us) * (1.0 - 1e-9));
        }
        if (op.seq_q == 1) continue;
        Attention twice = op;
        twice.seq_q *= 2;
        twice.seq_kv *= 2;
        CHECK(predicted(twice, with(Implementation::automatic), gpu).time.in(us) >=
              0.8 * before.time.in(us));
    }
}

TEST_CASE("unusual calls give sensible times", "[attention][time]") {
    const Machine& h200 = analytic_machine("h200-sxm");
    const auto time = [&](const Attention& op) {
        return predicted(op, with(Implementation::flash3), h200).time;
    };
    const Attention base{.batch = 2,
                         .heads = 16,
                         .kv_heads = 4,
                         .seq_q = 8192,
                         .seq_kv = 8192,
                         .head_dim = 128,
                         .causal = true};
    const double scores = 33558528;  // of a head of `base`: 8192 x 8193 / 2
    SECTION("a window removes most blocks") {
        Attention windowed = base;
        windowed.window = 1024;
        // 1024 keys per query, fewer for the first ones. Blocks at both edges are computed whole.
        const double share = (8192.0 * 1024 - 1024.0 * 1023 / 2) / scores;
        CHECK(time(windowed) / time(base) >= share);
        CHECK(time(windowed) / time(base) <= 1.3 * share);
    }
    SECTION("a chunk of new tokens after a long prefix costs its share") {
        Attention chunk = base;
        chunk.seq_q = 1024;  // of 8192 keys: 1024 x 7680 of 33.6 M scores
        const double share = 1024.0 * 7680 / scores;
        CHECK(time(chunk) / time(base) >= share);
        CHECK(time(chunk) / time(base) <= 1.3 * share);  // its 256 tiles make two uneven waves
    }
    SECTION("a head_dim between two fitted ones lies between their times and is noted") {
        Attention between = base;
        between.head_dim = 160;
        Attention above = base;
        above.head_dim = 192;
        CHECK(time(between) > time(base));
        CHECK(time(between) <= time(above));
        const Prediction p = predicted(between, with(Implementation::flash3), h200);
        CHECK(noted<note::Extrapolated>(p));
    }
    SECTION("the time of a very large batch is proportional to its size") {
        Attention large = base;
        large.batch = 1000;
        const double half = time(large) / time(base);
        large.batch = 2000;
        const double whole = time(large) / time(base);
        CHECK(whole / half == Approx(2.0).epsilon(0.01));
        CHECK(whole >= 1000.0);
        CHECK(whole <= 1150.0);  // under a long load the clock falls
    }
    SECTION("backward has 2.5 times the FLOP of the forward pass, at a lower rate") {
        Attention backward = base;
        backward.direction = Direction::backward;
        CHECK(time(backward) > 2.5 * time(base));
        CHECK(time(backward) < 3.5 * time(base));
    }
}

TEST_CASE("attention on a GPU without its own fit has a note and a wider band",
          "[attention][time]") {
    const Attention op{.heads = 32,
                       .kv_heads = 8,
                       .seq_q = 4096,
                       .seq_kv = 4096,
                       .head_dim = 128,
                       .causal = true,
                       .kv_write = true,
                       .paged = true};
    const auto spread = [&](const char* gpu) {
        const Prediction p = predicted(op, with(Implementation::automatic), analytic_machine(gpu));
        return p.high / p.low;
    };
    const auto confidence = [&](const char* gpu) {
        return predicted(op, with(Implementation::automatic), analytic_machine(gpu)).confidence();
    };
    CHECK(confidence("h200-sxm") == Confidence::calibrated);
    CHECK(confidence("h100-pcie") == Confidence::family);
    CHECK(confidence("l40s") == Confidence::family);
    CHECK(confidence("mi300x") == Confidence::roofline);
    CHECK(spread("h100-pcie") > spread("h200-sxm"));
    CHECK(spread("l40s") > spread("h100-pcie"));
}

}  // namespace
}  // namespace ridge::model
