// The gate: planted slow-downs are found, quiet pairs stay quiet, and nothing is said about nothing.
#include <array>
#include <cmath>
#include <random>
#include <sstream>

#include "answers/gate.h"
#include "answers/timed_runs.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "tests/catch.h"

namespace ridge::test {
namespace {

using namespace answers;

/// The spread of repeated runs as measured (docs/check.md): all operators of a run together, an
/// operator from run to run, a call from the next, and the steps of the clock.
struct Spread {
    double run = 0.002;
    double item = 0.003;
    double call = 0.025;  ///< of short kernels
    double short_us = 25.0;
};

struct Planted {
    int item = -1;
    double factor = 1.0;
};

/// Sixty operators of 3 us to 1 ms with 1 to 24 calls, the same for every seed.
TimedRun gate_run(std::uint32_t seed, const Planted& planted = {}, const Spread& spread = {}) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    const double shared = 1.0 + spread.run * normal(random);
    TimedRun run{.file = "run.json", .device = "H100"};
    constexpr int items = 60;
    for (int i = 0; i < items; ++i) {
        const double own = 1.0 + spread.item * normal(random);
        const double us = 3.0 * std::pow(330.0, static_cast<double>(i * 7 % items) / items);
        TimedItem item{
            .name = "op " + std::to_string(i), .count = 1 + i * 5 % 24, .code = "kernel"};
        for (std::int64_t k = 0; k < item.count; ++k) {
            const double position = k == 0 ? 1.05 : 1.0;  // the first call finds a colder L2
            const double call = spread.call * spread.short_us / (spread.short_us + us);
            const double time = us * shared * own * position * (1.0 + call * normal(random)) *
                                (i == planted.item ? planted.factor : 1.0);
            item.samples.push_back(time * units::us);
        }
        run.items.push_back(std::move(item));
    }
    return run;
}

GateReport gate_of(const TimedRun& before, const TimedRun& now) {
    return compare(std::span(&before, 1), std::span(&now, 1));
}

}  // namespace

TEST_CASE("of fifty quiet pairs at most one is called slower", "[gate]") {
    int alarms = 0;
    for (std::uint32_t pair = 0; pair < 50; ++pair) {
        const GateReport report = gate_of(gate_run(2 * pair + 1), gate_run(2 * pair + 2));
        alarms += report.verdict == GateVerdict::slower ? 1 : 0;
    }
    CHECK(alarms <= 1);
}

TEST_CASE("an operator of 1 % of the time that takes 5 % longer is found, and named first",
          "[gate]") {
    int found = 0;
    int planted = 0;
    for (int item = 0; item < 60; ++item) {
        const auto seed = static_cast<std::uint32_t>(1000 + 2 * item);
        const TimedRun before = gate_run(seed);
        Time all;
        Time own;
        const auto name = "op " + std::to_string(item);
        for (const TimedItem& each : before.items) {
            for (const Time sample : each.samples) {
                all += sample;
                if (each.name == name) own += sample;
            }
        }
        if (own < 0.01 * all) continue;
        const GateReport report = gate_of(before, gate_run(seed + 1, {item, 1.05}));
        ++planted;
        found +=
            report.verdict == GateVerdict::slower && report.changes.front().name == name ? 1 : 0;
    }
    CHECK(planted > 15);
    CHECK(found == planted);
}

TEST_CASE("several runs of each side find it too", "[gate]") {
    std::vector<TimedRun> before;
    std::vector<TimedRun> now;
    for (std::uint32_t i = 0; i < 4; ++i) {
        before.push_back(gate_run(300 + i));
        now.push_back(gate_run(400 + i, {32, 1.05}));
    }
    const GateReport report = compare(before, now);
    CHECK(report.verdict == GateVerdict::slower);
    CHECK(report.changes.front().name == "op 32");
    CHECK(report.runs_before == 4);
}

