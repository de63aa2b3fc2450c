// Predictions of blocks of experts: counted work, the roofline, and the time model if the GPU has
// parameters for it and for the products.
#include "model/moe/predict.h"

#include <algorithm>
#include <string>

#include "model/moe/time.h"
#include "model/moe/work.h"
#include "model/roof/account.h"
#include "model/roof/band.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

/// The types and widths of the measured rows.
Validity validity_of(const Moe& op) {
    const bool type = (bits_of(op.type) == 16 || op.type == DataType::fp8) && !op.weight_type;
    const bool width = op.hidden >= 2048 && op.hidden <= 8192 && op.tokens <= 16384;
    return type && width ? Validity::validated : Validity::extrapolated;
}

void set_time(Prediction& prediction, const MoeTime& time, const Moe& op, Evidence evidence) {
    Work& work = prediction.work;
    const double share = time.dram_bytes / work.dram();
    work.dram_read *= share;
    work.dram_write *= share;
    work.l2 = time.l2;
    prediction.executed_tensor = time.executed_tensor;
    prediction.tiling = time.tiling;
    prediction.terms = {};
    const bool by_memory = time.dram > time.tensor;
    add_term(prediction, Resource::tensor, by_memory ? time.tensor : time.products,
             work.tensor.base());
    add_term(prediction, Resource::dram, by_memory ? time.products : time.dram, work.dram().base());
    add_term(prediction, Resource::l2, time.rows, work.l2.base());
    add_term(prediction, Resource::latency, time.experts + time.steps);
    add_term(prediction, Resource::launch, time.launch);
    prediction.time = std::max(time.total, prediction.lower_bound);
    apply_band(prediction, BandClass::experts, chip_evidence(evidence), validity_of(op));
}

}  // namespace

Outcome predict(const Moe& op, const Execution& execution, const Machine& machine,
                ProductPredictor product) {
    if (!machine.tensor_peak(op.type)) {
        return NotModelled{"moe runs on tensor cores, which do not take dtype " +
                           std::string(name_of(op.type)) + " on " + machine.name};
    }
    const Work work = moe_work(op);
    Prediction prediction = roofline(work, roofs_of(machine, op.type), machine);
    prediction.implementation = Implementation::cutlass;
    prediction.lower_bound = roofline_bound(work, prediction.peak, machine, execution.l2);
    if (machine.moe && machine.sm_count > 0) {
        if (const auto time = moe_time(op, *machine.moe, execution, machine, product)) {
            set_time(prediction, *time, op, machine.moe->evidence);
            return prediction;
        }
    }
    prediction.time += launch_gaps(machine, execution.launch, work.kernels);
    apply_roofline_band(prediction);
    return prediction;
}

}  // namespace ridge::model
