// The law `query_blocks`: kernels that treat queries, each with its own keys: the indexer of sparse
// attention, the choice of the largest scores, and the attention over the chosen keys.
//
//   padded = 1       # every query treats topk keys, however few it sees
//
// Method (docs/model.md G53). A multiprocessor takes a block of queries along their keys; with more
// queries than multiprocessors these run in rounds. Beside that, all multiprocessors share units that a
// single one does not fill. A norm joins the two.
//
// Limits: keys of the shapes that the operation states; no reuse of keys between queries.
#pragma once

#include "model/engine/law_time.h"

namespace ridge::model {

[[nodiscard]] LawTime query_blocks(const LawCall& call);

}  // namespace ridge::model
