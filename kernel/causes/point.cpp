#include "kernel/causes/point.h"

#include <algorithm>
#include <cmath>

#include "hardware/error.h"

namespace ridge::kernel {
namespace {

constexpr double read_share = 2.0 / 3.0;

double dram_of(double bytes, const Roofs& roofs) {
    return roofs.dram_seconds(bytes * read_share, bytes * (1.0 - read_share));
}

double peak_of(const KernelPoint& point, const model::Machine& machine) {
    const auto peak = point.pipe == PointPipe::tensor ? machine.tensor_peak(point.type)
                                                      : machine.vector_peak(point.type);
    if (!peak || *peak <= FlopRate{}) {
        throw InputError(
            "dtype: the " + std::string(point.pipe == PointPipe::tensor ? "tensor" : "vector") +
            " pipe of " + machine.name + " has no " + std::string(model::name_of(point.type)));
    }
    return peak->base();
}

void set_waves(PointAnswer& answer, const KernelPoint& point, const Roofs& roofs) {
    const Counted launch{.grid = {std::max<std::int64_t>(1, point.blocks), 1, 1},
                         .block = {point.threads, 1, 1},
                         .registers = std::max<std::int64_t>(1, point.registers),
                         .shared_bytes = point.shared_bytes};
    answer.residency = residency_of(launch, roofs);
    if (point.blocks < 1) return;
    if (!answer.residency.is_known) {
        throw InputError(
            "block: a multiprocessor cannot hold one block with these threads, registers "
            "and shared memory");
    }
    const double warps = std::ceil(static_cast<double>(point.threads) / 32.0);
    const double slots = roofs.multiprocessors * std::max(1.0, answer.residency.possible / warps);
    answer.waves = static_cast<double>(point.blocks) / slots;
    answer.wave_fill = answer.waves / std::ceil(answer.waves);
}

/// Bytes that the resident warps can have in flight, over what the rate needs. (eq. KP3)
double starvation(const PointAnswer& answer, double bytes, double seconds, const Roofs& roofs) {
    if (bytes <= 0.0 || seconds <= 0.0 || !answer.residency.is_known) return 1.0;
    constexpr double bytes_of_warp = 32.0 * 16.0 * 2.0;  // two wide loads of each thread
    const double have = roofs.multiprocessors * answer.residency.from_grid * bytes_of_warp;
    const double need = bytes / seconds * roofs.dram_latency;
    return std::max(1.0, need / have);
}

}  // namespace

PointAnswer answer_for(const KernelPoint& point, const model::Machine& machine,
                       const Roofs& roofs) {
    if (point.flop <= 0.0 && point.dram_bytes <= 0.0 && point.l2_bytes <= 0.0) {
        throw InputError("flop: a kernel needs FLOP or bytes");
    }
    PointAnswer answer;
    set_waves(answer, point, roofs);
    const double compute = point.flop > 0.0 ? point.flop / peak_of(point, machine) : 0.0;
    const double dram = dram_of(point.dram_bytes, roofs);
    const double l2 = point.l2_bytes / roofs.l2_bytes_per_s;
    const double starved = dram * starvation(answer, point.dram_bytes, dram, roofs);
    const double in_waves = compute / answer.wave_fill;
    const auto add = [&answer](std::string name, double seconds) {
        if (seconds > 0.0) answer.terms.push_back({std::move(name), seconds});
    };
    add(point.pipe == PointPipe::tensor ? "tensor cores" : "vector pipe", in_waves);
    add("DRAM", starved);
    add("L2", l2);
    std::stable_sort(answer.terms.begin(), answer.terms.end(),
                     [](const PointTerm& a, const PointTerm& b) { return a.seconds > b.seconds; });
    constexpr double sharpness = 4.0;
    double sum = 0.0;
    double plain = 0.0;
    for (const PointTerm& term : answer.terms) {
        sum += std::pow(term.seconds, sharpness);
        plain += term.seconds;
    }
    const double bytes = point.dram_bytes / machine.dram_bandwidth.base();
    answer.seconds = roofs.kernel_floor + std::pow(sum, 1.0 / sharpness);
    answer.roofline = std::max(compute, bytes);
    answer.low = std::max(answer.roofline, answer.terms.front().seconds);
    answer.high = roofs.kernel_floor + plain;
    answer.bound = compute >= bytes ? "compute" : "memory";
    answer.limiter = answer.terms.front().name;
    if (!point.measured) return answer;
    // What each step from the roofline to the prediction adds; the rest is unexplained. (eq. KP4)
    double left = *point.measured;
    const auto take = [&](std::string name, double seconds) {
        const double part = std::clamp(seconds, 0.0, left);
        if (part > 0.0) answer.gap.push_back({std::move(name), part});
        left -= part;
    };
    take("roofline", answer.roofline);
    take("launch", roofs.kernel_floor);
    const double best = std::max({compute, dram, l2});
    take("rates that good kernels reach", best - answer.roofline);
    take("last wave", std::max(in_waves, best) - best);
    take("latency not hidden at this occupancy", std::max(starved, best) - best);
    take("resources that do not overlap",
         answer.seconds - roofs.kernel_floor - answer.terms.front().seconds);
    if (left > 0.0) answer.gap.push_back({"unexplained", left});
    return answer;
}

}  // namespace ridge::kernel
