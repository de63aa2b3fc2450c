// Costs of the kernels of NCCL on linked GPUs, from a common start, without additions in the switch
// (docs/model.md C8 to C11), and of the host around them.
//
//   const auto kernels = resolve_collective_kernels(description);
//   kernels->ll.hop   // of one step of a ring with protocol LL
//
// They are the fields `model.collective.kernel.*` of a description. The fields `model.collective.*`
// (fabric_parameters.h), fitted to tables of graphs with additions in the switch, stay beside them;
// neither refits the other.
#pragma once

#include <optional>
#include <span>
#include <tuple>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/core/prediction.h"
#include "model/machine/fabric_parameters.h"
#include "model/machine/parameter.h"

namespace ridge::model {

struct Machine;

/// A ring with protocol LL: 512 threads of each channel pass 4 KiB at a time. (eq. C8)
struct LowLatencyRing {
    Time start{};
    Time hop{};             ///< of one step
    Time doubling{};        ///< of the start, for each doubling of the channels
    Time first{};           ///< of a channel's first pass through one primitive, if it is full
    Time pass{};            ///< of each further pass through one primitive
    double chain = 1.0;     ///< passes of a broadcast over those of one primitive
    double channels = 1.0;  ///< most channels
};

/// A ring with protocol LL128 or Simple; with Simple, rings of two GPUs and longer ones have their own
/// costs. (eq. C9)
struct BulkRing {
    Time start{};
    Time hop{};
    double rate = 1.0;         ///< over the link rate
    double chain_rate = 1.0;   ///< the same for a broadcast
    double local_share = 0.0;  ///< of its own part that a GPU copies or adds beside the wire
    Time fill{};               ///< longest additional time of large messages
    Bytes fill_bytes{};        ///< at which 63 % of it is reached
    Bytes chunk{};             ///< that a broadcast passes on at a time, on all channels together
};

/// Send and all-to-all. (eq. C10)
struct PeerExchange {
    Time ll_start{};
    Time ll_peer{};  ///< of each further peer
    Time ll_pass{};  ///< of 4 KiB on one channel
    Time start{};
    double rate = 1.0;         ///< over the link rate
    Bandwidth channel_rate{};  ///< most of one channel
    Time fill{};
    Bytes fill_bytes{};
};

/// How the library spreads what goes to a peer over channels. (eq. C10)
struct PeerChannels {
    double all = 1.0;   ///< channels of a GPU, shared by all ranks
    double most = 1.0;  ///< to one peer
    Bytes low{};        ///< protocol LL up to this size on a channel
    Bytes high{};       ///< beyond this size on a channel, a peer gets more of them
};

/// What surrounds a kernel. (eq. C11)
struct CollectiveCalls {
    Time gap{};           ///< between collectives in a graph
    Time drain{};         ///< after the sender is done, which the next operation in a row hides: LL
    Time bulk_drain{};    ///< the same with protocol Simple, beyond that with LL
    Bytes drain_bytes{};  ///< at which 63 % of it is reached
    Time launch{};        ///< of a small kernel, by the host beside this GPU
    double library = 0.0;    ///< the host's time for a call of NCCL, in launches
    double framework = 0.0;  ///< the same of PyTorch
    double spread = 1.0;     ///< factor by which hosts and moments differ
};

/// A collective while kernels run beside it, over its time alone. (eq. C14)
struct CollectiveBeside {
    double products = 1.0;  ///< beside kernels that compute
    double streams = 1.0;   ///< beside kernels that are bound by DRAM
};

/// An engine's own all-reduce over the memory of its peers. (eq. C12)
struct CustomReduce {
    Time start{};        ///< one-shot: every GPU reads all messages
    Time peer{};         ///< of each further peer
    Bandwidth rate{};    ///< at which it reads them
    Time split_start{};  ///< two-shot: every GPU adds one part, and all read the sums
    Bandwidth split_rate{};
    Bytes most{};  ///< larger messages go to the library
    Time call{};   ///< the host's time for a call of the engine
};

struct CollectiveKernels {
    LowLatencyRing ll;
    BulkRing ll128;
    BulkRing simple;  ///< of two GPUs
    BulkRing longer;  ///< of more
    PeerExchange all_to_all;
    PeerExchange send;
    PeerChannels peers;
    CollectiveCalls calls;
    CollectiveBeside beside;
    ChipEvidence evidence = ChipEvidence::relative;
};

using CollectiveKernelSections =
    std::tuple<std::span<const Section<LowLatencyRing>>, std::span<const Section<BulkRing>>,
               std::span<const Section<PeerExchange>>, std::span<const Section<PeerChannels>>,
               std::span<const Section<CollectiveCalls>>,
               std::span<const Section<CollectiveBeside>>>;

/// The sections `model.collective.kernel`, of machines that have `collective_kernels`.
[[nodiscard]] const CollectiveKernelSections& collective_kernel_sections();

/// The section `model.custom_reduce`, of machines that have `custom_reduce`.
[[nodiscard]] std::span<const Section<CustomReduce>> custom_reduce_sections();

/// Reads the costs into a machine; none if the description lacks one of the fields.
void resolve_collective_kernels(const hardware::Description& gpu, Machine& machine);

}  // namespace ridge::model
