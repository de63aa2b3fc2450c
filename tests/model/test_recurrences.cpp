// Work and traffic of recurrences and of operations on tokens, worked by hand.
#include <string>

#include "hardware/error.h"
#include "model/moe/work.h"
#include "model/predict.h"
#include "model/recurrence/work.h"
#include "model/sparse/work.h"
#include "model/token_wise/work.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/model/parsed.h"

namespace ridge::model {
namespace {

using test::h200;
using test::make;

std::string problem_of(const char* text) {
    try {
        static_cast<void>(make<Recurrence>(text));
        return {};
    } catch (const InputError& error) {
        return error.what();
    }
}

TEST_CASE("a gated delta rule reads, corrects and reads its state for every token",
          "[recurrence]") {
    const auto op = make<Recurrence>("gdn phase=context seq=4096 k_heads=16 v_heads=32");
    CHECK(channels_of(op) == 2 * 16 * 128 + 32 * 128);
    const Work work = recurrence_work(op);
    CHECK(work.tensor.base() == 2.0 * 3.0 * 4096.0 * 32.0 * 128.0 * 128.0);
    CHECK(work.fma == Flop{});
    const RecurrenceBytes bytes = recurrence_bytes(op);
    CHECK(bytes.inputs == 4096.0 * 8192.0 * 2.0);
    CHECK(bytes.outputs == 4096.0 * 4096.0 * 2.0);
    CHECK(bytes.state == 32.0 * 128.0 * 128.0 * 4.0);
    CHECK(bytes.gates == 4096.0 * 32.0 * (4.0 + 2.0));
    CHECK(bytes.window == 0.0);
    CHECK(work.compulsory_read.base() == bytes.inputs + bytes.gates + bytes.state);
    // 64 chunks, each with products of 64 x 64 beside those with the state.
    CHECK(chunked_flop(op).base() ==
          4096.0 * 32.0 * (6.0 * 128.0 * 128.0 + 2.0 * 64.0 * (3.0 * 128.0 + 2.0 * 128.0)));
}

TEST_CASE("one token per sequence moves the state of each", "[recurrence]") {
    const auto op = make<Recurrence>("kda seq=1 batch=32 k_heads=8");
    CHECK(op.phase == RecurrencePhase::generation);
    CHECK(op.v_heads == 8);
    const Work work = recurrence_work(op);
    const double state = 32.0 * 8.0 * 128.0 * 128.0 * 4.0;
    CHECK(work.compulsory_write.base() == state + 32.0 * 8.0 * 128.0 * 2.0);
    CHECK(work.tensor == Flop{});
    CHECK(work.fma.base() == 6.0 * 32.0 * 8.0 * 128.0 * 128.0);
    // One decay per element of a key.
    CHECK(recurrence_bytes(op).gates == 32.0 * (8.0 * 128.0 * 4.0 + 8.0 * 2.0));
    CHECK(chunked_flop(op) == Flop{});
}

TEST_CASE("Mamba-2 names its sizes differently", "[recurrence]") {
    const auto op = make<Recurrence>("mamba2 part=conv seq=7 heads=64 groups=8 phase=context");
    CHECK(channels_of(op) == 64 * 64 + 2 * 8 * 128);
    CHECK(op.chunk == 256);
    const Work work = recurrence_work(op);
    CHECK(work.fma.base() == 2.0 * 4.0 * 7.0 * 6144.0);
    CHECK(work.compulsory_read.base() == 7.0 * 6144.0 * 2.0 + 3.0 * 6144.0 * 2.0);
    CHECK(recurrence_bytes(op).state == 0.0);
    const auto scan = make<Recurrence>("mamba2 seq=7 heads=64 groups=8 phase=prefill");
    CHECK(scan.phase == RecurrencePhase::context);
    CHECK(recurrence_work(scan).tensor.base() == 4.0 * 7.0 * 64.0 * 64.0 * 128.0);
}

TEST_CASE("recurrences refuse sizes that do not fit together", "[recurrence]") {
    CHECK(problem_of("gdn seq=2 k_heads=3 v_heads=4").find("k_heads") != std::string::npos);
    CHECK(problem_of("gdn seq=2 k_heads=2 phase=generation").find("seq") != std::string::npos);
    CHECK(problem_of("gdn seq=2 k_heads=2 tokens=3").find("tokens") != std::string::npos);
    CHECK(problem_of("gdn seq=2 k_heads=2 batch=3 tokens=6 d_model=2048").empty());
    CHECK(problem_of("gdn seq=2 k_heads=2 dtype=fp8").find("dtype") != std::string::npos);
}

TEST_CASE("the indexer scores all keys, and the attention sees the chosen ones", "[sparse]") {
    const auto scores = make<SparseAttention>("indexer heads=64 seq_q=4 seq_kv=1000 dtype=fp8");
    CHECK(keys_of_query(scores) == 998.5);
    CHECK(sparse_work(scores).tensor.base() == 2.0 * 64.0 * 128.0 * 4.0 * 998.5);
    CHECK(sparse_bytes(scores).keys == 1000.0 * 128.0);
    CHECK(sparse_bytes(scores).out == 4.0 * 998.5 * 4.0);
    const auto one = make<SparseAttention>("sparse_mla heads=128 topk=2048 seq_q=1 seq_kv=65536");
    CHECK(keys_of_query(one) == 2048.0);
    CHECK(sparse_work(one).tensor.base() == 2.0 * 128.0 * 2048.0 * (576.0 + 512.0));
    CHECK(sparse_bytes(one).keys == 2048.0 * 576.0 * 2.0);
    // The first 2048 queries of a prompt of 4096 see 1 to 2048 keys.
    const auto prompt = make<SparseAttention>("sparse_mla heads=1 topk=2048 seq=4096");
    CHECK(keys_of_query(prompt) == 0.5 * 2048.0 + 0.5 * 1024.5);
    CHECK_THROWS_AS(make<SparseAttention>("sparse_mla heads=1 topk=8 seq_q=9 seq_kv=8"),
                    InputError);
    CHECK_THROWS_AS(make<SparseAttention>("indexer heads=1 seq=8 dtype=fp32"), InputError);
}

TEST_CASE("operations on tokens move each element once", "[token_wise]") {
    const auto bytes = [](const char* text) { return token_wise_bytes(make<TokenWise>(text)); };
    CHECK(bytes("swiglu rows=8 cols=32").read == 8.0 * 64.0 * 2.0);
    CHECK(bytes("swiglu rows=8 cols=32").written == 8.0 * 32.0 * 2.0);
    CHECK(bytes("topk rows=8 cols=1024 topk=16 dtype=fp32").written == 8.0 * 16.0 * 8.0);
    CHECK(bytes("quantize rows=8 cols=256 out_dtype=nvfp4").written == 8.0 * (128.0 + 16.0));
    CHECK(bytes("quantize rows=8 cols=256 out_dtype=mxfp8").written == 8.0 * (256.0 + 8.0));
    CHECK(bytes("conv1d seq=8 cols=32 batch=2").read == 2.0 * (8.0 + 3.0) * 32.0 * 2.0);
    CHECK(bytes("rope rows=8 cols=256").written == 8.0 * 256.0 * 2.0);
}

TEST_CASE("quantize and topk refuse what they cannot do", "[token_wise]") {
    CHECK_THROWS_AS(make<TokenWise>("quantize rows=8 cols=8 out_dtype=fp32"), InputError);
    CHECK_THROWS_AS(make<TokenWise>("topk rows=8 cols=8 topk=9"), InputError);
}

TEST_CASE("experts count the bytes of their own weights, and two matrices without a gate",
          "[moe]") {
    const auto plain = make<Moe>("moe tokens=64 hidden=512 intermediate=256 topk=2 experts=8");
    const auto narrow =
        make<Moe>("moe tokens=64 hidden=512 intermediate=256 topk=2 experts=8 weight_dtype=int4");
    const auto open =
        make<Moe>("moe tokens=64 hidden=512 intermediate=256 topk=2 experts=8 gated=no");
    CHECK(expert_bytes(plain) == 3.0 * 512.0 * 256.0 * 2.0);
    // Half a byte each, and two bytes for 128 of them.
    CHECK(expert_bytes(narrow) == 3.0 * 512.0 * 256.0 * (0.5 + 2.0 / 128.0));
    CHECK(expert_bytes(open) == 2.0 * 512.0 * 256.0 * 2.0);
    CHECK(moe_work(open).tensor.base() == Approx(moe_work(plain).tensor.base() * 2.0 / 3.0));
    const auto published =
        make<Moe>("moe tokens=1 hidden=2688 intermediate=1856 topk=6 experts=128");
    CHECK_FALSE(published.gated);
    CHECK(make<Moe>("moe tokens=1 hidden=2688 intermediate=1856 topk=6 experts=128 gated").gated);
    CHECK_THROWS_AS(make<Moe>("moe tokens=1 hidden=8 intermediate=8 topk=1 experts=1 dtype=int4"),
                    InputError);
}

TEST_CASE("new operations have a time, a bound and a footprint on every GPU with the type",
          "[recurrence][token_wise]") {
    for (const char* text : {"gdn seq=4096 k_heads=16 v_heads=32", "kda seq=1 batch=64 k_heads=32",
                             "mamba2 seq=512 heads=64 part=conv+scan"}) {
        const Outcome outcome = predict(make<Recurrence>(text), {}, h200());
        const auto& prediction = std::get<Prediction>(outcome);
        CHECK(prediction.time >= prediction.lower_bound);
        CHECK(prediction.footprint > Bytes{});
    }
    const Outcome outcome = predict(make<TokenWise>("rope rows=4096 cols=8192"), {}, h200());
    CHECK(std::get<Prediction>(outcome).limiter == Resource::dram);
}

}  // namespace
}  // namespace ridge::model
