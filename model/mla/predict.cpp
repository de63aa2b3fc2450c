// Predictions of latent attention: counted work, the roofline, and the time model if the machine
// has its parameters.
#include "model/mla/predict.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/mla/time.h"
#include "model/mla/work.h"
#include "model/roof/account.h"
#include "model/roof/band.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

struct Modelled {
    MlaTime time;
    Evidence evidence = Evidence::foreign;
};

std::optional<Modelled> modelled_time(const Mla& op, const Execution& execution,
                                      const Machine& machine) {
    if (machine.sm_count == 0) return std::nullopt;
    const bool narrow = size_of(cache_type_of(op)) == 1;
    if (op.phase == MlaPhase::decode) {
        const auto& fitted = narrow ? machine.mla.decode_8bit : machine.mla.decode;
        if (!fitted) return std::nullopt;
        return Modelled{mla_decode_time(op, *fitted, execution, machine), fitted->evidence};
    }
    const auto& fitted = narrow ? machine.mla.prefill_8bit : machine.mla.prefill;
    if (!fitted) return std::nullopt;
    return Modelled{mla_prefill_time(op, *fitted, execution, machine), fitted->evidence};
}

Tiling tiling_of(const MlaTime& time, const Machine& machine) {
    const auto sms = static_cast<double>(machine.sm_count);
    const double waves = std::ceil(time.waves);
    return {.tile = time.tile,
            .tiles = time.tiles_count,
            .split = time.split,
            .blocks_per_sm = 1,
            .waves = static_cast<std::int64_t>(waves),
            .tile_efficiency = 1.0,
            .wave_efficiency = static_cast<double>(time.tiles_count) * time.split / (waves * sms)};
}

/// All measured rows have latents of 512 and rotated keys of 64.
Validity validity_of(const Mla& op) {
    const Mla usual;
    const bool known = op.latent_dim == usual.latent_dim && op.rope_dim == usual.rope_dim &&
                       op.head_dim == usual.head_dim && op.heads <= 128 &&
                       (op.phase == MlaPhase::decode ? op.seq_q == 1 : op.seq_q == op.seq_kv);
    return known ? Validity::validated : Validity::extrapolated;
}

void set_time(Prediction& prediction, const Modelled& modelled, const Mla& op,
              const Machine& machine) {
    const MlaTime& time = modelled.time;
    Work& work = prediction.work;
    const double share = time.dram_bytes / work.dram();
    work.dram_read *= share;
    work.dram_write *= share;
    prediction.executed_tensor = time.executed_tensor;
    prediction.terms = {};
    add_term(prediction, Resource::tensor, time.tensor, time.executed_tensor.base());
    add_term(prediction, Resource::dram, time.dram + time.queries, work.dram().base());
    add_term(prediction, Resource::latency, time.tiles);
    add_term(prediction, Resource::launch, time.launch);
    prediction.time = std::max(time.total, prediction.lower_bound);
    prediction.tiling = tiling_of(time, machine);
    if (time.split > 1) prediction.note(note::SplitKeys{.parts = time.split});
    const bool decodes = op.phase == MlaPhase::decode;
    apply_band(prediction, decodes ? BandClass::latent_decode : BandClass::latent_prefill,
               chip_evidence(modelled.evidence), validity_of(op));
}

}  // namespace

Outcome predict(const Mla& op, const Execution& execution, const Machine& machine) {
    const DataType type = multiplied_type(op);
    if (!machine.tensor_peak(type)) {
        return NotModelled{"mla runs on tensor cores, which do not take dtype " +
                           std::string(name_of(type)) + " on " + machine.name};
    }
    const Work work = mla_work(op);
    Prediction prediction = roofline(work, roofs_of(machine, type), machine);
    prediction.implementation = Implementation::library;
    prediction.lower_bound = roofline_bound(work, prediction.peak, machine, execution.l2);
    if (const auto modelled = modelled_time(op, execution, machine)) {
        set_time(prediction, *modelled, op, machine);
        return prediction;
    }
    prediction.time += launch_gaps(machine, execution.launch, work.kernels);
    apply_roofline_band(prediction);
    return prediction;
}

}  // namespace ridge::model
