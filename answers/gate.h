// Whether a program, a set of operations or a table of times became slower, and why.
//
//   const GateReport report = compare(baseline, now, {.budget = 0.03});
//   report.verdict;            // slower
//   report.changes[0].why;     // "runs gemm_64x64 instead of gemm_128x128"
//
// Method. An item is what both sides timed under one name: an operator with its shapes, a record's
// question, a row of a table. Its time is the median of its samples in each run; of
// one run a side, the k-th calls are compared. The noise comes from how items differ that did not change, which are most, and
// from the item's own samples and runs (docs/check.md). An item is slower if its time grew by more
// than the budget and by more than `sure` standard errors; it is not decided
// if a change of the size of the budget would not stand out. Items below `least_share` of the time are left out. The sum of
// all items is judged by the same rule, and so are the shapes of one operator together: what differs by
// chance from shape to shape averages out.
//
// Limits: items are taken to be independent apart from a factor that all share (clocks, another load
// on the GPU), which is named. A change of what is computed is named but not judged.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/quantity.h"

namespace ridge::answers {

/// What one run says about one thing that it timed.
struct TimedItem {
    std::string name;
    std::vector<Time> samples{};  ///< of single calls
    std::int64_t count = 1;       ///< calls in the run
    std::string code{};           ///< the kernel that ran, and how it was launched
    std::string setting{};        ///< what else may explain a change: software, clock
    Time waited{};                ///< the GPU waited for its launches (a trace)
    /// It streams a good part of the L2 or more: its time depends on where its tensors lie.
    bool placed = false;
    double kernels = 1.0;  ///< of a call
    std::string group{};   ///< the operator, of all its shapes; empty: none
};

/// One run: a trace, a file of records, a table.
struct TimedRun {
    std::string file;
    std::string device{};
    std::vector<TimedItem> items{};
    Time span{};  ///< first to last kernel; zero: not known
};

enum class Trend : std::uint8_t {
    slower,
    faster,
    same,       ///< a change beyond the budget would have stood out
    undecided,  ///< too noisy, or too few samples
    added,
    removed
};
inline constexpr std::size_t trend_count = 6;

struct ItemChange {
    std::string name;
    Trend trend = Trend::same;
    Time before{};  ///< of all calls of a run
    Time now{};
    double ratio = 1.0;  ///< of the time of one call
    double error = 0.0;  ///< standard error of ln ratio
    std::int64_t calls_before = 0;
    std::int64_t calls_now = 0;
    std::string why{};  ///< what changed with it; empty: nothing that was recorded

    [[nodiscard]] Time grown() const { return now - before; }
};

enum class GateVerdict : std::uint8_t { within, slower, not_measured };

struct GateOptions {
    double budget = 0.03;
    double sure = 4.0;           ///< standard errors
    double sure_together = 2.5;  ///< of all shapes of an operator: few are judged
    /// An item alone is slower only if its growth is this share of the budget of all time, or more.
    double least_growth = 0.01;
    double least_share = 0.001;  ///< of the time of all items
};

struct GateReport {
    GateVerdict verdict = GateVerdict::not_measured;
    GateOptions options{};
    std::vector<ItemChange> changes{};  ///< slower ones first, by the time they grew
    std::array<std::int64_t, trend_count> counts{};
    ItemChange total{};
    Time span_before{};
    Time span_now{};
    std::int64_t runs_before = 0;
    std::int64_t runs_now = 0;
    std::vector<std::string> notes{};  ///< what differs on the whole, and what was not judged
};

[[nodiscard]] GateReport compare(std::span<const TimedRun> before, std::span<const TimedRun> now,
                                 const GateOptions& options = {});

[[nodiscard]] std::string_view name_of(Trend trend);
[[nodiscard]] std::string_view name_of(GateVerdict verdict);

/// "2 of 41 items are slower by more than 3 %: mm [64,64] x [64,64] (+5.1 %)."
[[nodiscard]] std::string verdict_of(const GateReport& report);

}  // namespace ridge::answers
