#include "cli/charts/energy_roofline.h"

#include <cmath>
#include <string>

#include "cli/views/energy.h"
#include "effects/chart.h"
#include "hardware/error.h"
#include "hardware/units.h"
#include "model/explain.h"
#include "plot/sweep.h"

namespace ridge::cli {
namespace {

using model::DataType;
using model::Prediction;
using model::Resource;

constexpr double gigaflop = 1e9;

/// A kernel of so many FLOP per byte that runs at the roofline.
Prediction at_intensity(const model::Machine& machine, FlopRate peak, bool tensor,
                        double flop_per_byte) {
    constexpr double bytes = 1e9;
    Prediction p;
    const double flop = bytes * flop_per_byte;
    (tensor ? p.work.tensor : p.work.fma) = Flop::from_base(flop);
    p.work.dram_read = Bytes::from_base(bytes);
    p.work.l2 = Bytes::from_base(bytes);
    const Time compute = Flop::from_base(flop) / peak;
    const Time memory = Bytes::from_base(bytes) / machine.dram_bandwidth;
    p.peak = peak;
    p.time = std::max(compute, memory);
    p.low = p.time;
    p.high = p.time;
    add_term(p, tensor ? Resource::tensor : Resource::fma, compute, flop);
    add_term(p, Resource::dram, memory, bytes);
    return p;
}

plot::Series roof_of(const model::Machine& machine, DataType type, FlopRate peak, bool tensor) {
    constexpr int steps_per_octave = 4;
    constexpr int octaves = 14;
    plot::Series roof{.name = std::string(name_of(type)) + " roof",
                      .markers = plot::Markers::hidden};
    for (int step = -2 * steps_per_octave; step <= octaves * steps_per_octave; ++step) {
        const double intensity = std::exp2(static_cast<double>(step) / steps_per_octave);
        Prediction p = at_intensity(machine, peak, tensor, intensity);
        p.energy = energy_of(p, type, machine);
        if (!p.energy) continue;
        roof.points.push_back(
            {.x = intensity,
             .y = flop_per_joule(p) / gigaflop,
             .low = p.work.flop().base() / p.energy->energy_high.base() / gigaflop,
             .high = p.work.flop().base() / p.energy->energy_low.base() / gigaflop});
    }
    return roof;
}

}  // namespace

plot::Chart energy_roofline(const model::Machine& machine, DataType type,
                            std::span<const Answer> answers) {
    if (!machine.energy) {
        throw InputError("gpu: " + machine.name + " has no parameters of energy");
    }
    const auto tensor = machine.tensor_peak(type);
    const auto peak = tensor ? tensor : machine.vector_peak(type);
    if (!peak) {
        throw InputError("dtype: " + machine.name + " has no pipe for " +
                         std::string(name_of(type)));
    }
    plot::Sweep sweep{.title = "Energy roofline of " + machine.title,
                      .subtitle = "FLOP per joule of the board in steady work",
                      .x = {.title = "Intensity", .unit = "FLOP/B"},
                      .y = {.title = "Efficiency", .unit = "GFLOP/J"}};
    sweep.x.scale = plot::Scale::log;
    sweep.y.scale = plot::Scale::log;
    sweep.series.push_back(roof_of(machine, type, *peak, tensor.has_value()));
    plot::Series operations{.name = "operations", .drawing = plot::Drawing::scatter};
    for (const Answer& answer : answers) {
        const auto* const p = std::get_if<Prediction>(&answer.outcome);
        if (p == nullptr || !p->energy || p->work.flop() <= Flop{}) continue;
        const Bytes bytes = uses_dram(p->work) ? p->work.dram() : p->work.compulsory();
        operations.points.push_back({.x = (p->work.flop() / bytes).base(),
                                     .y = flop_per_joule(*p) / gigaflop,
                                     .name = text_of(answer.kind, answer.parameters),
                                     .labelled = true,
                                     .origin = effects::origin_of(p->evidence.grade())});
    }
    if (!operations.points.empty()) sweep.series.push_back(std::move(operations));
    return plot::sweep_chart(sweep);
}

}  // namespace ridge::cli
