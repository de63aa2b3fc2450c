// Limits of the model of bundled streaming kernels, worked by hand.
#include <cmath>

#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "model/roof/band.h"
#include "model/streams/bundled_rows.h"
#include "model/streams/bundled_streams.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

/// Round numbers: 100 SMs at 1 GHz, 1 TB/s, 30 MB of L2.
MemoryParameters round_blocks() {
    MemoryParameters m;
    m.sm_count = 100;
    m.clock = 1.0 * units::GHz;
    m.threads_per_sm = 2048;
    m.blocks_per_sm = 32;
    m.fp32_lanes = 100;
    m.fp64_lanes = 50;
    m.special_lanes = 10;
    m.dram = 1.0 * units::TB / units::s;
    m.l2_read = 4.0 * units::TB / units::s;
    m.l2_write = 2.0 * units::TB / units::s;
    m.port = 64.0 * units::GB / units::s;
    m.l2 = {.size = 30.0 * units::MB, .steepness = 10.0, .absorbed = 0.1, .dirty = 0.3};
    m.launch = {.kernel = 0.5 * units::us,
                .graph = 0.6 * units::us,
                .stream = 3.0 * units::us,
                .call = 5.0 * units::us};
    m.l2_latency = 0.25 * units::us;
    m.bundled = {.first_dram = 1.0 * units::us,
                 .scatter = 0.5 * units::TB / units::s,
                 .tile_rate = 4.0,
                 .further_load = 0.4,
                 .reduction_slots = 150.0,
                 .element_slots = 10.0,
                 .narrow_slots = 8.0,
                 .flop_clocks = 3.0,
                 .code = {.evicted = 0.18}};
    return m;
}

TEST_CASE("a small kernel takes an empty kernel and the life of a block", "[bundled]") {
    const MemoryParameters m = round_blocks();
    const BlockTraffic moved = stream_traffic(m, 1.0 * units::kB, 1.0 * units::kB, L2State::warm);
    CHECK(moved.missing < 1e-6);
    const Time life = first_load(m, moved.missing);
    CHECK(life.in(units::us) == Approx(0.25));
    const KernelTime t = block_time(m, {.traffic = moved, .life = life});
    // 1 kB each way through the port of one multiprocessor at 64 GB/s takes 31 ns more.
    CHECK(t.total.in(units::us) == Approx(0.5 + 0.25 + 0.03125).epsilon(1e-3));
}

TEST_CASE("with few blocks, some multiprocessors have more than others", "[bundled]") {
    const MemoryParameters m = round_blocks();
    CHECK(even_share(m, 50) == 50.0);
    CHECK(even_share(m, 100) == 100.0);
    CHECK(even_share(m, 102) == 51.0);
    CHECK(even_share(m, 1e6) == Approx(100.0));
    const auto issue = [&](double blocks) {
        return block_time(m, {.slots = blocks * 1e5, .lanes = 100.0, .blocks = blocks}).fma;
    };
    CHECK(issue(100).in(units::us) == Approx(1.0));
    CHECK(issue(102).in(units::us) == Approx(2.0));
}

TEST_CASE("rounds of blocks wait for each other", "[bundled]") {
    const MemoryParameters m = round_blocks();
    CHECK(whole_rounds(m, 400, 4) == 1.0);
    CHECK(whole_rounds(m, 401, 4) == 2.0);
    CHECK(whole_rounds(m, 1, 4) == 1.0);
    const auto total = [&](double rounds) {
        return block_time(m, {.rounds = rounds, .life = 1.0 * units::us}).total.in(units::us);
    };
    CHECK(total(1) == Approx(1.5));
    CHECK(total(11) == Approx(11.5));
    CHECK(resident_blocks(m, 256, 32) == 8.0);
    CHECK(resident_blocks(m, 256, 64) == 4.0);
    CHECK(resident_blocks(m, 32, 16) == 32.0);
}

