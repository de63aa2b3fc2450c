#include "model/moe/predict.h"

#include <string>

#include "model/machine/launch.h"
#include "model/moe/work.h"
#include "model/roof/account.h"
#include "model/roof/roofline.h"

namespace ridge::model {

Outcome predict(const Moe& op, const Execution& execution, const Machine& machine) {
    if (!machine.tensor_peak(op.type)) {
        return NotModelled{"moe runs on tensor cores, which do not take dtype " +
                           std::string(name_of(op.type)) + " on " + machine.name};
    }
    const Work work = moe_work(op);
    Prediction prediction = roofline(work, roofs_of(machine, op.type), machine);
    prediction.implementation = Implementation::cutlass;
    prediction.lower_bound = roofline_bound(work, prediction.peak, machine, execution.l2);
    prediction.time += launch_gaps(machine, execution.launch, work.kernels);
    prediction.low = prediction.lower_bound;
    prediction.high = 2.0 * prediction.time;
    prediction.note(NoteCode::roofline_only);
    return prediction;
}

}  // namespace ridge::model
