#include "model/own/predict.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/core/real.h"
#include "model/roof/band.h"
#include "model/roof/memory_time.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

BlockResources resources_of(const OwnKernel& op) {
    return {.threads = op.block, .registers = op.registers, .shared = real(op.shared) * units::B};
}

Work work_of(const OwnKernel& op, const Machine& machine) {
    const Bytes moved = real(op.bytes) * units::B;
    Work work;
    (op.pipe == KernelPipe::tensor ? work.tensor : work.fma) = Flop::from_base(real(op.flop));
    work.vector = work.fma;
    work.dram_read = work.compulsory_read = machine.laws.own_reads * moved;
    work.dram_write = work.compulsory_write = moved - work.dram_read;
    work.l2 = std::max(moved, real(op.l2_bytes) * units::B);
    return work;
}

std::optional<FlopRate> peak_of(const OwnKernel& op, const Machine& machine) {
    return op.pipe == KernelPipe::tensor ? machine.tensor_peak(op.type)
                                         : roofs_of(machine, op.type).vector;
}

/// Why this machine has no answer; empty if it has one.
std::string missing_for(const OwnKernel& op, const Machine& machine) {
    const FlopRate peak = peak_of(op, machine).value_or(FlopRate{});
    if (op.flop > 0 && peak <= FlopRate{}) {
        return "the " + std::string(op.pipe == KernelPipe::tensor ? "tensor" : "vector") +
               " pipe of " + machine.name + " has no " + std::string(name_of(op.type));
    }
    if (op.bytes > 0 && machine.dram_bandwidth <= Bandwidth{}) {
        return "the description of " + machine.name + " has no DRAM bandwidth";
    }
    if (machine.limits && occupancy(resources_of(op), *machine.limits).blocks < 1) {
        return "a multiprocessor of " + machine.name +
               " cannot hold one block with these threads, registers and shared memory";
    }
    return {};
}

Time own_dram_time(const OwnKernel& op, const Machine& machine) {
    const Work work = work_of(op, machine);
    if (machine.memory) return dram_time(*machine.memory, work.dram_read, work.dram_write);
    return machine.dram_bandwidth > Bandwidth{} ? work.dram() / machine.dram_bandwidth : Time{};
}

/// Bytes that the rate of DRAM needs in flight over those that the resident warps have. (eq. KP3)
double starvation(const OwnTime& time, const OwnKernel& op, const Machine& machine) {
    if (time.dram <= Time{} || time.resident_warps <= 0.0 || !machine.memory) return 1.0;
    const double have =
        real(machine.sm_count) * time.resident_warps * machine.laws.own_flight.base();
    if (have <= 0.0) return 1.0;
    const double need = real(op.bytes) / time.dram.base() * machine.memory->dram_latency.base();
    return std::max(1.0, need / have);
}

void set_waves(OwnTime& time, const OwnKernel& op, const Machine& machine) {
    if (!machine.limits || machine.sm_count < 1) return;
    const Occupancy most = occupancy(resources_of(op), *machine.limits);
    if (most.blocks < 1) return;
    time.limiter = most.limiter;
    time.resident_warps = real(most.warps);
    if (op.grid < 1) return;
    const double multiprocessors = real(machine.sm_count);
    const double warps_of_block = real(most.warps) / real(most.blocks);
    time.resident_warps =
        std::min(time.resident_warps, std::ceil(real(op.grid) / multiprocessors) * warps_of_block);
    time.waves = real(op.grid) / (multiprocessors * real(most.blocks));
    time.wave_fill = time.waves / std::ceil(time.waves);
}

Time own_roofline(const OwnKernel& op, const OwnTime& time, const Machine& machine) {
    const Time bytes = op.bytes > 0 ? real(op.bytes) * units::B / machine.dram_bandwidth : Time{};
    return std::max(time.compute, bytes);
}

}  // namespace

