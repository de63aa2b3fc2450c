#include "model/collectives/time.h"

#include <algorithm>
#include <cmath>

#include "model/collectives/work.h"

namespace ridge::model {
namespace {

const HostPath& path_of(const CopyParameters& copies, CollectiveKind kind) {
    return kind == CollectiveKind::host_to_device ? copies.to_device : copies.to_host;
}

Bytes bytes_of(const Collective& op) {
    return static_cast<double>(op.bytes) * units::B;
}

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

/// A start time, then bytes at a rate.
CollectiveTime copied(Time start, Bytes bytes, Bandwidth rate, CollectivePath path) {
    return summed({.start = start,
                   .hops = {},
                   .wire = bytes / rate,
                   .fill = {},
                   .total = {},
                   .handled = bytes,
                   .path = path});
}

/// Data of one pass of a channel with protocol LL: 512 threads with 8 bytes each. Parts of about
/// this size engage all channels.
constexpr Bytes channel_pass = 512.0 * 8.0 * units::B;

ProtocolCost cost_of(const FabricParameters& fabric, CollectivePath path) {
    switch (path) {
        case CollectivePath::ll:
            return {fabric.ll_start, fabric.ll_hop, 0.5 * fabric.simple.rate};
        case CollectivePath::ll128:
            return {fabric.simple.start, fabric.ll_hop, fabric.ll128_rate};
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

Time fill_time(const FabricParameters& fabric, Bytes bytes) {
    return fabric.peer_fill * -std::expm1(-(bytes / fabric.peer_fill_bytes));
}

CollectiveTime peer_simple_time(const FabricParameters& fabric, Bytes part, double peers) {
    const Bytes bytes = part * peers;
    return summed({.start = fabric.peer_start,
                   .hops = {},
                   .wire = bytes / (fabric.link * fabric.peer_rate),
                   .fill = fabric.peer_fill > Time{} ? fill_time(fabric, bytes) : Time{},
                   .total = {},
                   .handled = bytes,
                   .path = CollectivePath::peer_simple});
}

/// NCCL's send to one other GPU. (eq. C5)
CollectiveTime send_time(const FabricParameters& fabric, Bytes bytes) {
    const SendCosts& send = fabric.send;
    const Bandwidth wire = fabric.link * send.rate;
    const CollectiveTime ll =
        copied(send.ll_start, bytes, std::min(send.ll_rate, wire), CollectivePath::peer_ll);
    CollectiveTime simple = copied(send.start, bytes, wire, CollectivePath::peer_simple);
    simple.fill = send.fill * -std::expm1(-(bytes / send.fill_bytes));
    simple = summed(simple);
    return ll.total <= simple.total ? ll : simple;
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

CollectivePath chosen_protocol(const FabricParameters& fabric, const Collective& op) {
    const double steps = steps_of(op);
    const Bytes wire = link_bytes(op);
    const TunerTable& tuner = fabric.tuner;
    const Time ll = tuner.ll_base + steps * tuner.ll_hop + wire / fabric.tuner_ll;
    const Time simple =
        tuner.simple_base + steps * tuner.simple_hop + wire / (fabric.link * tuner.simple_rate);
    if (fabric.ll128_rate <= 0.0) return ll <= simple ? CollectivePath::ll : CollectivePath::simple;
    const Time ll128 =
        tuner.ll128_base + steps * tuner.ll128_hop + wire / (fabric.link * tuner.ll128_rate);
    if (ll <= ll128 && ll <= simple) return CollectivePath::ll;
    return ll128 <= simple ? CollectivePath::ll128 : CollectivePath::simple;
}

CollectiveTime ring_time(const FabricParameters& fabric, const Collective& op,
                         CollectivePath path) {
    const ProtocolCost cost = cost_of(fabric, path);
    const Bytes part = part_of(op);
    const bool local = op.kind != CollectiveKind::broadcast;
    const Bytes handled = link_bytes(op) + (local ? fabric.local_share : 0.0) * part;
    const double engaged = path == CollectivePath::ll ? part / (part + channel_pass) : 0.0;
    return summed({.start = cost.start + fabric.engage * engaged,
                   .hops = cost.hop * steps_of(op),
                   .wire = handled / (fabric.link * cost.rate),
                   .fill = {},
                   .total = {},
                   .handled = handled,
                   .path = path});
}

bool adds_in_switch(const FabricParameters& fabric, const Collective& op) {
    return op.nvls != SwitchAddition::off && op.kind == CollectiveKind::all_reduce &&
           added_by_switch(op.type) && fabric.nvls_gpus > 0 && op.gpus >= fabric.nvls_gpus;
}

CollectiveTime collective_time(const FabricParameters& fabric, const Collective& op) {
    if (op.kind == CollectiveKind::send) return send_time(fabric, bytes_of(op));
    if (op.kind == CollectiveKind::all_to_all) {
        const Bytes part = part_of(op);
        const auto peers = static_cast<double>(op.gpus - 1);
        const CollectiveTime ll = peer_ll_time(fabric, part, peers);
        const CollectiveTime simple = peer_simple_time(fabric, part, peers);
        return ll.total <= simple.total ? ll : simple;
    }
    const CollectiveTime ring = ring_time(fabric, op, chosen_protocol(fabric, op));
    if (!adds_in_switch(fabric, op)) return ring;
    const CollectiveTime nvls = nvls_time(fabric, op);
    return nvls.total < ring.total ? nvls : ring;
}

CollectiveTime engine_copy_time(const EngineCosts& engine, Bandwidth link, Bytes bytes) {
    return copied(engine.start, bytes, link * engine.rate, CollectivePath::copy_engine);
}

CollectiveTime host_copy_time(const CopyParameters& copies, Bandwidth pcie, const Collective& op) {
    const Bytes bytes = bytes_of(op);
    const HostCosts& host = copies.host;
    if (op.kind == CollectiveKind::host_to_device && bytes <= host.inlined) {
        return copied(host.inlined_start, bytes, std::min(host.inlined_rate, pcie * host.rate),
                      CollectivePath::host);
    }
    return copied(path_of(copies, op.kind).start, bytes, pcie * host.rate, CollectivePath::host);
}

CollectiveTime staged_copy_time(const CopyParameters& copies, Bandwidth pcie,
                                const Collective& op) {
    const Bytes bytes = bytes_of(op);
    const HostCosts& host = copies.host;
    const bool cached = op.kind == CollectiveKind::host_to_device && bytes <= host.cached;
    const Bandwidth carried = cached ? host.cached_rate : path_of(copies, op.kind).staging;
    return copied(host.staged_start, bytes, std::min(carried, pcie * host.rate),
                  CollectivePath::host_staged);
}

Time host_call_time(const CopyParameters& copies, CollectiveKind kind, Time copy) {
    const HostPath& path = path_of(copies, kind);
    return path.around + std::max(copy, path.call);
}

}  // namespace ridge::model
