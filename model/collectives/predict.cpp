// Predictions of communication among the GPUs of one node and with the host.

#include "model/collectives/predict.h"

#include <algorithm>
#include <string>

#include "model/collectives/kernels.h"
#include "model/collectives/nodes.h"
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

/// The costs of kernels from a common start, where they hold: on linked GPUs, without additions in the
/// switch.
const CollectiveKernels* kernels_of(const Collective& op, Implementation implementation,
                                    const Machine& machine) {
    const bool between = !is_host_copy(op.kind) && implementation != Implementation::copy_engine;
    const bool holds = between && machine.collective_kernels && machine.fabric &&
                       machine.are_linked(op.gpus) && op.nvls == SwitchAddition::off;
    return holds ? &*machine.collective_kernels : nullptr;
}

/// More than four GPUs were not measured.
Validity validity_of_kernel(const Collective& op) {
    constexpr std::int64_t most_gpus = 4;
    return op.gpus <= most_gpus && op.bytes <= std::int64_t{1} << 30 ? Validity::validated
                                                                     : Validity::extrapolated;
}

void add_gaps(Prediction& prediction, Time gaps) {
    prediction.time = std::max(prediction.time + gaps, prediction.lower_bound);
    prediction.low = std::max(prediction.low + gaps, prediction.lower_bound);
    prediction.high = std::max(prediction.high + gaps, prediction.time);
}

