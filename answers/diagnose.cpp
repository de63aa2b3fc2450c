#include "answers/diagnose.h"

#include <fmt/format.h>

#include <algorithm>

#include "answers/causes.h"
#include "hardware/units.h"

namespace ridge::answers {
namespace {

using model::Prediction;
using model::Resource;

/// What the lower bound of the prediction is made of.
std::string roof_of(const Prediction& p) {
    if (p.bound == model::Bound::compute) {
        return p.work.tensor > Flop{} ? "tensor cores" : "vector pipes";
    }
    if (p.limiter == Resource::link) return "link";
    if (p.bandwidth <= Bandwidth{} || p.work.compulsory() <= Bytes{}) return "latency";
    // Data that need not leave the L2 is served faster than DRAM could.
    const double share = p.lower_bound / (p.work.compulsory() / p.bandwidth);
    if (share > 0.9) return "DRAM";
    return share < 0.4 ? "L2" : "DRAM and L2";
}

Verdict judge(const Case& one) {
    if (one.row.measured < impossible_factor * one.roof) return Verdict::impossible;
    if (one.row.measured < one.low) return Verdict::fast;
    if (one.row.measured > slow_factor * one.high) return Verdict::slow;
    return Verdict::as_expected;
}

/// The sums of one call, and the operation of it that takes longest.
struct Expected {
    Time time{};
    Time low{};
    Time high{};
    Time roof{};
    model::Grade evidence = model::Grade::measured;
    Prediction longest{};
};

/// Empty, with the reason, if a part of the call is not modelled.
std::optional<Expected> expected_of(const TimedOperation& row, const model::Machine& machine,
                                    std::string& reason) {
    if (row.steps.empty()) {
        reason = "not an operation that ridge knows";
        return std::nullopt;
    }
    const model::WorkloadPrediction all = predict(row.steps, machine);
    Expected sum{.time = all.time, .low = all.low, .high = all.high};
    Time longest{};
    for (std::size_t i = 0; i < all.parts.size(); ++i) {
        const auto* p = std::get_if<Prediction>(&all.parts[i]);
        if (p == nullptr) {
            reason = std::get<model::NotModelled>(all.parts[i]).reason;
            return std::nullopt;
        }
        const auto count = static_cast<double>(row.steps[i].count);
        sum.roof += count * p->lower_bound;
        sum.evidence = std::min(sum.evidence, p->evidence.grade());
        if (count * p->time < longest) continue;
        longest = count * p->time;
        sum.longest = *p;
    }
    return sum;
}

Elsewhere elsewhere_of(const TimedOperation& row, const model::Machine& machine) {
    Elsewhere other{.gpu = machine.name};
    std::string ignored;
    if (const auto expected = expected_of(row, machine, ignored)) {
        other.expected = expected->time;
        other.low = expected->low;
        other.high = expected->high;
        other.evidence = expected->evidence;
    }
    return other;
}

Case case_of(const TimedOperation& row, const model::Machine& machine) {
    Case one{.row = row, .gpu = machine.name};
    const auto expected = expected_of(row, machine, one.why);
    if (!expected) return one;
    one.expected = expected->time;
    one.low = expected->low;
    one.high = expected->high;
    one.evidence = expected->evidence;
    one.roof = expected->roof;
    one.roof_name = roof_of(expected->longest);
    one.limiter = name_of(expected->longest.limiter);
    one.of_roof = expected->roof / row.measured;
    one.verdict = judge(one);
    if (one.verdict == Verdict::slow) {
        one.to_win = static_cast<double>(row.count) * (row.measured - expected->time);
    }
    return one;
}

/// Fills in why, and what to do.
void explain(Case& one, const model::Machine& machine) {
    std::string ignored;
    const auto expected = expected_of(one.row, machine, ignored);
    if (!expected) return;
    const Cause cause = cause_of(one, expected->longest, machine);
    one.why = cause.why;
    one.advice = cause.advice;
}

/// Rows beyond these are judged, but not explained.
constexpr std::size_t most_explained = 1000;

}  // namespace

Report diagnose(std::span<const TimedOperation> rows, const MachineOf& machine_of,
                const std::vector<std::string>& others) {
    Report report{.others = others};
    report.cases.reserve(rows.size());
    for (const TimedOperation& row : rows) {
        Case one = case_of(row, machine_of(row.gpu));
        for (const std::string& gpu : others) {
            one.elsewhere.push_back(elsewhere_of(row, machine_of(gpu)));
        }
        if (one.verdict == Verdict::unknown) {
            ++report.unknown;
        } else {
            report.measured += one.total();
            report.to_win += one.to_win;
        }
        report.cases.push_back(std::move(one));
    }
    const auto order = [](const Case& each) {
        if (each.verdict == Verdict::impossible) return 0;
        return each.verdict == Verdict::unknown ? 2 : 1;
    };
    std::stable_sort(report.cases.begin(), report.cases.end(), [&](const Case& a, const Case& b) {
        if (order(a) != order(b)) return order(a) < order(b);
        if (a.to_win != b.to_win) return a.to_win > b.to_win;
        return a.total() > b.total();
    });
    const std::size_t explained = std::min(most_explained, report.cases.size());
    for (std::size_t i = 0; i < explained; ++i) {
        explain(report.cases[i], machine_of(report.cases[i].row.gpu));
    }
    return report;
}

std::string verdict_of(const Report& report) {
    const auto count = [&](Verdict wanted) {
        return std::count_if(report.cases.begin(), report.cases.end(),
                             [wanted](const Case& each) { return each.verdict == wanted; });
    };
    const auto slow = count(Verdict::slow);
    const auto impossible = count(Verdict::impossible);
    const std::size_t known = report.cases.size() - static_cast<std::size_t>(report.unknown);
    std::string text;
    if (known == 0) {
        text = "None of the rows can be judged.";
    } else if (slow == 0) {
        text = fmt::format("No row of {} is slow: {} of measured time are as expected.", known,
                           format(report.measured));
    } else {
        const auto first =
            std::find_if(report.cases.begin(), report.cases.end(),
                         [](const Case& each) { return each.verdict == Verdict::slow; });
        text = fmt::format(
            "{} of {} rows {} slow: {} of {} to win ({} %), most in {}.", slow, known,
            slow == 1 ? "is" : "are", format(report.to_win), format(report.measured),
            format_number(100.0 * (report.to_win / report.measured), 2), first->row.name);
    }
    if (impossible > 0) {
        text +=
            fmt::format(" {} {} faster than the hardware can be: check {} first.", impossible,
                        impossible == 1 ? "row is" : "rows are", impossible == 1 ? "it" : "them");
    }
    if (report.unknown > 0) text += fmt::format(" {} not modelled.", report.unknown);
    return text;
}

std::string_view name_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::slow:
            return "slow";
        case Verdict::as_expected:
            return "as expected";
        case Verdict::fast:
            return "fast";
        case Verdict::impossible:
            return "impossible";
        case Verdict::unknown:
            break;
    }
    return "not modelled";
}

}  // namespace ridge::answers
