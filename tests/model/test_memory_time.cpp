// Limits of the model of memory-bound kernels, worked by hand.
#include "model/roof/memory_time.h"

#include "model/catalogue/catalogue.h"
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
    m.l2 = {.size = 50.0 * units::MB, .steepness = 10.0, .absorbed = 0.1145, .dirty = 0.3};
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
    // 1 GB at 1 TB/s is 1 ms: 1 / 0.9 for reads, 1 / 0.8 for writes, the mean of both plus the
    // turnaround for half of each.
    CHECK(dram_time(m, 1.0 * units::GB, Bytes{}).in(units::ms) == Approx(1.0 / 0.9));
    CHECK(dram_time(m, Bytes{}, 1.0 * units::GB).in(units::ms) == Approx(1.0 / 0.8));
    CHECK(dram_time(m, 0.5 * units::GB, 0.5 * units::GB).in(units::ms) ==
          Approx(0.5 / 0.9 + 0.5 / 0.8 + 0.05));
    CHECK(dram_time(m, Bytes{}, Bytes{}) == Time{});
}

TEST_CASE("a large stream with many bytes in flight takes the DRAM time", "[memory]") {
    const MemoryParameters m = round_streams();
    const KernelTime t =
        stream_time(m, moved(10.0 * units::GB, Bytes{}), many_in_flight, L2State::cold);
    CHECK(t.total.in(units::ms) == Approx(10.0 / 0.9).epsilon(0.003));
    CHECK(t.dram_read.in(units::GB) == Approx(10.0));
}

TEST_CASE("with few bytes in flight, latency is the limit", "[memory]") {
    // 100 SMs x 2048 threads x 1 B in flight over 1 us is 0.2048 TB/s, a fifth of the DRAM rate.
    // 10 GB take 48.8 ms, to which DRAM's 11.1 ms add (11.1/48.8)^2.2 / 2.2 = 1.7 %.
    const MemoryParameters m = round_streams();
    StreamKernel kernel = many_in_flight;
    kernel.bytes_per_thread = 1.0 * units::B;
    const KernelTime t = stream_time(m, moved(10.0 * units::GB, Bytes{}), kernel, L2State::cold);
    CHECK(t.latency.in(units::ms) == Approx(10.0 / 0.2048).epsilon(1e-9));
    CHECK(t.total.in(units::ms) == Approx(48.83 * 1.0175).epsilon(0.002));
}

TEST_CASE("with a warm L2, data that stays there does not use DRAM", "[memory]") {
    const MemoryParameters m = round_streams();
    // 10 MB of 50: all but (10 / 43.5)^10 = 4e-7 of them stay. Reading 8 MB at 4 TB/s takes 2 us;
    // writing 2 MB at 2 TB/s takes another 1 us.
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

TEST_CASE("launches: the gap in a graph, the call and further submissions in a stream",
          "[memory]") {
    const LaunchCosts costs = round_streams().launch;
    const auto launch = [&](Time duration, double kernels, LaunchMode mode) {
        return launch_overhead(costs, mode, kernels, duration).in(units::us);
    };
    const Time brief = 1.0 * units::us;
    const Time lengthy = 100.0 * units::us;
    CHECK(launch(brief, 2, LaunchMode::kernel) == 0.0);
    CHECK(launch(brief, 2, LaunchMode::graph) == Approx(1.0));
    // An empty kernel of 0.5 us takes 6 us between two events. A second kernel is submitted 3 us
    // after a first of 1 us, but starts at once after one of 100 us.
    CHECK(launch(brief, 1, LaunchMode::stream) == Approx(5.5));
    CHECK(launch(brief, 2, LaunchMode::stream) == Approx(5.5 + 2.0));
    CHECK(launch(lengthy, 2, LaunchMode::stream) == Approx(5.5 + 0.5));
}

TEST_CASE("launches by a framework", "[memory]") {
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

TEST_CASE("rows are read from the chip a second time as far as they stay there", "[memory]") {
    const MemoryParameters m = round_streams();
    const RowKernel twice{.rows_per_sm = 8.0,
                          .read_passes = 2.0,
                          .trips = 1.0,
                          .reductions = 1.0 * units::us,
                          .reuse = 0.4};
    // 800 resident rows of 1 kB are 0.8 MB, and of 1 MB 800 MB. Half is lost at 0.4 (20 + 50) MB.
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

TEST_CASE("a framework's kernels depend on the row length", "[memory]") {
    const MemoryParameters m = round_streams();
    const auto kernel = [&](RowKind kind, std::int64_t cols, DataType type) {
        return eager_row_kernel({.kind = kind, .rows = 1024, .cols = cols, .type = type}, m);
    };
    CHECK(kernel(RowKind::softmax, 1024, DataType::fp32).read_passes == 1.0);
    CHECK(kernel(RowKind::softmax, 1025, DataType::fp32).read_passes == 3.0);
    CHECK(kernel(RowKind::softmax, 1024, DataType::fp64).read_passes == 3.0);
    CHECK(kernel(RowKind::layernorm, 1024, DataType::fp32).read_passes == 2.0);
    // 4096 fp32: 1024 vectors, 512 threads, two trips. 4160: 16 more vectors, one element each.
    CHECK(kernel(RowKind::softmax, 4096, DataType::fp32).trips == 2.0);
    CHECK(kernel(RowKind::softmax, 4096, DataType::fp32).rows_per_sm == 4.0);
    CHECK(kernel(RowKind::softmax, 4160, DataType::fp32).trips == 3.0);
}

TEST_CASE("a call in a stream is a call of a framework", "[memory]") {
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
    CHECK(stream.confidence() == Confidence::calibrated);
    const Prediction kernel = prediction({});
    CHECK(kernel.implementation == Implementation::fused);
    CHECK((stream.time - kernel.time).in(units::us) == Approx(18.0).epsilon(0.1));
}

TEST_CASE("devices without parameters have only the roofline, and families are marked",
          "[memory]") {
    const auto catalogue = model::catalogue();
    const Copy op{.elements = 1 << 28};
    const auto confidence = [&](std::string_view gpu) {
        const Machine machine = make_machine(catalogue.at(gpu));
        return std::get<Prediction>(predict(op, {}, machine)).confidence();
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
