// Bundled products: the grids that the kernels choose, executed FLOP, sectors, and time.
#include "model/catalogue/catalogue.h"
#include "model/matmul/bundled.h"
#include "model/matmul/traffic.h"
#include "model/predict.h"
#include "model/roof/sector_runs.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

using namespace ridge;
using namespace ridge::model;

namespace {

using test::h200;

Matmul product(std::int64_t m, std::int64_t n, std::int64_t k, DataType type) {
    return {.m = m, .n = n, .k = k, .type = type, .output = type};
}

Prediction predicted(const Matmul& op, Implementation implementation, L2State l2 = L2State::warm) {
    const Outcome outcome = predict(op, {.implementation = implementation, .l2 = l2}, h200());
    return std::get<Prediction>(outcome);
}

BundledGrid grid_of(const Matmul& op, Implementation implementation) {
    const MatmulSituation situation{.op = op,
                                    .machine = h200(),
                                    .parameters = *h200().matmul.find(MatmulPipe::tensor),
                                    .peak = *h200().tensor_peak(DataType::bf16)};
    return bundled_grid(situation, implementation, *bundled_kernel(implementation));
}

constexpr Implementation vector_kernels[] = {Implementation::naive, Implementation::coalesced,
                                             Implementation::tiled, Implementation::register_tiled};

}  // namespace

TEST_CASE("a run touches more sectors the less aligned its starts are") {
    CHECK(bytes_in_runs(128, 128) == 128.0);
    CHECK(128.0 + beside_run(16) == 4.5 * 32.0);   // starts at bytes 0 and 16: 4 and 5 sectors
    CHECK(128.0 + beside_run(4) == 4.875 * 32.0);  // one start in eight needs 4, the others 5
    CHECK(2.0 + beside_run(2) == 32.0);
}

TEST_CASE("the wgmma kernel takes the small tile if the large one leaves SMs idle") {
    // 4 x 4 clusters of 256 x 256, or 4 x 8 of 256 x 128: one round of 66 slots either way.
    CHECK(grid_of(product(1024, 1024, 1024, DataType::bf16), Implementation::wgmma).tile.n == 128);
    CHECK(grid_of(product(4096, 4096, 4096, DataType::bf16), Implementation::wgmma).tile.n == 256);
    const BundledGrid grid =
        grid_of(product(4096, 4096, 4096, DataType::bf16), Implementation::wgmma);
    CHECK(grid.units == 256.0);
    CHECK(grid.slots == 66.0);
    CHECK(grid.busiest == 4.0);
    CHECK(grid.steps == 64.0);
}

TEST_CASE("a tile without a depth has the kernel's depth, and small tiles share a multiprocessor") {
    const Matmul op = product(4096, 4096, 4096, DataType::fp32);
    const auto time_of = [&op](Implementation implementation, std::optional<Tile> tile) {
        const Execution execution{.implementation = implementation, .tile = tile};
        return std::get<Prediction>(predict(op, execution, h200())).time;
    };
    for (const Implementation each : {Implementation::tiled, Implementation::register_tiled}) {
        const Tile own = bundled_kernel(each)->layout.tile;
        CHECK(time_of(each, Tile{own.m, own.n, 0}).base() ==
              Approx(time_of(each, std::nullopt).base()).epsilon(0.01));
    }
    // Smaller tiles read more, but four times the blocks with a quarter of the threads hide waits.
    const Time small = time_of(Implementation::tiled, Tile{16, 16, 0});
    CHECK(small > time_of(Implementation::tiled, std::nullopt));
    CHECK(small < 3.0 * time_of(Implementation::tiled, std::nullopt));
    CHECK(time_of(Implementation::tiled, Tile{1, 1, 0}) >
          time_of(Implementation::naive, std::nullopt));
}

TEST_CASE("with element loads of both operands, one register-tiled block fits per SM") {
    const auto resident = [](std::int64_t n, std::int64_t k) {
        return grid_of(product(512, n, k, DataType::fp32), Implementation::register_tiled).resident;
    };
    CHECK(resident(512, 64) == 2.0);
    CHECK(resident(509, 64) == 2.0);
    CHECK(resident(512, 65) == 2.0);
    CHECK(resident(509, 65) == 1.0);
}

TEST_CASE("a register-tiled step is longest if exactly one operand is loaded by elements") {
    // Measured on an H200 with at most 132 blocks, each alone on its multiprocessor.
    const auto time = [](std::int64_t n, std::int64_t k) {
        return predicted(product(1001, n, k, DataType::fp32), Implementation::register_tiled)
            .time.in(units::us);
    };
    CHECK(time(700, 400) == Approx(46.1).epsilon(0.05));
    CHECK(time(1333, 400) == Approx(56.4).epsilon(0.05));
    CHECK(time(1333, 1023) == Approx(115.9).epsilon(0.05));
    CHECK(time(2048, 1023) == Approx(133.0).epsilon(0.05));
}

