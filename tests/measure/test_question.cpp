// The canonical text of an operation reads back as the same operation and is stable.
#include "measure/record/record.h"
#include "measure/run/suite.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"

using namespace ridge;
using namespace ridge::measure;
using ridge::test::question;

TEST_CASE("explicit defaults do not change the canonical text") {
    CHECK(canonical_text(question("matmul m=8 n=16 k=32").operation) ==
          "matmul dtype=bf16 m=8 n=16 k=32");
    CHECK(canonical_text(
              question("matmul k=32 n=16 m=8 dtype=bf16 batch=1 epilogue=none").operation) ==
          "matmul dtype=bf16 m=8 n=16 k=32");
    CHECK(canonical_text(question("attention heads=8 seq=64 head_dim=64").operation) ==
          canonical_text(
              question("attention heads=8 kv_heads=8 seq_q=64 seq_kv=64 head_dim=64").operation));
    CHECK(canonical_text(question("copy elements=10 l2=cold")) ==
          "copy dtype=bf16 elements=10 impl=auto l2=cold launch=kernel");
}

TEST_CASE("the canonical text reads back to itself") {
    for (const char* text :
         {"matmul m=8 n=16 k=32 batch=3 dtype=fp8 out_dtype=fp8 accumulate=fp16 a_layout=column "
          "b_layout=column epilogue=bias_gelu",
          "matmul m=8 n=16 k=32 dtype=int8", "matmul m=8 n=16 k=32 dtype=fp64",
          "attention batch=2 heads=8 kv_heads=2 seq_q=4 seq_kv=64 head_dim=64 causal=1 window=16 "
          "kv_write=1 dtype=fp16",
          "attention heads=8 seq=64 head_dim=64 direction=backward",
          "elementwise expr=\"gelu(x + bias) * w\" vectors=w elements=4096 dtype=bf16",
          "elementwise expr=\"a*x + y\" scalars=a elements=4096 direction=backward",
          "softmax rows=3 cols=5 dtype=fp32", "layernorm rows=3 cols=5 direction=backward",
          "transpose rows=3 cols=5", "gather rows=3 cols=5 table_rows=7",
          "access pattern=strided elements=64 stride=8",
          "access pattern=misaligned elements=64 dtype=bf16",
          "access pattern=divergent elements=64 paths=3",
          "access pattern=bank_conflict elements=64 ways=32", "all_reduce bytes=1024 gpus=8",
          "all_reduce bytes=1024 gpus=4 dtype=int8"}) {
        CAPTURE(text);
        const std::string canonical = canonical_text(question(text).operation);
        CAPTURE(canonical);
        CHECK(canonical_text(question(canonical).operation) == canonical);
        CHECK(type_of(question(canonical).operation) == type_of(question(text).operation));
    }
}

TEST_CASE("the key differs with everything that changes the answer") {
    const std::string base = key_of(question("copy elements=10"), "NVIDIA H200");
    CHECK(base == key_of(question("copy dtype=bf16 elements=10"), "NVIDIA H200"));
    for (const char* text :
         {"copy elements=11", "copy elements=10 dtype=fp32", "copy elements=10 impl=eager",
          "copy elements=10 l2=cold", "copy elements=10 launch=graph"}) {
        CAPTURE(text);
        CHECK(key_of(question(text), "NVIDIA H200") != base);
    }
    Question zeros = question("copy elements=10");
    zeros.pattern = DataPattern::zeros;
    CHECK(key_of(zeros, "NVIDIA H200") != base);
    Question constant = question("copy elements=10");
    constant.pattern = parse_data_pattern("constant");
    CHECK(name_of(constant.pattern) == "constant");
    CHECK(key_of(constant, "NVIDIA H200") != key_of(zeros, "NVIDIA H200"));
    CHECK(key_of(question("copy elements=10"), "NVIDIA H100") != base);
}
