// Predictions of communication among the GPUs of one node and with the host.

#include <string>

#include "model/collective_work.h"
#include "model/predict.h"
#include "model/roofline.h"

namespace ridge::model {

Outcome predict(const Collective& op, const Execution& execution, const Machine& machine) {
    if (execution.implementation != Implementation::automatic &&
        execution.implementation != Implementation::library) {
        return NotModelled{"impl " + std::string(name_of(execution.implementation)) +
                           " is not an implementation of " + std::string(name_of(Operation(op)))};
    }
    const bool host = is_host_copy(op.kind);
    const std::optional<Bandwidth> link =
        host ? machine.pcie_per_direction : machine.link_per_direction;
    if (!link) {
        return NotModelled{machine.name + std::string(host ? " has no pcie.per_direction"
                                                           : " has no link.per_direction")};
    }
    Prediction prediction;
    prediction.implementation = Implementation::library;
    prediction.work.compulsory_read = static_cast<double>(op.bytes) * units::B;
    prediction.work.compulsory_write = prediction.work.compulsory_read;
    prediction.bandwidth = *link;
    const Bytes moved = link_bytes(op);
    const Time transfer = moved / *link;
    prediction.terms.push_back({.resource = Resource::link,
                                .time = transfer,
                                .amount = moved.base(),
                                .rate = link->base()});
    prediction.terms.push_back({.resource = Resource::launch,
                                .time = machine.kernel_floor,
                                .amount = 0.0,
                                .rate = 0.0});
    prediction.lower_bound = transfer;
    prediction.time =
        transfer + machine.kernel_floor + launch_gaps(machine, execution.launch, 1);
    prediction.low = transfer;
    prediction.high = 2.0 * prediction.time;
    prediction.footprint = prediction.work.compulsory();
    prediction.note(NoteCode::roofline_only);
    if (host) prediction.note(NoteCode::host_link);
    settle_limiter(prediction);
    return prediction;
}

}  // namespace ridge::model
