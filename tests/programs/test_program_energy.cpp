// Joules of kernels and ranges, from steps of an energy counter over a synthetic program.
#include "programs/report/program_energy.h"

#include "hardware/units.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::programs;

namespace {

constexpr std::int64_t millisecond = 1'000'000;

/// Two kernels in bursts of changing length, 120 W of rest, 300 and 500 W above it.
struct Bursts {
    Trace trace;
    std::vector<EnergyReading> readings;

    explicit Bursts(bool in_proportion) {
        trace.recorder = TraceSource::activity;
        const TextId light = trace.texts.add("light");
        const TextId heavy = trace.texts.add("heavy");
        const TextId range = trace.texts.add("second half");
        std::int64_t now = 1'000 * millisecond;
        double joules = 0.0;
        const std::int64_t start = now;
        for (std::int64_t step = 0; step < 40; ++step) {
            readings.push_back({.time_ns = now, .joules = joules});
            const std::int64_t first = (in_proportion ? 40 : 10 + 7 * step % 40) * millisecond;
            const std::int64_t second = (in_proportion ? 20 : 5 + 11 * step % 45) * millisecond;
            trace.kernels.push_back({.name = light, .start_ns = now, .duration_ns = first});
            trace.kernels.push_back(
                {.name = heavy, .start_ns = now + first, .duration_ns = second});
            joules += 12.0 + 0.3 * static_cast<double>(first / millisecond) +
                      0.5 * static_cast<double>(second / millisecond);
            now += 100 * millisecond;
        }
        readings.push_back({.time_ns = now, .joules = joules});
        trace.operators.push_back(
            {.name = range, .start_ns = start + 2'000 * millisecond, .end_ns = now, .range = true});
    }
};

const ClassEnergy& energies_of(const ProgramEnergy& found, const std::string& name) {
    for (const ClassEnergy& each : found.classes) {
        if (each.name == name) return each;
    }
    FAIL(name);
    return found.classes.front();
}

}  // namespace

TEST_CASE("powers of kernels follow from the steps of the counter", "[program_energy]") {
    const Bursts program(false);
    const ProgramEnergy found = energy_of(program.trace, program.readings);
    CHECK(found.steps == 40);
    const auto watts = [&](const std::string& name) {
        const ClassEnergy& each = energies_of(found, name);
        return each.energy.base() / each.busy.base();
    };
    CHECK(watts("light") == Approx(300.0).epsilon(0.03));
    CHECK(watts("heavy") == Approx(500.0).epsilon(0.03));
    CHECK(watts("rest") == Approx(120.0).epsilon(0.05));
    CHECK(energies_of(found, "heavy").error < 0.05);
    Energy sum;
    for (const ClassEnergy& each : found.classes) sum += each.energy;
    CHECK(sum.base() == Approx(found.all.base()));
    CHECK(found.all.base() == Approx(program.readings.back().joules));
}

TEST_CASE("kernels that always run in one proportion are not told apart", "[program_energy]") {
    const Bursts program(true);
    const ProgramEnergy found = energy_of(program.trace, program.readings);
    CHECK(energies_of(found, "heavy").error > 0.2);
    CHECK(energies_of(found, "light").error > 0.1);
}

TEST_CASE("a range takes what the counter moved from its start to its end", "[program_energy]") {
    const Bursts program(false);
    const ProgramEnergy found = energy_of(program.trace, program.readings);
    REQUIRE(found.ranges.size() == 1);
    const double moved = program.readings.back().joules - program.readings[20].joules;
    CHECK(found.ranges.front().name == "second half");
    CHECK(found.ranges.front().energy.base() == Approx(moved));
    CHECK(found.ranges.front().error == Approx(0.1 / 2.0).epsilon(0.01));
}

TEST_CASE("a program shorter than the counter's steps has no energies", "[program_energy]") {
    const Bursts program(false);
    const std::span<const EnergyReading> few(program.readings.data(), 3);
    CHECK(energy_of(program.trace, few).classes.empty());
    CHECK(energy_of(Trace{}, program.readings).classes.empty());
}
