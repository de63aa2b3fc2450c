// Operations that only a framework's kernels carry out: how they are written and what they move.
#include "model/core/fields.h"
#include "model/footprint/footprint.h"
#include "model/predict.h"
#include "model/streams/elementwise_work.h"
#include "model/streams/row_work.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/model/parsed.h"

namespace ridge::model {
namespace {

using test::h200;
using test::operation_of;

Prediction predicted(const char* text, const Execution& execution = {}) {
    return test::prediction_of(text, execution, h200());
}

TEST_CASE("eager means torch, embedding means gather, cumsum means scan", "[framework]") {
    CHECK(parse_implementation("eager") == Implementation::torch);
    CHECK(name_of(Implementation::torch) == "torch");
    CHECK(parse_operation_kind("embedding") == OperationKind::gather);
    CHECK(parse_operation_kind("cumsum") == OperationKind::scan);
}

TEST_CASE("framework operations survive conversion to text and back", "[framework]") {
    for (const char* text :
         {"sum dtype=bf16 rows=8 cols=16 axis=columns", "mean dtype=fp32 rows=8 cols=16 axis=all",
          "max dtype=bf16 rows=8 cols=16", "argmax dtype=bf16 rows=8 cols=16",
          "cross_entropy dtype=bf16 rows=8 cols=16", "scan dtype=fp32 rows=8 cols=16",
          "transpose dtype=bf16 batch=2 rows=8 cols=16 inner=64",
          "copy dtype=bf16 elements=64 stride=3",
          "cat dtype=bf16 rows=8 cols=16 inputs=3 axis=rows",
          "cat dtype=bf16 rows=8 cols=16 inner=8 inputs=2", "adamw dtype=fp32 elements=1000",
          "elementwise dtype=bf16 out_dtype=fp32 elements=64 expr=x",
          "matmul dtype=int8 m=8 n=8 k=16 out_dtype=int32"}) {
        INFO(text);
        const Operation op = operation_of(text);
        CHECK(text_of(kind_of(op), parameters_of(op)) == text);
        CHECK(predicted(text).time > Time{});
        if (std::holds_alternative<Matmul>(op)) continue;
        CHECK(predicted(text).implementation == Implementation::torch);
    }
}

TEST_CASE("bundled kernels refuse operations that they do not implement", "[framework]") {
    const Machine& machine = h200();
    for (const char* text :
         {"sum rows=8 cols=16 axis=columns", "elementwise expr=dropout(x) elements=8",
          "elementwise expr=x elements=8 out_dtype=fp32"}) {
        INFO(text);
        const Outcome outcome =
            predict(operation_of(text), {.implementation = Implementation::fused}, machine);
        REQUIRE(std::holds_alternative<NotModelled>(outcome));
        CHECK(std::get<NotModelled>(outcome).reason.find("torch") != std::string::npos);
    }
    CHECK_FALSE(needs_framework(operation_of("sum rows=8 cols=16")));
    CHECK_THROWS_WITH(operation_of("cat inputs=2 rows=8 cols=8 axis=all"),
                      "axis: cat joins along rows or columns, not all");
    CHECK_THROWS_WITH(operation_of("matmul m=8 n=8 k=8 dtype=bf16 out_dtype=int32"),
                      "out_dtype: int32 needs dtype int8, not bf16");
    CHECK_THROWS_WITH(operation_of("copy elements=8 dtype=int32"),
                      "dtype: int32 is a type for results (out_dtype) only");
}

TEST_CASE("masks take one byte per element and casts change the bytes written", "[framework]") {
    constexpr double n = 1000.0;
    const auto work = [](const char* text) {
        return elementwise_work(std::get<Elementwise>(operation_of(text)), Implementation::torch);
    };
    const Work filled = work("elementwise dtype=bf16 elements=1000 expr=masked_fill(x,m)");
    CHECK(filled.dram_read.base() == 3.0 * n);
    CHECK(filled.dram_write.base() == 2.0 * n);
    const Work dropped = work("elementwise dtype=fp32 elements=1000 expr=dropout(x)");
    CHECK(dropped.dram_read.base() == 4.0 * n);
    CHECK(dropped.dram_write.base() == 5.0 * n);
    const Work cast = work("elementwise dtype=bf16 out_dtype=fp32 elements=1000 expr=x");
    CHECK(cast.dram_read.base() == 2.0 * n);
    CHECK(cast.dram_write.base() == 4.0 * n);
}

TEST_CASE("reductions leave one result per row, per column, or one", "[framework]") {
    const auto written = [](const char* text) {
        return row_work(std::get<RowWise>(operation_of(text)), Implementation::torch)
            .dram_write.base();
    };
    CHECK(written("mean dtype=bf16 rows=8 cols=16") == 16.0);
    CHECK(written("mean dtype=bf16 rows=8 cols=16 axis=columns") == 32.0);
    CHECK(written("mean dtype=bf16 rows=8 cols=16 axis=all") == 2.0);
    CHECK(written("argmax dtype=bf16 rows=8 cols=16") == 64.0);  // int64
}

TEST_CASE("a loss writes log-probabilities only if its kernels are separate", "[framework]") {
    const auto op = std::get<RowWise>(operation_of("cross_entropy dtype=fp32 rows=100 cols=1000"));
    const double matrix = 4.0 * 100.0 * 1000.0;
    CHECK(row_work(op, Implementation::torch).dram_write.base() == matrix);
    CHECK(row_work(op, Implementation::torch).kernels == 2);
    CHECK(row_work(op, Implementation::compiled).dram_write.base() == 0.0);
}

TEST_CASE("an optimizer step moves at least seven tensors", "[framework]") {
    const AdamW op{.elements = 1000};
    CHECK(adamw_work(op, Implementation::fused).dram().base() == 7.0 * 4000.0);
    CHECK(adamw_work(op, Implementation::torch).dram().base() == 20.0 * 4000.0);
    CHECK(adamw_work(op, Implementation::torch).compulsory().base() == 7.0 * 4000.0);
    CHECK(footprint(op, Implementation::fused, Pass::inference).total().base() == 4.0 * 4000.0);
}

TEST_CASE("strided reads take whole sectors", "[framework]") {
    CHECK(copy_work({.elements = 100, .type = DataType::bf16, .stride = 4}, 32).dram_read.base() ==
          800.0);
    CHECK(copy_work({.elements = 100, .type = DataType::bf16, .stride = 64}, 32).dram_read.base() ==
          3200.0);
}

TEST_CASE("a dirty L2 adds the writes of evicted lines", "[framework]") {
    for (const char* text : {"matmul m=1 n=8192 k=8192", "softmax rows=4096 cols=2048",
                             "sum rows=4096 cols=2048 axis=all"}) {
        INFO(text);
        const Prediction cold = predicted(text, {.l2 = L2State::cold});
        const Prediction dirty = predicted(text, {.l2 = L2State::dirty});
        CHECK(dirty.time > cold.time);
        CHECK(dirty.work.dram_write > cold.work.dram_write);
        CHECK(dirty.work.dram_read == cold.work.dram_read);
    }
}

}  // namespace

TEST_CASE(
    "joining views is slower than joining contiguous tensors, and one large view slower than two "
    "halves",
    "[framework]") {
    const Time whole = predicted("cat dtype=bf16 rows=1024 cols=4096 inputs=2").time;
    const Time views = predicted("cat dtype=bf16 rows=1024 cols=4096 inner=64 inputs=2").time;
    const Time one = predicted("cat dtype=bf16 rows=2048 cols=4096 inner=64 inputs=1").time;
    CHECK(views > 2.0 * whole);
    CHECK(one > 1.2 * views);
    // Pieces shorter than a sector still move whole sectors.
    CHECK(predicted("cat dtype=bf16 rows=1024 cols=4096 inner=1 inputs=2").time >= views);
    CHECK_THROWS_WITH(operation_of("cat rows=3 cols=5 inner=4 inputs=2"),
                      contains_text("inner must divide"));
    // On a GPU without its own times for PyTorch, the index arithmetic counts as well.
    const auto on = [](const char* text) {
        return test::prediction_of(text, {}, test::machine("v100-pcie")).time;
    };
    CHECK(on("cat dtype=bf16 rows=4096 cols=4096 inner=64 inputs=2") >
          on("cat dtype=bf16 rows=4096 cols=4096 inputs=2"));
}

}  // namespace ridge::model
