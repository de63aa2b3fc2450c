#include "model/engine/predict.h"

#include <algorithm>
#include <cmath>

#include "model/engine/laws.h"
#include "model/machine/launch.h"
#include "model/roof/band.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

void set_band(Prediction& p, const EngineKernel& kernel) {
    // No law of an engine was judged on an architecture that gave it no value.
    const ChipEvidence chip = chip_evidence(kernel.evidence);
    apply_band(p, BandClass::engine_kernel, chip,
               chip == ChipEvidence::foreign ? Validity::extrapolated : Validity::validated);
    if (kernel.band_below <= 0.0 || kernel.band_above <= 0.0) return;
    const BandRow& usual = band_row(BandClass::engine_kernel);
    // The class's margins for another chip stay; its quantiles give way to the kernel's own.
    p.low = p.low * std::exp(-usual.low - kernel.band_below);
    p.low = std::min(p.time, std::max(p.lower_bound, p.low));
    p.high = p.high * std::exp(kernel.band_above - usual.high);
}

}  // namespace

std::string engine_refusal(const Operation& operation, const EngineKernel& kernel,
                           const Machine& machine) {
    const std::string name(kernel.recipe->name.name());
    if (!kernel.known) return "ridge knows no times of " + name + " on any GPU like this one";
    const EngineSymbols symbols(operation, machine);
    LawAttributes attributes{};
    if (!kernel.recipe->attributes(symbols, attributes)) {
        return name + " does not run this shape";
    }
    return {};
}

Time apply_engine(Prediction& p, const Operation& operation, const Execution& execution,
                  const EngineKernel& kernel, const Machine& machine) {
    const EngineSymbols symbols(operation, machine);
    LawAttributes attributes{};
    RIDGE_CONTRACT(kernel.recipe->attributes(symbols, attributes));
    const LawTime t = time_of({.operation = operation,
                               .execution = execution,
                               .machine = machine,
                               .kernel = kernel,
                               .attributes = attributes,
                               .work = p.work});
    p.implementation = Implementation::engine;
    p.terms.clear();
    p.notes.clear();
    p.note(note::EngineKernel{kernel.recipe->name});
    if (t.quantise > Time{}) p.note(note::QuantisedInput{t.quantise});
    p.time = t.kernels;
    for (const Term& term : t.terms) p.terms.push_back(term);
    if (execution.launch == LaunchMode::stream && t.host > Time{}) {
        constexpr double wait = 8.0;  // exponent: the host and the GPU run beside each other
        const double longer = std::max(t.host / t.kernels, t.kernels / t.host);
        p.time = std::max(t.host, t.kernels) * std::pow(1.0 + std::pow(longer, -wait), 1.0 / wait);
        if (t.host > t.kernels) p.note(note::HostBound{t.kernels});
        add_term(p, Resource::launch, p.time - t.kernels);
    }
    p.work.dram_read = t.dram_read;
    p.work.dram_write = t.dram_write;
    p.work.l2 = t.l2;
    p.work.kernels = t.launches;
    p.executed_tensor = t.executed;
    p.tiling = t.tiling;
    p.lower_bound = p.lower_bound * t.share;
    p.time = std::max(p.time, p.lower_bound);
    set_band(p, kernel);
    return std::min(t.kernels, p.time);
}

}  // namespace ridge::model
