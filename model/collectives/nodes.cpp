#include "model/collectives/nodes.h"

#include <algorithm>
#include <cmath>

namespace ridge::model {
namespace {

/// Bytes that one GPU sends over its network: its share of what crosses between nodes.
Bytes network_bytes(const Cluster& cluster, const Collective& op) {
    const auto gpus = static_cast<double>(op.gpus);
    const auto domain = static_cast<double>(cluster.domain);
    const double nodes = std::ceil(gpus / domain);
    const Bytes message = static_cast<double>(op.bytes) * units::B;
    const double others = (nodes - 1.0) / nodes;
    switch (op.kind) {
        case CollectiveKind::all_reduce:
            return 2.0 * others / domain * message;
        case CollectiveKind::all_gather:
        case CollectiveKind::reduce_scatter:
        case CollectiveKind::broadcast:
            return others / domain * message;
        case CollectiveKind::all_to_all:
            return (gpus - domain) / gpus * message;
        default:
            return message;
    }
}

}  // namespace

Collective within_node(const Cluster& cluster, const Collective& op) {
    Collective inside = op;
    inside.gpus = std::min(op.gpus, cluster.domain);
    // Of an exchange, only the part for the own node stays inside.
    if (op.kind == CollectiveKind::all_to_all) {
        inside.bytes = std::max(inside.gpus, op.bytes / op.gpus * inside.gpus);
    }
    return inside;
}

NetworkTime network_time(const Cluster& cluster, const Collective& op) {
    const double nodes =
        std::ceil(static_cast<double>(op.gpus) / static_cast<double>(cluster.domain));
    const double doublings = std::ceil(std::log2(nodes));
    const bool there_and_back = op.kind == CollectiveKind::all_reduce;
    const Bandwidth rate = cluster.network * (cluster.efficiency / cluster.oversubscription);
    return {.steps = cluster.latency * (op.kind == CollectiveKind::send ? 1.0
                                        : there_and_back                ? 2.0 * doublings
                                                                        : doublings),
            .wire = network_bytes(cluster, op) / rate};
}

Time time_over_nodes(const Cluster& cluster, const Collective& op, Time within) {
    const NetworkTime network = network_time(cluster, op);
    return network.steps + std::max(within, network.wire);
}

}  // namespace ridge::model
