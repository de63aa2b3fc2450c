// The model of memory-bound kernels at its limits, worked by hand.
#include "model/roof/memory_time.h"

#include "model/machine/catalogue.h"
#include "model/predict.h"
#include "model/streams/eager_kernels.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

/// Round numbers: 100 SMs at 1 GHz, 1 TB/s, 50 MB of L2, 1 us and 0.5 us of latency.
MemoryParameters round_streams() {
    MemoryParameters m;
    m.sm_count = 100;
    m.clock = 1.0 * units::GHz;
    m.threads_per_sm = 2048;
    m.blocks_per_sm = 32;
    m.shared_per_block = 100.0 * units::KiB;
    m.fp32_lanes = 128;
    m.fp64_lanes = 64;
    m.special_lanes = 16;
    m.dram = 1.0 * units::TB / units::s;
    m.read_efficiency = 0.9;
    m.write_efficiency = 0.8;
    m.turnaround = 0.05;
    m.dram_latency = 1.0 * units::us;
    m.l2_latency = 0.5 * units::us;
    m.l2_read = 4.0 * units::TB / units::s;
    m.l2_write = 2.0 * units::TB / units::s;
    m.port = 64.0 * units::GB / units::s;
    m.l2.size = 50.0 * units::MB;
    m.l1_size = 200.0 * units::kB;
    m.launch = {.kernel = 0.5 * units::us,
                .graph = 1.0 * units::us,
                .stream = 3.0 * units::us,
                .call = 6.0 * units::us};
    m.eager.launch = 20.0 * units::us;
    return m;
}

StreamWork moved(Bytes read, Bytes write) {
    return {.read = read,
            .write = write,
            .l2_read = read,
            .l2_write = write,
            .slots = 0.0,
            .special = 0.0,
            .lanes = 128.0};
}

constexpr StreamKernel many_in_flight{
    .threads_per_block = 256.0, .blocks_per_sm = 8.0, .bytes_per_thread = 1.0 * units::kB};

TEST_CASE("DRAM takes reads, writes and their mix at different rates", "[memory]") {
    const MemoryParameters m = round_streams();
    // 1 GB at 1 TB/s is 1 ms: 1 / 0.9, 1 / 0.8, and the mean of both plus the turnaround.
    CHECK(dram_time(m, 1.0 * units::GB, Bytes{}).in(units::ms) == Approx(1.0 / 0.9));
    CHECK(dram_time(m, Bytes{}, 1.0 * units::GB).in(units::ms) == Approx(1.0 / 0.8));
    CHECK(dram_time(m, 0.5 * units::GB, 0.5 * units::GB).in(units::ms) ==
          Approx(0.5 / 0.9 + 0.5 / 0.8 + 0.05));
    CHECK(dram_time(m, Bytes{}, Bytes{}) == Time{});
}

TEST_CASE("a large stream with much in flight takes the DRAM time", "[memory]") {
    const MemoryParameters m = round_streams();
    const KernelTime t =
        stream_time(m, moved(10.0 * units::GB, Bytes{}), many_in_flight, L2State::cold);
    CHECK(t.total.in(units::ms) == Approx(10.0 / 0.9).epsilon(0.003));
    CHECK(t.dram_read.in(units::GB) == Approx(10.0));
}

TEST_CASE("few bytes in flight make latency the limit", "[memory]") {
    // 100 SMs x 2048 threads x 1 B in flight over 1 us is 0.2048 TB/s, a fifth of the DRAM: 10 GB
    // take 48.8 ms, to which the DRAM's 11.1 ms add (11.1/48.8)^2.2 / 2.2 = 1.7 %.
    const MemoryParameters m = round_streams();
    StreamKernel kernel = many_in_flight;
    kernel.bytes_per_thread = 1.0 * units::B;
    const KernelTime t = stream_time(m, moved(10.0 * units::GB, Bytes{}), kernel, L2State::cold);
    CHECK(t.latency.in(units::ms) == Approx(10.0 / 0.2048).epsilon(1e-9));
    CHECK(t.total.in(units::ms) == Approx(48.83 * 1.0175).epsilon(0.002));
}

TEST_CASE("what stays in the L2 when warm does not touch the DRAM", "[memory]") {
    const MemoryParameters m = round_streams();
    // 10 MB of 50: kept but for (10 / 43.5)^10 = 4e-7 of it; 8 MB read at 4 TB/s are 2 us and
    // 2 MB written at 2 TB/s another.
    StreamKernel kernel = many_in_flight;
    kernel.bytes_per_thread = 64.0 * units::B;
    const StreamWork work = moved(8.0 * units::MB, 2.0 * units::MB);
    const KernelTime warm = stream_time(m, work, kernel, L2State::warm);
    CHECK(warm.dram_read.in(units::B) < 8.0);
    CHECK(warm.l2.in(units::us) == Approx(3.0));
    const KernelTime cold = stream_time(m, work, kernel, L2State::cold);
    CHECK(cold.dram_read.in(units::MB) == Approx(8.0));
    CHECK(cold.dram_write.in(units::B) < 8.0);
    CHECK(cold.total > warm.total);
}

