#include "kernel/causes/stall_lines.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "hardware/units.h"

namespace ridge::kernel {
namespace {

struct ReasonWords {
    std::string_view reason;
    std::string_view words;  ///< empty: the warp does not wait
};
constexpr std::array reason_words{
    ReasonWords{"selected", ""},
    ReasonWords{"not_selected", ""},
    ReasonWords{"long_scoreboard", "memory"},
    ReasonWords{"short_scoreboard", "shared memory or special functions"},
    ReasonWords{"wait", "an instruction before it"},
    ReasonWords{"barrier", "a barrier"},
    ReasonWords{"math_pipe_throttle", "a busy pipe"},
    ReasonWords{"mio_throttle", "the queue of shared memory"},
    ReasonWords{"lg_throttle", "the queue of global memory"},
    ReasonWords{"membar", "a fence"},
    ReasonWords{"drain", "stores at its end"},
    ReasonWords{"branch_resolving", "a branch"},
    ReasonWords{"no_instruction", "instructions"},
    ReasonWords{"no_instructions", "instructions"},
    ReasonWords{"imc_miss", "constants"},
    ReasonWords{"gmma", "tensor cores"},
    ReasonWords{"warpgroup_arrive", "tensor cores"},
    ReasonWords{"dispatch_stall", "a busy pipe"},
    ReasonWords{"sleeping", "a pause of its own"},
    ReasonWords{"tex_throttle", "the texture queue"},
};

std::string_view words_of(std::string_view reason) {
    for (const ReasonWords& each : reason_words) {
        if (each.reason == reason) return each.words;
    }
    return "another reason";
}

bool waits(std::string_view reason) {
    return !words_of(reason).empty();
}

using Names = std::initializer_list<std::string_view>;

bool belongs(Cause cause, std::string_view reason) {
    const auto among = [reason](Names names) {
        return std::find(names.begin(), names.end(), reason) != names.end();
    };
    switch (cause) {
        case Cause::small_blocks:
        case Cause::occupancy:
        case Cause::uncoalesced:
        case Cause::narrow_accesses:
        case Cause::cache_thrash:
        case Cause::spills:
        case Cause::memory_latency:
        case Cause::atomics:
        case Cause::l2_pressure:
            return among({"long_scoreboard", "lg_throttle"});
        case Cause::bank_conflicts:
            return among({"short_scoreboard", "mio_throttle"});
        case Cause::divergence:
            return among({"branch_resolving", "no_instruction", "no_instructions", "wait"});
        case Cause::wrong_pipe:
        case Cause::pipe_pressure:
            return among({"math_pipe_throttle", "dispatch_stall", "mio_throttle"});
        case Cause::dependence:
            return among(
                {"wait", "short_scoreboard", "gmma", "warpgroup_arrive", "branch_resolving"});
        case Cause::barriers:
            return among({"barrier"});
        case Cause::fences:
            return among({"membar"});
        case Cause::instruction_supply:
            return among({"no_instruction", "no_instructions", "imc_miss"});
        case Cause::launch:
        case Cause::too_few_blocks:
        case Cause::last_wave:
        case Cause::clock:
            return false;
    }
    return false;
}

struct Line {
    std::string place;
    std::string file;
    double all = 0.0;
    std::map<std::string, double, std::less<>> reasons;
};

std::string hexadecimal(std::uint64_t value) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    do {
        text.insert(text.begin(), digits[value % digits.size()]);
        value /= digits.size();
    } while (value > 0);
    return text;
}

std::vector<Line> lines_of(std::span<const StallSite> sites) {
    std::map<std::string, Line> by_place;
    for (const StallSite& site : sites) {
        std::string place = "+0x" + hexadecimal(site.address);
        if (!site.file.empty()) {
            place = site.file.substr(site.file.rfind('/') + 1) + ":" + std::to_string(site.line);
        }
        Line& line = by_place[site.file.empty() ? place : site.file + place];
        line.place = place;
        line.file = site.file;
        for (const auto& [reason, samples] : site.samples) {
            if (!waits(reason) || samples <= 0.0) continue;
            line.reasons[reason] += samples;
            line.all += samples;
        }
    }
    std::vector<Line> lines;
    for (auto& [key, line] : by_place) {
        if (line.all > 0.0) lines.push_back(std::move(line));
    }
    std::stable_sort(lines.begin(), lines.end(),
                     [](const Line& a, const Line& b) { return a.all > b.all; });
    return lines;
}

}  // namespace

std::vector<LineStalls> worst_lines(std::span<const StallSite> sites, std::size_t most) {
    const std::vector<Line> lines = lines_of(sites);
    double all = 0.0;
    for (const Line& line : lines) all += line.all;
    std::vector<LineStalls> worst;
    for (const Line& line : lines) {
        if (worst.size() == most) break;
        const auto largest =
            std::max_element(line.reasons.begin(), line.reasons.end(),
                             [](const auto& a, const auto& b) { return a.second < b.second; });
        worst.push_back({.place = line.place,
                         .file = line.file,
                         .share = line.all / all,
                         .reason = std::string(words_of(largest->first)),
                         .of_it = largest->second / line.all});
    }
    return worst;
}

std::string place_of(Cause cause, std::span<const StallSite> sites) {
    const std::vector<Line> lines = lines_of(sites);
    double all = 0.0;
    double most = 0.0;
    const Line* worst = nullptr;
    for (const Line& line : lines) {
        double here = 0.0;
        for (const auto& [reason, samples] : line.reasons) {
            here += belongs(cause, reason) ? samples : 0.0;
        }
        all += here;
        if (here <= most) continue;
        most = here;
        worst = &line;
    }
    constexpr double notable = 0.2;
    if (worst == nullptr || most < notable * all) return {};
    return worst->place + " has " + format_number(100.0 * most / all, 2) + " % of these waits";
}

void add_sampled_reasons(std::map<std::string, double>& metrics, std::span<const StallSite> sites) {
    for (const StallSite& site : sites) {
        for (const auto& [reason, samples] : site.samples) {
            metrics["smsp__pcsamp_warps_issue_stalled_" + reason] += samples;
        }
    }
}

}  // namespace ridge::kernel
