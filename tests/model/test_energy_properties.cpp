// Properties of power and energy over random operations and GPUs.
#include <optional>

#include "model/energy/energy.h"
#include "model/energy/sum.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/model/random_operation.h"

using namespace ridge;
using namespace ridge::model;
using ridge::test::case_count;
using ridge::test::machine;
using ridge::test::Random;
using ridge::test::random_execution;
using ridge::test::random_operation;

namespace {

constexpr const char* energy_gpus[] = {"h200-sxm", "h100-sxm", "b200", "a100-sxm-80gb", "l40s"};

DataPattern random_pattern(Random& random) {
    return static_cast<DataPattern>(random.whole(0, 3));
}

/// An operation and its prediction.
struct Drawn {
    Operation operation;
    Prediction prediction;
};

/// A random operation in a random execution on `gpu`; empty if it has no time or no energy there.
std::optional<Drawn> drawn_on(const Machine& gpu, Random& random) {
    const Operation operation = random_operation(random);
    const auto outcome = predict(operation, random_execution(operation, random), gpu);
    const auto* const p = std::get_if<Prediction>(&outcome);
    if (p == nullptr || !p->energy) return std::nullopt;
    return Drawn{operation, *p};
}

}  // namespace

TEST_CASE("energy keeps the limit, lies above idle, and is power times period") {
    Random random(4001);
    for (std::size_t i = 0; i < case_count(10'000); ++i) {
        const Machine& gpu = machine(random.pick(energy_gpus));
        const auto drawn = drawn_on(gpu, random);
        if (!drawn) continue;
        const auto& [operation, prediction] = *drawn;
        const EnergyEstimate& e = *prediction.energy;
        CAPTURE(text_of(kind_of(operation), parameters_of(operation)), gpu.name);
        CHECK(e.power > e.idle);
        CHECK(e.power <= gpu.power_limit);
        CHECK(e.energy.base() == Approx((e.power * e.period).base()));
        CHECK(e.power_low <= e.power);
        CHECK(e.power_high >= e.power);
        CHECK(e.energy_low <= e.energy);
        CHECK(e.energy_high >= e.energy);
        CHECK(e.clock > Frequency{});
        CHECK(e.clock <= gpu.boost_clock);
    }
}

TEST_CASE("more FLOP or bytes never take less energy, and zeros never more") {
    Random random(4002);
    for (std::size_t i = 0; i < case_count(10'000); ++i) {
        const Machine& gpu = machine(random.pick(energy_gpus));
        const auto drawn = drawn_on(gpu, random);
        if (!drawn) continue;
        const auto& [operation, prediction] = *drawn;
        const DataType type = type_of(operation);
        const EnergyConditions conditions{.data = random_pattern(random)};
        const double before = energy_of(prediction, type, gpu, conditions)->energy.base();
        const double more = random.real(1.0, 4.0);
        CAPTURE(text_of(kind_of(operation), parameters_of(operation)), gpu.name, more);
        const auto is_more = [&](const Prediction& changed) {
            CHECK(energy_of(changed, type, gpu, conditions)->energy.base() >=
                  before * (1.0 - 1e-5));
        };
        Prediction changed = prediction;
        changed.work.tensor = more * prediction.work.tensor;
        is_more(changed);
        changed = prediction;
        changed.work.fma = more * prediction.work.fma;
        is_more(changed);
        changed = prediction;
        changed.work.dram_read = more * prediction.work.dram_read + 1.0 * units::MB;
        is_more(changed);
        changed = prediction;
        changed.work.l2 = more * prediction.work.l2 + 1.0 * units::MB;
        is_more(changed);
        const double zeros =
            energy_of(prediction, type, gpu, {.data = DataPattern::zeros})->energy.base();
        CHECK(zeros <= energy_of(prediction, type, gpu)->energy.base() * (1.0 + 1e-5));
    }
}

TEST_CASE("a step takes the sum of its operations within idle") {
    Random random(4003);
    for (std::size_t i = 0; i < case_count(1'000); ++i) {
        const Machine& gpu = machine(random.pick(energy_gpus));
        EnergySum sum;
        double above = 0.0;
        double idle = 0.0;
        for (int part = 0; part < 5; ++part) {
            const auto drawn = drawn_on(gpu, random);
            if (!drawn) continue;
            const Prediction& prediction = drawn->prediction;
            const auto count = static_cast<double>(random.whole(1, 64));
            sum.add(prediction, count);
            above += count * (prediction.energy->energy -
                              prediction.energy->idle * prediction.energy->period)
                                 .base();
            idle = prediction.energy->idle.base();
        }
        if (sum.empty()) continue;
        const Time wall = sum.busy() * random.real(1.0, 3.0);
        const StepEnergy step = sum.during(wall);
        CHECK(step.period >= wall);
        CHECK(step.energy.base() == Approx(above + idle * step.period.base()));
        CHECK(step.power <= gpu.power_limit);
    }
}

TEST_CASE("a lower limit never makes steady work faster or draw more") {
    Random random(4004);
    for (std::size_t i = 0; i < case_count(3'000); ++i) {
        const Machine& gpu = machine(random.pick(energy_gpus));
        const auto drawn = drawn_on(gpu, random);
        if (!drawn) continue;
        const auto& [operation, prediction] = *drawn;
        const DataType type = type_of(operation);
        const double share = random.real(0.3, 1.0);
        const auto high = energy_of(prediction, type, gpu, {.limit = gpu.power_limit * share});
        const auto low =
            energy_of(prediction, type, gpu, {.limit = gpu.power_limit * (0.9 * share)});
        CAPTURE(text_of(kind_of(operation), parameters_of(operation)), gpu.name, share);
        CHECK(low->power <= high->power * (1.0 + 1e-6));
        CHECK(low->period >= high->period * (1.0 - 1e-6));
        CHECK(low->clock <= high->clock * (1.0 + 1e-6));
    }
}