TEST_CASE("launch: gap of a graph, call and further submissions of a stream", "[memory]") {
    const LaunchCosts costs = round_streams().launch;
    const auto launch = [&](Time duration, double kernels, LaunchMode mode) {
        return launch_overhead(costs, mode, kernels, duration).in(units::us);
    };
    const Time brief = 1.0 * units::us;
    const Time lengthy = 100.0 * units::us;
    CHECK(launch(brief, 2, LaunchMode::kernel) == 0.0);
    CHECK(launch(brief, 2, LaunchMode::graph) == Approx(1.0));
    // An empty kernel of 0.5 us shows as 6 us between two events; a second one of 1 us is submitted
    // 3 us after the first, one behind 100 us at once.
    CHECK(launch(brief, 1, LaunchMode::stream) == Approx(5.5));
    CHECK(launch(brief, 2, LaunchMode::stream) == Approx(5.5 + 2.0));
    CHECK(launch(lengthy, 2, LaunchMode::stream) == Approx(5.5 + 0.5));
}

TEST_CASE("launch: calls of a framework", "[memory]") {
    const MemoryParameters m = round_streams();
    const Time brief = 0.5 * units::us;
    const Time lengthy = 100.0 * units::us;
    const auto launch = [&](Time kernel, double kernels, LaunchMode mode) {
        return framework_launch_time(m, kernel, kernels, mode).in(units::us);
    };
    CHECK(launch(brief, 2, LaunchMode::kernel) == Approx(1.0));
    CHECK(launch(brief, 2, LaunchMode::graph) == Approx(2.0));
    CHECK(launch(brief, 2, LaunchMode::stream) == Approx(22.5));
    CHECK(launch(lengthy, 2, LaunchMode::stream) == Approx(21.0));
}

TEST_CASE("rows are read again from the chip as far as they stay there", "[memory]") {
    const MemoryParameters m = round_streams();
    const RowKernel twice{.rows_per_sm = 8.0,
                          .read_passes = 2.0,
                          .trips = 1.0,
                          .reductions = 1.0 * units::us,
                          .reuse = 0.4};
    // 800 resident rows of 1 kB are 0.8 MB, of 1 MB are 800 MB; half is lost at 0.4 (20 + 50) MB.
    const auto read_of = [&](Bytes row) {
        const double rows = 1e5;
        return row_time(m, {.rows = rows, .work = moved(row * rows, row * rows)}, twice,
                        L2State::cold)
                   .dram_read /
               (row * rows);
    };
    CHECK(read_of(1.0 * units::kB) == Approx(1.0).epsilon(1e-6));
    CHECK(read_of(1.0 * units::MB) == Approx(2.0).epsilon(1e-6));
    CHECK(read_of(28.0 / 800.0 * units::MB) == Approx(1.5));
}

TEST_CASE("kernels of a framework by row length", "[memory]") {
    const MemoryParameters m = round_streams();
    const auto kernel = [&](RowKind kind, std::int64_t cols, DataType type) {
        return eager_row_kernel({.kind = kind, .rows = 1024, .cols = cols, .type = type}, m);
    };
    CHECK(kernel(RowKind::softmax, 1024, DataType::fp32).read_passes == 1.0);
    CHECK(kernel(RowKind::softmax, 1025, DataType::fp32).read_passes == 3.0);
    CHECK(kernel(RowKind::softmax, 1024, DataType::fp64).read_passes == 3.0);
    CHECK(kernel(RowKind::layernorm, 1024, DataType::fp32).read_passes == 2.0);
    // 4096 fp32: 1024 vectors, 512 threads, two trips; 4160: 16 vectors more, one element each.
    CHECK(kernel(RowKind::softmax, 4096, DataType::fp32).trips == 2.0);
    CHECK(kernel(RowKind::softmax, 4096, DataType::fp32).rows_per_sm == 4.0);
    CHECK(kernel(RowKind::softmax, 4160, DataType::fp32).trips == 3.0);
}

TEST_CASE("a call in a stream is a framework's", "[memory]") {
    const auto catalogue = model::catalogue();
    const Machine machine = make_machine(catalogue.at("a100-pcie-40gb"));
    const Elementwise op{.expression = parse_expression("x + y"), .elements = 1 << 24};
    const auto prediction = [&](Execution execution) {
        return std::get<Prediction>(predict(op, execution, machine));
    };
    const Prediction stream = prediction({.launch = LaunchMode::stream});
    const Prediction eager =
        prediction({.implementation = Implementation::torch, .launch = LaunchMode::stream});
    CHECK(stream.implementation == Implementation::torch);
    CHECK(stream.time == eager.time);
    CHECK(stream.confidence == Confidence::calibrated);
    const Prediction kernel = prediction({});
    CHECK(kernel.implementation == Implementation::fused);
    CHECK((stream.time - kernel.time).in(units::us) == Approx(18.0).epsilon(0.1));
}

TEST_CASE("devices without parameters keep the roofline; families are marked", "[memory]") {
    const auto catalogue = model::catalogue();
    const Copy op{.elements = 1 << 28};
    const auto confidence = [&](std::string_view gpu) {
        const Machine machine = make_machine(catalogue.at(gpu));
        return std::get<Prediction>(predict(op, {}, machine)).confidence;
    };
    CHECK(confidence("mi300x") == Confidence::roofline);
    CHECK(confidence("k80") == Confidence::roofline);
    CHECK(confidence("t4") == Confidence::family);
    CHECK(confidence("h100-sxm") == Confidence::family);
    CHECK(confidence("h200-sxm") == Confidence::calibrated);
    CHECK_FALSE(make_machine(catalogue.at("tpu-v4")).memory.has_value());
}

}  // namespace
}  // namespace ridge::model
