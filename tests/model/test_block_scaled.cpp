// Bytes of block-scaled operands, and the parameters of latent attention and experts, by hand.
#include <string>

#include "hardware/error.h"
#include "model/core/fields.h"
#include "model/footprint/footprint.h"
#include "model/matmul/work.h"
#include "model/mla/work.h"
#include "model/moe/work.h"
#include "tests/catch.h"
#include "tests/model/parsed.h"

namespace ridge::model {
namespace {

using test::make;

using test::problem_of;

TEST_CASE("the bytes of a block-scaled operand include its scales", "[block_scaled]") {
    // 4096 elements of 4 bits and 256 scales of a byte. A partial run of 16 also has a scale.
    CHECK(operand_bytes(DataType::nvfp4, 1.0, 4096.0) == 2048.0 + 256.0);
    CHECK(operand_bytes(DataType::nvfp4, 3.0, 17.0) == 3.0 * 8.5 + 3.0 * 2.0);
    // 256 x 512 of e4m3: 4 scales per row for activations, 2 x 4 squares for weights, 4 bytes each.
    CHECK(operand_bytes(DataType::fp8_block, 256.0, 512.0) == 131072.0 + 4.0 * 1024.0);
    CHECK(operand_bytes(DataType::fp8_block, 256.0, 512.0, Operand::weights) == 131072.0 + 32.0);
    CHECK(operand_bytes(DataType::bf16, 256.0, 512.0) == 262144.0);
    CHECK(bytes_of(DataType::nvfp4, 3) == 2);
    CHECK(bits_of(DataType::nvfp4) == 4);
    CHECK_THROWS_AS(size_of(DataType::nvfp4), ContractViolation);
}

TEST_CASE("products of nvfp4 read 4.5 bits per element and write 16", "[block_scaled][matmul]") {
    const auto op = make<Matmul>("matmul m=1024 n=2048 k=4096 dtype=nvfp4");
    CHECK(op.output == DataType::bf16);
    const Work work = matmul_work(op, true);
    CHECK(work.compulsory_read.in(units::B) == (1024.0 + 2048.0) * 4096.0 * 4.5 / 8.0);
    CHECK(work.compulsory_write.in(units::B) == 1024.0 * 2048.0 * 2.0);
    CHECK(work.tensor.base() == 2.0 * 1024.0 * 2048.0 * 4096.0);
    // Rows of 4096 elements begin at multiples of 2048 bytes, rows of 24 at multiples of 4 bytes.
    CHECK(matmul_alignment(op) == 16);
    CHECK(matmul_alignment(make<Matmul>("matmul m=8 n=64 k=24 dtype=nvfp4")) == 4);
    CHECK(footprint(op, Implementation::library, Pass::inference).bytes_of("b").in(units::B) ==
          2048.0 * 4096.0 * 4.5 / 8.0);
}

TEST_CASE("only operands of products can be block scaled", "[block_scaled]") {
    for (const char* text :
         {"copy elements=8 dtype=nvfp4", "adamw elements=8 dtype=nvfp4",
          "cat inputs=2 rows=8 cols=8 dtype=nvfp4", "softmax rows=8 cols=8 dtype=fp8_block",
          "attention heads=1 seq=8 head_dim=64 dtype=nvfp4", "mla heads=1 seq=8 dtype=nvfp4",
          "transpose rows=8 cols=8 dtype=nvfp4", "gather rows=1 cols=8 table_rows=4 dtype=nvfp4",
          "elementwise expr=x elements=8 dtype=nvfp4", "all_reduce bytes=64 dtype=nvfp4",
          "access pattern=strided elements=8 dtype=fp8_block"}) {
        CAPTURE(text);
        CHECK(problem_of(text).starts_with("dtype: "));
    }
    CHECK(problem_of("matmul m=8 n=8 k=8 out_dtype=nvfp4").starts_with("out_dtype: "));
    CHECK(problem_of("elementwise expr=x elements=8 out_dtype=nvfp4").starts_with("out_dtype: "));
}

TEST_CASE("an 8-bit cache can be combined with 16-bit computation", "[attention][fields]") {
    const auto op = make<Attention>("attention heads=8 seq_q=1 seq_kv=64 head_dim=64 kv_dtype=fp8");
    CHECK(cache_type_of(op) == DataType::fp8);
    CHECK(op.type == DataType::bf16);
    const auto same =
        make<Attention>("attention heads=8 seq=64 head_dim=64 dtype=fp8 kv_dtype=fp8");
    CHECK_FALSE(same.cache_type.has_value());
    CHECK(problem_of("attention heads=8 seq=64 head_dim=64 dtype=fp8 kv_dtype=bf16")
              .starts_with("kv_dtype: bf16 does not work with dtype fp8"));
    CHECK(
        problem_of("attention heads=8 seq=64 head_dim=64 kv_dtype=nvfp4").starts_with("kv_dtype"));
    CHECK(problem_of("attention heads=8 seq=64 head_dim=64 kv_dtype=fp8 direction=backward")
              .starts_with("kv_dtype: the backward pass"));
    CHECK(footprint(op, Implementation::flash3, Pass::inference).bytes_of("k").in(units::B) ==
          8.0 * 64.0 * 64.0);
}

TEST_CASE("latent attention counts keys and values of its phase", "[mla]") {
    const auto decode = make<Mla>("mla heads=128 seq_q=1 seq_kv=4096 batch=2 kv_dtype=fp8");
    CHECK(decode.phase == MlaPhase::decode);
    const Work work = mla_work(decode);
    // 2 x 128 heads x 4096 keys, with 576 elements for the score and 512 for the value.
    CHECK(work.tensor.base() == 2.0 * (2.0 * 128.0 * 4096.0) * (576.0 + 512.0));
    // Queries of 576, the cache once in one byte, the new latents in two bytes; outputs of 512.
    CHECK(work.compulsory_read.in(units::B) ==
          2.0 * 128.0 * 576.0 * 2.0 + 2.0 * 4096.0 * 576.0 + 2.0 * 576.0 * 2.0);
    CHECK(work.compulsory_write.in(units::B) == 2.0 * 128.0 * 512.0 * 2.0 + 2.0 * 576.0);

    const auto prefill = make<Mla>("mla phase=prefill heads=16 seq=100");
    // 100 x 101 / 2 pairs under the mask; keys of 192 and values of 128 elements for each head.
    const Work expanded = mla_work(prefill);
    CHECK(expanded.tensor.base() == 2.0 * (16.0 * 5050.0) * (192.0 + 128.0));
    CHECK(expanded.compulsory_read.in(units::B) ==
          16.0 * 100.0 * (192.0 + 192.0 + 128.0) * 2.0 + 100.0 * 576.0 * 2.0);
    CHECK(footprint(prefill, Implementation::library, Pass::inference)
              .bytes_of("latent cache")
              .in(units::B) == 100.0 * 576.0 * 2.0);
    CHECK(problem_of("mla heads=16 seq_q=9 seq_kv=8").starts_with("seq_q must not exceed"));
    CHECK(problem_of("mla heads=16").starts_with("seq (or seq_q and seq_kv) is missing"));
    CHECK(problem_of("mla heads=16 seq=8 phase=sideways").starts_with("phase: unknown word"));
}

TEST_CASE("experts count token-expert pairs", "[moe]") {
    const auto op = make<Moe>(
        "moe tokens=1024 hidden=7168 intermediate=2048 topk=8 experts=256 tp=2 ep=4 dtype=fp8");
    const MoeLoad load = moe_load(op);
    CHECK(load.pairs == 1024.0 * 8.0 / 4.0);
    CHECK(load.experts == 64.0);
    CHECK(load.inner == 1024.0);
    CHECK(moe_work(op).tensor.base() == 6.0 * 2048.0 * 7168.0 * 1024.0);
    CHECK(expert_bytes(op) == 3.0 * 7168.0 * 1024.0);
    CHECK(problem_of("moe tokens=1 hidden=8 intermediate=8 topk=9 experts=8")
              .starts_with("topk must not exceed experts"));
    CHECK(problem_of("moe tokens=1 hidden=8 intermediate=8 topk=1 experts=8 ep=3")
              .starts_with("ep must divide experts"));
    CHECK(problem_of("moe tokens=1 hidden=8 intermediate=8 topk=1 experts=8 tp=3")
              .starts_with("tp must divide intermediate"));
    CHECK(problem_of("moe tokens=1 hidden=8 intermediate=8 topk=1 experts=8 dtype=fp64")
              .starts_with("dtype: moe"));
}

TEST_CASE("the distribution over experts is a word with a number", "[moe][fields]") {
    CHECK(to_string(parse_expert_load("balanced", "distribution")) == "balanced");
    CHECK(to_string(parse_expert_load("power_law_1.2", "distribution")) == "power_law_1.2");
    CHECK(to_string(parse_expert_load("power_law_1.01", "distribution")) == "power_law_1.01");
    CHECK(to_string(parse_expert_load("power_law_2", "distribution")) == "power_law_2.0");
    CHECK(parse_expert_load("power_law_1.2", "distribution").exponent() == 1.2);
    for (const char* word : {"", "power_law_", "power_law_x", "power_law_0", "power_law_11",
                             "power_law_nan", "power_law_1.2.3", "skewed"}) {
        CAPTURE(word);
        CHECK_THROWS_WITH(parse_expert_load(word, "distribution"),
                          contains_text("distribution: unknown word"));
    }
}

}  // namespace
}  // namespace ridge::model
