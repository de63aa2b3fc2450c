// Counted work and the roofline with its launches.
#include "model/sparse/predict.h"

#include <string>

#include "model/roof/account.h"
#include "model/roof/band.h"
#include "model/roof/roofline.h"
#include "model/sparse/work.h"

namespace ridge::model {

Outcome tensor_roofline(std::string_view name, DataType type, const Work& work,
                        const Execution& execution, const Machine& machine) {
    if (!machine.tensor_peak(type)) {
        return NotModelled{std::string(name) + " runs on tensor cores, which do not take dtype " +
                           std::string(name_of(type)) + " on " + machine.name};
    }
    Prediction prediction = roofline(work, roofs_of(machine, type), machine);
    prediction.implementation = Implementation::fused;
    prediction.lower_bound = roofline_bound(work, prediction.peak, machine, execution.l2);
    prediction.time += launch_gaps(machine, execution.launch, work.kernels);
    apply_roofline_band(prediction);
    return prediction;
}

Outcome predict(const SparseAttention& op, const Execution& execution, const Machine& machine) {
    return tensor_roofline(name_of(Operation(op)), op.type, sparse_work(op), execution, machine);
}

}  // namespace ridge::model
