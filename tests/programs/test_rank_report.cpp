// Ranks beside each other: planted stragglers, exposed transfers, slow links and shifted clocks are
// found.
#include <algorithm>

#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "programs/report/intervals.h"
#include "programs/report/rank_report.h"
#include "tests/catch.h"
#include "tests/support/text.h"

using namespace ridge;
using namespace ridge::programs;
using test::holds;

namespace {

constexpr std::int64_t us = 1000;
constexpr const char* reduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL";

/// A rank's trace, kernel by kernel.
class RankTrace {
  public:
    explicit RankTrace(std::int64_t rank) { trace_.header.rank = rank; }
    RankTrace& runs(const std::string& name, std::int64_t from_us, std::int64_t to_us,
                    const std::string& collective = {}) {
        trace_.kernels.push_back({.name = trace_.texts.add(name),
                                  .start_ns = from_us * us,
                                  .duration_ns = (to_us - from_us) * us,
                                  .device = trace_.header.rank,
                                  .collective = trace_.texts.add(collective)});
        return *this;
    }
    /// The same, with the time at which the call that launched it returned.
    RankTrace& launched(const std::string& name, std::int64_t from_us, std::int64_t to_us,
                        std::int64_t returned_us) {
        runs(name, from_us, to_us);
        trace_.kernels.back().launch = static_cast<std::int32_t>(trace_.launches.size());
        trace_.launches.push_back({.start_ns = returned_us * us, .end_ns = returned_us * us});
        return *this;
    }
    Trace take() { return std::move(trace_); }

  private:
    Trace trace_;
};

RankReport report_of_ranks(Trace first, Trace second, const model::Machine* machine = nullptr) {
    std::vector<Trace> traces;
    traces.push_back(std::move(first));
    traces.push_back(std::move(second));
    return ranks_of(traces, machine);
}

}  // namespace

TEST_CASE("what ranks do before all have started is left out") {
    constexpr std::int64_t ms = 1000;  // in microseconds
    const auto rank = [](std::int64_t number, std::int64_t builds) {
        RankTrace trace(number);
        // Rank 1 takes longer to build its model; the other waits for it in the first collective.
        trace.runs("fill", 0, 10).launched("fill", builds, builds + 10, builds);
        trace.launched(reduce, 3000 * ms - (number == 0 ? 1000 * ms : 0), 3001 * ms, 2000 * ms);
        trace.launched("gemm", 4000 * ms, 4010 * ms, 4000 * ms);
        for (std::int64_t step = 1; step < 20; ++step) {
            const std::int64_t at = (4000 + 12 * step) * ms;
            trace.launched("gemm", at, at + 10 * ms, at)
                .launched(reduce, at + 10 * ms, at + 12 * ms, at);
        }
        return trace.take();
    };
    const RankReport report = report_of_ranks(rank(0, 500 * ms), rank(1, 1900 * ms));
    CHECK(report.span.in(units::ms) < 300.0);
    CHECK(report.collectives.size() == 19);
    CHECK(report.ranks[0].waiting.in(units::ms) < 1.0);
    CHECK(report.ranks[1].idle.in(units::ms) < 30.0);
    const bool said = std::any_of(report.notes.begin(), report.notes.end(), [](const auto& note) {
        return holds(note, "the program's start is left out: 1 of 20 collectives");
    });
    CHECK(said);
}

TEST_CASE("the rank that comes last is named, with what the others waited for it") {
    const RankReport report = report_of_ranks(
        RankTrace(0).runs("gemm", 0, 100).runs(reduce, 100, 320).runs("gemm", 320, 400).take(),
        RankTrace(1).runs("gemm", 0, 300).runs(reduce, 300, 320).runs("gemm", 320, 400).take());
    REQUIRE(report.collectives.size() == 1);
    const CollectiveRow& row = report.collectives.front();
    CHECK(row.late == 1);
    CHECK(row.skew.in(units::us) == Approx(200.0));
    CHECK(row.waiting.in(units::us) == Approx(200.0));
    CHECK(row.time.in(units::us) == Approx(20.0));
    CHECK(report.ranks[0].waiting.in(units::us) == Approx(200.0));
    CHECK(report.ranks[0].exposed.in(units::us) == Approx(220.0));
    CHECK(report.ranks[0].computing.in(units::us) == Approx(180.0));
    CHECK(report.ranks[1].came_last == 1);
    CHECK(report.ranks[1].caused.in(units::us) == Approx(200.0));
    CHECK(report.span.in(units::us) == Approx(400.0));
    CHECK(holds(findings_of(report).front(), "rank 1 came last to 1 of 1 collectives"));
}

