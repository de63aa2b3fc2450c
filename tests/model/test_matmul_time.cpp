// The matrix-product model: limits worked by hand, choices, terms, notes and band.
#include "model/matmul/time.h"

#include <string>

#include "model/matmul/band.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

using namespace ridge;
using namespace ridge::model;
using namespace ridge::units;
using ridge::test::analytic_machine;

namespace {

Prediction predicted(const Matmul& op, const char* gpu, const Execution& execution = {}) {
    return std::get<Prediction>(predict(op, execution, analytic_machine(gpu)));
}

Time term(const Prediction& p, Resource resource) {
    Time time;
    for (const Term& t : p.terms) {
        if (t.resource == resource) time += t.time;
    }
    return time;
}

/// Round numbers: 100 SMs, 100 TFLOP/s, 1 TB/s, 1 GHz, and an L2 that holds nothing.
Machine round_products() {
    Machine m;
    m.name = "round";
    m.compute_capability = 80;
    m.sm_count = 100;
    m.tensor_clock = m.boost_clock = 1.0 * GHz;
    m.dram_bandwidth = 1.0 * TB / s;
    m.tensor[static_cast<std::size_t>(DataType::bf16)] = 100.0 * TFLOP / s;
    MatmulParameters p;
    p.launch = 2.0 * us;
    p.l2_per_sm = 1000.0 * B / cycle;
    p.store_per_sm = 1e9 * B / cycle;
    p.quantisation = 1.0;
    m.matmul.pipes[0] = p;
    return m;
}

const Matmul square_4096{.m = 4096, .n = 4096, .k = 4096};

}  // namespace

TEST_CASE("one tile takes its launch and its k loop at the rate of one multiprocessor") {
    // 128 x 128 x 65536 is 2.147 GFLOP. One SM does 1 TFLOP/s, so it takes 2147.5 us and 2 us of
    // launch. The kernel's own tile is given, so there is no split.
    const Machine m = round_products();
    const Matmul op{.m = 128, .n = 128, .k = 65536};
    const auto p = std::get<Prediction>(predict(op, {.tile = Tile{128, 128, 32}}, m));
    CHECK(p.time.in(us) == Approx(2.0 + 2147.48).epsilon(1e-3));
    CHECK(p.tiling.waves == 1);
    CHECK(p.limiter == Resource::parallelism);  // 99 of 100 multiprocessors idle
}

TEST_CASE("a fixed tile runs in whole waves") {
    // 100 SMs hold 100 tiles; the 101st tile starts a second wave.
    const Machine m = round_products();
    const Execution tile{.tile = Tile{128, 128, 32}};
    const auto time_of = [&](std::int64_t rows) {
        const Matmul op{.m = rows, .n = 1280, .k = 65536};
        return std::get<Prediction>(predict(op, tile, m)).time - 2.0 * us;
    };
    CHECK(time_of(1281) / time_of(1280) == Approx(2.0).epsilon(1e-3));
    CHECK(time_of(1408) / time_of(1281) == Approx(1.0).epsilon(1e-3));
}

TEST_CASE("a DRAM-bound product takes the time of its bytes at the rate that DRAM reaches") {
    Machine m = round_products();
    m.matmul.pipes[0]->dram_fraction = 0.5;
    m.matmul.pipes[0]->gemv_per_sm = Bandwidth{};
    // 16 x 8192 x 8192 in bf16: A 0.26 MB, B 134.2 MB and C 0.26 MB take 269.5 us at 0.5 TB/s. The
    // fourth-power rule combines the reads with the k loop: whole 64 x 64 tiles, 85.9 us.
    const Matmul op{.m = 16, .n = 8192, .k = 8192};
    const auto p = std::get<Prediction>(predict(op, {}, m));
    CHECK(p.work.dram().in(MB) == Approx(134.742).epsilon(1e-4));
    CHECK(term(p, Resource::dram).in(us) == Approx(269.484).epsilon(1e-4));
    CHECK(p.time > 269.4 * us);
    CHECK(p.time < 280.0 * us);
    CHECK(p.limiter == Resource::dram);
}

