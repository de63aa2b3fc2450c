#include "model/collectives/kernels.h"

#include <algorithm>
#include <cmath>

#include "model/collectives/work.h"

namespace ridge::model {
namespace {

/// Data of one pass of a channel with LL: 512 threads with 8 bytes each.
constexpr Bytes low_latency_pass = 4096.0 * units::B;

/// A time that grows towards `longest`, 63 % of it at `bytes`.
Time approached(Time longest, Bytes bytes, Bytes at) {
    return longest > Time{} ? longest * -std::expm1(-(bytes / at)) : Time{};
}

/// Steps of the ring, one after another.
double ring_steps(const Collective& op) {
    const auto others = static_cast<double>(op.gpus - 1);
    return op.kind == CollectiveKind::all_reduce ? 2.0 * others : others;
}

/// How often the kernel sends, receives or adds each part: once for each step, and once more.
double primitives(const LowLatencyRing& ring, const Collective& op) {
    const auto gpus = static_cast<double>(op.gpus);
    switch (op.kind) {
        case CollectiveKind::all_reduce:
            return 2.0 * gpus - 1.0;
        case CollectiveKind::broadcast:
            return ring.chain;
        default:
            return gpus;
    }
}

/// The bytes of one GPU's part; a broadcast passes the whole message on.
Bytes ring_part(const Collective& op) {
    const auto parts = op.kind == CollectiveKind::broadcast ? 1.0 : static_cast<double>(op.gpus);
    return static_cast<double>(op.bytes) / parts * units::B;
}

CollectiveTime low_latency_time(const LowLatencyRing& ring, const Collective& op) {
    const double channels = low_latency_channels(ring, op);
    const Bytes part = ring_part(op);
    const double passes = part / (channels * low_latency_pass) * primitives(ring, op);
    CollectiveTime time{.start = ring.start + ring.doubling * std::log2(channels),
                        .hops = ring.hop * ring_steps(op),
                        .wire = ring.pass * passes,
                        .handled = link_bytes(op),
                        .path = CollectivePath::ll};
    time.total = time.start + time.hops + time.wire;
    return time;
}

CollectiveTime bulk_time(const BulkRing& ring, Bandwidth link, const Collective& op,
                         CollectivePath path) {
    const bool chain = op.kind == CollectiveKind::broadcast;
    const Bytes handled = link_bytes(op) + (chain ? 0.0 : ring.local_share) * ring_part(op);
    CollectiveTime time{.start = ring.start,
                        .hops = ring.hop * ring_steps(op),
                        .wire = handled / (link * (chain ? ring.chain_rate : ring.rate)),
                        .fill = approached(ring.fill, handled, ring.fill_bytes),
                        .handled = handled,
                        .path = path};
    time.total = time.start + time.hops + time.wire + time.fill;
    return time;
}

/// LL or Simple to each peer, whichever is faster.
CollectiveTime faster(const CollectiveTime& ll, const CollectiveTime& simple) {
    return ll.total <= simple.total ? ll : simple;
}

CollectiveTime exchange_time(const PeerExchange& peer, Bandwidth link, const Collective& op) {
    const auto peers = static_cast<double>(op.gpus - 1);
    const Bytes part = static_cast<double>(op.bytes) / static_cast<double>(op.gpus) * units::B;
    const Bytes bytes = part * peers;
    CollectiveTime ll{.start = peer.ll_start,
                      .hops = peer.ll_peer * (peers - 1.0),
                      .wire = part / peer.ll_rate,
                      .handled = bytes,
                      .path = CollectivePath::peer_ll};
    ll.total = ll.start + ll.hops + ll.wire;
    CollectiveTime simple{.start = peer.start,
                          .wire = bytes / (link * peer.rate),
                          .fill = approached(peer.fill, bytes, peer.fill_bytes),
                          .handled = bytes,
                          .path = CollectivePath::peer_simple};
    simple.total = simple.start + simple.wire + simple.fill;
    return faster(ll, simple);
}

CollectiveTime one_way_time(const SendCosts& send, Bandwidth link, Bytes bytes) {
    CollectiveTime ll{.start = send.ll_start,
                      .wire = bytes / send.ll_rate,
                      .handled = bytes,
                      .path = CollectivePath::peer_ll};
    ll.total = ll.start + ll.wire;
    CollectiveTime simple{.start = send.start,
                          .wire = bytes / (link * send.rate),
                          .fill = approached(send.fill, bytes, send.fill_bytes),
                          .handled = bytes,
                          .path = CollectivePath::peer_simple};
    simple.total = simple.start + simple.wire + simple.fill;
    return faster(ll, simple);
}

}  // namespace

double low_latency_channels(const LowLatencyRing& ring, const Collective& op) {
    const double parts = static_cast<double>(op.bytes) * units::B /
                         (low_latency_pass * static_cast<double>(op.gpus));
    return std::clamp(std::floor(parts), 1.0, ring.channels);
}

CollectiveTime kernel_time(const CollectiveKernels& kernels, const FabricParameters& fabric,
                           const Collective& op) {
    if (op.kind == CollectiveKind::send) {
        return one_way_time(kernels.send, fabric.link, static_cast<double>(op.bytes) * units::B);
    }
    if (op.kind == CollectiveKind::all_to_all) return exchange_time(kernels.peer, fabric.link, op);
    const CollectivePath path = chosen_protocol(fabric, op);
    switch (path) {
        case CollectivePath::ll:
            return low_latency_time(kernels.ll, op);
        case CollectivePath::ll128:
            return bulk_time(kernels.ll128, fabric.link, op, path);
        default:
            return bulk_time(kernels.simple, fabric.link, op, CollectivePath::simple);
    }
}

CollectiveTime custom_time(const CustomReduce& custom, const Collective& op) {
    const auto others = static_cast<double>(op.gpus - 1);
    const Bytes read = others * static_cast<double>(op.bytes) * units::B;
    CollectiveTime one{.start = custom.start,
                       .hops = custom.peer * (others - 1.0),
                       .wire = read / custom.rate,
                       .handled = read,
                       .path = CollectivePath::peer_ll};
    one.total = one.start + one.hops + one.wire;
    CollectiveTime two{.start = custom.split_start,
                       .wire = link_bytes(op) / custom.split_rate,
                       .handled = link_bytes(op),
                       .path = CollectivePath::peer_simple};
    two.total = two.start + two.wire;
    return faster(one, two);
}

Time hidden_in_a_row(const CollectiveKernels& kernels, const Collective& op, CollectivePath path) {
    const bool one_way = op.kind == CollectiveKind::broadcast || op.kind == CollectiveKind::send;
    if (!one_way) return Time{};
    const CollectiveCalls& calls = kernels.calls;
    const bool flags = path == CollectivePath::ll || path == CollectivePath::peer_ll;
    if (flags) return calls.drain;
    const Bytes bytes = static_cast<double>(op.bytes) * units::B;
    return calls.drain + approached(calls.bulk_drain, bytes, calls.drain_bytes);
}

}  // namespace ridge::model
