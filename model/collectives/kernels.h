// Time of NCCL's kernels on linked GPUs from a common start, without additions in the switch.
//
// Method (equations C8 to C11 of docs/model.md). The protocol is that of the library's tuner (C2). A
// ring with LL takes a start, `steps` hops, and passes of 4 KiB through the primitives of each channel.
// Rings with LL128 and Simple take a start, hops, and bytes at a share of the link. What goes to a peer
// directly is spread over channels by the library's rule, and takes LL if a channel gets little. The
// time ends when the last GPU is done.
//
//   const CollectiveTime t = kernel_time(*machine.collective_kernels, *machine.fabric, op);
//   const Time hidden = hidden_in_a_row(*machine.collective_kernels, link, op, t.path);
//
// Limits: measured with two and four GPUs.
#pragma once

#include "model/collectives/time.h"
#include "model/machine/collective_kernels.h"

namespace ridge::model {

/// Channels of a ring with LL: one for every 4 KiB of each GPU's part, up to the most. (eq. C8)
[[nodiscard]] double low_latency_channels(const LowLatencyRing& ring, const Collective& op);

/// Channels that carry `part` to one peer among `gpus` ranks. (eq. C10)
[[nodiscard]] double peer_channels(const PeerChannels& peers, Bytes part, std::int64_t gpus);

/// From a common start until the last GPU is done. `op` must be valid and between GPUs. (eq. C8 to
/// C10)
[[nodiscard]] CollectiveTime kernel_time(const CollectiveKernels& kernels,
                                         const FabricParameters& fabric, const Collective& op);

/// An engine's own all-reduce, one-shot or two-shot, whichever is faster; `op` must be an all_reduce of
/// at most `custom.most` bytes. (eq. C12)
[[nodiscard]] CollectiveTime custom_time(const CustomReduce& custom, const Collective& op);

/// The part of `kernel_time` that the next operation in a row hides: in a broadcast or a send, the
/// sender goes on while the last bytes are on their way over `link`. (eq. C11)
[[nodiscard]] Time hidden_in_a_row(const CollectiveKernels& kernels, Bandwidth link,
                                   const Collective& op, CollectivePath path);

}  // namespace ridge::model