TEST_CASE("data that stays in L2 is not read from DRAM again unless L2 is cold") {
    const Matmul small{.m = 256, .n = 2048, .k = 2048};
    const auto warm = predicted(small, "h200-sxm");
    const auto cold = predicted(small, "h200-sxm", {.l2 = L2State::cold});
    CHECK(warm.work.dram() < 0.01 * warm.work.compulsory());
    CHECK(noted<note::L2Resident>(warm));
    CHECK(cold.work.dram_read == cold.work.compulsory_read);
    CHECK(cold.time > warm.time);
    CHECK(warm.time >= warm.lower_bound);
    CHECK(warm.algorithmic == cold.algorithmic);
    CHECK(warm.intensity > cold.intensity);
}

TEST_CASE("a replayed graph reads different weights each time") {
    // B is 16.8 MB: one copy would stay in the 60 MiB of L2, but five copies do not.
    const Matmul op{.m = 16, .n = 2048, .k = 4096};
    const auto graph = predicted(op, "h200-sxm", {.launch = LaunchMode::graph});
    CHECK(graph.work.dram_read.in(MB) == Approx(16.78).epsilon(0.01));
    CHECK(noted<note::RotatedWeights>(graph));
    const auto kernel = predicted(op, "h200-sxm");
    CHECK(kernel.work.dram_read < 0.05 * graph.work.dram_read);
}

TEST_CASE("launch modes differ by the gap between kernels") {
    const Machine& m = analytic_machine("h200-sxm");
    const Matmul op{.m = 64, .n = 64, .k = 64};
    const auto kernel = predicted(op, "h200-sxm");
    const auto graph = predicted(op, "h200-sxm", {.launch = LaunchMode::graph});
    CHECK((graph.time - kernel.time).in(us) == Approx(m.library_gap.in(us)));
    const auto stream = predicted(op, "h200-sxm", {.launch = LaunchMode::stream});
    CHECK(stream.time > 40.0 * us);
}

TEST_CASE("few tiles with a long k are split along k") {
    const auto p = predicted({.m = 16, .n = 128, .k = 32768}, "h100-sxm");
    CHECK(p.tiling.split > 1);
    CHECK(p.work.kernels == 2);
    CHECK(noted<note::SplitK>(p));
    const auto large = predicted(square_4096, "h100-sxm");
    CHECK(large.tiling.split == 1);
    CHECK(large.work.kernels == 1);
}

TEST_CASE("a long product runs at the power limit") {
    const auto p = predicted({.m = 16384, .n = 16384, .k = 16384}, "h200-sxm");
    CHECK(noted<note::PowerLimited>(p));
    const double share = (p.work.flop() / p.time) / p.peak;
    CHECK(share > 0.68);
    CHECK(share < 0.78);
}

TEST_CASE("odd extents fall off an alignment cliff, far deeper on Hopper than on Ampere") {
    const auto ratio = [](std::int64_t m, std::int64_t k, const char* gpu) {
        return predicted({.m = m, .n = 50257, .k = k}, gpu).time /
               predicted({.m = m, .n = 50304, .k = k}, gpu).time;
    };
    // Measured on an H200: 1.23 ms and 0.222 ms; 48.9 ms and 9.50 ms.
    CHECK(ratio(2048, 768, "h200-sxm") == Approx(5.6).epsilon(0.15));
    CHECK(ratio(16384, 4096, "h200-sxm") == Approx(5.14).epsilon(0.15));
    CHECK(ratio(8192, 4096, "a100-sxm-80gb") == Approx(1.2).epsilon(0.1));
    CHECK(noted<note::AlignmentCliff>(predicted({.m = 8192, .n = 50257, .k = 4096}, "h200-sxm")));
}

TEST_CASE("rows that start inside an L2 line take longer on Hopper") {
    const auto time = [](std::int64_t size) {
        const Matmul op{.m = size, .n = size, .k = size};
        return predicted(op, "h200-sxm", {.launch = LaunchMode::kernel}).time;
    };
    CHECK(time(1000) > 1.2 * time(1024));
    CHECK(time(1000).in(us) == Approx(7.4).epsilon(0.12));  // measured on an H200
    // A row that is shorter than a line and starts at a multiple of its length lies in one line.
    const Matmul narrow{.m = 4096, .n = 32, .k = 4096};
    const Matmul wide{.m = 4096, .n = 64, .k = 4096};
    CHECK(predicted(narrow, "h200-sxm").time <= predicted(wide, "h200-sxm").time);
}

