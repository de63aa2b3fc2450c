// Power and energy: sums, limits and data, on a toy GPU whose figures are round.
#include <cmath>

#include "model/energy/energy.h"
#include "model/energy/sum.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/machines.h"

using namespace ridge;
using namespace ridge::model;
using ridge::test::machine;

namespace {

/// 100 W at rest, 20 W more at work; 1 pJ per tensor FLOP, 100 pJ per byte of DRAM.
Machine toy_gpu() {
    Machine gpu;
    gpu.boost_clock = 2.0 * units::GHz;
    gpu.power_limit = 400.0 * units::W;
    EnergyParameters p;
    p.idle = 100.0 * units::W;
    p.running = 20.0 * units::W;
    p.dram = 100.0;
    p.l2 = 10.0;
    p.half.flop = 1.0;
    p.exponent = 1.0;
    p.slowest = 0.1;
    p.band = 0.1;
    p.band_foreign = 0.5;
    p.zeros = {.tensor = 0.1, .active = 0.5, .vector = 0.5, .bytes = 0.5};
    p.evidence = Evidence::own;
    gpu.energy = p;
    return gpu;
}

/// A product of 1 ms with so many FLOP and bytes, which its tensor cores limit.
Prediction toy_product(double flop, double bytes) {
    Prediction p;
    p.work.tensor = Flop::from_base(flop);
    p.work.dram_read = Bytes::from_base(bytes);
    p.peak = FlopRate::from_base(1e15);
    p.time = 1.0 * units::ms;
    p.low = 0.9 * units::ms;
    p.high = 1.1 * units::ms;
    add_term(p, Resource::tensor, p.time, flop);
    return p;
}

EnergyEstimate estimate(const Prediction& prediction, const Machine& gpu,
                        const EnergyConditions& conditions = {}) {
    const auto found = energy_of(prediction, DataType::bf16, gpu, conditions);
    REQUIRE(found);
    return *found;
}

}  // namespace

TEST_CASE("power is idle and running power, and energy per FLOP and byte over the time") {
    // 1e11 FLOP x 1 pJ = 0.1 J; 1e9 B x 100 pJ = 0.1 J; in 1 ms: 200 W above 120 W
    const EnergyEstimate e = estimate(toy_product(1e11, 1e9), toy_gpu());
    CHECK(e.power.in(units::W) == Approx(320.0));
    CHECK(e.energy.base() == Approx(0.32));
    CHECK(e.period == 1.0 * units::ms);
    CHECK(e.clock == 2.0 * units::GHz);
    CHECK(e.limit == ClockLimit::none);
    CHECK(e.power_low < e.power);
    CHECK(e.power_high.in(units::W) == Approx(352.0));
}

TEST_CASE("zeros take their shares") {
    const EnergyEstimate e =
        estimate(toy_product(1e11, 1e9), toy_gpu(), {.data = DataPattern::zeros});
    CHECK(e.power.in(units::W) == Approx(120.0 + 10.0 + 50.0));
}

TEST_CASE("the clock settles where power meets the limit, and time and energy follow") {
    // At full clock 120 W + 0.4 J / 1 ms = 520 W. With the chip alone, energy and rate both fall
    // with the clock: 400 W = 120 W + 400 W x f^2.
    const EnergyEstimate e = estimate(toy_product(4e11, 0.0), toy_gpu());
    const double clock = std::sqrt(280.0 / 400.0);
    CHECK(e.limit == ClockLimit::power);
    CHECK(e.power.in(units::W) == Approx(400.0).epsilon(1e-4));
    CHECK(e.clock.in(units::GHz) == Approx(2.0 * clock).epsilon(1e-4));
    CHECK(e.period.in(units::ms) == Approx(1.0 / clock).epsilon(1e-4));
    CHECK(e.energy.base() == Approx(0.4 / clock).epsilon(1e-3));
}

TEST_CASE("a lower limit or clock saves energy until idle power takes more") {
    const Machine gpu = toy_gpu();
    const Prediction product = toy_product(2e11, 0.0);
    const EnergyEstimate own = estimate(product, gpu);
    const EnergyEstimate capped = estimate(product, gpu, {.limit = 250.0 * units::W});
    CHECK(capped.power.in(units::W) == Approx(250.0).epsilon(1e-4));
    CHECK(capped.period > own.period);
    CHECK(capped.energy < own.energy);
    CHECK(capped.asked_conditions);
    CHECK(capped.power_high.in(units::W) <= 250.01);
    const EnergyEstimate slow = estimate(product, gpu, {.clock = 0.3 * units::GHz});
    CHECK(slow.limit == ClockLimit::asked);
    CHECK(slow.energy > capped.energy);
}

TEST_CASE("tensor cores lose a share of the clock below the limit, whatever they draw") {
    Machine gpu = toy_gpu();
    gpu.energy->half.ceiling = 0.2;
    gpu.energy->half.burst = 0.2;
    const EnergyEstimate e = estimate(toy_product(1e11, 0.0), gpu);  // a tenth of the peak
    CHECK(e.limit == ClockLimit::current);
    CHECK(e.clock.in(units::GHz) == Approx(2.0 * (1.0 - 0.2 * 0.1)));
    CHECK(e.period.in(units::ms) == Approx(1.0));
}

