// Time of collectives and point-to-point transfers among the GPUs of one node, and of host copies.
//
// Method (equations C1 to C7 of docs/model.md). A ring over n GPUs takes `steps` hops (2(n-1) for
// all-reduce, n-1 otherwise), each with 1/n of the message. The library uses one of three
// protocols, which it picks from its own cost table before it runs. The table is optimistic about
// Simple, so real times jump where it switches. `chosen_protocol` repeats the choice of NCCL's
// tuner; `ring_time` gives what the chosen protocol really takes. If the switch can add the type
// (NVLS), an all-reduce takes the faster of ring and switch. All-to-all and send use LL or Simple
// for each peer, whichever is faster. Copies by the engines of a GPU, to another GPU or from and to
// the host, take a start time and move bytes at a share of the link's rate.
//
//   const Collective op{.kind = CollectiveKind::all_reduce, .gpus = 8,
//                       .bytes = 512 << 20, .type = DataType::fp16};
//   const CollectiveTime t = collective_time(fabric, op);
//   t.total   // about 2 ms on an HGX H100; t.path == CollectivePath::nvls
//
// Limits: one node, with the full link rate between every pair of GPUs. Times are those of the
// library's kernels on the device, without the host's launch.
#pragma once

#include "hardware/quantity.h"
#include "model/core/operation.h"
#include "model/machine/fabric_parameters.h"

namespace ridge::model {

/// The path that the library takes: LL flags every 4 bytes, LL128 every 120, Simple fences whole
/// slices.
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

/// Time of any collective among GPUs. `op` must be valid and not a host copy. (eq. C3 to C5)
[[nodiscard]] CollectiveTime collective_time(const FabricParameters& fabric, const Collective& op);

/// Time of a copy to another GPU's memory over `link` (theoretical, one way) by the copy engines.
/// (eq. C7)
[[nodiscard]] CollectiveTime engine_copy_time(const EngineCosts& engine, Bandwidth link,
                                              Bytes bytes);

/// Time of a copy from or to host memory over `pcie` (theoretical). The memory is pinned, or
/// pageable, in which case the host moves the bytes to or from pinned memory. (eq. C6)
[[nodiscard]] CollectiveTime host_copy_time(const CopyParameters& copies, Bandwidth pcie,
                                            const Collective& op);
[[nodiscard]] CollectiveTime staged_copy_time(const CopyParameters& copies, Bandwidth pcie,
                                              const Collective& op);

/// Time between two events around one call of a framework that copies pinned memory in `copy`. (eq.
/// C6)
[[nodiscard]] Time host_call_time(const CopyParameters& copies, CollectiveKind kind, Time copy);

}  // namespace ridge::model