TEST_CASE("a chain finds the output of its last kernel in L2", "[bundled]") {
    const Expression expression = parse_expression("(x + y) * (x - y)");
    const KernelChain& chain = expression.chain();
    REQUIRE(chain.steps.size() == 3);
    CHECK(chain.tensors == 5.0);
    // x + y: the subtraction of the previous run last used both. In between lie the result, x, y
    // and both intermediates.
    CHECK(chain.steps[0].reads == 2);
    CHECK_FALSE(chain.steps[0].made[0]);
    CHECK(chain.steps[0].distance[0] == 5.0);
    // x - y: both were used one kernel ago, and x + y was written since.
    CHECK(chain.steps[1].made[0]);
    CHECK(chain.steps[1].distance[0] == 4.0);
    // The product reads the sum (two kernels ago) and the difference (the last kernel).
    CHECK(chain.steps[2].distance[0] == 5.0);
    CHECK(chain.steps[2].distance[1] == 5.0);
    CHECK(parse_expression("x").chain().steps.size() == 1);
}

TEST_CASE("an unfused chain that fits in L2 keeps its intermediates out of DRAM", "[bundled]") {
    const MemoryParameters m = round_blocks();
    const auto time = [&](std::int64_t elements, L2State l2) {
        const Elementwise op{.expression = parse_expression("exp(x + 1)"),
                             .elements = elements,
                             .type = DataType::fp32};
        return bundled_elementwise_time(m, op, Implementation::unfused, l2);
    };
    const KernelTime small = time(1'000'000, L2State::cold);
    CHECK(small.dram_read.in(units::MB) == Approx(4.0).epsilon(0.01));  // x alone
    const KernelTime large = time(100'000'000, L2State::warm);
    CHECK(large.dram_read.in(units::MB) == Approx(800.0).epsilon(0.01));
    CHECK(large.dram_write.in(units::MB) == Approx(800.0).epsilon(0.01));
}

TEST_CASE("double precision costs more if functions are polynomials", "[bundled]") {
    const Expression expression = parse_expression("exp(x) / 2");
    const KernelChain& chain = expression.chain();
    CHECK(chain.cost.special == 1.0);
    CHECK(chain.double_cost.special == 0.0);
    CHECK(chain.double_cost.flop == Approx(31.0));
}

TEST_CASE("softmax times change with whole vectors, the L2 state and rows read twice",
          "[bundled]") {
    const MemoryParameters m = round_blocks();
    const auto softmax = [&](std::int64_t rows, std::int64_t cols, L2State l2) {
        return bundled_row_time(
            m, {.kind = RowKind::softmax, .rows = rows, .cols = cols, .type = DataType::fp32}, l2);
    };
    // One column more than whole vectors: elements are loaded one after the other, twice.
    CHECK(softmax(64, 4097, L2State::warm).total > 1.5 * softmax(64, 4096, L2State::warm).total);
    CHECK(softmax(64, 4096, L2State::cold).total > softmax(64, 4096, L2State::warm).total);
    // Resident rows of 512 KiB do not stay in L2, so the second read comes from DRAM.
    const KernelTime wide = softmax(4096, 131072, L2State::warm);
    CHECK(wide.dram_read.in(units::GB) == Approx(2.0 * 2.147).epsilon(0.01));
    CHECK(softmax(4096, 4096, L2State::warm).dram_read.in(units::MB) == Approx(67.1).epsilon(0.01));
}

TEST_CASE("a sum reads a row and writes one number", "[bundled]") {
    const MemoryParameters m = round_blocks();
    const RowWise op{.kind = RowKind::sum, .rows = 1 << 20, .cols = 1024, .type = DataType::fp32};
    const KernelTime t = bundled_row_time(m, op, L2State::warm);
    CHECK(t.dram_read.in(units::GB) == Approx(4.295).epsilon(0.001));
    CHECK(t.dram_write.in(units::MB) == Approx(4.19).epsilon(0.01));
}