TEST_CASE("communication beside other kernels is not exposed, and idle time is the rest") {
    const RankReport report = report_of_ranks(
        RankTrace(0).runs("gemm", 0, 100).runs(reduce, 50, 150).runs("gemm", 200, 250).take(),
        RankTrace(1).runs("gemm", 0, 100).runs(reduce, 50, 150).runs("gemm", 200, 250).take());
    CHECK(report.ranks[0].communication.in(units::us) == Approx(100.0));
    CHECK(report.ranks[0].exposed.in(units::us) == Approx(50.0));
    CHECK(report.ranks[0].waiting.in(units::us) == Approx(0.0).margin(1e-9));
    CHECK(report.ranks[0].idle.in(units::us) == Approx(50.0));
    CHECK(holds(findings_of(report).front(), "moved data for"));
}

TEST_CASE("clocks of different files are aligned by the ends of collectives") {
    // The second file's clock is 10 s ahead; its rank is 30 us late to the second collective only.
    constexpr std::int64_t ahead = 10'000'000;
    const RankReport report = report_of_ranks(
        RankTrace(0).runs(reduce, 0, 10).runs(reduce, 20, 70).runs(reduce, 80, 90).take(),
        RankTrace(1)
            .runs(reduce, ahead + 0, ahead + 10)
            .runs(reduce, ahead + 50, ahead + 70)
            .runs(reduce, ahead + 80, ahead + 90)
            .take());
    CHECK(report.ranks[1].shift.in(units::s) == Approx(10.0));
    CHECK(report.span.in(units::us) == Approx(90.0));
    CHECK(report.collectives.front().number == 2);
    CHECK(report.collectives.front().skew.in(units::us) == Approx(30.0));
    CHECK(report.collectives.front().late == 1);
}

TEST_CASE("a slow link shows as collectives slower than predicted once all have come") {
    const model::Catalogue catalogue = model::catalogue();
    const model::Machine h200 = model::make_machine(catalogue.at("h200-sxm"));
    const std::string sizes = "allreduce|33554432|33554432|BFloat16|2";
    const auto rank = [&](std::int64_t number) {
        return RankTrace(number).runs("gemm", 0, 10).runs(reduce, 10, 2010, sizes).take();
    };
    const RankReport report = report_of_ranks(rank(0), rank(1), &h200);
    const CollectiveRow& row = report.collectives.front();
    CHECK(row.what == "67.1 MB of bf16 over 2 GPUs");
    REQUIRE(row.bus);
    CHECK(row.bus->in(units::GB / units::s) == Approx(33.55).epsilon(0.01));
    CHECK(*row.predicted_bus > 5.0 * *row.bus);
    CHECK(holds(findings_of(report).front(), "a slow or busy link"));
}

TEST_CASE("collectives of one rank only are left out, and one rank alone is refused") {
    const RankReport report =
        report_of_ranks(RankTrace(0).runs(reduce, 0, 10).runs(reduce, 20, 30).take(),
                        RankTrace(1).runs(reduce, 0, 10).runs("gemm", 20, 30).take());
    CHECK(report.collectives.size() == 1);
    CHECK(holds(report.notes.front(), "1 collectives appear on one rank only"));
    const std::vector<Trace> none;
    CHECK_THROWS_AS(ranks_of(none, nullptr), InputError);
}

TEST_CASE("several GPUs in one trace are ranks with one clock") {
    Trace both = RankTrace(0).runs(reduce, 0, 20).take();
    both.kernels.push_back(
        {.name = both.texts.add(reduce), .start_ns = 5 * us, .duration_ns = 14 * us, .device = 1});
    std::vector<Trace> traces;
    traces.push_back(std::move(both));
    const RankReport report = ranks_of(traces, nullptr);
    REQUIRE(report.ranks.size() == 2);
    CHECK(report.ranks[1].shift == Time{});
    CHECK(report.collectives.front().late == 1);
    CHECK(report.collectives.front().skew.in(units::us) == Approx(5.0));
}

TEST_CASE("intervals: union, difference and what two sets share") {
    const Intervals joined = merged({{5, 7}, {0, 2}, {2, 3}, {6, 9}, {4, 4}});
    CHECK(joined == Intervals{{0, 3}, {5, 9}});
    CHECK(length_of(joined) == 7);
    CHECK(without(joined, {{1, 6}, {8, 20}}) == Intervals{{0, 1}, {6, 8}});
    CHECK(without(joined, {}) == joined);
    CHECK(common(joined, {{2, 6}}) == Intervals{{2, 3}, {5, 6}});
    CHECK(common({}, joined).empty());
    CHECK(without({{0, 10}}, {{2, 3}, {5, 6}}) == Intervals{{0, 2}, {3, 5}, {6, 10}});
}
