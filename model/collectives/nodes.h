// Collectives among GPUs of several nodes.
//
// Method (eq. C13 of docs/model.md): every GPU first shares its part within its node, then each of the
// `domain` rails carries 1/domain of the message between the nodes, then the result is shared within
// the nodes. Large messages pass all stages at once, so the slower one decides; the latencies add up.
//
//   const Time t = time_over_nodes(cluster, op, within);   // `within`: the time inside one node
//
// Limits: whole nodes, all of the same size; no measurement of a network stands behind it.
#pragma once

#include "model/core/operation.h"
#include "model/machine/cluster.h"

namespace ridge::model {

/// The same operation among the GPUs of one node.
[[nodiscard]] Collective within_node(const Cluster& cluster, const Collective& op);

struct NetworkTime {
    Time steps{};  ///< latency of the steps between nodes
    Time wire{};   ///< bytes of one GPU over its network
};
[[nodiscard]] NetworkTime network_time(const Cluster& cluster, const Collective& op);

/// `within` is the time of `within_node`.
[[nodiscard]] Time time_over_nodes(const Cluster& cluster, const Collective& op, Time within);

}  // namespace ridge::model
