// Power from the steps of an energy counter: known powers, periods and lags give back what they are.
#include <algorithm>
#include <cmath>

#include "hardware/error.h"
#include "measure/record/energy_measurement.h"
#include "measure/run/measure.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/measure/fakes.h"
#include "tests/support/temporary_folder.h"

using namespace ridge;
using namespace ridge::measure;
using ridge::test::h200_plan;
using ridge::test::question;
using ridge::test::TemporaryFolder;

namespace {

/// Steps of a counter that shows `lag` old energy every `period`, seen by polls `poll` apart.
SteadyRun counted(double watts, double period, double lag, double poll) {
    SteadyRun run;
    for (double at = 0.37 * period; at < 3.0; at += period) {
        run.steps.push_back({.at = Time::from_base(std::ceil(at / poll) * poll),
                             .total = Energy::from_base(std::round(watts * (at - lag) * 1e3) / 1e3),
                             .gap = Time::from_base(poll)});
    }
    for (std::int64_t i = 0; i <= 150; ++i) {
        run.finished.push_back(
            {.at = Time::from_base(0.02 * static_cast<double>(i)), .runs = 40 * i});
    }
    return run;
}

EnergyMeasurement found(const SteadyRun& run) {
    const Maybe<EnergyMeasurement> answer = energy_of(run);
    REQUIRE(std::holds_alternative<EnergyMeasurement>(answer));
    return std::get<EnergyMeasurement>(answer);
}

}  // namespace

TEST_CASE("power follows from the steps of a counter, whatever its period and lag") {
    for (const double watts : {76.0, 350.0, 700.0}) {
        for (const double period : {0.02, 0.1, 0.4}) {
            for (const double lag : {0.0, 0.05, 0.3}) {
                const EnergyMeasurement seen = found(counted(watts, period, lag, 5e-4));
                const double off = std::abs(seen.power.base() / watts - 1.0);
                CHECK(off < 4e-4);
                CHECK(off <= seen.error);
                CHECK(seen.update.base() == Approx(period).margin(6e-4));
                CHECK(seen.time.base() == Approx(5e-4));
                CHECK(seen.energy.base() == Approx(watts * 5e-4).epsilon(5e-4));
                CHECK(seen.runs == 6000);
            }
        }
    }
}

TEST_CASE("rare polls and power that changes within the window make the stated error large") {
    const double often = found(counted(500.0, 0.1, 0.0, 1e-3)).error;
    CHECK(found(counted(500.0, 0.1, 0.0, 0.05)).error > 20.0 * often);
    SteadyRun step = counted(400.0, 0.1, 0.0, 1e-3);
    for (CounterStep& each : step.steps) {
        const double late = std::max(0.0, each.at.base() - 1.5);
        each.total += Energy::from_base(200.0 * late);
    }
    const EnergyMeasurement seen = found(step);
    CHECK(seen.power.base() == Approx(500.0).epsilon(0.02));
    CHECK(seen.error > 0.015);
}

TEST_CASE("a window without two steps or two finished runs has no power") {
    SteadyRun run = counted(500.0, 0.1, 0.0, 1e-3);
    run.steps.resize(1);
    CHECK(std::holds_alternative<Unavailable>(energy_of(run)));
    run = counted(500.0, 0.1, 0.0, 1e-3);
    run.finished.resize(1);
    CHECK(std::holds_alternative<Unavailable>(energy_of(run)));
    CHECK(std::holds_alternative<Power>(power_of(run)));
}

TEST_CASE("a record with energy has power, energy of a run and idle power, and reads back") {
    FakePlan plan = h200_plan();
    plan.bias = 1.1;
    plan.power.busy = 640.0 * units::W;
    plan.power.idle = 77.0 * units::W;
    FakeDevice device(plan);
    const std::optional<Record> record =
        measure_one(device, question("matmul m=4096 n=4096 k=4096"), {.energy = EnergyOptions{}});
    REQUIRE(record);
    REQUIRE(record->energy);
    const EnergyMeasurement& energy = *record->energy;
    const auto predicted = std::get<model::Prediction>(
        model::predict(record->question.operation, record->question.execution, plan.machine));
    CHECK(energy.power.base() == Approx(640.0).epsilon(2e-3));
    CHECK(energy.time.base() == Approx(1.1 * predicted.time.base()).epsilon(1e-3));
    CHECK(energy.energy.base() == Approx((energy.power * energy.time).base()));
    CHECK(energy.window.base() > 2.7);
    CHECK(energy.idle->base() == Approx(77.0).epsilon(2e-2));
    CHECK(energy.clock_reasons == std::vector<std::string>{"sw_power_cap"});
    const Record again = parse_record(to_json_line(*record));
    REQUIRE(again.energy);
    CHECK(*again.energy == energy);
    CHECK(to_json_line(again) == to_json_line(*record));
}

TEST_CASE("a suite measures idle power once, and again what it knows without energy") {
    const TemporaryFolder folder;
    FakeDevice device(h200_plan());
    const std::vector<Question> questions{question("copy elements=1048576"),
                                          question("sum rows=4096 cols=512")};
    SuiteOptions options{.folder = folder.path()};
    CHECK(measure_suite(device, questions, options).records.size() == 2);
    options.measuring.energy = EnergyOptions{};
    const SuiteResult result = measure_suite(device, questions, options);
    REQUIRE(result.records.size() == 2);
    for (const Record& each : result.records) {
        REQUIRE(each.energy);
        CHECK(each.energy->idle == result.records.front().energy->idle);
    }
    CHECK(measure_suite(device, questions, options).skipped == 2);
}

TEST_CASE("damage in the energy of a record is named") {
    FakeDevice device(h200_plan());
    const std::optional<Record> record =
        measure_one(device, question("copy elements=1048576"), {.energy = EnergyOptions{}});
    REQUIRE(record);
    std::string line = to_json_line(*record);
    const std::string from = "\"power_w\":5";
    const std::size_t at = line.find(from, line.find("\"energy\":{"));
    REQUIRE(at != std::string::npos);
    line.replace(at, from.size(), "\"power_w\":-5");
    try {
        static_cast<void>(parse_record(line));
        FAIL("a negative power was read");
    } catch (const InputError& error) {
        CHECK(error.message() == "energy.power_w must be positive");
    }
}
