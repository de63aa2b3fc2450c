// Counter sets that change from launch to launch, as `ridge profile --counters` uses them: with one
// profiler that cycles through its passes, and with one profiler for each set.
#include <cmath>
#include <memory>
#include <string>

#include "measure/cuda/inject/counter_sets.h"
#include "measure/cuda/libraries/driver.h"
#include "tests/catch.h"
#include "tests/device/counted_kernels.h"

using namespace ridge::measure;
using namespace ridge::measure::cuda;
using ridge::test::CountedArrays;

namespace {

constexpr std::size_t elements = std::size_t{64} << 20U;

double value_of(const ProfilePlan& plan, const std::vector<double>& row, std::string_view name) {
    for (std::size_t i = 0; i < plan.metrics.size(); ++i) {
        if (plan.metrics[i].name == name) return row.at(i);
    }
    return std::nan("");
}

/// Counts with the same set twice in a row.
void check_again(ContextCounter& counter, const CountedArrays& arrays) {
    for (int turn = 0; turn < 2; ++turn) {
        counter.start(0);
        arrays.stream();
        const auto rows = counter.stop();
        REQUIRE(rows.size() == 1);
        CHECK(value_of(counter.sets()[0], rows[0], "dram__bytes_read.sum") ==
              Approx(4.0 * elements).epsilon(0.02));
    }
}

/// Checks what each set counts, cycling through all sets twice.
void check_sets(ContextCounter& counter, const CountedArrays& arrays) {
    const CounterSets& sets = counter.sets();
    for (unsigned turn = 0; turn < 2 * sets.size(); ++turn) {
        const unsigned set = turn % static_cast<unsigned>(sets.size());
        INFO("turn " << turn << ", set " << set);
        counter.start(set);
        arrays.stream();
        arrays.stream_double();
        const auto rows = counter.stop();
        REQUIRE(rows.size() == 2);
        const auto seen = [&](std::size_t launch, std::string_view name) {
            return value_of(sets[set], rows[launch], name);
        };
        if (set == 0) {
            constexpr double bytes = 4.0 * elements;
            CHECK(seen(0, "dram__bytes_read.sum") == Approx(bytes).epsilon(0.02));
            CHECK(seen(1, "dram__bytes_read.sum") == Approx(bytes).epsilon(0.02));
            CHECK(seen(0, "dram__bytes_write.sum") == Approx(bytes).epsilon(0.15));
        } else if (set == 1) {
            const auto fma = [&](std::size_t launch, const char* type) {
                return seen(launch, std::string("smsp__sass_thread_inst_executed_op_") + type +
                                        "fma_pred_on.sum");
            };
            CHECK(fma(0, "f") == Approx(3.0 * elements));
            CHECK(fma(1, "f") == 0.0);
            CHECK(fma(0, "d") == 0.0);
            CHECK(fma(1, "d") == Approx(0.5 * elements));
        } else {
            if ((sets.by_type() >> set & 1U) == 0) continue;  // causes
            // Tensor work by type: there is none, except that fp64 may count lanes' work too.
            for (std::size_t i = 0; i < sets[set].metrics.size(); ++i) {
                const std::string name(sets[set].metrics[i].name);
                INFO(name);
                CHECK(rows[0].at(i) == 0.0);
                if (name.find("fp64") == std::string::npos) CHECK(rows[1].at(i) == 0.0);
                CHECK(std::isfinite(rows[1].at(i)));
            }
        }
    }
}

}  // namespace

TEST_CASE("Counter sets count the same with one profiler and with one for each set") {
    if (!ridge::test::has_gpu()) {
        WARN("skipped: no GPU");
        return;
    }
    const auto& found = cupti();
    if (const auto* missing = std::get_if<Unavailable>(&found)) {
        WARN("skipped: " << missing->reason);
        return;
    }
    const Cupti& table = std::get<Cupti>(found);
    const auto chip = chip_of(table, 0);
    if (const auto* missing = std::get_if<Unavailable>(&chip)) {
        WARN("skipped: " << missing->reason << "; " << missing->remedy);
        return;
    }
    if (std::get<std::string>(chip) != "GH100") {
        WARN("skipped: what stands in which set is known for GH100");
        return;
    }
    const auto sets = std::make_shared<const CounterSets>(table, "GH100");
    const CountedArrays arrays(elements);
    try {
        for (const Profilers profilers : {Profilers::one, Profilers::one_a_set}) {
            INFO("profilers " << static_cast<int>(profilers));
            ContextCounter counter(table, current_context(), sets, profilers);
            check_sets(counter, arrays);
            check_again(counter, arrays);
        }
    } catch (const Busy& busy) {
        WARN("skipped: " << busy.reason.reason << "; " << busy.reason.remedy);
    }
}