/// Adds what a graph or a call adds to the kernel of a collective. (eq. C11)
void surround_kernel(const Collective& op, CollectivePath path, LaunchMode launch,
                     const Machine& machine, Prediction& prediction) {
    const CollectiveCalls& calls = machine.collective_kernels->calls;
    if (launch == LaunchMode::kernel) return;
    const Time in_a_row = op.nvls == SwitchAddition::off
                              ? calls.gap - hidden_in_a_row(*machine.collective_kernels,
                                                            machine.fabric->link, op, path)
                              : launch_gaps(machine, LaunchMode::graph, 1);
    add_gaps(prediction, in_a_row);
    if (launch == LaunchMode::graph) return;
    const Time host =
        calls.launch *
        (prediction.implementation == Implementation::torch ? calls.framework : calls.library);
    prediction.time = std::max(prediction.time, host);
    prediction.low = std::max(prediction.low, host / calls.spread);
    prediction.high = std::max(prediction.high, host * calls.spread);
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

/// An engine's own all-reduce; beyond its largest message, the library's ring. (eq. C12)
Outcome custom_prediction(const Collective& op, LaunchMode launch, Bandwidth link,
                          const Machine& machine) {
    if (!machine.custom_reduce || !machine.are_linked(op.gpus)) {
        return NotModelled{machine.name + " has no model.custom_reduce for " +
                           std::to_string(op.gpus) + " GPUs"};
    }
    const CustomReduce& custom = *machine.custom_reduce;
    const bool own = static_cast<double>(op.bytes) * units::B <= custom.most;
    if (!own) {
        const Execution library{.implementation = Implementation::library,
                                .launch = LaunchMode::graph};
        Collective around = op;
        around.nvls = SwitchAddition::off;
        Outcome outcome = predict(around, library, machine);
        if (auto* const ring = std::get_if<Prediction>(&outcome)) {
            ring->implementation = Implementation::custom;
        }
        return outcome;
    }
    Prediction prediction = counted(op, Implementation::custom, link_bytes(op), link);
    settle_times(prediction, custom_time(custom, op));
    apply_band(prediction, BandClass::ring, ChipEvidence::relative, validity_of(op));
    if (launch == LaunchMode::stream && prediction.time < custom.call) {
        const Time waiting = custom.call - prediction.time;
        prediction.time += waiting;
        prediction.low += waiting;
        prediction.high += waiting;
    }
    return prediction;
}

/// Among the GPUs of several nodes. No measurement stands behind the network, so the band is wide.
/// (eq. C13)
Outcome prediction_over_nodes(const Collective& op, const Execution& execution,
                              const Machine& machine) {
    const Cluster& cluster = *machine.cluster;
    if (op.gpus > cluster.gpus()) {
        return NotModelled{"cluster " + cluster.name + " has " + std::to_string(cluster.gpus()) +
                           " GPUs"};
    }
    if (op.gpus % cluster.domain != 0) {
        return NotModelled{"gpus must be a multiple of the " + std::to_string(cluster.domain) +
                           " GPUs of a node of cluster " + cluster.name};
    }
    Outcome outcome = predict(within_node(cluster, op), execution, machine);
    auto* const inside = std::get_if<Prediction>(&outcome);
    if (inside == nullptr) return outcome;
    const NetworkTime network = network_time(cluster, op);
    const Bytes crossing =
        network.wire * (cluster.network * (cluster.efficiency / cluster.oversubscription));
    Prediction prediction = counted(op, inside->implementation, crossing, cluster.network);
    settle_times(prediction, {.start = inside->time,
                              .hops = network.steps,
                              .wire = network.wire,
                              .total = time_over_nodes(cluster, op, inside->time),
                              .handled = crossing});
    apply_band(prediction, BandClass::estimate, ChipEvidence::foreign, Validity::extrapolated);
    return prediction;
}

/// Whether the GPUs are in one node: that of the cluster, or any.
bool in_one_node(const Collective& op, const Machine& machine) {
    return op.gpus <= (machine.cluster ? machine.cluster->domain : most_gpus_of_a_node);
}

Outcome predict_in_node(const Collective& op, const Execution& execution, const Machine& machine) {
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
    const bool called =
        !host && linked && machine.collective_kernels && execution.launch == LaunchMode::stream;
    const Implementation implementation = execution.implementation != Implementation::automatic
                                              ? execution.implementation
                                          : called ? Implementation::torch
                                                   : Implementation::library;
    const bool in_switch = !host && fabric && adds_in_switch(*fabric, op);
    Prediction prediction =
        counted(op, implementation, in_switch ? switch_bytes(op) : link_bytes(op), *link);
    const bool by_engine = implementation == Implementation::copy_engine;
    const bool copies = host || by_engine;
    if (implementation == Implementation::custom) {
        return custom_prediction(op, execution.launch, *link, machine);
    }
    const CollectiveKernels* const kernels = kernels_of(op, implementation, machine);
    CollectivePath path = CollectivePath::simple;
    if (kernels != nullptr) {
        const CollectiveTime time = kernel_time(*kernels, *fabric, op);
        path = time.path;
        settle_times(prediction, time);
        apply_band(prediction, class_of(time.path), kernels->evidence, validity_of_kernel(op));
    } else if (copies ? !machine.copies : !fabric) {
        settle_roofline(prediction, op, machine);
    } else {
        const CollectiveTime time = copies ? copy_time(op, implementation, *link, *machine.copies)
                                           : collective_time(*fabric, op);
        settle_times(prediction, time);
        apply_band(prediction, class_of(time.path),
                   copies   ? ChipEvidence::relative
                   : linked ? fabric->evidence
                            : ChipEvidence::foreign,
                   copies ? Validity::validated : validity_of(op));
    }
    if (!copies && linked && machine.collective_kernels) {
        surround_kernel(op, path, execution.launch, machine, prediction);
    } else {
        add_gaps(prediction, gaps_of(op, prediction, execution.launch, machine));
    }
    if (host) {
        prediction.note(note::HostLink{});
    } else if (!linked) {
        prediction.note(note::NoLinks{});
    }
    return prediction;
}

}  // namespace

Outcome predict(const Collective& op, const Execution& execution, const Machine& machine) {
    if (is_host_copy(op.kind) || in_one_node(op, machine)) {
        return predict_in_node(op, execution, machine);
    }
    if (machine.cluster) return prediction_over_nodes(op, execution, machine);
    return NotModelled{
        std::to_string(op.gpus) +
        " GPUs are more than one node has, and links between nodes are modelled only "
        "with a description of them (--cluster FILE)"};
}

}  // namespace ridge::model
