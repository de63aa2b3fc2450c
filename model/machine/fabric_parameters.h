// Links of one GPU and what the collective library makes of them, and copies without a kernel
// (docs/model.md C1 to C7).
//
//   const auto fabric = resolve_fabric(catalogue.at("h100-sxm"));
//   fabric->link   // 450 GB/s each way
//
// They are the fields `model.collective.*` and `model.copy.*` of a description.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>

#include "hardware/description.h"
#include "hardware/quantity.h"
#include "model/core/prediction.h"
#include "model/machine/parameter.h"

namespace ridge::model {

struct ProtocolCost {
    Time start{};       ///< kernel and first synchronisation
    Time hop{};         ///< per ring step
    double rate = 1.0;  ///< wire bandwidth over the link rate
};

/// NCCL's send to one other GPU: by flags while that is quicker, else by whole slices. (eq. C5)
struct SendCosts {
    Time ll_start{};
    Bandwidth ll_rate{};
    Time start{};
    double rate = 1.0;  ///< over the link rate
    Time fill{};        ///< longest, of the pipeline
    Bytes fill_bytes{};
};

/// A copy engine between GPUs. (eq. C7)
struct EngineCosts {
    Time start{};
    double rate = 1.0;  ///< over the link rate
};

/// Copies from and to the host in both directions. (eq. C6)
struct HostCosts {
    double rate = 1.0;        ///< of the copy engine, over the PCIe rate
    Time staged_start{};      ///< of a call with pageable memory
    Bytes cached{};           ///< what is sent often still lies in the host's own cache up to here
    Bandwidth cached_rate{};  ///< at which one thread of the host then carries bytes
    Bytes inlined{};          ///< travels to the device within the command itself up to here
    Time inlined_start{};
    Bandwidth inlined_rate{};
};

/// One direction: the engine's start, and of a call with pinned memory what passes around the copy and
/// how long the call itself takes.
struct HostPath {
    Time start{};
    Time around{};
    Time call{};
    Bandwidth staging{};  ///< pageable memory: rate at which one thread of the host carries bytes
};

/// Copies without a kernel: `model.copy.*`.
struct CopyParameters {
    EngineCosts engine;
    HostCosts host;
    HostPath to_device;
    HostPath to_host;
};

/// Links of one GPU and what the library makes of them: the fields `model.collective.*`.
struct FabricParameters {
    Bandwidth link{};  ///< theoretical, per direction
    Time ll_start{};
    Time ll_hop{};            ///< of LL128 as well
    double ll128_rate = 0.0;  ///< 0: not used on this fabric
    ProtocolCost simple{};    ///< its start is that of LL128 as well
    Bandwidth tuner_ll{};     ///< that the library's tuner assumes of LL
    Time engage{};
    double local_share = 0.0;
    Time peer_ll_start{};
    Time peer_ll_peer{};
    Bandwidth peer_ll_bandwidth{};
    Time peer_start{};
    double peer_rate = 1.0;
    Time peer_fill{};  ///< zero: cannot be told from the rate
    Bytes peer_fill_bytes{};
    std::int64_t nvls_gpus = 0;  ///< 0: the switch does not add
    Time nvls_start{};
    double nvls_rate = 1.0;
    SendCosts send{};
    Confidence confidence = Confidence::family;
};

using CopySections =
    std::tuple<std::span<const Section<EngineCosts>>, std::span<const Section<HostCosts>>,
               std::span<const Section<HostPath>>>;

/// `model.copy`, of machines that have `copies`.
[[nodiscard]] const CopySections& copy_sections();

/// Into a machine; none where the description lacks one of the fields.
void resolve_copies(const hardware::Description& gpu, Machine& machine);

/// `model.collective` and, within it, what the switch adds (`nvls`).
[[nodiscard]] std::span<const Section<FabricParameters>> fabric_sections();

/// `model.collective.send`, of machines with a fabric.
[[nodiscard]] std::span<const Section<SendCosts>> send_sections();

/// Links between GPUs: those of `link.per_direction` where the description has fabric parameters,
/// else a ring through PCIe switches (an estimate). Empty when it has neither.
[[nodiscard]] std::optional<FabricParameters> resolve_fabric(const hardware::Description& gpu);

/// The ring through PCIe switches. Empty without `pcie.per_direction` or a memory model.
[[nodiscard]] std::optional<FabricParameters> resolve_host_fabric(const hardware::Description& gpu);

}  // namespace ridge::model
