// Links of one GPU, the costs of the collective library on them, and copies without a kernel
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

/// NCCL's send to one other GPU: with flags while that is faster, else with whole slices. (eq. C5)
struct SendCosts {
    Time ll_start{};
    Bandwidth ll_rate{};
    Time start{};
    double rate = 1.0;  ///< over the link rate
    Time fill{};        ///< longest fill of the pipeline
    Bytes fill_bytes{};
};

/// A copy engine between GPUs. (eq. C7)
struct EngineCosts {
    Time start{};
    double rate = 1.0;  ///< over the link rate
};

/// Copies from and to the host, values for both directions. (eq. C6)
struct HostCosts {
    double rate = 1.0;        ///< of the copy engine, over the PCIe rate
    Time staged_start{};      ///< of a call with pageable memory
    Bytes cached{};           ///< data up to this size, when sent often, stays in the host's own
                              ///< cache
    Bandwidth cached_rate{};  ///< rate at which one thread of the host moves cached bytes
    Bytes inlined{};          ///< data up to this size travels to the device within the command
                              ///< itself
    Time inlined_start{};
    Bandwidth inlined_rate{};
};

/// One direction: the engine's start, and for a call with pinned memory the time around the copy
/// and the time of the call itself.
struct HostPath {
    Time start{};
    Time around{};
    Time call{};
    Bandwidth staging{};  ///< pageable memory: rate at which one thread of the host moves bytes
};

/// Copies without a kernel: `model.copy.*`.
struct CopyParameters {
    EngineCosts engine;
    HostCosts host;
    HostPath to_device;
    HostPath to_host;
};

/// The cost table by which the library's tuner decides the protocol of a ring. It does not give the
/// time. (eq. C2)
struct TunerTable {
    Time ll_base{};
    Time ll_hop{};
    Time ll128_base{};
    Time ll128_hop{};
    double ll128_rate = 1.0;  ///< over the link rate
    Time simple_base{};
    Time simple_hop{};
    double simple_rate = 1.0;  ///< over the link rate
};

/// Links of one GPU and the costs of the library on them: the fields `model.collective.*`.
struct FabricParameters {
    Bandwidth link{};  ///< theoretical, per direction
    Time ll_start{};
    Time ll_hop{};            ///< also for LL128
    double ll128_rate = 0.0;  ///< 0: not used on this fabric
    ProtocolCost simple{};    ///< its start also holds for LL128
    Bandwidth tuner_ll{};     ///< bandwidth that the library's tuner assumes for LL
    TunerTable tuner{};
    Time engage{};
    double local_share = 0.0;
    Time peer_ll_start{};
    Time peer_ll_peer{};
    Bandwidth peer_ll_bandwidth{};
    Time peer_start{};
    double peer_rate = 1.0;
    Time peer_fill{};  ///< zero: cannot be distinguished from the rate
    Bytes peer_fill_bytes{};
    std::int64_t nvls_gpus = 0;  ///< 0: the switch does not add
    Time nvls_start{};
    double nvls_rate = 1.0;
    SendCosts send{};
    ChipEvidence evidence = ChipEvidence::relative;
};

using CopySections =
    std::tuple<std::span<const Section<EngineCosts>>, std::span<const Section<HostCosts>>,
               std::span<const Section<HostPath>>>;

/// The sections `model.copy`, of machines that have `copies`.
[[nodiscard]] const CopySections& copy_sections();

/// Reads the costs of copies into a machine; none if the description lacks one of the fields.
void resolve_copies(const hardware::Description& gpu, Machine& machine);

/// The section `model.collective` and, within it, the one for the switch (`nvls`).
[[nodiscard]] std::span<const Section<FabricParameters>> fabric_sections();

/// The section `model.collective.send`, of machines with a fabric.
[[nodiscard]] std::span<const Section<SendCosts>> send_sections();

/// The section `model.collective.tuner`, of machines with a fabric.
[[nodiscard]] std::span<const Section<TunerTable>> tuner_sections();

/// Links between GPUs: those of `link.per_direction` if the description has fabric parameters, else
/// a ring through PCIe switches (an estimate). Empty if it has neither.
[[nodiscard]] std::optional<FabricParameters> resolve_fabric(const hardware::Description& gpu);

/// The ring through PCIe switches; empty without `pcie.per_direction` or a memory model.
[[nodiscard]] std::optional<FabricParameters> resolve_host_fabric(const hardware::Description& gpu);

}  // namespace ridge::model
