#include "model/collectives/time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/collectives/work.h"

namespace ridge::model {
namespace {

/// A row of the cost table of the library's tuner: it decides the protocol, not the time.
struct Belief {
    Time base;
    Time hop;
    double rate;  ///< over the link rate
};

// NCCL, src/graph/tuning.cc: base and hop latencies of rings over NVLink; 0.8 of the link rate is
// the ring rate it assumes (240 of 300, 360 of 450 GB/s), LL128 takes 0.92 of that; the rate of LL
// depends on the architecture and is a field.
constexpr Belief believed_ll{6.6 * units::us, 0.6 * units::us, 0.0};
constexpr Belief believed_ll128{14.0 * units::us, 1.9 * units::us, 0.736};
constexpr Belief believed_simple{8.4 * units::us, 3.4 * units::us, 0.8};

// Host copies, estimates: packet headers and flow control leave 0.82 of PCIe (0.78 to 0.85 in
// public measurements); 8 us pass between submission and the first byte of an asynchronous copy.
constexpr double host_rate = 0.82;
constexpr Time host_start = 8.0 * units::us;

double steps_of(const Collective& op) {
    const auto others = static_cast<double>(op.gpus - 1);
    return op.kind == CollectiveKind::all_reduce ? 2.0 * others : others;
}

Bytes part_of(const Collective& op) {
    return static_cast<double>(op.bytes) / static_cast<double>(op.gpus) * units::B;
}

bool added_by_switch(DataType type) {
    return type == DataType::fp16 || type == DataType::bf16 || type == DataType::fp32;
}

CollectiveTime summed(CollectiveTime time) {
    time.total = time.start + time.hops + time.wire + time.fill;
    return time;
}

ProtocolCost cost_of(const FabricParameters& fabric, CollectivePath path) {
    switch (path) {
        case CollectivePath::ll:
            return fabric.ll;
        case CollectivePath::ll128:
            return {fabric.ll128.start, fabric.ll.hop, fabric.ll128.rate};
        default:
            return fabric.simple;
    }
}

CollectiveTime peer_ll_time(const FabricParameters& fabric, Bytes part, double peers) {
    return summed({.start = fabric.peer_ll_start,
                   .hops = fabric.peer_ll_peer * (peers - 1.0),
                   .wire = part / fabric.peer_ll_bandwidth,
                   .fill = {},
                   .total = {},
                   .handled = part * peers,
                   .path = CollectivePath::peer_ll});
}

CollectiveTime peer_simple_time(const FabricParameters& fabric, Bytes part, double peers) {
    const Bytes bytes = part * peers;
    return summed({.start = fabric.peer_start,
                   .hops = {},
                   .wire = bytes / (fabric.link * fabric.peer_rate),
                   .fill = fabric.peer_fill * -std::expm1(-(bytes / fabric.peer_fill_bytes)),
                   .total = {},
                   .handled = bytes,
                   .path = CollectivePath::peer_simple});
}

CollectiveTime nvls_time(const FabricParameters& fabric, const Collective& op) {
    const Bytes bus = link_bytes(op);
    return summed({.start = fabric.nvls_start,
                   .hops = {},
                   .wire = bus / (fabric.link * fabric.nvls_rate),
                   .fill = {},
                   .total = {},
                   .handled = switch_bytes(op) + 2.0 * part_of(op),
                   .path = CollectivePath::nvls});
}

}  // namespace

std::string_view name_of(CollectivePath path) {
    constexpr std::array<std::string_view, 7> names{
        "LL", "LL128", "Simple", "NVLS", "LL to peers", "Simple to peers", "host copy"};
    return names[static_cast<std::size_t>(path)];
}

CollectivePath chosen_protocol(const FabricParameters& fabric, const Collective& op) {
    const double steps = steps_of(op);
    const Bytes wire = link_bytes(op);
    const auto believed = [&](const Belief& belief) {
        return belief.base + steps * belief.hop + wire / (fabric.link * belief.rate);
    };
    const Time ll = believed_ll.base + steps * believed_ll.hop + wire / fabric.tuner_ll;
    const Time simple = believed(believed_simple);
    if (fabric.ll128.rate <= 0.0) return ll <= simple ? CollectivePath::ll : CollectivePath::simple;
    const Time ll128 = believed(believed_ll128);
    if (ll <= ll128 && ll <= simple) return CollectivePath::ll;
    return ll128 <= simple ? CollectivePath::ll128 : CollectivePath::simple;
}

CollectiveTime ring_time(const FabricParameters& fabric, const Collective& op,
                         CollectivePath path) {
    const ProtocolCost cost = cost_of(fabric, path);
    const Bytes part = part_of(op);
    const bool local = op.kind != CollectiveKind::broadcast;
    const Bytes handled = link_bytes(op) + (local ? fabric.local_share : 0.0) * part;
    const double engaged = path == CollectivePath::ll ? part / (part + fabric.engage_bytes) : 0.0;
    return summed({.start = cost.start + fabric.engage * engaged,
                   .hops = cost.hop * steps_of(op),
                   .wire = handled / (fabric.link * cost.rate),
                   .fill = {},
                   .total = {},
                   .handled = handled,
                   .path = path});
}

bool adds_in_switch(const FabricParameters& fabric, const Collective& op) {
    return op.kind == CollectiveKind::all_reduce && added_by_switch(op.type) &&
           fabric.nvls_gpus > 0 && op.gpus >= fabric.nvls_gpus;
}

CollectiveTime collective_time(const FabricParameters& fabric, const Collective& op) {
    const bool send = op.kind == CollectiveKind::send;
    if (send || op.kind == CollectiveKind::all_to_all) {
        const Bytes part = send ? static_cast<double>(op.bytes) * units::B : part_of(op);
        const double peers = send ? 1.0 : static_cast<double>(op.gpus - 1);
        const CollectiveTime ll = peer_ll_time(fabric, part, peers);
        const CollectiveTime simple = peer_simple_time(fabric, part, peers);
        return ll.total <= simple.total ? ll : simple;
    }
    const CollectiveTime ring = ring_time(fabric, op, chosen_protocol(fabric, op));
    if (!adds_in_switch(fabric, op)) return ring;
    const CollectiveTime nvls = nvls_time(fabric, op);
    return nvls.total < ring.total ? nvls : ring;
}

CollectiveTime host_copy_time(Bandwidth pcie, Bytes bytes) {
    return summed({.start = host_start,
                   .hops = {},
                   .wire = bytes / (pcie * host_rate),
                   .fill = {},
                   .total = {},
                   .handled = bytes,
                   .path = CollectivePath::host});
}

}  // namespace ridge::model
