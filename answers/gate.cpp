#include "answers/gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "hardware/units.h"
#include "measure/statistics/quantile.h"
#include "programs/graph/costs.h"

namespace ridge::answers {
namespace {

/// How much a call differs in repeated runs of a program on one GPU, before the data say it
/// themselves (docs/check.md): short kernels by more than long ones, and an operator as a whole.
struct Usual {
    double item = programs::cost("noise.item");
    double placed = programs::cost("noise.placed");
    Time placed_time = programs::time_cost("noise.placed_time");
    double call = programs::cost("noise.call");
    Time brief = programs::time_cost("noise.short");
};
const Usual& usual() {
    static const Usual read;
    return read;
}
/// What is usual counts as much as this number of observations.
constexpr double joined = 4.0;
/// A standard deviation over the median of absolute deviations.
constexpr double from_absolute = 1.4826;
/// The share of a normal distribution within one standard deviation.
constexpr double within_one = 0.68;
/// The variance of a median over that of a mean.
constexpr double of_median = 1.57;

/// One side of an item: ln of the seconds of its calls, by run.
struct Side {
    std::vector<std::vector<double>> runs;
    std::vector<double> medians;  ///< of each run
    double calls = 0.0;           ///< of all runs
    const TimedItem* first = nullptr;

    [[nodiscard]] double middle() const { return measure::median_of(medians); }
};

/// The spread by the median of absolute deviations, which outliers do not move.
double log_spread(const std::vector<double>& logs, double middle) {
    std::vector<double> away;
    away.reserve(logs.size());
    for (const double each : logs) away.push_back(std::abs(each - middle));
    return from_absolute * measure::median_of(std::move(away));
}

void add_samples(Side& side, const TimedItem& item) {
    std::vector<double> logs;
    for (const Time sample : item.samples) {
        if (sample > Time{}) logs.push_back(std::log(sample.base()));
    }
    if (logs.empty()) return;
    side.medians.push_back(measure::median_of(logs));
    side.runs.push_back(std::move(logs));
    side.calls += static_cast<double>(item.count);
    if (side.first == nullptr) side.first = &item;
}

struct Sides {
    std::array<Side, 2> of;

    [[nodiscard]] bool common() const { return !of[0].medians.empty() && !of[1].medians.empty(); }
    [[nodiscard]] bool placed() const { return of[0].first != nullptr && of[0].first->placed; }
    /// All runs have as many calls: the k-th calls are compared, because the calls of an operator
    /// differ by what ran before them.
    [[nodiscard]] bool paired() const {
        const std::size_t calls = of[0].runs.front().size();
        return std::all_of(of.begin(), of.end(), [calls](const Side& side) {
            return std::all_of(side.runs.begin(), side.runs.end(),
                               [calls](const auto& run) { return run.size() == calls; });
        });
    }
    /// Of each call, between the means of the runs.
    [[nodiscard]] std::vector<double> differences() const {
        std::vector<double> found(of[0].runs.front().size(), 0.0);
        for (std::size_t which = 0; which < of.size(); ++which) {
            const auto& runs = of.at(which).runs;
            const double weight = (which == 0 ? -1.0 : 1.0) / static_cast<double>(runs.size());
            for (const auto& run : runs) {
                for (std::size_t k = 0; k < found.size(); ++k) found[k] += weight * run[k];
            }
        }
        return found;
    }
    [[nodiscard]] double log_ratio() const {
        return paired() ? measure::median_of(differences()) : of[1].middle() - of[0].middle();
    }
};

std::map<std::string, Sides> items_of(std::span<const TimedRun> before,
                                      std::span<const TimedRun> now) {
    std::map<std::string, Sides> items;
    for (std::size_t which = 0; which < 2; ++which) {
        for (const TimedRun& run : which == 0 ? before : now) {
            for (const TimedItem& item : run.items) {
                add_samples(items[item.name].of.at(which), item);
            }
        }
    }
    return items;
}

/// How much an unchanged item of this length differs between the sides: what is usual, times a
/// factor by which the items of these runs scatter around their middle. Most are unchanged. Items whose
/// time depends on where their tensors lie have a factor of their own.
class Noise {
  public:
    explicit Noise(const std::map<std::string, Sides>& items) {
        std::array<std::vector<double>, 2> scaled;
        std::vector<double> plain;
        for (const auto& [name, sides] : items) {
            if (!sides.common()) continue;
            plain.push_back(sides.log_ratio());
        }
        if (plain.empty()) return;
        const double middle = measure::median_of(plain);
        for (const auto& [name, sides] : items) {
            if (!sides.common()) continue;
            scaled.at(sides.placed() ? 1 : 0)
                .push_back(std::abs(sides.log_ratio() - middle) / expected(sides));
        }
        for (std::size_t kind = 0; kind < scaled.size(); ++kind) {
            auto& each = scaled.at(kind);
            if (each.empty()) continue;
            std::sort(each.begin(), each.end());
            const double spread = measure::quantile(each, within_one);
            const auto count = static_cast<double>(each.size());
            factor_.at(kind) = std::sqrt((count * spread * spread + joined) / (count + joined));
            // Where tensors lie has modes, of which most items show one: they look quieter than they are.
            if (kind == 1) factor_.at(kind) = std::max(1.0, factor_.at(kind));
        }
    }
    [[nodiscard]] double of(const Sides& sides) const {
        return factor_.at(sides.placed() ? 1 : 0) * expected(sides);
    }

