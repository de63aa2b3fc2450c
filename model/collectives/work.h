// Counting communication: the bytes that the busiest link must carry.
//
// Method: docs/model.md equation C1; the ratios are those of nccl-tests' bus bandwidth.
#pragma once

#include "model/core/operation.h"

namespace ridge::model {

[[nodiscard]] bool is_host_copy(CollectiveKind kind);

/// Bytes that one GPU must send (or receive) over its links with any algorithm: bytes times 2
/// (n-1)/n for all_reduce, (n-1)/n for all_gather, reduce_scatter and all_to_all, 1 otherwise.
[[nodiscard]] Bytes link_bytes(const Collective& op);

/// The same if the switch adds: each GPU sends once the part of its data that the others lack, and
/// receives the sums once.
[[nodiscard]] Bytes switch_bytes(const Collective& op);

}  // namespace ridge::model