/// Runs of one process: streaming operators settle in one of two modes, 5 % apart, in each run.
TimedRun settled_run(std::uint32_t seed, double factor = 1.0) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    TimedRun run = gate_run(seed);
    constexpr int shapes = 12;
    for (int i = 0; i < shapes; ++i) {
        const double mode = random() % 2 == 0 ? 0.975 : 1.025;
        TimedItem item{.name = "stream [" + std::to_string(i) + "]",
                       .count = 3,
                       .placed = true,
                       .group = "stream"};
        for (int k = 0; k < 3; ++k) {
            item.samples.push_back(30.0 * mode * factor * (1.0 + 0.004 * normal(random)) *
                                   units::us);
        }
        run.items.push_back(std::move(item));
    }
    return run;
}

TEST_CASE("where tensors lie is no change, but all shapes of an operator are judged together",
          "[gate]") {
    int alarms = 0;
    int found = 0;
    constexpr int pairs = 25;
    for (std::uint32_t pair = 0; pair < pairs; ++pair) {
        const std::array before{settled_run(8 * pair), settled_run(8 * pair + 1)};
        const std::array now{settled_run(8 * pair + 2), settled_run(8 * pair + 3)};
        const std::array slower{settled_run(8 * pair + 4, 1.05), settled_run(8 * pair + 5, 1.05)};
        alarms += compare(before, now).verdict == GateVerdict::slower ? 1 : 0;
        const GateReport report = compare(before, slower);
        found += report.verdict == GateVerdict::slower &&
                         report.changes.front().name.starts_with("stream")
                     ? 1
                     : 0;
    }
    CHECK(alarms <= 1);
    CHECK(found >= pairs - 1);
}

TEST_CASE("another kernel, more calls and a shared factor are named as causes", "[gate]") {
    const TimedRun before = gate_run(7);
    TimedRun now = gate_run(8, {12, 1.3});
    now.items[12].code = "other";
    now.items[12].count *= 2;
    const GateReport report = gate_of(before, now);
    CHECK(report.changes.front().why.find("runs other instead of kernel") != std::string::npos);
    CHECK(report.changes.front().why.find("instead of") != std::string::npos);

    TimedRun throttled = gate_run(9);
    for (TimedItem& item : throttled.items) {
        for (Time& sample : item.samples) sample *= 1.1;
    }
    const GateReport slow = gate_of(before, throttled);
    CHECK(slow.verdict == GateVerdict::slower);
    REQUIRE_FALSE(slow.notes.empty());
    CHECK(slow.notes.front().find("Half of the time") != std::string::npos);
}

TEST_CASE("what was not measured on both sides has no verdict", "[gate]") {
    const TimedRun before = gate_run(3);
    TimedRun other = gate_run(4);
    for (TimedItem& item : other.items) item.name += " of another program";
    const GateReport report = gate_of(before, other);
    CHECK(report.verdict == GateVerdict::not_measured);
    CHECK(verdict_of(report).find("No verdict") == 0);
    CHECK(gate_of({.file = "empty"}, before).verdict == GateVerdict::not_measured);
}

TEST_CASE("noise beyond the budget is not judged", "[gate]") {
    const Spread loud{.run = 0.05, .item = 0.1};
    const GateReport report = gate_of(gate_run(5, {}, loud), gate_run(6, {}, loud));
    CHECK(report.counts[static_cast<std::size_t>(Trend::undecided)] > 40);
    CHECK(report.verdict != GateVerdict::slower);
}

TEST_CASE("rows of a table with one name are its samples", "[gate]") {
    std::istringstream text("name,time_us,count\nqkv,10,4\nqkv,12,4\nnorm,3,8\n");
    const TimedRun run = run_of_table(text, "times.csv");
    REQUIRE(run.items.size() == 2);
    CHECK(run.items[0].samples.size() == 2);
    CHECK(run.items[0].count == 4);
    std::istringstream unnamed("m,n,ms\n64,32,1\n");
    CHECK(run_of_table(unnamed, "times.csv").items[0].name == "m=64 n=32");
    std::istringstream untimed("name,m\nqkv,1\n");
    CHECK_THROWS_AS(run_of_table(untimed, "times.csv"), InputError);
}

}  // namespace ridge::test
