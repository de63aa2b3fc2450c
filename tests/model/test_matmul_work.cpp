// Counts of a matrix product: FLOP, bytes and intensity worked by hand, tiles, waves, alignment.
#include "model/matmul/work.h"

#include "tests/catch.h"

namespace ridge::model {
namespace {

Matmul matmul(std::int64_t m, std::int64_t n, std::int64_t k, DataType type = DataType::fp16) {
    return {.m = m, .n = n, .k = k, .type = type, .output = type};
}

constexpr std::int64_t a100_sms = 108;

TEST_CASE("FLOP, bytes and intensity of square and thin products", "[matmul]") {
    // 8192 x 128 x 8192: 2 m n k = 17179869184 FLOP over 2 (m k + k n + m n) = 138412032 B.
    const Work thin = matmul_work(matmul(8192, 128, 8192), true);
    CHECK(thin.flop().base() == 17179869184.0);
    CHECK(thin.compulsory().base() == 138412032.0);
    CHECK((thin.flop() / thin.compulsory()).base() == Approx(124.1).margin(0.05));

    // Edge e in fp16: 2 e^3 / (2 x 3 e^2) = e / 3.
    const Work square = matmul_work(matmul(8192, 8192, 8192), true);
    CHECK((square.flop() / square.compulsory()).base() == Approx(8192.0 / 3.0).epsilon(1e-12));
}

TEST_CASE("the product runs on the requested pipe", "[matmul]") {
    const Matmul op = matmul(64, 32, 16);
    const Work tensor = matmul_work(op, true);
    CHECK(tensor.tensor.base() == 2.0 * 64 * 32 * 16);
    CHECK(tensor.fma == Flop{});
    const Work vector = matmul_work(op, false);
    CHECK(vector.tensor == Flop{});
    CHECK(vector.fma == tensor.tensor);
    CHECK(vector.compulsory() == tensor.compulsory());
}

TEST_CASE("bytes follow the types of the operands and of the output", "[matmul]") {
    Matmul op = matmul(8, 4, 2, DataType::fp8);
    op.output = DataType::fp32;
    const Work work = matmul_work(op, true);
    CHECK(work.compulsory_read.base() == 8 * 2 + 2 * 4);
    CHECK(work.compulsory_write.base() == 8 * 4 * 4);
    CHECK(work.dram() == work.compulsory());
    CHECK(work.kernels == 1);
}

TEST_CASE("a batch multiplies work, bytes and tiles", "[matmul]") {
    Matmul op = matmul(96, 80, 64);
    const Work one = matmul_work(op, true);
    op.batch = 7;
    const Work seven = matmul_work(op, true);
    CHECK(seven.flop() == one.flop() * 7.0);
    CHECK(seven.compulsory_read == one.compulsory_read * 7.0);
    CHECK(seven.compulsory_write == one.compulsory_write * 7.0);
    CHECK(matmul_tile_traffic(op, {32, 16, 0}) ==
          matmul_tile_traffic(matmul(96, 80, 64), {32, 16, 0}) * 7.0);
    CHECK(matmul_tiling(op, {32, 16, 0}, a100_sms, 1).tiles == 7 * 3 * 5);
}

TEST_CASE("epilogues add vector work and the operand they read", "[matmul]") {
    Matmul op = matmul(100, 50, 10);
    const Work plain = matmul_work(op, true);
    const double outputs = 100.0 * 50.0;
    const auto extra_read = [&plain](const Work& work) {
        return (work.compulsory_read - plain.compulsory_read).base();
    };

    op.epilogue = Epilogue::bias;
    CHECK(matmul_work(op, true).fma.base() == outputs);
    CHECK(extra_read(matmul_work(op, true)) == 50 * 2);
    op.epilogue = Epilogue::bias_relu;
    CHECK(matmul_work(op, true).fma.base() == 2 * outputs);
    CHECK(extra_read(matmul_work(op, true)) == 50 * 2);
    op.epilogue = Epilogue::bias_gelu;
    CHECK(matmul_work(op, true).special == 2 * outputs);  // gelu_tanh of table E3
    CHECK(matmul_work(op, true).fma.base() == (1 + 23) * outputs);
    CHECK(extra_read(matmul_work(op, true)) == 50 * 2);
    op.epilogue = Epilogue::accumulate;
    CHECK(matmul_work(op, true).fma.base() == outputs);
    CHECK(extra_read(matmul_work(op, true)) == outputs * 2);
    CHECK(matmul_work(op, true).compulsory_write == plain.compulsory_write);
}

TEST_CASE("tiles and waves at the edge of a wave", "[matmul]") {
    const Tile tile{256, 128, 32};
    // 1792 = 7 x 256 = 14 x 128: 98 tiles fill 98 / 108 of one wave.
    const Tiling fits = matmul_tiling(matmul(1792, 1792, 1792), tile, a100_sms, 1);
    CHECK(fits.tiles == 98);
    CHECK(fits.waves == 1);
    CHECK(fits.tile_efficiency == 1.0);
    CHECK(fits.wave_efficiency == Approx(98.0 / 108.0).epsilon(1e-12));

    // One more row and column: 8 x 15 = 120 tiles, two waves of 216 slots.
    const Tiling spills = matmul_tiling(matmul(1793, 1793, 1793), tile, a100_sms, 1);
    CHECK(spills.tiles == 120);
    CHECK(spills.waves == 2);
    CHECK(spills.tile_efficiency == Approx(1793.0 * 1793.0 / (2048.0 * 1920.0)).epsilon(1e-12));
    CHECK(spills.wave_efficiency == Approx(120.0 / 216.0).epsilon(1e-12));
}

TEST_CASE("resident blocks change the slots, and splits change the pieces", "[matmul]") {
    const Matmul op = matmul(1793, 1793, 1793);
    const Tile tile{256, 128, 32};
    CHECK(matmul_tiling(op, tile, a100_sms, 2).waves == 1);
    const Tiling split = matmul_tiling(op, tile, a100_sms, 1, 3);
    CHECK(split.tiles == 120);
    CHECK(split.split == 3);
    CHECK(split.waves == 4);  // ceil(360 / 108)
}

TEST_CASE("tiling divides the operand traffic by the tile edge", "[matmul]") {
    const Matmul op = matmul(1024, 1024, 1024);
    const Bytes output = 1024.0 * 1024.0 * 2.0 * units::B;
    const Bytes untiled = matmul_tile_traffic(op, {1, 1, 1}) - output;
    // Without tiles, each element of C reads a row of A and a column of B: 2 m n k elements.
    CHECK(untiled.base() == 2.0 * 2.0 * 1024.0 * 1024.0 * 1024.0);
    for (const std::int32_t edge : {2, 16, 32, 64, 128, 256}) {
        const Bytes tiled = matmul_tile_traffic(op, {edge, edge, 8}) - output;
        CHECK((untiled / tiled) == Approx(edge).epsilon(1e-12));
    }
}

TEST_CASE("a tile as large as C reads each operand once", "[matmul]") {
    const Matmul op = matmul(300, 200, 77);
    CHECK(matmul_tile_traffic(op, {300, 200, 8}) == matmul_work(op, true).compulsory());
    CHECK(matmul_tile_traffic(op, {4096, 4096, 8}) == matmul_work(op, true).compulsory());
}

TEST_CASE("alignment is that of the least aligned leading dimension", "[matmul]") {
    CHECK(matmul_alignment(matmul(4096, 4096, 4096)) == 16);
    CHECK(matmul_alignment(matmul(4096, 4096, 4097)) == 2);  // A is [m, k]
    CHECK(matmul_alignment(matmul(4096, 4098, 4096)) == 4);  // B and C are [k, n] and [m, n]
    CHECK(matmul_alignment(matmul(4097, 4096, 4096)) == 16);
    Matmul column = matmul(4097, 4096, 4096);
    column.a_layout = Layout::column_major;  // A's leading dimension is m
    CHECK(matmul_alignment(column) == 2);
    Matmul transposed = matmul(4096, 4096, 4100);
    transposed.b_layout = Layout::column_major;
    CHECK(matmul_alignment(transposed) == 8);
    CHECK(matmul_alignment(matmul(4096, 4096, 4097, DataType::fp8)) == 1);
}

}  // namespace
}  // namespace ridge::model
