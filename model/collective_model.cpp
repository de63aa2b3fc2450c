#include "model/collective_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/collective_work.h"

namespace ridge::model {
namespace {

using hardware::Description;

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

const ProtocolCost& cost_of(const FabricParameters& fabric, CollectivePath path) {
    switch (path) {
        case CollectivePath::ll:
            return fabric.ll;
        case CollectivePath::ll128:
            return fabric.ll128;
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
                   .hops = fabric.peer_peer * (peers - 1.0),
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
                   .handled = bus,
                   .path = CollectivePath::nvls});
}

/// A ring through PCIe switches, not measured: the tuner's PCIe hops, LL at half the usual copy
/// rate, no LL128.
FabricParameters pcie_fabric(Bandwidth pcie) {
    return {.link = pcie,
            .ll = {7.5 * units::us, 1.4 * units::us, 0.4},
            .ll128 = {Time{}, Time{}, 0.0},
            .simple = {15.0 * units::us, 7.0 * units::us, 0.8},
            .tuner_ll = 0.4 * pcie,
            .engage = 3.7 * units::us,
            .engage_bytes = 4.4 * units::kB,
            .local_share = 0.5,
            .peer_ll_start = 10.5 * units::us,
            .peer_ll_peer = 0.9 * units::us,
            .peer_ll_bandwidth = 4.1 * units::GB / units::s,
            .peer_start = 13.0 * units::us,
            .peer_peer = 0.2 * units::us,
            .peer_rate = 0.75,
            .peer_fill = 22.0 * units::us,
            .peer_fill_bytes = 1.0 * units::MB};
}

/// The fields of one protocol; empty when one is missing.
std::optional<ProtocolCost> resolve_protocol(const Description& gpu, const std::string& name) {
    const auto start = gpu.quantity<Time>("model.collective." + name + ".start");
    const auto hop = gpu.quantity<Time>("model.collective." + name + ".hop");
    const auto rate = gpu.number("model.collective." + name + ".rate");
    if (!start || !hop || !rate) return std::nullopt;
    return ProtocolCost{.start = *start, .hop = *hop, .rate = *rate};
}

void resolve_nvls(FabricParameters& fabric, const Description& gpu) {
    const auto gpus = gpu.count("model.collective.nvls.gpus");
    const auto start = gpu.quantity<Time>("model.collective.nvls.start");
    const auto rate = gpu.number("model.collective.nvls.rate");
    if (!gpus || !start || !rate) return;
    fabric.nvls_gpus = *gpus;
    fabric.nvls_start = *start;
    fabric.nvls_rate = *rate;
}

/// All fields but those of NVLS, or nothing.
std::optional<FabricParameters> resolve_links(const Description& gpu, Bandwidth link) {
    const auto ll = resolve_protocol(gpu, "ll");
    const auto ll128 = resolve_protocol(gpu, "ll128");
    const auto simple = resolve_protocol(gpu, "simple");
    const auto number = [&](const std::string& field) {
        return gpu.number("model.collective." + field);
    };
    const auto time = [&](const std::string& field) {
        return gpu.quantity<Time>("model.collective." + field);
    };
    const auto bytes = [&](const std::string& field) {
        return gpu.quantity<Bytes>("model.collective." + field);
    };
    const auto tuner_ll = gpu.quantity<Bandwidth>("model.collective.tuner_ll");
    const auto engage = time("engage.time");
    const auto engage_bytes = bytes("engage.bytes");
    const auto local = number("local_share");
    const auto ll_start = time("peer_ll.start");
    const auto ll_peer = time("peer_ll.peer");
    const auto ll_bandwidth = gpu.quantity<Bandwidth>("model.collective.peer_ll.bandwidth");
    const auto start = time("peer.start");
    const auto peer = time("peer.peer");
    const auto rate = number("peer.rate");
    const auto fill = time("peer.fill");
    const auto fill_bytes = bytes("peer.fill_bytes");
    if (!ll || !ll128 || !simple || !tuner_ll || !engage || !engage_bytes || !local || !ll_start ||
        !ll_peer || !ll_bandwidth || !start || !peer || !rate || !fill || !fill_bytes) {
        return std::nullopt;
    }
    return FabricParameters{.link = link,
                            .ll = *ll,
                            .ll128 = *ll128,
                            .simple = *simple,
                            .tuner_ll = *tuner_ll,
                            .engage = *engage,
                            .engage_bytes = *engage_bytes,
                            .local_share = *local,
                            .peer_ll_start = *ll_start,
                            .peer_ll_peer = *ll_peer,
                            .peer_ll_bandwidth = *ll_bandwidth,
                            .peer_start = *start,
                            .peer_peer = *peer,
                            .peer_rate = *rate,
                            .peer_fill = *fill,
                            .peer_fill_bytes = *fill_bytes};
}

}  // namespace

std::string_view name_of(CollectivePath path) {
    constexpr std::array<std::string_view, 7> names{
        "LL", "LL128", "Simple", "NVLS", "LL to peers", "Simple to peers", "host copy"};
    return names[static_cast<std::size_t>(path)];
}

std::optional<FabricParameters> resolve_fabric(const Description& gpu) {
    const auto link = gpu.quantity<Bandwidth>("link.per_direction");
    if (link) {
        std::optional<FabricParameters> fabric = resolve_links(gpu, *link);
        if (!fabric) return std::nullopt;
        resolve_nvls(*fabric, gpu);
        if (gpu.has_own("model.collective.ll.start")) fabric->confidence = Confidence::calibrated;
        return fabric;
    }
    const auto pcie = gpu.quantity<Bandwidth>("pcie.per_direction");
    if (!pcie || gpu.find("model.memory.read_efficiency") == nullptr) return std::nullopt;
    return pcie_fabric(*pcie);
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
    const ProtocolCost& cost = cost_of(fabric, path);
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
    const bool in_switch = op.kind == CollectiveKind::all_reduce && added_by_switch(op.type) &&
                           fabric.nvls_gpus > 0 && op.gpus >= fabric.nvls_gpus;
    if (!in_switch) return ring;
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
