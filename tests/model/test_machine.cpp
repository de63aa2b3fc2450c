// What the model reads from a description: peaks, clocks and absent features.
#include "model/machine/machine.h"

#include <string>

#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

const model::Catalogue& gpus() {
    static const model::Catalogue all = model::catalogue();
    return all;
}

Machine datasheet(const char* gpu) {
    return make_machine(gpus().at(gpu, model::View::datasheet));
}

constexpr FlopRate tera = units::TFLOP / units::s;

TEST_CASE("peaks are the published dense ones", "[machine]") {
    const Machine h100 = datasheet("h100-sxm");
    CHECK(h100.tensor_peak(DataType::bf16)->in(tera) == Approx(989.4));
    CHECK(h100.tensor_peak(DataType::fp8)->in(tera) == Approx(1978.9));
    CHECK(h100.vector_peak(DataType::fp32)->in(tera) == Approx(66.9));
    CHECK(h100.sm_count == 132);
    CHECK(h100.compute_capability == 90);
    CHECK(h100.family == Family::hopper);
    const Machine a100 = datasheet("a100-sxm-80gb");
    CHECK(a100.tensor_peak(DataType::tf32)->in(tera) == Approx(156.0));
    CHECK(a100.sm_count == 108);
    CHECK(a100.compute_capability == 80);
    CHECK(a100.family == Family::ampere);
    CHECK(a100.dram_capacity.in(units::GiB) == 80.0);
}

TEST_CASE("peaks agree with rate x SMs x clock", "[machine]") {
    // H100: 4096 FLOP/clk x 132 x 1830 MHz; A100: 2048 x 108 x 1410 MHz.
    CHECK(datasheet("h100-sxm").tensor_peak(DataType::fp16)->base() ==
          Approx(4096.0 * 132 * 1.83e9).epsilon(0.01));
    CHECK(datasheet("a100-sxm-40gb").tensor_peak(DataType::fp16)->base() ==
          Approx(2048.0 * 108 * 1.41e9).epsilon(0.01));
    // 16 results per clock and SM.
    CHECK(*datasheet("h100-sxm").special_rate == Approx(16.0 * 132 * 1.98e9));
}

TEST_CASE("tensor peaks have their own clock if one is published", "[machine]") {
    const Machine h100 = datasheet("h100-sxm");
    CHECK(h100.boost_clock.in(units::MHz) == Approx(1980));
    CHECK(h100.tensor_clock.in(units::MHz) == Approx(1830));
    const Machine a100 = datasheet("a100-sxm-80gb");
    CHECK(a100.tensor_clock == a100.boost_clock);
}

TEST_CASE("features that a device lacks are absent", "[machine]") {
    const Machine k80 = datasheet("k80");
    for (const DataType type : all_data_types) CHECK_FALSE(k80.tensor_peak(type).has_value());
    CHECK(k80.vector_peak(DataType::fp32)->in(tera) == Approx(4.37));
    CHECK_FALSE(k80.vector_peak(DataType::bf16).has_value());
    CHECK_FALSE(k80.link_per_direction.has_value());
    CHECK(k80.family == Family::kepler);

    const Machine tpu = datasheet("tpu-v4");
    CHECK(tpu.tensor_peak(DataType::bf16)->in(tera) == Approx(275.0));
    CHECK_FALSE(tpu.tensor_peak(DataType::fp32).has_value());
    CHECK_FALSE(tpu.vector_peak(DataType::fp32).has_value());
    CHECK_FALSE(tpu.special_rate.has_value());
    CHECK(tpu.l2.size == Bytes{});
    CHECK_FALSE(tpu.l2_bandwidth.has_value());
    CHECK_FALSE(tpu.shared_bandwidth.has_value());
    CHECK_FALSE(tpu.limits.has_value());
    CHECK(tpu.sm_count == 0);
    CHECK(tpu.compute_capability == 0);
    CHECK(tpu.family == Family::other);
}

TEST_CASE("fp8 is absent before compute capability 8.9", "[machine]") {
    CHECK_FALSE(datasheet("a100-sxm-80gb").tensor_peak(DataType::fp8).has_value());
    CHECK(datasheet("l40s").tensor_peak(DataType::fp8).has_value());
}

TEST_CASE("a gap is the time of a launch beyond the kernel", "[machine]") {
    const Machine h100 = datasheet("h100-sxm");
    CHECK(h100.kernel_floor.in(units::ns) == Approx(577));
    CHECK(h100.launch.gap().in(units::ns) == Approx(670 - 577));
    CHECK(h100.launch.stream.in(units::ns) == Approx(6000));
    CHECK(h100.library_gap.in(units::ns) == Approx(1260 - 577));
    const Machine k80 = datasheet("k80");
    CHECK(k80.launch.kernel.in(units::ns) ==
          Approx(600));  // from its family; the other values are defaults
    CHECK(k80.launch.gap().in(units::ns) == Approx(50));
    CHECK(k80.launch.stream.in(units::ns) == Approx(2500));
    CHECK(k80.library_gap == Time{});
}

TEST_CASE("limits of an SM follow the compute capability", "[machine]") {
    const SmLimits a100 = datasheet("a100-sxm-80gb").limits.value();
    CHECK(a100.threads == 2048);
    CHECK(a100.threads_per_block == 1024);
    CHECK(a100.warps == 64);
    CHECK(a100.blocks == 32);
    CHECK(a100.registers == 65536);
    CHECK(a100.shared.in(units::KiB) == 164.0);
    CHECK(a100.shared_per_block.in(units::KiB) == 163.0);
    CHECK(a100.shared_reserved.in(units::KiB) == 1.0);
    CHECK(datasheet("h100-sxm").limits->shared.in(units::KiB) == 228.0);
}

TEST_CASE("every device of the catalogue makes a machine with plausible rates", "[machine]") {
    for (const model::CatalogueEntry& entry : gpus().entries()) {
        for (const auto view : {model::View::datasheet, model::View::calibrated}) {
            INFO(entry.name);
            const Machine machine = make_machine(gpus().at(entry.name, view));
            CHECK(machine.name == entry.name);
            CHECK(machine.dram_bandwidth.in(units::GB / units::s) > 100.0);
            CHECK(machine.dram_bandwidth.in(units::TB / units::s) < 20.0);
            CHECK(machine.dram_capacity.in(units::GiB) >= 4.0);
            CHECK(machine.launch.gap() >= Time{});
            CHECK(machine.launch.stream >= machine.launch.graph);
            CHECK(machine.launch.call >= machine.launch.stream);
            for (const DataType type : all_data_types) {
                if (machine.tensor_peak(type)) CHECK(*machine.tensor_peak(type) >= 1.0 * tera);
                if (machine.vector_peak(type)) CHECK(machine.vector_peak(type)->base() > 1e10);
            }
        }
    }
}

TEST_CASE("a description without bandwidth is refused", "[machine]") {
    hardware::Description empty;
    empty.name = "nothing";
    std::string message;
    try {
        static_cast<void>(make_machine(empty));
    } catch (const InputError& error) {
        message = error.what();
    }
    CHECK(message == "GPU 'nothing' has no dram.bandwidth");
}

}  // namespace
}  // namespace ridge::model