TEST_CASE("the clock of a short run falls with the rate that the power limit leaves") {
    Machine gpu = toy_gpu();
    MatmulParameters pipe;
    pipe.burst_fraction = 0.8;
    pipe.sustained_fraction = 0.6;
    gpu.matmul.pipes.at(static_cast<std::size_t>(MatmulPipe::tensor)) = pipe;
    // Zeros keep the limit: steady work runs at the highest clock, whatever the short run had.
    const auto period = [&](Prediction product) {
        const auto e = estimate(product, gpu, {.data = DataPattern::zeros});
        CHECK(e.clock == gpu.boost_clock);
        return e.period.in(units::ms);
    };
    const auto limited = [](double flop, double share) {
        Prediction product = toy_product(flop, 0.0);
        product.note(note::PowerLimited{.share = share});
        return product;
    };
    CHECK(period(limited(7e11, 0.7)) == Approx(0.7 / 0.8));  // a long product
    CHECK(period(limited(8.5e11, 0.85)) == Approx(1.0));     // as fast as the shortest
    CHECK(period(toy_product(5e11, 0.0)) == Approx(1.0));    // slower for another reason
}

TEST_CASE("warmth adds leakage, and a GPU that nobody measured has a wide band") {
    Machine gpu = toy_gpu();
    gpu.energy->leakage = 0.01;
    gpu.energy->temperature = 50.0;
    const Prediction product = toy_product(1e11, 0.0);
    const double cool = estimate(product, gpu).power.base();
    CHECK(estimate(product, gpu, {.celsius = 60.0}).power.base() == Approx(cool + 10.0));
    gpu.energy->evidence = Evidence::foreign;
    const EnergyEstimate far = estimate(product, gpu);
    CHECK(far.power_high.base() == Approx(1.5 * far.power.base()));
    CHECK(far.evidence == ChipEvidence::foreign);
}

TEST_CASE("operations in turn take the sum of their energies above idle") {
    const Machine gpu = toy_gpu();
    EnergySum sum;
    CHECK(sum.empty());
    const auto with_energy = [&gpu](Prediction p) {
        p.energy = estimate(p, gpu);
        return p;
    };
    sum.add(with_energy(toy_product(1e11, 0.0)), 3.0);
    sum.add(with_energy(toy_product(0.0, 2e9)), 1.0);
    CHECK(sum.busy().in(units::ms) == Approx(4.0));
    const StepEnergy alone = sum.during(4.0 * units::ms);
    CHECK(alone.energy.base() == Approx(3.0 * 0.22 + 0.32));
    const StepEnergy waiting = sum.during(10.0 * units::ms);
    CHECK(waiting.energy.base() == Approx(alone.energy.base() + 100.0 * 0.006));
    CHECK(waiting.power.base() == Approx(waiting.energy.base() / 0.01));
    EnergySum limited;
    limited.add(with_energy(toy_product(4e11, 0.0)), 2.0);
    const StepEnergy slower = limited.during(2.0 * units::ms);
    CHECK(slower.period == limited.busy());
    CHECK(slower.power.in(units::W) == Approx(400.0).epsilon(1e-4));
}

TEST_CASE("an H200's large products are at the limit, and its copies below it") {
    const Machine& gpu = machine("h200-sxm");
    const auto power = [&](const Operation& operation, const EnergyConditions& conditions) {
        const auto p = std::get<Prediction>(predict(operation, {}, gpu));
        const auto found = energy_of(p, type_of(operation), gpu, conditions);
        REQUIRE(found);
        return *found;
    };
    const Matmul product{.m = 8192, .n = 8192, .k = 8192};
    const EnergyEstimate normal = power(product, {});
    CHECK(normal.limit == ClockLimit::power);
    CHECK(normal.clock.in(units::MHz) == Approx(1478.0).epsilon(0.05));  // measured
    CHECK(normal.period.in(units::us) == Approx(1657.0).epsilon(0.08));
    const EnergyEstimate zeros = power(product, {.data = DataPattern::zeros});
    CHECK(zeros.limit == ClockLimit::current);
    CHECK(zeros.power.in(units::W) == Approx(407.0).epsilon(0.1));
    CHECK(zeros.clock.in(units::MHz) == Approx(1740.0).epsilon(0.02));
}

TEST_CASE("a GPU without a power limit or coefficients has no energy") {
    Machine gpu = toy_gpu();
    gpu.energy.reset();
    CHECK_FALSE(energy_of(toy_product(1e11, 0.0), DataType::bf16, gpu));
    CHECK_FALSE(energy_of(Prediction{}, DataType::bf16, toy_gpu()));
}

TEST_CASE("coefficients carry over by watts per FLOP and by the limit") {
    const EnergyParameters& own = *machine("h200-sxm").energy;
    const EnergyParameters& other = *machine("b200").energy;
    CHECK(own.evidence == Evidence::own);
    CHECK(other.evidence == Evidence::foreign);
    const double by_limit = 1000.0 / 700.0;
    CHECK(other.idle.base() == Approx(own.idle.base() * by_limit));
    CHECK(other.dram == own.dram);
    CHECK(other.half.flop == Approx(own.half.flop * by_limit * 989.4 / 2250.0).epsilon(0.02));
    const EnergyParameters& relative = *machine("gh200-96gb").energy;
    CHECK(relative.evidence == Evidence::family);
    CHECK(relative.half.flop == Approx(own.half.flop).epsilon(0.01));
}
