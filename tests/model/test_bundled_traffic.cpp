// Sectors that the bundled streaming kernels move: rules worked by hand, and counters of an H200.
#include "model/catalogue/catalogue.h"
#include "model/streams/bundled_traffic.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/model/parsed.h"

namespace ridge::model {
namespace {

using test::h200;

const MemoryParameters& memory() {
    return *h200().memory;
}

double bytes(const std::string& text, Implementation implementation) {
    return test::prediction_of(text, {.implementation = implementation}, h200()).work.l2.base();
}

TEST_CASE("a norm reads its weights once per multiprocessor", "[bundled]") {
    const RowWise op{.kind = RowKind::layernorm, .rows = 128, .cols = 4096, .type = DataType::bf16};
    const double row = 8192.0;
    SectorBytes moved = bundled_sectors(memory(), op, Implementation::fused);
    CHECK(moved.read.base() == 128 * row + 128 * 2 * row);  // 128 blocks
    CHECK(moved.write.base() == 128 * row);
    RowWise many = op;
    many.rows = 65536;
    moved = bundled_sectors(memory(), many, Implementation::fused);
    CHECK(moved.read.base() == 65536 * row + memory().sm_count * 2 * row);
}

TEST_CASE("rows that begin inside a sector touch one more", "[bundled]") {
    const RowWise even{.kind = RowKind::softmax, .rows = 1000, .cols = 512, .type = DataType::bf16};
    RowWise odd = even;
    odd.cols = 511;
    const SectorBytes whole = bundled_sectors(memory(), even, Implementation::fused);
    const SectorBytes ragged = bundled_sectors(memory(), odd, Implementation::fused);
    CHECK(whole.read.base() == 1000 * 1024.0);
    CHECK(whole.write.base() == 1000 * 1024.0);
    CHECK(ragged.read.base() == Approx(1000 * (1022.0 + 30.0)).epsilon(1e-3));
    CHECK(ragged.write.base() == Approx(1000 * (1022.0 + 0.86 * 16 * 30.0)));
}

TEST_CASE("a row that does not fit in L1 is read twice", "[bundled]") {
    const RowWise op{.kind = RowKind::softmax, .rows = 512, .cols = 131072, .type = DataType::bf16};
    const SectorBytes moved = bundled_sectors(memory(), op, Implementation::fused);
    const double matrix = 512.0 * 131072 * 2;
    CHECK(moved.read.base() / matrix == Approx(1.997).epsilon(0.06));  // counted on an H200
    CHECK(moved.write.base() == matrix);
}

// l1tex__m_xbar2l1tex_read_bytes + l1tex__m_l1tex2xbar_write_bytes on an H200.
TEST_CASE("sectors agree with hardware counters", "[bundled]") {
    constexpr auto fused = Implementation::fused;
    constexpr auto unfused = Implementation::unfused;
    const auto agrees = [](double predicted, double counted, double share) {
        CHECK(predicted == Approx(counted).epsilon(share));
    };
    agrees(bytes("rmsnorm dtype=fp32 rows=4096 cols=512", fused), 8658944 + 8388608, 0.001);
    agrees(bytes("layernorm dtype=bf16 rows=8192 cols=8192", fused), 138609280 + 134217728, 0.001);
    agrees(bytes("sum dtype=bf16 rows=8192 cols=1024", fused), 16777216 + 248064, 0.002);
    agrees(bytes("softmax dtype=bf16 rows=4096 cols=128", Implementation::manual),
           5503680 + 3310080, 0.02);
    agrees(bytes("elementwise dtype=bf16 elements=65536 expr=\"gelu_tanh(x + bias)\"", unfused),
           393216 + 262144, 0.001);
    agrees(bytes("elementwise dtype=fp32 elements=4194304 expr=\"gelu_tanh(x + bias)\"", fused),
           18934784 + 16777216, 0.001);
    const auto bundled = Implementation::bundled;
    agrees(bytes("gather dtype=bf16 rows=65536 cols=128 table_rows=200000", bundled),
           17283968 + 16777216, 0.002);
    const auto tiled = Implementation::tiled;
    agrees(bytes("transpose dtype=bf16 rows=4096 cols=4096", tiled), 33554432 + 51201920, 0.02);
    agrees(bytes("transpose dtype=fp32 rows=1024 cols=1024", Implementation::naive),
           4194304 + 33554432, 0.001);
}

TEST_CASE("a ragged gather moves the sectors that the runs of a warp touch", "[bundled]") {
    // 592 bytes: a run of 512 from the start or middle of a sector, then a run of 80.
    const Gather vectors{
        .rows = 1000000, .cols = 148, .table_rows = 1 << 30, .type = DataType::fp32};
    CHECK(bundled_sectors(memory(), vectors).write.base() ==
          Approx(1e6 * ((512.0 + 16.0) + (80.0 + 16.0))));
    // 194 bytes are 97 elements: one lane takes 4, the others 3 each.
    const Gather elements{
        .rows = 1000000, .cols = 97, .table_rows = 1 << 30, .type = DataType::bf16};
    CHECK(bundled_sectors(memory(), elements).write.base() == Approx(1e6 * (194.0 + 7 * 30.0)));
}

}  // namespace
}  // namespace ridge::model
