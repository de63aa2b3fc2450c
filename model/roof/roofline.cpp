#include "model/roof/roofline.h"

#include <algorithm>

namespace ridge::model {
namespace {

DataType vector_type(DataType type) {
    return type == DataType::fp64 ? DataType::fp64 : DataType::fp32;
}

void add_term(Prediction& prediction, Resource resource, double amount, double rate) {
    if (amount <= 0.0 || rate <= 0.0) return;
    prediction.terms.push_back(
        {.resource = resource, .time = Time::from_base(amount / rate), .amount = amount});
}

/// The pipe that does most of the work, for the ridge point and the attainable rate.
FlopRate main_pipe(const Work& work, const Roofs& roofs) {
    if (work.tensor > Flop{} && roofs.tensor) return *roofs.tensor;
    return roofs.vector.value_or(FlopRate{});
}

}  // namespace

Roofs roofs_of(const Machine& machine, DataType type) {
    return {.tensor = machine.tensor_peak(type),
            .vector = machine.vector_peak(vector_type(type)),
            .special = machine.special_rate,
            .dram = machine.dram_bandwidth,
            .l2 = machine.l2_bandwidth,
            .shared = machine.shared_bandwidth};
}

bool is_compute(Resource resource) {
    return resource == Resource::tensor || resource == Resource::fma ||
           resource == Resource::special || resource == Resource::issue;
}

void settle_limiter(Prediction& prediction) {
    const Term* largest = nullptr;
    for (const Term& term : prediction.terms) {
        if (largest == nullptr || term.time > largest->time) largest = &term;
    }
    if (largest == nullptr) return;
    prediction.limiter = largest->resource;
}

void settle_intensities(Prediction& p) {
    const Flop flop = p.work.flop();
    p.algorithmic = p.work.compulsory() > Bytes{} ? flop / p.work.compulsory() : Intensity{};
    p.intensity = p.work.dram() > Bytes{} ? flop / p.work.dram() : Intensity{};
    p.l2_intensity = p.work.l2 > Bytes{} ? flop / p.work.l2 : Intensity{};
    p.attainable = std::min(p.peak, p.algorithmic * p.bandwidth);
    const bool above = p.peak > FlopRate{} && p.algorithmic >= p.ridge && flop > Flop{};
    p.bound = above ? Bound::compute : Bound::memory;
}

Time launch_gaps(const Machine& machine, LaunchMode mode, std::int32_t kernels) {
    return launch_overhead(machine.launch, mode, kernels, Time{});
}

Time library_gaps(const Machine& machine, LaunchMode mode, std::int32_t kernels) {
    if (mode == LaunchMode::graph) return machine.library_gap * kernels;
    return launch_gaps(machine, mode, kernels);
}

Prediction counted(const Work& work, const Roofs& roofs) {
    Prediction prediction;
    set_counted(prediction, work, roofs);
    return prediction;
}

void set_counted(Prediction& prediction, const Work& work, const Roofs& roofs) {
    prediction.work = work;
    prediction.executed_tensor = work.tensor;
    prediction.executed_fma = work.fma;
    prediction.peak = main_pipe(work, roofs);
    prediction.bandwidth = roofs.dram;
    prediction.ridge = prediction.peak / roofs.dram;
    prediction.footprint = work.compulsory();
}

void add_roofline(Prediction& prediction, const Roofs& roofs, const Machine& machine) {
    const Work& work = prediction.work;
    add_term(prediction, Resource::tensor, work.tensor.base(),
             roofs.tensor.value_or(FlopRate{}).base());
    add_term(prediction, Resource::fma, work.fma.base(), roofs.vector.value_or(FlopRate{}).base());
    add_term(prediction, Resource::special, work.special, roofs.special.value_or(0.0));
    add_term(prediction, Resource::dram, work.dram().base(), roofs.dram.base());
    add_term(prediction, Resource::l2, work.l2.base(), roofs.l2.value_or(Bandwidth{}).base());
    add_term(prediction, Resource::shared, work.shared.base(),
             roofs.shared.value_or(Bandwidth{}).base());
    Time largest{};
    for (const Term& term : prediction.terms) {
        largest = std::max(largest, term.time);
    }
    const Time launch = machine.kernel_floor * work.kernels;
    model::add_term(prediction, Resource::launch, launch);
    prediction.time = largest + launch;
}

Prediction roofline(const Work& work, const Roofs& roofs, const Machine& machine) {
    Prediction prediction = counted(work, roofs);
    // The lower bound counts compulsory bytes; the terms count those of the implementation.
    prediction.lower_bound = work.compulsory() / roofs.dram;
    if (prediction.peak > FlopRate{}) {
        prediction.lower_bound = std::max(prediction.lower_bound, work.flop() / prediction.peak);
    }
    add_roofline(prediction, roofs, machine);
    return prediction;
}

}  // namespace ridge::model
