#include "answers/causes.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "hardware/units.h"
#include "model/advice.h"
#include "model/core/fields.h"

namespace ridge::answers {
namespace {

using model::Execution;
using model::Prediction;
using model::Resource;

std::string factor(double ratio) {
    return format_number(ratio, 2) + "x";
}

/// "tensor cores", as a reader calls the resource.
std::string_view plain_name(Resource resource) {
    switch (resource) {
        case Resource::tensor:
            return "the tensor cores";
        case Resource::fma:
        case Resource::issue:
            return "the vector pipes";
        case Resource::special:
            return "special functions";
        case Resource::dram:
            return "DRAM";
        case Resource::l2:
            return "the L2";
        case Resource::shared:
        case Resource::load_store:
            return "shared memory and L1";
        case Resource::link:
            return "the link";
        case Resource::launch:
            return "launching";
        case Resource::store:
            return "storing the results";
        case Resource::quantise:
            return "converting the operands";
        case Resource::parallelism:
            return "too few blocks";
        case Resource::latency:
            break;
    }
    return "latency";
}

/// What to look at in a kernel that is slower than such kernels are.
std::string_view first_check(Resource resource) {
    switch (resource) {
        case Resource::tensor:
            return "check that the kernel uses the tensor cores in this type, and its tile and "
                   "alignment (a profile names the kernel)";
        case Resource::dram:
            return "check for strided or misaligned access and for copies: count its DRAM bytes "
                   "(ncu, dram__bytes.sum) against the algorithmic ones";
        case Resource::l2:
        case Resource::shared:
        case Resource::load_store:
            return "check tile size and reuse: it moves data between L2 and SMs more often than "
                   "needed";
        case Resource::link:
            return "check the route (nvidia-smi topo -m) and what else uses the link";
        case Resource::launch:
        case Resource::latency:
        case Resource::parallelism:
            return "it is short: replay it in a CUDA graph, or fuse it with its neighbours";
        default:
            break;
    }
    return "profile it: `ridge trace` reads Nsight Compute's counters";
}

/// The prediction of the same operation carried out otherwise.
std::optional<Prediction> carried_out(const Case& one, const Execution& execution,
                                      const model::Machine& machine) {
    const model::Outcome outcome = predict(one.row.steps.front().operation, execution, machine);
    const auto* p = std::get_if<Prediction>(&outcome);
    if (p == nullptr) return std::nullopt;
    return *p;
}

bool explains(const Prediction& p, Time measured) {
    return p.low <= measured && measured <= p.high;
}

Cause of_impossible(const Case& one) {
    std::string why =
        fmt::format("{} % of the {} roof: no run of this operation is faster than {}",
                    format_number(100.0 * one.of_roof, 3), one.roof_name, format(one.roof));
    const double thousand = 1000.0 * (one.row.measured / *one.expected);
    if (thousand > 0.5 && thousand < 4.0) {
        return {.why = why,
                .advice =
                    "the time looks like it is in units 1000 times as large "
                    "(milliseconds, not microseconds): check its column"};
    }
    return {.why = why,
            .advice =
                "check shape, type and number of calls: something smaller ran, or the time "
                "is of one part"};
}

/// Another way to carry it out whose band holds the measured time.
std::optional<Cause> other_way(const Case& one, const Prediction& expected,
                               const model::Machine& machine) {
    if (one.row.steps.size() != 1) return std::nullopt;
    const Execution& asked = one.row.steps.front().execution;
    Execution other = asked;
    if (asked.launch == model::LaunchMode::kernel) {
        other.launch = model::LaunchMode::stream;
        const auto p = carried_out(one, other, machine);
        if (p && explains(*p, one.row.measured)) {
            return Cause{.why =
                             "this is the time of a call from the host, launch included, not of "
                             "the kernel",
                         .advice = fmt::format("in a CUDA graph about {}; or say launch=stream",
                                               format(*one.expected))};
        }
        other = asked;
    }
    if (asked.l2 == model::L2State::warm) {
        other.l2 = model::L2State::cold;
        const auto p = carried_out(one, other, machine);
        if (p && explains(*p, one.row.measured)) {
            return Cause{.why = "the data came from DRAM: this is its time with a cold L2",
                         .advice =
                             "run it right after the kernel that makes its input, or say "
                             "l2=cold"};
        }
        other = asked;
    }
    const auto kind = model::kind_of(one.row.steps.front().operation);
    for (const model::Implementation way : model::info_of(kind).implementations) {
        if (way == asked.implementation) continue;
        other.implementation = way;
        const auto p = carried_out(one, other, machine);
        if (!p || p->time < *one.expected || !explains(*p, one.row.measured)) continue;
        return Cause{
            .why = fmt::format("it takes as long as another kernel does (impl={})",
                               model::name_of(way)),
            .advice = fmt::format("the usual one, impl={}, is expected to take {}",
                                  model::name_of(expected.implementation), format(*one.expected))};
    }
    return std::nullopt;
}

Cause of_slow(const Case& one, const Prediction& expected, const model::Machine& machine) {
    const double ratio = one.row.measured / *one.expected;
    if (ratio > 300.0 && ratio < 3000.0) {
        return {.why = factor(ratio) + " the expected time",
                .advice = "about 1000: is the time in the unit that its column says?"};
    }
    if (auto other = other_way(one, expected, machine)) return *other;
    return {.why = fmt::format("{} the expected time; such kernels are limited by {}",
                               factor(ratio), plain_name(expected.limiter)),
            .advice = std::string(first_check(expected.limiter))};
}

/// What would make the operation itself faster.
std::string change_of(const Case& one, const Prediction& expected, const model::Machine& machine) {
    if (one.row.steps.size() != 1) return {};
    const model::Step& step = one.row.steps.front();
    const auto found = advise(step.operation, step.execution, expected, machine);
    return found.empty() ? std::string() : describe(found.front());
}

}  // namespace

Cause cause_of(const Case& one, const Prediction& expected, const model::Machine& machine) {
    switch (one.verdict) {
        case Verdict::impossible:
            return of_impossible(one);
        case Verdict::slow:
            return of_slow(one, expected, machine);
        case Verdict::fast:
            return {.why = fmt::format("faster than expected ({}), but possible",
                                       format(*one.expected)),
                    .advice = {}};
        case Verdict::as_expected:
        case Verdict::unknown:
            break;
    }
    return {.why = fmt::format("as expected; limited by {}", plain_name(expected.limiter)),
            .advice = change_of(one, expected, machine)};
}

}  // namespace ridge::answers