TEST_CASE("a manual softmax is five kernels that share the L2", "[bundled]") {
    const MemoryParameters m = round_blocks();
    const auto manual = [&](std::int64_t rows, L2State l2) {
        return manual_softmax_time(
            m, {.kind = RowKind::softmax, .rows = rows, .cols = 1024, .type = DataType::fp32}, l2);
    };
    CHECK(manual(1, L2State::warm).total > 5.0 * m.launch.kernel);
    // 1 MB per matrix: if L2 is cold, x is read once from DRAM and found four times.
    CHECK(manual(256, L2State::cold).dram_read.in(units::MB) == Approx(1.05).epsilon(0.01));
    CHECK(manual(1 << 18, L2State::cold).dram_read.in(units::GB) ==
          Approx(5.0 * 1.0737).epsilon(0.01));
}

TEST_CASE("a naive transpose moves a sector per element", "[bundled]") {
    const MemoryParameters m = round_blocks();
    const Transpose op{.rows = 4096, .cols = 4096, .type = DataType::fp32};
    const KernelTime naive = bundled_transpose_time(m, op, Implementation::naive, L2State::cold);
    // 16.8 million sectors of 32 B at 0.5 TB/s.
    CHECK(naive.l2.in(units::us) == Approx(4096.0 * 4096 * 32 / 0.5e6).epsilon(1e-6));
    CHECK(naive.dram_read.in(units::MB) == Approx(67.1 * 1.18).epsilon(0.001));
    const KernelTime tiled = bundled_transpose_time(m, op, Implementation::tiled, L2State::cold);
    CHECK(tiled.total < naive.total);
    // Rows that are not whole vectors are moved element by element.
    const Transpose odd{.rows = 4095, .cols = 4095, .type = DataType::fp32};
    CHECK(bundled_transpose_time(m, odd, Implementation::tiled, L2State::cold).total > tiled.total);
}

TEST_CASE("a gather finds rows in L2 as long as the table fits", "[bundled]") {
    const MemoryParameters m = round_blocks();
    const auto read = [&](std::int64_t table) {
        const Gather op{.rows = 1 << 20, .cols = 64, .table_rows = table, .type = DataType::fp32};
        return bundled_gather_time(m, op, 32, L2State::cold).dram_read.in(units::MB);
    };
    const double indices = 8.0 * (1 << 20) / 1e6;
    CHECK(read(100) == Approx(indices + 0.0256).epsilon(0.01));
    CHECK(read(100'000'000) == Approx(indices + 268.4).epsilon(0.01));
    CHECK(read(200'000) > indices + 51.2);  // the table once, and again the rows that left L2
}

TEST_CASE("in a stream, a bundled kernel takes one call and a framework's takes longer",
          "[bundled]") {
    const auto catalogue = model::catalogue();
    Machine machine = make_machine(catalogue.at("h200-sxm"));
    machine.residuals =
        nullptr;  // the analytic model, because a correction also multiplies the call
    const auto time = [&](Execution execution) {
        const Elementwise op{.expression = parse_expression("x + 1"), .elements = 1024};
        return std::get<Prediction>(predict(op, execution, machine)).time.in(units::us);
    };
    const double kernel = time({.implementation = Implementation::fused});
    const double graph =
        time({.implementation = Implementation::fused, .launch = LaunchMode::graph});
    const double stream =
        time({.implementation = Implementation::fused, .launch = LaunchMode::stream});
    CHECK(graph - kernel == Approx(machine.launch.gap().in(units::us)));
    CHECK(stream - kernel == Approx((machine.launch.call - machine.launch.kernel).in(units::us)));
    CHECK(time({.launch = LaunchMode::stream}) > 2.0 * stream);
}

TEST_CASE("calls that wait for the host have the band of host calls", "[bundled]") {
    const Machine machine = make_machine(model::catalogue().at("h200-sxm"));
    const auto high = [&](std::int64_t elements, LaunchMode launch) {
        const auto p = std::get<Prediction>(
            predict(Copy{.elements = elements, .type = DataType::fp32},
                    {.implementation = Implementation::bundled, .launch = launch}, machine));
        return p.high / p.time;
    };
    CHECK(high(1000, LaunchMode::stream) == Approx(std::exp(band_row(BandClass::host_call).high)));
    CHECK(high(1000, LaunchMode::kernel) < 1.2);
    CHECK(high(1 << 28, LaunchMode::stream) == Approx(high(1 << 28, LaunchMode::kernel)));
}

}  // namespace
}  // namespace ridge::model
