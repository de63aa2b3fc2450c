// Predictions of communication among the GPUs of one node and with the host.

#include "model/collectives/predict.h"

#include <algorithm>
#include <string>

#include "model/collectives/time.h"
#include "model/collectives/work.h"
#include "model/roof/band.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

BandClass class_of(CollectivePath path) {
    switch (path) {
        case CollectivePath::copy_engine:
        case CollectivePath::host:
        case CollectivePath::host_staged:
            return BandClass::estimate;
        default:
            break;
    }
    return path == CollectivePath::peer_ll ? BandClass::peer_ll : BandClass::ring;
}

/// Work, link roof and footprint, which no algorithm changes. (eq. C1)
Prediction counted(const Collective& op, Implementation implementation, Bytes least,
                   Bandwidth link) {
    Prediction prediction;
    prediction.implementation = implementation;
    prediction.work.compulsory_read = static_cast<double>(op.bytes) * units::B;
    prediction.work.compulsory_write = prediction.work.compulsory_read;
    prediction.bandwidth = link;
    prediction.footprint = prediction.work.compulsory();
    prediction.lower_bound = least / link;
    return prediction;
}

void settle_roofline(Prediction& prediction, const Collective& op, const Machine& machine) {
    const Bytes moved = link_bytes(op);
    prediction.terms.push_back(
        {.resource = Resource::link, .time = prediction.lower_bound, .amount = moved.base()});
    prediction.terms.push_back({.resource = Resource::launch, .time = machine.kernel_floor});
    prediction.time = prediction.lower_bound + machine.kernel_floor;
    apply_roofline_band(prediction);
}

void settle_times(Prediction& prediction, const CollectiveTime& time) {
    prediction.terms.push_back(
        {.resource = Resource::link, .time = time.wire, .amount = time.handled.base()});
    prediction.terms.push_back({.resource = Resource::latency, .time = time.hops + time.fill});
    prediction.terms.push_back({.resource = Resource::launch, .time = time.start});
    prediction.time = std::max(time.total, prediction.lower_bound);
}

/// Broadcasts were not measured, and neither were more than 8 GPUs or more than 1 GiB.
Validity validity_of(const Collective& op) {
    const bool known =
        op.kind != CollectiveKind::broadcast && op.gpus <= 8 && op.bytes <= std::int64_t{1} << 30;
    return known ? Validity::validated : Validity::extrapolated;
}

/// Copies without a kernel.
CollectiveTime copy_time(const Collective& op, Implementation implementation, Bandwidth link,
                         const CopyParameters& copies) {
    if (implementation == Implementation::pageable) return staged_copy_time(copies, link, op);
    if (implementation == Implementation::copy_engine) {
        return engine_copy_time(copies.engine, link, static_cast<double>(op.bytes) * units::B);
    }
    return host_copy_time(copies, link, op);
}

/// What the launch adds to the copy or kernel. The time of a copy of pageable memory already
/// includes the call.
Time gaps_of(const Collective& op, const Prediction& prediction, LaunchMode launch,
             const Machine& machine) {
    if (!is_host_copy(op.kind) || !machine.copies) return launch_gaps(machine, launch, 1);
    if (prediction.implementation == Implementation::pageable) return Time{};
    if (launch != LaunchMode::stream) return launch_gaps(machine, launch, 1);
    return host_call_time(*machine.copies, op.kind, prediction.time) - prediction.time;
}

}  // namespace

Outcome predict(const Collective& op, const Execution& execution, const Machine& machine) {
    if (op.gpus > most_gpus_of_a_node) {
        return NotModelled{std::to_string(op.gpus) +
                           " GPUs are more than one node has, and links " +
                           "between nodes are not modelled"};
    }
    const bool host = is_host_copy(op.kind);
    const bool linked = machine.are_linked(op.gpus);
    const std::optional<FabricParameters>& fabric = linked ? machine.fabric : machine.host_fabric;
    const std::optional<Bandwidth> link = host     ? machine.pcie_per_direction
                                          : fabric ? std::optional(fabric->link)
                                          : linked ? machine.link_per_direction
                                                   : machine.pcie_per_direction;
    if (!link) {
        return NotModelled{machine.name + std::string(host ? " has no pcie.per_direction"
                                                           : " has no link.per_direction")};
    }
    const Implementation implementation = execution.implementation == Implementation::automatic
                                              ? Implementation::library
                                              : execution.implementation;
    const bool in_switch = !host && fabric && adds_in_switch(*fabric, op);
    Prediction prediction =
        counted(op, implementation, in_switch ? switch_bytes(op) : link_bytes(op), *link);
    const bool by_engine = implementation == Implementation::copy_engine;
    const bool copies = host || by_engine;
    if (copies ? !machine.copies : !fabric) {
        settle_roofline(prediction, op, machine);
    } else {
        const CollectiveTime time = copies ? copy_time(op, implementation, *link, *machine.copies)
                                           : collective_time(*fabric, op);
        settle_times(prediction, time);
        apply_band(prediction, class_of(time.path),
                   copies ? Confidence::family : fabric->confidence,
                   copies ? Validity::validated : validity_of(op));
    }
    const Time gaps = gaps_of(op, prediction, execution.launch, machine);
    prediction.time += gaps;
    prediction.low += gaps;
    prediction.high += gaps;
    if (host) {
        prediction.note(note::HostLink{});
    } else if (!linked) {
        prediction.note(note::NoLinks{});
    }
    return prediction;
}

}  // namespace ridge::model