Time OwnTime::joined() const {
    if (overlap <= 0.0) return std::max({in_waves, starved, l2});
    double sum = 0.0;
    for (const Time each : {in_waves, starved, l2}) sum += std::pow(each.base(), overlap);
    return Time::from_base(std::pow(sum, 1.0 / overlap));
}

OwnTime own_time(const OwnKernel& op, const Machine& machine) {
    OwnTime time;
    time.overlap = machine.laws.own_overlap;
    set_waves(time, op, machine);
    const FlopRate peak = peak_of(op, machine).value_or(FlopRate{});
    if (op.flop > 0 && peak > FlopRate{}) time.compute = Flop::from_base(real(op.flop)) / peak;
    time.in_waves = time.compute * (1.0 / time.wave_fill);
    time.dram = own_dram_time(op, machine);
    time.starved = time.dram * starvation(time, op, machine);
    const Bandwidth l2 =
        machine.memory ? machine.memory->l2_read : machine.l2_bandwidth.value_or(Bandwidth{});
    if (l2 > Bandwidth{}) time.l2 = work_of(op, machine).l2 / l2;
    return time;
}

Outcome predict(const OwnKernel& op, const Execution& execution, const Machine& machine) {
    if (std::string missing = missing_for(op, machine); !missing.empty()) {
        return NotModelled{std::move(missing)};
    }
    const OwnTime time = own_time(op, machine);
    Roofs roofs = roofs_of(machine, op.type);
    if (op.pipe == KernelPipe::vector) roofs.tensor = std::nullopt;
    Prediction prediction = counted(work_of(op, machine), roofs);
    prediction.implementation = Implementation::custom;
    prediction.lower_bound = own_roofline(op, time, machine);
    const Time launch = machine.kernel_floor + launch_gaps(machine, execution.launch, 1);
    const bool tensor = op.pipe == KernelPipe::tensor;
    add_term(prediction, tensor ? Resource::tensor : Resource::fma, time.in_waves, real(op.flop));
    add_term(prediction, Resource::dram, time.starved, real(op.bytes));
    add_term(prediction, Resource::l2, time.l2, prediction.work.l2.base());
    add_term(prediction, Resource::launch, launch);
    prediction.time = time.joined() + launch;
    if (op.grid > 0 && time.waves > 0.0) {
        prediction.tiling.tiles = op.grid;
        prediction.tiling.waves = static_cast<std::int64_t>(std::ceil(time.waves));
        prediction.tiling.wave_efficiency = time.wave_fill;
    }
    if (time.resident_warps > 0.0) {
        prediction.note(note::ResidentWarps{.warps = time.resident_warps,
                                            .most = real(machine.limits->warps),
                                            .limiter = name_of(time.limiter)});
    }
    apply_roofline_band(prediction);
    return prediction;
}

std::vector<GapPart> gap_of(const OwnKernel& op, const Execution& execution, const Machine& machine,
                            Time measured) {
    if (!missing_for(op, machine).empty()) return {};
    const OwnTime time = own_time(op, machine);
    std::vector<GapPart> parts;
    Time left = measured;
    const auto take = [&](std::string_view name, Time part) {
        part = std::clamp(part, Time{}, left);
        if (part > Time{}) parts.push_back({name, part});
        left -= part;
    };
    const Time roofline = own_roofline(op, time, machine);
    const Time best = std::max({time.compute, time.dram, time.l2});
    take("roofline", roofline);
    take("launch", machine.kernel_floor + launch_gaps(machine, execution.launch, 1));
    take("rates that good kernels reach", best - roofline);
    take("last wave", std::max(time.in_waves, best) - best);
    take("latency not hidden at this occupancy", std::max(time.starved, best) - best);
    take("resources that do not overlap",
         time.joined() - std::max({time.in_waves, time.starved, time.l2}));
    if (left > Time{}) parts.push_back({"unexplained", left});
    return parts;
}

}  // namespace ridge::model