TEST_CASE("the last round of blocks takes only the time of its own blocks") {
    // 320 blocks on 132 multiprocessors, two at a time: a full round, then single blocks.
    const Matmul op = product(2500, 2048, 400, DataType::fp32);
    const BundledGrid grid = grid_of(op, Implementation::register_tiled);
    CHECK(grid.busiest == 3.0);
    CHECK(predicted(op, Implementation::register_tiled).time.in(units::us) ==
          Approx(126.3).epsilon(0.04));  // measured on an H200
}

TEST_CASE("rows that straddle cache lines slow down the copies of wgmma") {
    const auto time = [](std::int64_t n, std::int64_t k) {
        return predicted(product(5000, n, k, DataType::bf16), Implementation::wgmma)
            .time.in(units::us);
    };
    CHECK(time(2056, 3000) == Approx(120.2).epsilon(0.12));  // measured on an H200
    CHECK(time(2056, 3000) > 1.1 * time(2048, 3008));
    CHECK(cluster_line_bytes(product(256, 128, 64, DataType::bf16),
                             grid_of(product(256, 128, 64, DataType::bf16), Implementation::wgmma))
              .base() == 256.0 * 128.0 + 64.0 * 256.0);
    CHECK(cluster_line_bytes(product(256, 128, 72, DataType::bf16),
                             grid_of(product(256, 128, 72, DataType::bf16), Implementation::wgmma))
              .base() == Approx(256.0 * 144.0 * 1.875 + 72.0 * 256.0));
}

TEST_CASE("tiled kernels multiply their padding, untiled kernels have none") {
    const Matmul odd = product(100, 100, 100, DataType::fp32);
    CHECK(predicted(odd, Implementation::naive).executed_fma.base() == 2e6);
    CHECK(predicted(odd, Implementation::coalesced).executed_fma.base() == 2e6);
    CHECK(predicted(odd, Implementation::tiled).executed_fma.base() == 2.0 * 128 * 128 * 128);
    CHECK(predicted(odd, Implementation::register_tiled).executed_fma.base() ==
          2.0 * 128 * 128 * 104);
    const Matmul skinny = product(100, 104, 104, DataType::bf16);
    CHECK(predicted(skinny, Implementation::mma).executed_tensor.base() == 2.0 * 128 * 128 * 128);
    // A cluster has two blocks of 128 rows, whatever m is.
    CHECK(predicted(skinny, Implementation::wgmma).executed_tensor.base() == 2.0 * 256 * 128 * 128);
}

TEST_CASE("L2 traffic of whole tiles is the operands divided by the tile edges") {
    // 32 x 32 clusters of 256 x 256 read A once per column of tiles and B once per 128 rows,
    // because both blocks of a cluster receive B.
    const Matmul op = product(8192, 8192, 8192, DataType::bf16);
    const double once = 2.0 * 8192.0 * 8192.0;
    const double tiled = once * (8192.0 / 256.0 + 8192.0 / 128.0 + 1.0);
    CHECK(predicted(op, Implementation::wgmma).work.l2.base() == Approx(tiled));
    const Matmul whole = product(512, 512, 512, DataType::bf16);
    const double operands = 2.0 * 512.0 * 512.0 * (4.0 + 4.0);
    CHECK(predicted(whole, Implementation::mma).work.l2.base() ==
          Approx(operands + 1.65 * 2.0 * 512.0 * 512.0));
}

