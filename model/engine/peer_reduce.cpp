#include "model/engine/peer_reduce.h"

#include <algorithm>

#include "model/core/real.h"
#include "model/machine/peer_reduce_parameters.h"

namespace ridge::model {
namespace {

/// A fixed time, then bytes over the links.
struct Way {
    Time start;
    Time wire;
    [[nodiscard]] Time total() const { return start + wire; }
};

/// The library's rate over that with two GPUs, between and beyond the GPUs that were measured.
double spread_over(const PeerReduce& p, double gpus) {
    if (gpus <= 2.0) return 1.0;
    if (gpus >= 8.0) return p.eight;
    return gpus <= 4.0 ? 1.0 + (p.four - 1.0) * (gpus - 2.0) / 2.0
                       : p.four + (p.eight - p.four) * (gpus - 4.0) / 4.0;
}

}  // namespace

LawTime peer_reduce(const LawCall& call) {
    const auto& op = std::get<Collective>(call.operation);
    const auto p = set_of_values(peer_reduce_table(), call.kernel.values);
    const Machine& machine = call.machine;
    const Bandwidth link =
        (machine.are_linked(op.gpus) ? machine.link_per_direction : machine.pcie_per_direction)
            .value_or(Bandwidth{});
    RIDGE_CONTRACT(link > Bandwidth{});
    const double gpus = real(op.gpus);
    const double others = gpus - 1.0;
    const Bytes bytes = real(op.bytes) * units::B;
    const Bytes over_links = 2.0 * others / gpus * bytes;
    const Way one{p.one_start + others * p.peer, others * bytes / (p.one_rate * link)};
    const Way two{p.two_start + 2.0 * others * p.peer, over_links / (p.two_rate * link)};
    const Way library{p.library_start + others * p.library_peer,
                      over_links / (p.library_rate * spread_over(p, gpus) * link)};
    const Way& own = one.total() <= two.total() ? one : two;
    const bool takes_own = call.attributes[static_cast<std::size_t>(ReduceAttribute::own)] != 0 &&
                           own.total() <= library.total();
    const Way& way = takes_own ? own : library;
    LawTime t;
    t.kernels = way.total();
    t.host = takes_own ? p.host : p.library_host;
    t.terms.push_back({Resource::latency, way.start, 0.0});
    t.terms.push_back({Resource::link, way.wire, over_links.base()});
    if (call.execution.launch == LaunchMode::stream) {
        const Time copy = 2.0 * bytes / machine.dram_bandwidth;
        t.kernels += copy;
        t.terms.push_back({Resource::dram, copy, 2.0 * bytes.base()});
    }
    t.dram_read = call.work.dram_read;
    t.dram_write = call.work.dram_write;
    t.l2 = call.work.l2;
    return t;
}

}  // namespace ridge::model
