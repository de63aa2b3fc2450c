// Time of collectives and point-to-point transfers among the GPUs of one node, and of host copies.
//
// Method (equations C1 to C6 of docs/model.md). A ring over n GPUs takes `steps` hops (2(n-1) for
// all-reduce, n-1 otherwise), each with 1/n of the message. The library carries it with one of
// three protocols that it picks from its own cost table before it runs; the table is optimistic
// about Simple, so real times jump where it switches. `chosen_protocol` repeats the choice (NCCL's
// tuner), `ring_time` gives what the chosen protocol really takes. Where the switch can add (NVLS)
// and the type is one it adds, an all-reduce takes the quicker of ring and switch. All-to-all and
// send go to each peer by LL or Simple, whichever is quicker. Copies by the engines of a GPU, to
// another or from and to the host, are a start and bytes at a share of the link's rate.
//
//   const Collective op{.kind = CollectiveKind::all_reduce, .gpus = 8,
//                       .bytes = 512 << 20, .type = DataType::fp16};
//   const CollectiveTime t = collective_time(fabric, op);
//   t.total   // about 2 ms on an HGX H100; t.path == CollectivePath::nvls
//
// Limits: one node, every pair of GPUs at the full link rate; times of the library's kernels on the
// device, without the host's launch.
#pragma once

#include "hardware/quantity.h"
#include "model/core/operation.h"
#include "model/machine/fabric_parameters.h"

namespace ridge::model {

/// Way that the library takes: LL flags every 4 bytes, LL128 every 120, Simple fences whole slices.
enum class CollectivePath : std::uint8_t {
    ll,
    ll128,
    simple,
    nvls,
    peer_ll,
    peer_simple,
    copy_engine,
    host,
    host_staged
};

struct CollectiveTime {
    Time start{};  ///< kernel, first synchronisation, channels engaged
    Time hops{};   ///< ring steps or peers
    Time wire{};   ///< bytes over bandwidth
    Time fill{};   ///< of the pipeline between peers
    Time total{};
    Bytes handled{};  ///< bytes that `wire` counts
    CollectivePath path = CollectivePath::ll;
};

/// The protocol that the library's tuner takes for a ring. (eq. C2)
[[nodiscard]] CollectivePath chosen_protocol(const FabricParameters& fabric, const Collective& op);

/// The ring by protocol `path`. (eq. C3)
[[nodiscard]] CollectiveTime ring_time(const FabricParameters& fabric, const Collective& op,
                                       CollectivePath path);

/// Whether the switch can add the contributions of an all_reduce (NVLS).
[[nodiscard]] bool adds_in_switch(const FabricParameters& fabric, const Collective& op);

/// Any collective among GPUs; `op` must be valid and no host copy. (eq. C3 to C5)
[[nodiscard]] CollectiveTime collective_time(const FabricParameters& fabric, const Collective& op);

/// A copy to another GPU's memory over `link` (theoretical, one way) by the copy engines. (eq. C7)
[[nodiscard]] CollectiveTime engine_copy_time(const EngineCosts& engine, Bandwidth link,
                                              Bytes bytes);

/// A copy from or to host memory over `pcie` (theoretical): pinned, or pageable, whose bytes the host
/// carries to or from pinned memory. (eq. C6)
[[nodiscard]] CollectiveTime host_copy_time(const CopyParameters& copies, Bandwidth pcie,
                                            const Collective& op);
[[nodiscard]] CollectiveTime staged_copy_time(const CopyParameters& copies, Bandwidth pcie,
                                              const Collective& op);

/// Between two events around one call of a framework that copies pinned memory for `copy`. (eq. C6)
[[nodiscard]] Time host_call_time(const CopyParameters& copies, CollectiveKind kind, Time copy);

}  // namespace ridge::model