TEST_CASE("L2 traffic of ragged tiles agrees with counters of an H200") {
    struct Counted {
        Implementation implementation;
        std::int64_t m, n, k;
        double loaded, stored;  // l1tex__m_xbar2l1tex_read_bytes, l1tex__m_l1tex2xbar_write_bytes
    };
    constexpr Counted runs[] = {
        // The copy engine moves whole boxes: rows beyond m and n arrive as zeros.
        {Implementation::wgmma, 8, 256, 256, 524288.0, 4096.0},
        {Implementation::wgmma, 256, 8, 256, 294912.0, 8192.0},
        {Implementation::wgmma, 256, 96, 256, 278528.0, 49152.0},
        {Implementation::wgmma, 256, 248, 256, 630784.0, 143360.0},
        {Implementation::wgmma, 256, 760, 256, 1810432.0, 438272.0},
        {Implementation::wgmma, 256, 2056, 256, 5013504.0, 1187840.0},
        {Implementation::wgmma, 256, 256, 8, 147456.0, 131072.0},
        {Implementation::wgmma, 256, 256, 32, 131072.0, 131072.0},
        {Implementation::wgmma, 256, 256, 1032, 2375680.0, 131072.0},
        {Implementation::wgmma, 256, 256, 3000, 6553600.0, 131072.0},
        {Implementation::wgmma, 1928, 256, 256, 4194304.0, 987136.0},
        {Implementation::wgmma, 1928, 760, 1032, 64470528.0, 3300736.0},
        // Elements that only some blocks own take one sector each.
        {Implementation::tiled, 128, 100, 64, 249856.0, 59392.0},
        {Implementation::tiled, 128, 65, 64, 186368.0, 44032.0},
        {Implementation::tiled, 129, 128, 64, 295936.0, 66048.0},
        {Implementation::tiled, 128, 128, 65, 266240.0, 65536.0},
        {Implementation::register_tiled, 129, 128, 64, 98624.0, 78336.0},
        {Implementation::register_tiled, 128, 128, 65, 66592.0, 65536.0},
    };
    for (const Counted& run : runs) {
        const bool wide = run.implementation != Implementation::wgmma;
        INFO(name_of(run.implementation) << " " << run.m << " " << run.n << " " << run.k);
        const Matmul op = product(run.m, run.n, run.k, wide ? DataType::fp32 : DataType::bf16);
        CHECK(predicted(op, run.implementation).work.l2.base() ==
              Approx(run.loaded + run.stored).epsilon(0.001));
    }
}

TEST_CASE("L2 traffic of library kernels follows from their tiles") {
    struct Counted {
        std::int64_t m, n, k;
        DataType type;
        Tile tile;  // of the kernel that cuBLASLt chose on an H200
        double loaded, stored;
    };
    constexpr Counted runs[] = {
        {2048, 2048, 2048, DataType::bf16, {128, 256, 64}, 201326592.0, 8388608.0},
        {16384, 16384, 16384, DataType::bf16, {192, 192, 64}, 93063449600.0, 537103360.0},
        {1, 14336, 4096, DataType::bf16, {8, 64, 64}, 132122048.0, 30144.0},
        {1000, 1000, 1000, DataType::bf16, {128, 64, 64}, 61467648.0, 2256000.0},
        {5000, 5000, 5000, DataType::bf16, {152, 256, 64}, 3190176256.0, 56336896.0},
        {2048, 2048, 2048, DataType::fp64, {128, 64, 16}, 1610612736.0, 33554432.0},
    };
    for (const Counted& run : runs) {
        INFO(run.m << " " << run.n << " " << run.k);
        const bool boxes = run.type == DataType::bf16;
        const Matmul op = product(run.m, run.n, run.k, run.type);
        CHECK(library_l2_bytes(op, run.tile, 1, boxes).base() ==
              Approx(run.loaded + run.stored).epsilon(0.03));
    }
    // Two parts of k: besides C, each part writes and reads a 4-byte partial sum per element.
    const Matmul split = product(1024, 1024, 1024, DataType::bf16);
    const double more = library_l2_bytes(split, {128, 128, 64}, 2, true).base() -
                        library_l2_bytes(split, {128, 128, 64}, 1, true).base();
    CHECK(more == 2.0 * 8.0 * 1024.0 * 1024.0);
}

TEST_CASE("operands that miss L2 cost time, and nothing is faster than the roofline") {
    for (const Implementation kernel : vector_kernels) {
        const Matmul op = product(700, 300, 500, DataType::fp32);
        const Prediction warm = predicted(op, kernel);
        const Prediction cold = predicted(op, kernel, L2State::cold);
        CHECK(cold.time >= warm.time);
        CHECK(warm.time >= warm.lower_bound);
        CHECK(warm.low <= warm.time);
        CHECK(warm.high >= warm.time);
    }
}

TEST_CASE("groups of tile rows read B again once it has left L2") {
    // 32 x 32 clusters in groups of 8 rows: B (134 MB) is read once for each of four groups.
    const Prediction p =
        predicted(product(8192, 8192, 8192, DataType::bf16), Implementation::wgmma);
    CHECK(p.work.dram_read.in(units::MB) == Approx(1226.0).epsilon(0.08));  // counted
    const Prediction small =
        predicted(product(2048, 2048, 2048, DataType::bf16), Implementation::wgmma, L2State::cold);
    CHECK(small.work.dram_read == small.work.compulsory_read);
}

TEST_CASE("larger square products take longer") {
    for (const Implementation kernel : vector_kernels) {
        Time previous{};
        for (std::int64_t size = 128; size <= 4096; size *= 2) {
            const Time time = predicted(product(size, size, size, DataType::fp32), kernel).time;
            CHECK(time > previous);
            previous = time;
        }
    }
}
