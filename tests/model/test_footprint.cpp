// Device memory against published tables and measured allocations, exact to the byte if they are.
#include "model/footprint/footprint.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "hardware/error.h"
#include "tests/catch.h"
#include "tests/model/square_attention.h"

namespace ridge::model {
namespace {

using test::attention;

TEST_CASE("FlashAttention paper, table 21", "[footprint]") {
    // B 16, H 8, d 64, fp16, forward and backward, in MiB, truncated. N = 128: T = 2 MiB, S = 4
    // MiB: 4S + 10T = 36; 11T + 8 B H N = 22 + 0.125. From N = 512 on: 13T + 8 B H N = 104 + 0.5.
    const std::vector<double> standard{36, 104, 336, 1184, 4416, 17024};
    const std::vector<double> flash{22, 44, 104, 209, 418, 836, 1672, 3344, 6688, 13376};
    std::int64_t seq = 128;
    for (std::size_t i = 0; i < flash.size(); ++i, seq *= 2) {
        const Attention op = attention(16, 8, seq, 64);
        INFO("N " << seq);
        if (i < standard.size()) {
            CHECK(footprint(op, Implementation::standard, Pass::training).total().in(units::MiB) ==
                  standard[i]);
        }
        CHECK(std::floor(
                  footprint(op, Implementation::flash1, Pass::training).total().in(units::MiB)) ==
              flash[i]);
    }
}

TEST_CASE("128K tokens in fp16 with head_dim 128", "[footprint]") {
    // One score matrix: 131072^2 x 2 B = 34.36 GB. Each of q, k, v, out: 32 x 131072 x 128 x 2 B.
    const Attention op = attention(1, 32, 131072, 128);
    const Footprint memory = footprint(op, Implementation::standard, Pass::inference);
    CHECK(memory.bytes_of("scores").in(units::GB) == Approx(1099.5).epsilon(1e-4));
    CHECK(memory.total(Phase::input).in(units::GB) == Approx(3.221).epsilon(1e-3));
    CHECK(memory.bytes_of("out").in(units::GB) == Approx(1.074).epsilon(1e-3));

    const OneHeadFormula rule = one_head_formula(op);
    CHECK(rule.one_score_matrix.in(units::GB) == Approx(34.36).epsilon(1e-4));
    CHECK(rule.all_score_matrices == memory.bytes_of("scores"));
    CHECK(rule.rule_total.in(units::GB) == Approx(38.655).epsilon(1e-4));
    CHECK(rule.factor == 32.0);
    CHECK(rule.one_score_matrix * rule.factor == rule.all_score_matrices);

    // flash2 keeps one 4-byte statistic per row and head instead.
    const Footprint flash = footprint(op, Implementation::flash2, Pass::inference);
    CHECK(flash.bytes_of("logsumexp").in(units::B) == 4.0 * 32 * 131072);
    CHECK(flash.total(Phase::scratch) == flash.bytes_of("logsumexp"));
}

TEST_CASE("flash2 training peaks at 10T + 8 B H N", "[footprint]") {
    const double t = 2.0 * 16 * 2048 * 128 * 2;
    const Footprint memory =
        footprint(attention(2, 16, 2048, 128), Implementation::flash2, Pass::training);
    CHECK(memory.total().in(units::B) == 10 * t + 8.0 * 2 * 16 * 2048);
    // Groups of 4: k, v, dk, dv are a quarter as large, and dk, dv are expanded for every head.
    Attention grouped = attention(2, 16, 2048, 128);
    grouped.kv_heads = 4;
    CHECK(footprint(grouped, Implementation::flash2, Pass::training).total().in(units::B) ==
          4 * t + t + 2 * t + 2 * t + 8.0 * 2 * 16 * 2048);
}

TEST_CASE("other operations hold inputs and outputs, and gradients in training", "[footprint]") {
    const auto total = [](const Operation& op, Implementation implementation, Pass pass) {
        return footprint(op, implementation, pass).total().in(units::B);
    };
    const Matmul matmul{
        .m = 100, .n = 200, .k = 300, .type = DataType::bf16, .output = DataType::fp32};
    const double matmul_bytes = 2.0 * (100 * 300 + 300 * 200) + 4.0 * 100 * 200;
    CHECK(total(matmul, Implementation::library, Pass::inference) == matmul_bytes);
    CHECK(total(matmul, Implementation::library, Pass::training) == 2 * matmul_bytes);

    // sin, square, cos, square, add: while the second square is made, the first square and cos are
    // also alive. The sum is the output.
    const Elementwise trigonometry{.expression = parse_expression("sin(x)^2 + cos(x)^2"),
                                   .elements = 1000};
    CHECK(total(trigonometry, Implementation::fused, Pass::inference) == 2.0 * 4000);
    CHECK(total(trigonometry, Implementation::unfused, Pass::inference) == (2.0 + 3) * 4000);
    CHECK(total(trigonometry, Implementation::fused, Pass::training) == 4.0 * 4000);
    CHECK(total(trigonometry, Implementation::unfused, Pass::training) == (4.0 + 4 + 1) * 4000);

    const RowWise softmax{.rows = 10, .cols = 100, .type = DataType::fp16};
    CHECK(total(softmax, Implementation::fused, Pass::inference) == 2.0 * 2000);
    CHECK(total(softmax, Implementation::manual, Pass::inference) == 4.0 * 2000 + 2 * 20);
    const RowWise layernorm{
        .kind = RowKind::layernorm, .rows = 10, .cols = 100, .type = DataType::fp16};
    CHECK(total(layernorm, Implementation::fused, Pass::inference) == 4000.0 + 400 + 80);

    const Gather gather{.rows = 10, .cols = 64, .table_rows = 1000, .type = DataType::fp16};
    CHECK(total(gather, Implementation::bundled, Pass::inference) ==
          1000.0 * 128 + 10 * 8 + 10 * 128);
    const Collective gathered{.kind = CollectiveKind::all_gather, .gpus = 8, .bytes = 8000};
    CHECK(total(gathered, Implementation::bundled, Pass::inference) == 9000.0);
}

TEST_CASE("footprints grow with every dimension and from inference to training",
          "[footprint][property]") {
    const Attention base{.batch = 2,
                         .heads = 8,
                         .kv_heads = 4,
                         .seq_q = 300,
                         .seq_kv = 500,
                         .head_dim = 64,
                         .type = DataType::bf16};
    for (const Implementation implementation : {Implementation::standard, Implementation::flash1,
                                                Implementation::flash2, Implementation::flash3}) {
        for (const Pass pass : {Pass::inference, Pass::training}) {
            std::vector<Attention> larger(5, base);
            larger[0].batch *= 2;
            larger[1].heads *= 2;
            larger[2].seq_q *= 2;
            larger[3].seq_kv *= 2;
            larger[4].head_dim *= 2;
            for (const Attention& each : larger) {
                CHECK(footprint(each, implementation, pass).total() >
                      footprint(base, implementation, pass).total());
            }
        }
        CHECK(footprint(base, implementation, Pass::training).total() >
              footprint(base, implementation, Pass::inference).total());
    }
}

}  // namespace
}  // namespace ridge::model
