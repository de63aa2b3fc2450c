// Counted work and the roofline with its launches.
#include "model/recurrence/predict.h"

#include <string>

#include "model/recurrence/work.h"
#include "model/roof/account.h"
#include "model/roof/band.h"
#include "model/roof/roofline.h"

namespace ridge::model {

Outcome predict(const Recurrence& op, const Execution& execution, const Machine& machine) {
    const Work work = recurrence_work(op);
    if (work.tensor > Flop{} && !machine.tensor_peak(op.type)) {
        return NotModelled{std::string(name_of(Operation(op))) +
                           " of a prompt runs on tensor cores, which do not take dtype " +
                           std::string(name_of(op.type)) + " on " + machine.name};
    }
    Prediction prediction = roofline(work, roofs_of(machine, op.type), machine);
    prediction.implementation = Implementation::fused;
    prediction.executed_tensor = chunked_flop(op);
    prediction.lower_bound = roofline_bound(work, prediction.peak, machine, execution.l2);
    prediction.time += launch_gaps(machine, execution.launch, work.kernels);
    apply_roofline_band(prediction);
    return prediction;
}

}  // namespace ridge::model
