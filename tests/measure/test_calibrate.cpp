// The fit of the ramp finds the parameters that made the data, and the overlay is a valid
// description.
#include <cmath>

#include "hardware/error.h"
#include "hardware/loader.h"
#include "measure/run/calibrate.h"
#include "model/catalogue/catalogue.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

using namespace ridge;
using namespace ridge::measure;
using ridge::test::catalogue;
using ridge::test::h200_plan;

namespace {

Time ramp(double bytes, double latency, double bandwidth, double p) {
    return Time::from_base(
        std::pow(std::pow(latency, p) + std::pow(bytes / bandwidth, p), 1.0 / p));
}

std::vector<RampPoint> points(double latency, double bandwidth, double p, double noise = 0.0) {
    std::vector<RampPoint> list;
    int sign = 1;
    for (double bytes = 262144.0; bytes < 2e9; bytes *= 2.0) {
        sign = -sign;
        list.push_back(
            {Bytes::from_base(bytes), ramp(bytes, latency, bandwidth, p) * (1.0 + sign * noise)});
    }
    return list;
}

}  // namespace

TEST_CASE("the fit recovers latency, bandwidth and exponent") {
    for (const double p : {1.0, 1.5, 2.5, 6.0}) {
        for (const double latency : {5e-7, 4e-6}) {
            CAPTURE(p, latency);
            const RampFit fit = fit_ramp(points(latency, 4.2e12, p));
            CHECK(fit.latency.base() == Approx(latency).epsilon(1e-3));
            CHECK(fit.bandwidth.base() == Approx(4.2e12).epsilon(1e-3));
            CHECK(fit.exponent == Approx(p).epsilon(1e-2));
            CHECK(fit.error < 1e-4);
            CHECK(fit.bytes_in_flight().base() == Approx(latency * 4.2e12).epsilon(2e-3));
        }
    }
}

TEST_CASE("noise moves the fit little and shows in its error") {
    const RampFit fit = fit_ramp(points(2e-6, 4.2e12, 2.0, 0.01));
    CHECK(fit.latency.base() == Approx(2e-6).epsilon(0.03));
    CHECK(fit.bandwidth.base() == Approx(4.2e12).epsilon(0.02));
    CHECK(fit.error == Approx(0.01).epsilon(0.2));
    CHECK(fit.time_of(1.0 * units::MiB).base() ==
          Approx(ramp(1048576.0, 2e-6, 4.2e12, 2.0).base()).epsilon(0.03));
}

TEST_CASE("too few or impossible points are refused") {
    std::vector<RampPoint> list = points(2e-6, 4e12, 2.0);
    list[2].time = Time{};
    CHECK_THROWS_AS(fit_ramp(list), InputError);
    list.resize(3);
    CHECK_THROWS_AS(fit_ramp(list), InputError);
}

TEST_CASE("calibrating the fake finds its ceilings and writes a valid overlay") {
    FakePlan plan = h200_plan();
    plan.noise = 0.002;
    FakeDevice device(plan);
    const Calibration calibration = calibrate(device, {.tool = "ridge \"test\""});
    CHECK_FALSE(calibration.interrupted);
    REQUIRE(calibration.ramp);
    CHECK(calibration.ramp->latency.base() == Approx(2e-6).epsilon(0.05));
    CHECK(calibration.ramp->bandwidth.base() == Approx(0.9 * 4.8e12).epsilon(0.02));

    const std::string toml = to_overlay(calibration, "h200-sxm", "NVIDIA H200 SXM 141GB", "NVIDIA");
    CAPTURE(toml);
    const test::TemporaryFolder folder;
    test::write_text(folder.file("mine.toml"), toml);
    for (const hardware::Problem& problem : model::check_file(folder.file("mine.toml"))) {
        FAIL_CHECK(to_string(problem));
    }
    model::Catalogue own = model::catalogue();
    CHECK(own.add_text(toml, "mine.toml") == "h200-sxm");
    const hardware::Description& gpu = own.at("h200-sxm");
    CHECK(gpu.quantity<Bandwidth>("measured.dram.copy")->in(units::TB / units::s) ==
          Approx(0.9 * 4.8).epsilon(0.01));
    const auto machine = model::make_machine(own.at("h200-sxm"));
    CHECK(gpu.quantity<Bandwidth>("measured.l1.read")->base() ==
          Approx(0.95 * machine.shared_bandwidth->base()).epsilon(0.01));
    CHECK(gpu.quantity<Cycles>("latency.shared")->in(units::cycle) == Approx(29.0).epsilon(0.01));
    CHECK(*gpu.quantity<FlopRate>("measured.tensor.bf16.burst") >
          *gpu.quantity<FlopRate>("measured.tensor.bf16.sustained"));
    CHECK(
        gpu.quantity<FlopRate>("measured.tensor_mma.bf16.burst")->base() ==
        Approx(gpu.quantity<FlopRate>("measured.tensor.bf16.burst")->base() * 2 / 3).epsilon(0.01));
    CHECK(gpu.number("measured.sfu").value() == Approx(0.95 * 16).epsilon(0.01));
    CHECK(gpu.provenance("measured.dram.read") == hardware::Provenance::measured);
    CHECK(gpu.quantity<Bytes>("measured.dram.in_flight")->base() ==
          Approx(calibration.ramp->bytes_in_flight().base()).epsilon(1e-3));
}

TEST_CASE("what a device cannot show is left out with a reason") {
    const hardware::Description& a100 = catalogue().at("a100-sxm-80gb");
    FakeDevice device(fake_plan(a100));
    const Calibration calibration = calibrate(device, {});
    const std::string toml = to_overlay(calibration, a100.name, a100.title, a100.vendor);
    CAPTURE(toml);
    CHECK(toml.find("[measured.tensor_mma") == std::string::npos);
    bool fp8_skipped = false;
    for (const Skipped& skipped : calibration.skipped) {
        fp8_skipped = fp8_skipped || skipped.path == "measured.tensor.fp8.burst";
        CHECK_FALSE(skipped.reason.empty());
    }
    CHECK(fp8_skipped);
    model::Catalogue own = model::catalogue();
    CHECK(own.add_text(toml, "mine.toml") == "a100-sxm-80gb");
    CHECK(own.at("a100-sxm-80gb").find("measured.tensor.fp8.burst") == nullptr);
}

TEST_CASE("calibrating stops when asked") {
    FakeDevice device(h200_plan());
    CalibrateOptions options;
    int steps = 0;
    options.progress = [&steps](std::string_view, std::int64_t, std::int64_t) { ++steps; };
    options.hooks.interrupted = [&steps] { return steps >= 3; };
    const Calibration calibration = calibrate(device, options);
    CHECK(calibration.interrupted);
    CHECK(steps == 3);
}