TEST_CASE("tiles of fp64 leave room for their accumulators") {
    const Matmul op{
        .m = 4096, .n = 4096, .k = 4096, .type = DataType::fp64, .output = DataType::fp64};
    const Prediction p = predicted(op, "h200-sxm");
    CHECK(p.tiling.tile.m * p.tiling.tile.n <= 128 * 64);
}

TEST_CASE("an fp8 product in a graph first quantises its input; the kernel alone does not") {
    const Matmul op{.m = 64, .n = 4096, .k = 4096, .type = DataType::fp8};
    const auto graph = predicted(op, "h200-sxm", {.launch = LaunchMode::graph});
    const auto kernel = predicted(op, "h200-sxm");
    CHECK(graph.work.kernels == kernel.work.kernels + 1);
    CHECK(noted<note::QuantisedInput>(graph));
    CHECK(graph.time > kernel.time + 9.0 * us);
}

TEST_CASE("a product on a GPU without its own fit has a note and a wider band") {
    const auto fitted = predicted(square_4096, "h100-sxm");
    const auto family = predicted(square_4096, "h100-pcie");
    CHECK(fitted.confidence() == Confidence::calibrated);
    CHECK(family.confidence() == Confidence::family);
    CHECK(noted<note::Uncalibrated>(family));
    CHECK(family.high / family.time > fitted.high / fitted.time);
    CHECK(predicted(square_4096, "mi300x").confidence() == Confidence::roofline);
}

TEST_CASE("outside the validated range the band is wider") {
    Matmul batched = square_4096;
    batched.batch = 8;
    const auto p = predicted(batched, "h100-sxm");
    CHECK(noted<note::Extrapolated>(p));
    const auto single = predicted(square_4096, "h100-sxm");
    CHECK_FALSE(noted<note::Extrapolated>(single));
    CHECK(p.high / p.time > single.high / single.time);
}

TEST_CASE("bundled products are faster with coalescing, tiles, registers and wgmma") {
    const auto time_of = [](Implementation impl, DataType type) {
        return predicted({.m = 4096, .n = 4096, .k = 4096, .type = type, .output = type},
                         "h200-sxm", {.implementation = impl})
            .time;
    };
    const Time naive = time_of(Implementation::naive, DataType::fp32);
    const Time coalesced = time_of(Implementation::coalesced, DataType::fp32);
    const Time tiled = time_of(Implementation::tiled, DataType::fp32);
    const Time registers = time_of(Implementation::register_tiled, DataType::fp32);
    CHECK(naive > coalesced);
    CHECK(coalesced > tiled);
    CHECK(tiled > registers);
    CHECK(time_of(Implementation::mma, DataType::bf16) >
          time_of(Implementation::wgmma, DataType::bf16));
}

TEST_CASE("rows aligned to 8 bytes use the 4-byte kernels, rows aligned to 2 bytes slower ones") {
    const auto time_of = [](std::int64_t n) {
        return predicted({.m = 4096, .n = n, .k = 4096}, "h200-sxm").time;
    };
    CHECK(time_of(4100) / time_of(4098) == Approx(1.0).epsilon(0.01));
    CHECK(time_of(4098) > 2.5 * time_of(4104));
    CHECK(time_of(4099) > 1.4 * time_of(4098));
}

TEST_CASE("only a call without a named implementation waits for a framework") {
    const Matmul op{.m = 512, .n = 512, .k = 512};
    const Execution named{.implementation = Implementation::library, .launch = LaunchMode::stream};
    // Such products were measured in calls of 16 us (records/h200-sxm-calls).
    CHECK(predicted(op, "h200-sxm", named).time > 14.0 * us);
    CHECK(predicted(op, "h200-sxm", named).time < 18.0 * us);
    CHECK(predicted(op, "h200-sxm", {.launch = LaunchMode::stream}).time > 40.0 * us);
}

TEST_CASE("kernels that a GPU cannot run are refused with the reason") {
    const Outcome ampere = predict(square_4096, {.implementation = Implementation::wgmma},
                                   analytic_machine("a100-sxm-80gb"));
    CHECK(std::get<NotModelled>(ampere).reason.find("9.0") != std::string::npos);
    Matmul fp32 = square_4096;
    fp32.type = fp32.output = DataType::fp32;
    CHECK(std::holds_alternative<NotModelled>(
        predict(fp32, {.implementation = Implementation::mma}, analytic_machine("h200-sxm"))));
}
