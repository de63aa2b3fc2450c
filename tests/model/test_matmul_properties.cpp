// Properties of matrix-product predictions over random shapes: better hardware is never slower, no
// time is below its bound, cold is never faster than warm, more work never takes much less time.
#include <cmath>
#include <string>

#include "model/predict.h"
#include "tests/catch.h"
#include "tests/model/machines.h"
#include "tests/model/random_operation.h"
#include "tests/model/tally.h"

using namespace ridge;
using namespace ridge::model;
using ridge::test::machine;

namespace {

class Shapes {
  public:
    Matmul next() {
        Matmul op{.m = extent(), .n = extent(), .k = extent()};
        if (random_.whole(0, 7) == 0) op.batch = random_.whole(1, 16);
        return op;
    }
    Execution execution() {
        return {.l2 = random_.coin() ? L2State::warm : L2State::cold,
                .launch = static_cast<LaunchMode>(random_.whole(0, 2))};
    }

  private:
    std::int64_t extent() { return static_cast<std::int64_t>(std::exp(random_.real(0.0, 9.7))); }
    test::Random random_{20};
};

const auto trials = static_cast<int>(test::case_count(20000));
constexpr auto gpus = {"h200-sxm", "a100-sxm-80gb", "l40s", "v100-pcie", "b200"};

Matmul for_machine(Matmul op, const Machine& m) {
    if (!m.tensor_peak(op.type)) op.type = op.output = DataType::fp16;
    return op;
}

Prediction predicted(const Matmul& op, const Execution& execution, const Machine& m) {
    return std::get<Prediction>(predict(op, execution, m));
}

void check_not_slower(const Machine& base, const Machine& better) {
    Shapes shapes;
    for (int i = 0; i < trials; ++i) {
        const Matmul op = for_machine(shapes.next(), base);
        const Execution execution = shapes.execution();
        const Time before = predicted(op, execution, base).time;
        const Time after = predicted(op, execution, better).time;
        if (after > before * (1.0 + 1e-12)) {
            CAPTURE(op.batch, op.m, op.n, op.k);
            CHECK(after.base() <= before.base());
        }
    }
    SUCCEED();
}

/// Tallies how much faster products become if one extent grows by 64.
void check_growth(const Machine& m, test::Tally& falls) {
    Shapes shapes;
    for (int i = 0; i < trials; ++i) {
        Matmul op = shapes.next();
        for (auto extent : {&Matmul::m, &Matmul::n, &Matmul::k}) {
            op.*extent = (op.*extent + 63) / 64 * 64;
        }
        const Execution execution{.l2 = L2State::cold};
        const Prediction base = predicted(op, execution, m);
        for (auto extent : {&Matmul::m, &Matmul::n, &Matmul::k}) {
            Matmul larger = op;
            larger.*extent += 64;
            const Prediction p = predicted(larger, execution, m);
            const auto text = [&] { return test::describe(op) + " -> " + test::describe(larger); };
            const bool grows = p.work.flop() > base.work.flop() && p.footprint > base.footprint;
            if (!grows) FAIL_CHECK(text());
            falls.add(base.time / p.time, text);
        }
    }
}

}  // namespace

TEST_CASE(
    "matrix products: times are above the bound, within the band, and consistent with the terms") {
    for (const char* name : gpus) {
        const Machine& m = machine(name);
        Shapes shapes;
        for (int i = 0; i < trials; ++i) {
            const Matmul op = for_machine(shapes.next(), m);
            const Prediction p = predicted(op, shapes.execution(), m);
            bool held = p.time >= p.lower_bound && p.low <= p.time && p.time <= p.high;
            for (const Term& term : p.terms) held = held && term.time <= p.time * 1.2;
            held = held && p.work.flop() / p.time <= p.peak * (1.0 + 1e-12);
            if (!held) {
                CAPTURE(name, op.batch, op.m, op.n, op.k, p.time.base(), p.lower_bound.base());
                CHECK(held);
            }
        }
    }
    SUCCEED();
}

TEST_CASE("matrix products: more DRAM bandwidth is never slower") {
    Machine better = machine("h200-sxm");
    better.dram_bandwidth = better.dram_bandwidth * 1.7;
    check_not_slower(machine("h200-sxm"), better);
}

TEST_CASE("matrix products: a higher peak is never slower") {
    for (const char* name : {"h200-sxm", "a100-sxm-80gb"}) {
        Machine better = machine(name);
        for (auto& peak : better.tensor) {
            if (peak) *peak *= 1.5;
        }
        check_not_slower(machine(name), better);
    }
}

TEST_CASE("matrix products: a larger L2 is never slower") {
    Machine better = machine("a100-sxm-80gb");
    better.l2.size *= 2.0;
    check_not_slower(machine("a100-sxm-80gb"), better);
}

TEST_CASE("matrix products: cold is never faster than warm") {
    for (const char* name : gpus) {
        const Machine& m = machine(name);
        Shapes shapes;
        for (int i = 0; i < trials; ++i) {
            const Matmul op = for_machine(shapes.next(), m);
            Execution execution = shapes.execution();
            execution.l2 = L2State::warm;
            const Time warm = predicted(op, execution, m).time;
            execution.l2 = L2State::cold;
            const Time cold = predicted(op, execution, m).time;
            if (cold < warm * (1.0 - 1e-12)) {
                CAPTURE(name, op.batch, op.m, op.n, op.k);
                CHECK(cold.base() >= warm.base());
            }
        }
    }
    SUCCEED();
}

TEST_CASE(
    "matrix products: work and footprint grow with every aligned extent, and time hardly falls") {
    // With aligned extents, the search can also use the larger shape's tile and split for the
    // smaller shape. Every term is then at most as large, except for the power droop.
    Machine analytic = machine("h200-sxm");
    analytic.residuals = nullptr;
    // The exceptions: k that splits unevenly, whole blocks of tiles that repeat DRAM reads, and
    // another tile that fills its last wave better. Among 10^6 products the worst is 1.1 %.
    test::Tally falls{.usual = 1.0 + 1e-9, .ever = 1.015};
    // With corrections, as in measurements, times do fall when the last tile and last wave fill up.
    test::Tally corrected{.usual = 1.04, .ever = 1.1};
    check_growth(analytic, falls);
    check_growth(machine("h200-sxm"), corrected);
    falls.check();
    corrected.check();
}

// Found by scripts/soak: the search ignores what L2 loses between waves. A warm product chose a
// tile that loses more than the cold one's and took 8 % longer. Now both use the same tile and
// differ only in DRAM time, which leaves 0.08 % in the wrong direction.
TEST_CASE(
    "a warm product uses no tile that loses more between waves than the cold product's tile") {
    const Machine& m = machine("l40s");
    const Matmul op{.m = 12686, .n = 172, .k = 13596};
    const Time warm = predicted(op, {.l2 = L2State::warm}, m).time;
    const Time cold = predicted(op, {.l2 = L2State::cold}, m).time;
    CHECK(cold.base() >= 0.999 * warm.base());
}
