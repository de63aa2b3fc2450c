#include "model/collectives/beside.h"

#include <algorithm>

#include "model/collectives/kernels.h"
#include "model/collectives/work.h"

namespace ridge::model {

double share_taken(const Collective& op, const Machine& machine) {
    if (!machine.collective_kernels || machine.sm_count <= 0 || is_host_copy(op.kind)) return 0.0;
    const CollectiveKernels& kernels = *machine.collective_kernels;
    double channels = low_latency_channels(kernels.ll, op);
    if (op.kind == CollectiveKind::send || op.kind == CollectiveKind::all_to_all) {
        const double peers =
            op.kind == CollectiveKind::send ? 1.0 : static_cast<double>(op.gpus - 1);
        const Bytes bytes = static_cast<double>(op.bytes) * units::B;
        const Bytes part =
            op.kind == CollectiveKind::send ? bytes : bytes / static_cast<double>(op.gpus);
        channels = std::min(kernels.peers.all, peers * peer_channels(kernels.peers, part, op.gpus));
    }
    return channels / static_cast<double>(machine.sm_count);
}

double stretch_beside(const Prediction& beside, const Machine& machine) {
    if (!machine.collective_kernels) return 1.0;
    const CollectiveBeside& measured = machine.collective_kernels->beside;
    const bool streams = beside.limiter == Resource::dram || beside.limiter == Resource::l2;
    return streams ? measured.streams : measured.products;
}

}  // namespace ridge::model
