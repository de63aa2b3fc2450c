// Links of one GPU and what the collective library makes of them (docs/model.md C1 to C5).
//
//   const auto fabric = resolve_fabric(catalogue.at("h100-sxm"));
//   fabric->link   // 450 GB/s each way
//
// They are the fields `model.collective.*` of a description.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

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
    Confidence confidence = Confidence::family;
};

/// `model.collective` and, within it, what the switch adds (`nvls`).
[[nodiscard]] std::span<const Section<FabricParameters>> fabric_sections();

/// Links between GPUs: those of `link.per_direction` where the description has fabric parameters,
/// else a ring through PCIe switches (an estimate). Empty when it has neither.
[[nodiscard]] std::optional<FabricParameters> resolve_fabric(const hardware::Description& gpu);

/// The ring through PCIe switches. Empty without `pcie.per_direction` or a memory model.
[[nodiscard]] std::optional<FabricParameters> resolve_host_fabric(const hardware::Description& gpu);

}  // namespace ridge::model
