// Counted work and the roofline with its launches.
#include "model/sparse/predict.h"

#include <string>

#include "model/roof/account.h"
#include "model/roof/band.h"
#include "model/roof/roofline.h"
#include "model/sparse/work.h"

namespace ridge::model {

Outcome predict(const SparseAttention& op, const Execution& execution, const Machine& machine) {
    if (!machine.tensor_peak(op.type)) {
        return NotModelled{std::string(name_of(Operation(op))) +
                           " runs on tensor cores, which do not take dtype " +
                           std::string(name_of(op.type)) + " on " + machine.name};
    }
    const Work work = sparse_work(op);
    Prediction prediction = roofline(work, roofs_of(machine, op.type), machine);
    prediction.implementation = Implementation::fused;
    prediction.lower_bound = roofline_bound(work, prediction.peak, machine, execution.l2);
    prediction.time += launch_gaps(machine, execution.launch, work.kernels);
    apply_roofline_band(prediction);
    return prediction;
}

}  // namespace ridge::model
