// Reads from NCCL's own log which algorithm, protocol and channels a collective ran with.
//
// NCCL (2.26 to 2.30) writes with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=TUNING, on rank 0 and for each
// collective that it launches, a line such as
//
//   host:1:2 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..7}
//
// Sends and receives (all_to_all, send) have no such line.
#pragma once

#include <optional>
#include <string_view>

#include "measure/record/observation.h"

namespace ridge::measure {

/// The last choice in the text, in lower case; empty if there is none.
[[nodiscard]] std::optional<CollectiveChoice> last_choice(std::string_view log);

}  // namespace ridge::measure