  private:
    static double expected(const Sides& sides) {
        const double taken = std::exp(sides.of[0].middle());
        // Each kernel of a call settles by itself.
        const double kernels = std::sqrt(std::max(1.0, sides.of[0].first->kernels));
        const double placed =
            kernels * std::min(usual().placed, usual().placed_time.base() / taken);
        const double item = sides.placed() ? std::max(usual().item, placed) : usual().item;
        const double call = usual().call * usual().brief.base() / (usual().brief.base() + taken);
        double variance = 0.0;
        for (const Side& side : sides.of) {
            const auto calls = static_cast<double>(side.runs.front().size());
            variance += item * item + call * call / calls;
        }
        return std::sqrt(variance);
    }
    std::array<double, 2> factor_{1.0, 1.0};
};

/// The squared error of a side's median: that of runs, and that of the samples of a run.
double side_variance(const Side& side, double noise, bool paired) {
    const double middle = side.middle();
    const double expected = noise * noise / 2.0;
    const auto runs = static_cast<double>(side.medians.size());
    double between = 0.0;
    for (const double each : side.medians) between += (each - middle) * (each - middle);
    between = (between + joined * expected) / (runs - 1.0 + joined);
    double within = 0.0;
    if (!paired) {
        for (const auto& run : side.runs) {
            const double spread = log_spread(run, measure::median_of(run));
            within =
                std::max(within, of_median * spread * spread / static_cast<double>(run.size()));
        }
    }
    return std::max(between, within) / runs;
}

double error_of(const Sides& sides, const Noise& noise) {
    const double expected = noise.of(sides);
    const bool paired = sides.paired();
    double variance =
        side_variance(sides.of[0], expected, paired) + side_variance(sides.of[1], expected, paired);
    if (paired) {
        const std::vector<double> differences = sides.differences();
        const double spread = log_spread(differences, measure::median_of(differences));
        variance = std::max(variance,
                            of_median * spread * spread / static_cast<double>(differences.size()));
    }
    return std::sqrt(variance);
}

Time per_run(const Side& side, std::size_t runs) {
    if (side.medians.empty()) return {};
    return Time::from_base(std::exp(side.middle()) * side.calls /
                           static_cast<double>(std::max<std::size_t>(1, runs)));
}

std::int64_t calls_of(const Side& side, std::size_t runs) {
    return std::llround(side.calls / static_cast<double>(std::max<std::size_t>(1, runs)));
}

std::string growth_text(double ratio) {
    return fmt::format("{:+.1f} %", 100.0 * (ratio - 1.0));
}

/// Names of templates are long, and begin alike.
std::string shortened(const std::string& kernel) {
    constexpr std::size_t most = 60;
    return kernel.size() <= most ? kernel : kernel.substr(0, most) + "...";
}

std::string why_of(const Sides& sides, const ItemChange& one) {
    const TimedItem& before = *sides.of[0].first;
    const TimedItem& now = *sides.of[1].first;
    std::string why;
    const auto say = [&why](std::string text) {
        why += (why.empty() ? "" : "; ") + std::move(text);
    };
    if (!before.code.empty() && !now.code.empty() && before.code != now.code) {
        say("runs " + shortened(now.code) + " instead of " + shortened(before.code));
    }
    if (one.calls_before != one.calls_now) {
        say(fmt::format("called {} times instead of {}", one.calls_now, one.calls_before));
    }
    if (before.setting != now.setting && !now.setting.empty()) {
        say(before.setting.empty() ? now.setting : now.setting + " instead of " + before.setting);
    }
    return why;
}

Trend judged(double log_ratio, double error, const GateOptions& options) {
    const double limit = std::log1p(options.budget);
    const double sure = options.sure * error;
    if (log_ratio > limit && log_ratio > sure) return Trend::slower;
    if (-log_ratio > limit && -log_ratio > sure) return Trend::faster;
    return sure > limit ? Trend::undecided : Trend::same;
}

struct Counted {
    std::size_t before = 0;
    std::size_t now = 0;
};

ItemChange change_of(const std::string& name, const Sides& sides, const Counted& runs,
                     const Noise& noise, const GateOptions& options) {
    ItemChange one{.name = name,
                   .before = per_run(sides.of[0], runs.before),
                   .now = per_run(sides.of[1], runs.now),
                   .calls_before = calls_of(sides.of[0], runs.before),
                   .calls_now = calls_of(sides.of[1], runs.now)};
    if (!sides.common()) {
        one.trend = sides.of[0].medians.empty() ? Trend::added : Trend::removed;
        return one;
    }
    const double log_ratio = sides.log_ratio();
    one.ratio = std::exp(log_ratio);
    one.error = error_of(sides, noise);
    one.trend = judged(log_ratio, one.error, options);
    one.why = why_of(sides, one);
    return one;
}

/// The factor that all items share: the median, weighted by time. Named if it explains what is slow.
std::optional<double> shared_factor(const std::vector<ItemChange>& changes) {
    std::vector<std::pair<double, double>> found;
    double all = 0.0;
    for (const ItemChange& each : changes) {
        if (each.trend == Trend::added || each.trend == Trend::removed) continue;
        found.emplace_back(each.ratio, each.before.base());
        all += each.before.base();
    }
    std::sort(found.begin(), found.end());
    constexpr std::size_t fewest = 5;
    if (found.size() < fewest) return {};
    double passed = 0.0;
    for (const auto& [ratio, weight] : found) {
        passed += weight;
        if (2.0 * passed >= all) return ratio;
    }
    return {};
}

void add_total(GateReport& report) {
    ItemChange& total = report.total;
    total.name = "all";
    double variance = 0.0;
    for (const ItemChange& each : report.changes) {
        total.before += each.before;
        total.now += each.now;
        const double own = each.now.base() * each.error;
        variance += own * own;
    }
    if (total.before <= Time{} || total.now <= Time{}) return;
    total.ratio = total.now / total.before;
    const double runs = 2.0 * usual().item * usual().item;
    total.error = std::sqrt(variance / (total.now.base() * total.now.base()) + runs);
    total.trend = judged(std::log(total.ratio), total.error, report.options);
}

/// What is slower by less than the program could notice is not called so.
void leave_small(ItemChange& one, Time all, const GateOptions& options) {
    const bool changed = one.trend == Trend::slower || one.trend == Trend::faster;
    const double least = options.least_growth * options.budget * all.base();
    if (changed && std::abs(one.grown().base()) < least) one.trend = Trend::same;
}

/// All shapes of an operator, where none of them is judged slower or faster alone.
std::vector<ItemChange> changes_of_groups(const std::map<std::string, Sides>& items,
                                          const std::vector<ItemChange>& changes,
                                          const GateOptions& options) {
    struct Group {
        ItemChange all{};
        double weighted = 0.0;
        double variance = 0.0;
        std::int64_t shapes = 0;
        bool decided = false;
    };
    std::map<std::string, Group> groups;
    for (const ItemChange& each : changes) {
        const Sides& sides = items.at(each.name);
        if (!sides.common() || sides.of[0].first->group.empty()) continue;
        Group& group = groups[sides.of[0].first->group];
        const double weight = each.before.base();
        group.weighted += weight * std::log(each.ratio);
        group.variance += weight * weight * each.error * each.error;
        group.all.before += each.before;
        group.all.now += each.now;
        group.all.calls_before += each.calls_before;
        group.all.calls_now += each.calls_now;
        ++group.shapes;
        group.decided |= each.trend == Trend::slower || each.trend == Trend::faster;
    }
    std::vector<ItemChange> found;
    for (auto& [name, group] : groups) {
        const double all = group.all.before.base();
        if (group.shapes < 2 || group.decided || all <= 0.0) continue;
        ItemChange& one = group.all;
        one.name = fmt::format("{}, its {} shapes together", name, group.shapes);
        one.ratio = std::exp(group.weighted / all);
        one.error = std::sqrt(group.variance) / all;
        one.trend =
            judged(group.weighted / all, one.error * options.sure_together / options.sure, options);
        if (one.trend == Trend::slower || one.trend == Trend::faster) {
            found.push_back(std::move(one));
        }
    }
    return found;
}

void add_notes(GateReport& report, std::span<const TimedRun> before,
               std::span<const TimedRun> now) {
    const auto& options = report.options;
    if (const auto shared = shared_factor(report.changes);
        shared && std::abs(*shared - 1.0) > options.budget / 2.0) {
        report.notes.push_back(fmt::format(
            "Half of the time changed by {} or more: the clock, another load on the GPU or the "
            "software, rather than single operators.",
            growth_text(*shared)));
    }
    const bool named = !before.empty() && !now.empty() && !before.front().device.empty() &&
                       !now.front().device.empty();
    if (named && before.front().device != now.front().device) {
        report.notes.push_back("Measured on " + now.front().device + ", the baseline on " +
                               before.front().device + ".");
    }
    if (const auto open = report.counts[static_cast<std::size_t>(Trend::undecided)]; open > 0) {
        report.notes.push_back(fmt::format(
            "{} {} too noisy, or sampled too seldom, for a budget of {:.3g} %: more runs on each "
            "side decide.",
            open, open == 1 ? "item is" : "items are", 100.0 * options.budget));
    }
    const auto added = report.counts[static_cast<std::size_t>(Trend::added)];
    const auto removed = report.counts[static_cast<std::size_t>(Trend::removed)];
    if (added + removed > 0) {
        report.notes.push_back(fmt::format(
            "{} only in the baseline, {} only now: compared in the sum.", removed, added));
    }
}

GateVerdict verdict_for(const GateReport& report) {
    const auto count = [&report](Trend which) {
        return report.counts[static_cast<std::size_t>(which)];
    };
    if (count(Trend::slower) > 0 || report.total.trend == Trend::slower) {
        return GateVerdict::slower;
    }
    return count(Trend::same) + count(Trend::faster) > 0 ? GateVerdict::within
                                                         : GateVerdict::not_measured;
}

}  // namespace

GateReport compare(std::span<const TimedRun> before, std::span<const TimedRun> now,
                   const GateOptions& options) {
    GateReport report{.options = options,
                      .runs_before = static_cast<std::int64_t>(before.size()),
                      .runs_now = static_cast<std::int64_t>(now.size())};
    const std::map<std::string, Sides> items = items_of(before, now);
    const Noise noise(items);
    Time all;
    for (const auto& [name, sides] : items) {
        report.changes.push_back(
            change_of(name, sides, {before.size(), now.size()}, noise, options));
        all += std::max(report.changes.back().before, report.changes.back().now);
    }
    add_total(report);
    for (ItemChange& each : report.changes) leave_small(each, all, options);
    for (ItemChange& each : changes_of_groups(items, report.changes, options)) {
        report.changes.push_back(std::move(each));
    }
    std::erase_if(report.changes, [&](const ItemChange& each) {
        return std::max(each.before, each.now) < options.least_share * all;
    });
    for (const ItemChange& each : report.changes) {
        ++report.counts.at(static_cast<std::size_t>(each.trend));
    }
    std::stable_sort(report.changes.begin(), report.changes.end(),
                     [](const ItemChange& a, const ItemChange& b) {
                         const bool first = a.trend == Trend::slower;
                         if (first != (b.trend == Trend::slower)) return first;
                         return std::abs(a.grown().base()) > std::abs(b.grown().base());
                     });
    if (!before.empty()) report.span_before = before.front().span;
    if (!now.empty()) report.span_now = now.front().span;
    add_notes(report, before, now);
    report.verdict = verdict_for(report);
    return report;
}

std::string_view name_of(Trend trend) {
    constexpr std::array<std::string_view, trend_count> names{"slower",    "faster", "same",
                                                              "undecided", "added",  "removed"};
    return names.at(static_cast<std::size_t>(trend));
}

std::string_view name_of(GateVerdict verdict) {
    constexpr std::array<std::string_view, 3> names{"within the budget", "slower", "not measured"};
    return names.at(static_cast<std::size_t>(verdict));
}

}  // namespace ridge::answers
