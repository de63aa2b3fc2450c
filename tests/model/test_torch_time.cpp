// PyTorch's kernels: their grids by hand, and the times that follow from them.
#include <fmt/format.h>

#include "model/predict.h"
#include "model/streams/torch_reduce.h"
#include "model/streams/torch_time.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/model/parsed.h"

namespace ridge::model {
namespace {

using test::h200;

RowWise reduction(std::int64_t rows, std::int64_t cols, DataType type, Axis axis) {
    return {.kind = RowKind::sum, .rows = rows, .cols = cols, .type = type, .axis = axis};
}

Prediction predicted(const char* text, L2State l2 = L2State::cold,
                     const Machine& machine = h200()) {
    return test::prediction_of(text, {.implementation = Implementation::torch, .l2 = l2}, machine);
}

/// Time of the analytic model: corrections would blur its steps.
Time analytic_time(const char* text, L2State l2 = L2State::cold) {
    Machine machine = h200();
    machine.residuals = nullptr;
    return predicted(text, l2, machine).time;
}

TEST_CASE("reductions have the grids seen on an H200", "[torch]") {
    const auto seen = [](const RowWise& op, std::int64_t blocks, std::int64_t parts,
                         std::int64_t threads) {
        const ReduceGrid grid = reduce_grid(op, 132);
        return grid.blocks == blocks && grid.parts == parts && grid.threads() == threads;
    };
    CHECK(seen(reduction(65536, 272, DataType::fp32, Axis::columns), 3, 704, 128));
    CHECK(seen(reduction(16384, 80, DataType::fp16, Axis::rows), 1024, 1, 512));
    CHECK(seen(reduction(352, 256, DataType::bf16, Axis::all), 1, 1, 512));
    CHECK(seen(reduction(92608, 704, DataType::bf16, Axis::rows), 5788, 1, 512));
    CHECK(seen(reduction(3000, 8192, DataType::fp32, Axis::columns), 64, 33, 128));
    CHECK(seen(reduction(4, 5, DataType::fp32, Axis::columns), 1, 1, 16));
}

TEST_CASE("no kernel is faster than an empty kernel with its first load", "[torch]") {
    for (const char* text :
         {"elementwise expr=x*2 elements=1", "sum rows=1 cols=1", "softmax rows=1 cols=1",
          "layernorm rows=1 cols=4", "scan rows=2 cols=2", "cat inputs=2 rows=1 cols=1",
          "gather rows=1 cols=8 table_rows=1", "transpose rows=2 cols=2", "copy elements=1",
          "cross_entropy rows=1 cols=2", "adamw elements=1"}) {
        INFO(text);
        const TorchCosts& costs = *h200().memory->torch;
        CHECK(predicted(text).time >= h200().kernel_floor);
        CHECK(predicted(text, L2State::warm).time >= h200().kernel_floor + costs.first_l2);
    }
}

TEST_CASE("a column of many parts waits for the last block", "[torch]") {
    // 704 partial results, added four at a time, of 277 ns each.
    const Prediction column = predicted("sum dtype=fp32 rows=65536 cols=272 axis=columns");
    CHECK(column.time > 45.0 * units::us);
    const Prediction row = predicted("sum dtype=fp32 rows=272 cols=65536");
    CHECK(row.time < 0.6 * column.time);
    // The positions of argmax are combined four at a time: 225 us on an H200.
    const Time positions = analytic_time("argmax dtype=fp32 rows=117664 cols=144 axis=columns");
    CHECK(positions.in(units::us) == Approx(225).epsilon(0.15));
}

TEST_CASE("scattered access costs more", "[torch]") {
    CHECK(predicted("copy elements=10000000 stride=16").time >
          2.0 * predicted("copy elements=10000000 stride=2").time);
    CHECK(predicted("elementwise expr=x+bias elements=10000000").time >
          predicted("elementwise expr=x+y elements=5000000").time);
    CHECK(predicted("gather rows=100000 cols=1001 table_rows=50000").time >
          predicted("gather rows=100000 cols=1000 table_rows=50000").time);
    CHECK(predicted("elementwise expr=x dtype=bf16 out_dtype=fp16 elements=1000").time >
          predicted("elementwise expr=x dtype=fp32 out_dtype=fp16 elements=1000").time);
}

TEST_CASE("each function is a kernel, and a compiler fuses them into one", "[torch]") {
    const auto with = [](Implementation implementation) {
        return test::prediction_of("elementwise dtype=bf16 elements=100000000 expr=silu(x)*y",
                                   {.implementation = implementation, .l2 = L2State::cold}, h200());
    };
    CHECK(with(Implementation::torch).work.kernels == 2);
    CHECK(with(Implementation::compiled).work.kernels == 1);
    CHECK(with(Implementation::compiled).time < 0.75 * with(Implementation::torch).time);
}

TEST_CASE("optimizers work on tensors in chunks", "[torch]") {
    // Below one chunk per tensor, the time follows the elements of one tensor and not of all.
    const auto step = [](std::int64_t elements, std::int64_t tensors) {
        const AdamW op{.elements = elements, .tensors = tensors};
        return torch_time(*h200().memory, op, Implementation::fused, L2State::cold).time.total;
    };
    CHECK(step(65536, 1) > 2.0 * step(65536, 8));
    CHECK(step(8 * 65536, 8) < 1.2 * step(65536, 1));
}

TEST_CASE("int8 products with int32 results run their steps one after the other", "[torch]") {
    const Time shallow =
        analytic_time("matmul dtype=int8 out_dtype=int32 b_layout=column m=64 n=64 k=1280");
    const Time deep =
        analytic_time("matmul dtype=int8 out_dtype=int32 b_layout=column m=64 n=64 k=12800");
    CHECK((deep - shallow).in(units::us) == Approx(90 * 0.26).epsilon(0.02));  // 90 more steps
    CHECK(analytic_time("matmul dtype=int8 out_dtype=int32 m=64 n=64 k=1280") > 5.0 * shallow);
}

TEST_CASE("fp32 products of few rows have their own kernels", "[torch]") {
    const auto dots = [](int m, int k) {
        return analytic_time(
            fmt::format("matmul dtype=fp32 b_layout=column m={} n=1024 k={}", m, k).c_str());
    };
    // Three rows run a kernel for four rows that loads more slowly: 8 more of its steps.
    CHECK(dots(3, 2048) > 1.5 * dots(4, 2048));
    const Time steps = dots(4, 2048) - dots(4, 1024);
    CHECK(steps.in(units::us) > 8 * 1.44 * 0.377);
    CHECK(steps.in(units::us) < 10 * 1.44 * 0.377);
    // A walk takes 16 elements of k per step, whatever the number of rows.
    const char* const walk = "matmul dtype=fp32 m=2 n=8192 k=2048";
    const char* const taller = "matmul dtype=fp32 m=13 n=8192 k=2048";
    CHECK(analytic_time(taller) / analytic_time(walk) < 1.3);
    CHECK(analytic_time(walk).in(units::us) == Approx(45).epsilon(0.15));
    // A vector reads the matrix at the DRAM rate.
    const Time read = 4.0 * 16384 * 8192 * units::B / h200().dram_bandwidth;
    CHECK(analytic_time("matmul dtype=fp32 b_layout=column m=1 n=16384 k=8192") < 1.3 * read);
    CHECK(analytic_time("matmul dtype=tf32 m=1 n=16384 k=8192") < 1.3 * read);
}

TEST_CASE("unaligned 16-bit products of few rows have their own kernels", "[torch]") {
    const auto time = [](const char* text) { return analytic_time(text).in(units::us); };
    // Tiles that hold all rows, whatever their number, take 15.1 us on an H200.
    const char* const whole = "matmul dtype=fp16 b_layout=column m=9 n=109 k=1088";
    CHECK(time(whole) == Approx(15.1).epsilon(0.15));
    CHECK(time("matmul dtype=fp16 b_layout=column m=16 n=109 k=1088") < 1.05 * time(whole));
    // Grids seen on an H200: 257 parts if k of a small B is odd, otherwise 64 elements per part.
    const auto parts = [](const char* text) { return predicted(text).tiling.split; };
    CHECK(parts("matmul dtype=bf16 m=5 n=63 k=4097") == 257);
    CHECK(parts("matmul dtype=bf16 m=10 n=23 k=2048") == 32);
    CHECK(parts("matmul dtype=bf16 b_layout=column m=2 n=33 k=215") == 27);
    CHECK(parts("matmul dtype=bf16 m=8 n=128 k=512 batch=2") == 1);
    // A bias adds slices one after the other. Batches of many columns use no tensor cores.
    CHECK(time("matmul dtype=bf16 m=2 n=321 k=1509 epilogue=bias") >
          1.5 * time("matmul dtype=bf16 m=2 n=321 k=1509"));
    CHECK(time("matmul dtype=bf16 b_layout=column m=3 n=1957 k=512 batch=50") >
          2.0 * time("matmul dtype=fp16 b_layout=column m=3 n=1957 k=512 batch=50"));
    // A vector is read more slowly if it is not made of whole 16-byte vectors.
    CHECK(time("matmul dtype=bf16 b_layout=column m=1 n=16384 k=8193") >
          1.4 * time("matmul dtype=bf16 b_layout=column m=1 n=16384 k=8192"));
}

TEST_CASE("a small product cut into more parts than k has steps takes the time of the parts",
          "[torch]") {
    const Time fine_splits = analytic_time("matmul dtype=fp32 b_layout=column m=12 n=128 k=256");
    CHECK(fine_splits.in(units::us) == Approx(52.8).epsilon(0.01));  // measured
    CHECK(analytic_time("matmul dtype=fp32 b_layout=column m=12 n=128 k=768") == fine_splits);
    CHECK(analytic_time("matmul dtype=fp32 b_layout=column m=12 n=128 k=1365") ==
          fine_splits);  // at most 2^21 multiply-adds
    CHECK(analytic_time("matmul dtype=fp32 b_layout=column m=12 n=128 k=1366") < 0.5 * fine_splits);
    CHECK(analytic_time("matmul dtype=fp32 b_layout=column m=12 n=128 k=2048") < 0.5 * fine_splits);
    CHECK(analytic_time("matmul dtype=fp32 b_layout=column m=12 n=64 k=256") < 0.3 * fine_splits);
    CHECK(analytic_time("matmul dtype=tf32 b_layout=column m=12 n=128 k=256") < 0.3 * fine_splits);
}

TEST_CASE("a bias and unaligned tf32 rows take time", "[torch]") {
    CHECK(predicted("matmul m=128 n=1024 k=1024 epilogue=bias").time >
          predicted("matmul m=128 n=1024 k=1024").time);
    CHECK(predicted("matmul dtype=tf32 m=2048 n=2047 k=2048").time >
          1.5 * predicted("matmul dtype=tf32 m=2048 n=2048 k=2048").time);
}

TEST_CASE("rows lost from L2 are read from DRAM again", "[torch]") {
    const auto read = [](const char* text) { return predicted(text).work.dram_read; };
    // 264 blocks hold one row each: 53 MB with rows of 201 KB, 13 MB with rows of 50 KB.
    const Bytes matrix = 2048.0 * 50257.0 * 4.0 * units::B;
    CHECK(read("softmax rows=2048 cols=50257 dtype=fp32") > 2.5 * matrix);
    CHECK(read("softmax rows=8192 cols=12563 dtype=fp32") < 1.1 * matrix);
    CHECK(read("softmax rows=2048 cols=50257 dtype=fp32 direction=backward") > 2.5 * matrix);
}

TEST_CASE("generated kernels hold short rows, loop over long rows and split few rows", "[torch]") {
    const auto compiled = [](const char* text) {
        return test::prediction_of(
            text, {.implementation = Implementation::compiled, .l2 = L2State::cold}, h200());
    };
    // Grids seen on an H200: 2048 x 210 and 1872 x 22000 run one kernel, 256 x 13468 two and
    // 16 x 18414 five.
    CHECK(compiled("mean rows=2048 cols=210").work.kernels == 1);
    CHECK(compiled("mean rows=1872 cols=22000").work.kernels == 1);
    CHECK(compiled("sum rows=256 cols=13468").work.kernels == 2);
    CHECK(compiled("softmax rows=16 cols=18414").work.kernels == 5);
    // Columns are split into parts of 128 if they would fill fewer than 64 SMs.
    CHECK(compiled("sum rows=64 cols=353 axis=columns").work.kernels == 1);
    CHECK(compiled("sum rows=824 cols=256 axis=columns").work.kernels == 2);
    CHECK(compiled("mean rows=512 cols=2048 axis=columns").work.kernels == 2);
    CHECK(compiled("sum rows=2048 cols=32768 axis=columns").work.kernels == 1);
    // Odd rows allow no vector loads, and the kernel computes a mean beside the variance.
    CHECK(compiled("layernorm rows=4096 cols=8191 dtype=bf16").time >
          1.2 * compiled("layernorm rows=4096 cols=8192 dtype=bf16").time);
    // One block adds up the losses, 512 per turn.
    CHECK((compiled("cross_entropy rows=8192 cols=64").time -
           compiled("cross_entropy rows=512 cols=64").time) > 15.0 * 0.6 * units::us);
}

TEST_CASE("a loop that reads rows twice finds them in L1, a sum reads them once", "[torch]") {
    const auto compiled = [](const char* text, Bytes l1) {
        Machine machine = h200();
        machine.memory->l1_size = l1;
        return test::prediction_of(
                   text, {.implementation = Implementation::compiled, .l2 = L2State::cold}, machine)
            .time;
    };
    const Bytes l1 = h200().memory->l1_size;
    const Bytes little = 1024.0 * units::B;
    // A multiprocessor has four rows of 16 KiB each.
    CHECK(compiled("rmsnorm rows=8192 cols=4096 dtype=fp32", little) >
          1.02 * compiled("rmsnorm rows=8192 cols=4096 dtype=fp32", l1));
    CHECK(compiled("sum rows=8192 cols=4096 dtype=fp32", little) ==
          compiled("sum rows=8192 cols=4096 dtype=fp32", l1));
}

TEST_CASE("blocks along columns beyond one round wait for the first round", "[torch]") {
    const auto time_of_byte = [](std::int64_t rows, std::int64_t cols) {
        const Operation op = reduction(rows, cols, DataType::bf16, Axis::columns);
        const Prediction prediction = std::get<Prediction>(
            predict(op, {.implementation = Implementation::compiled, .l2 = L2State::cold}, h200()));
        return prediction.time / (2.0 * static_cast<double>(rows * cols));
    };
    // 2012 and 2158 blocks of 128 threads, of which 2112 run at a time: 33 and 58 us on an H200.
    CHECK(time_of_byte(36848, 1664) > 1.1 * time_of_byte(35616, 1384));
}

TEST_CASE("storing the results of int8 products takes time", "[torch]") {
    // 1188 tiles of 128 x 64 on 132 multiprocessors, nine on each, one after the other.
    const Time wide =
        analytic_time("matmul dtype=int8 out_dtype=int32 b_layout=column m=4224 n=2304 k=16");
    const Time once =
        analytic_time("matmul dtype=int8 out_dtype=int32 b_layout=column m=4224 n=256 k=16");
    CHECK((wide - once).in(units::us) == Approx(8 * (1.12 + 0.35)).epsilon(0.1));
}

TEST_CASE("unaligned rows of results are stored slowly", "[torch]") {
    const auto times_of = [](const char* odd, const char* even) {
        return predicted(odd).time / predicted(even).time;
    };
    const double shallow = times_of("matmul dtype=bf16 b_layout=column m=2048 n=20001 k=64",
                                    "matmul dtype=bf16 b_layout=column m=2048 n=20000 k=64");
    CHECK(shallow > 3.0);
    // n is even and only k is odd, so results are stored as aligned rows.
    CHECK(analytic_time("matmul dtype=fp16 b_layout=column m=16384 n=9408 k=17") <
          0.7 * analytic_time("matmul dtype=fp16 b_layout=column m=16384 n=9407 k=17"));
    // Few rows have their own kernels, which read B once.
    CHECK(predicted("matmul dtype=bf16 m=2 n=29499 k=320").time <
          predicted("matmul dtype=bf16 m=9 n=29499 k=320").time);
}

TEST_CASE("a product that reads waits for dirty lines left in L2", "[torch]") {
    const auto dirty = [](const char* text) {
        return analytic_time(text, L2State::dirty) - analytic_time(text);
    };
    const Time reading = dirty("matmul dtype=fp8 b_layout=column m=16 n=16384 k=16384");
    const Time computing = dirty("matmul dtype=bf16 m=8192 n=8192 k=8192");
    CHECK(reading > 5.0 * units::us);  // 18 MB of dirty lines at 0.4 of the bandwidth
    CHECK(reading < 12.0 * units::us);
    CHECK(computing < 0.3 * reading);
}

TEST_CASE("attention backends: splits, generations and the cost of fp32", "[torch]") {
    const auto with = [](const char* text, Implementation implementation) {
        return test::prediction_of(text, {.implementation = implementation}, h200());
    };
    const char* const prefill = "attention batch=2 heads=16 seq=4096 head_dim=128";
    const Time flash = with(prefill, Implementation::torch_flash).time;
    CHECK(with(prefill, Implementation::torch_cudnn).time < 0.8 * flash);
    CHECK(with(prefill, Implementation::torch_efficient).time > 1.5 * flash);
    CHECK(with(prefill, Implementation::torch_math).time > 10.0 * flash);
    CHECK(with("attention heads=8 kv_heads=2 seq_q=1 seq_kv=16384 head_dim=128",
               Implementation::torch_flash)
              .tiling.split > 16);
    CHECK(
        with("attention batch=2 heads=16 seq=2048 head_dim=64 causal=1",
             Implementation::torch_flash)
            .time <
        with("attention batch=2 heads=16 seq=2048 head_dim=64", Implementation::torch_flash).time);
    CHECK(with("attention heads=4 seq=256 head_dim=64 dtype=fp32", Implementation::torch_math)
              .work.kernels >= 9);
}

// Found by properties over all implementations: two causal queries took a fifth of the time of one.
TEST_CASE("a causal mask of few queries hides few keys from SDPA, and missing options are refused",
          "[torch]") {
    const auto outcome = [](const char* text, Implementation implementation) {
        return predict(test::operation_of(text), {.implementation = implementation}, h200());
    };
    for (const auto backend : {Implementation::torch_flash, Implementation::torch_efficient,
                               Implementation::torch_cudnn, Implementation::torch_math}) {
        INFO(name_of(backend));
        const auto time = [&](const char* text) {
            return std::get<Prediction>(outcome(text, backend)).time;
        };
        CHECK(time("attention batch=8 heads=64 seq_q=8 seq_kv=8192 head_dim=64 causal=1") >=
              0.9 * time("attention batch=8 heads=64 seq_q=8 seq_kv=8192 head_dim=64"));
        const Outcome there = predict(test::operation_of("attention heads=8 seq=256 head_dim=128"),
                                      {.implementation = backend}, test::machine("mi300x"));
        CHECK(std::holds_alternative<NotModelled>(there) ==
              (backend == Implementation::torch_cudnn));
        for (const char* lacking : {"window=64", "paged=1", "kv_write=1"}) {
            const std::string text =
                "attention heads=8 seq_q=1 seq_kv=4096 head_dim=64 " + std::string(lacking);
            CHECK(std::holds_alternative<NotModelled>(outcome(text.c_str(), backend)));
        }
    }
}

// Found by scripts/soak: counting FlashAttention's splits of the keys for cuDNN tripled its time.
TEST_CASE("cuDNN and the efficient backend do not split the keys of several queries", "[torch]") {
    const Machine& l40s = test::machine("l40s");
    for (const auto backend : {Implementation::torch_cudnn, Implementation::torch_efficient}) {
        const auto predicted_for = [&](std::int64_t queries) {
            const Attention op{
                .heads = 7, .kv_heads = 7, .seq_q = queries, .seq_kv = 2048, .head_dim = 96};
            return std::get<Prediction>(predict(op, {.implementation = backend}, l40s));
        };
        const Prediction even = predicted_for(2048);
        INFO(name_of(backend));
        CHECK(even.tiling.split == 1);
        if (backend == Implementation::torch_cudnn) {
            CHECK(even.work.dram() < 1.5 * even.work.compulsory());
        }
        CHECK(predicted_for(2049).time >= even.time);
    }
}

// Found by scripts/soak: 257 queries, which are not split, took a fifth of the time of 256 queries.
TEST_CASE("partial results of split keys stay in an L2 that holds them", "[torch]") {
    const Machine& l40s = test::machine("l40s");
    const auto time = [&](std::int64_t queries) {
        Attention op{.batch = 2, .heads = 22, .kv_heads = 22, .seq_q = queries, .seq_kv = 256};
        op.head_dim = 192;
        return std::get<Prediction>(
                   predict(op, {.implementation = Implementation::torch_flash}, l40s))
            .time;
    };
    CHECK(time(256) <= 2.0 * time(257));
}

TEST_CASE("GPUs without PyTorch's costs keep the model of eager kernels", "[torch]") {
    const Machine& a100 = test::machine("a100-pcie-40gb");
    REQUIRE(a100.memory);
    CHECK_FALSE(a100.memory->torch);
    const Machine& l40s = test::machine("l40s");
    REQUIRE(l40s.memory);
    CHECK(l40s.memory->torch);
    CHECK(l40s.memory->torch->evidence == Evidence::foreign);
}

TEST_CASE("fp32 products start sooner if their operands are in L2", "[torch]") {
    Machine machine = h200();
    machine.residuals = nullptr;
    const TorchCosts& costs = *machine.memory->torch;
    const char* text = "matmul dtype=fp32 m=64 n=512 k=64";
    const Time cold = predicted(text, L2State::cold, machine).time;
    const Time warm = predicted(text, L2State::warm, machine).time;
    CHECK(cold - warm >= 0.99 * (costs.first_dram - costs.first_l2));
    CHECK(cold - warm < 1.5 * (costs.first_dram - costs.first_l2));
}

TEST_CASE("PyTorch's calls of products count as measured in every L2 state", "[torch]") {
    for (const L2State l2 : {L2State::warm, L2State::cold, L2State::dirty}) {
        const Prediction p = predicted("matmul dtype=bf16 m=4096 n=4096 k=4096 batch=2", l2);
        CHECK(noted<note::Extrapolated>(p) == nullptr);
        const bool warm = l2 == L2State::warm;
        CHECK(p.band_class == (warm ? BandClass::torch_warm : BandClass::torch_product));
    }
    CHECK(predicted("matmul dtype=bf16 m=16 n=63 k=64").band_class == BandClass::torch_odd_thin);
    CHECK(predicted("matmul dtype=bf16 m=17 n=63 k=64").band_class == BandClass::torch_odd);
}

}  // namespace
}  // namespace ridge::model
