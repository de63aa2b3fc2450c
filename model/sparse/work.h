// Work and traffic of the parts of sparse latent attention.
//
//   sparse_work({.part = SparsePart::index, .heads = 64, .seq_q = 1, .seq_kv = 65536})
//
// Method: docs/model.md N9. Limits: of the chosen keys, those that several queries share count once.
#pragma once

#include "model/core/operation.h"
#include "model/core/prediction.h"

namespace ridge::model {

/// Keys that a query treats, on average over the queries under the causal mask: all that it sees, or
/// `topk` of them.
[[nodiscard]] double keys_of_query(const SparseAttention& op);

struct SparseBytes {
    double queries = 0.0;
    double keys = 0.0;
    double chosen = 0.0;  ///< positions of the chosen keys
    double out = 0.0;     ///< scores, or results
};
[[nodiscard]] SparseBytes sparse_bytes(const SparseAttention& op);
[[nodiscard]] Work sparse_work(const SparseAttention& op);

}  // namespace ridge::model
