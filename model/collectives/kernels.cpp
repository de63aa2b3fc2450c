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

/// A pass that is not full takes as long as a full one; the first is at least started.
double passes_of(double full) {
    constexpr double rounding = 1e-9;
    return std::max(1.0, std::ceil(full - rounding));
}

/// The bytes of one GPU's part; a broadcast passes the whole message on.
Bytes ring_part(const Collective& op) {
    const auto parts = op.kind == CollectiveKind::broadcast ? 1.0 : static_cast<double>(op.gpus);
    return static_cast<double>(op.bytes) / parts * units::B;
}

CollectiveTime low_latency_time(const LowLatencyRing& ring, const Collective& op) {
    const double channels = low_latency_channels(ring, op);
    const double full = ring_part(op) / (channels * low_latency_pass);
    const Time passed = ring.first * std::min(full, 1.0) + ring.pass * (passes_of(full) - 1.0);
    CollectiveTime time{.start = ring.start + ring.doubling * std::log2(channels),
                        .hops = ring.hop * ring_steps(op),
                        .wire = passed * primitives(ring, op),
                        .handled = link_bytes(op),
                        .path = CollectivePath::ll};
    time.total = time.start + time.hops + time.wire;
    return time;
}

CollectiveTime bulk_time(const BulkRing& ring, Bandwidth link, const Collective& op,
                         CollectivePath path) {
    const bool chain = op.kind == CollectiveKind::broadcast;
    const Bytes part = ring_part(op);
    // Beyond the second GPU, a broadcast arrives a chunk later at each.
    const auto further = static_cast<double>(op.gpus - 2);
    const Bytes beside = chain ? further * std::min(part, ring.chunk) : ring.local_share * part;
    const Bytes handled = link_bytes(op) + beside;
    CollectiveTime time{.start = ring.start,
                        .hops = ring.hop * ring_steps(op),
                        .wire = handled / (link * (chain ? ring.chain_rate : ring.rate)),
                        .fill = approached(ring.fill, handled, ring.fill_bytes),
                        .handled = chain ? link_bytes(op) : handled,
                        .path = path};
    time.total = time.start + time.hops + time.wire + time.fill;
    return time;
}

/// What a GPU sends to each of `peers` others.
CollectiveTime exchange_time(const CollectiveKernels& kernels, const PeerExchange& cost,
                             Bandwidth link, Bytes part, std::int64_t gpus, double peers) {
    const double channels = peer_channels(kernels.peers, part, gpus);
    const Bytes bytes = part * peers;
    if (part <= channels * kernels.peers.low) {
        CollectiveTime ll{.start = cost.ll_start + kernels.ll.doubling * std::log2(channels),
                          .hops = cost.ll_peer * (peers - 1.0),
                          .wire = cost.ll_pass * (part / (channels * low_latency_pass)),
                          .handled = bytes,
                          .path = CollectivePath::peer_ll};
        ll.total = ll.start + ll.hops + ll.wire;
        return ll;
    }
    const Bandwidth wire = std::min(link * cost.rate, cost.channel_rate * (channels * peers));
    CollectiveTime simple{.start = cost.start,
                          .wire = bytes / wire,
                          .fill = approached(cost.fill, bytes, cost.fill_bytes),
                          .handled = bytes,
                          .path = CollectivePath::peer_simple};
    simple.total = simple.start + simple.wire + simple.fill;
    return simple;
}

/// One-shot or two-shot, whichever is faster.
CollectiveTime faster(const CollectiveTime& one, const CollectiveTime& two) {
    return one.total <= two.total ? one : two;
}

}  // namespace

double low_latency_channels(const LowLatencyRing& ring, const Collective& op) {
    const double parts = static_cast<double>(op.bytes) * units::B /
                         (low_latency_pass * static_cast<double>(op.gpus));
    return std::clamp(std::floor(parts), 1.0, ring.channels);
}

double peer_channels(const PeerChannels& peers, Bytes part, std::int64_t gpus) {
    // A channel for every two passes, up to the largest power of two that all ranks can have.
    const double shared = std::exp2(std::floor(std::log2(peers.all / static_cast<double>(gpus))));
    const double usual = std::clamp(shared, 1.0, peers.most);
    double channels = std::clamp(std::floor(part / (2.0 * low_latency_pass)), 1.0, usual);
    while (channels < peers.most && part > channels * peers.high) channels *= 2.0;
    return channels;
}

CollectiveTime kernel_time(const CollectiveKernels& kernels, const FabricParameters& fabric,
                           const Collective& op) {
    const Bytes bytes = static_cast<double>(op.bytes) * units::B;
    if (op.kind == CollectiveKind::send) {
        return exchange_time(kernels, kernels.send, fabric.link, bytes, op.gpus, 1.0);
    }
    const auto gpus = static_cast<double>(op.gpus);
    if (op.kind == CollectiveKind::all_to_all) {
        return exchange_time(kernels, kernels.all_to_all, fabric.link, bytes / gpus, op.gpus,
                             gpus - 1.0);
    }
    const CollectivePath path = chosen_protocol(fabric, op);
    switch (path) {
        case CollectivePath::ll:
            return low_latency_time(kernels.ll, op);
        case CollectivePath::ll128:
            return bulk_time(kernels.ll128, fabric.link, op, path);
        default:
            return bulk_time(op.gpus == 2 ? kernels.simple : kernels.longer, fabric.link, op,
                             CollectivePath::simple);
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

Time hidden_in_a_row(const CollectiveKernels& kernels, Bandwidth link, const Collective& op,
                     CollectivePath path) {
    const bool chain = op.kind == CollectiveKind::broadcast;
    if (!chain && op.kind != CollectiveKind::send) return Time{};
    const CollectiveCalls& calls = kernels.calls;
    const double further = chain ? static_cast<double>(op.gpus - 2) : 0.0;
    if (path == CollectivePath::ll || path == CollectivePath::peer_ll) {
        return calls.drain + further * kernels.ll.hop;
    }
    const Bytes bytes = static_cast<double>(op.bytes) * units::B;
    const Time drained = calls.drain + approached(calls.bulk_drain, bytes, calls.drain_bytes);
    const BulkRing& ring = kernels.longer;
    const Time passed_on = further * (std::min(bytes, ring.chunk) / (link * ring.chain_rate));
    return std::max(drained, passed_on);
}

}  // namespace ridge::model
