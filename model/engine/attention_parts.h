// The law `attention_parts`: attention of an engine over one query per sequence, in decoding.
//
//   law = "attention_parts"
//   dispatch = ["rows = 64, keys = 128, pack = heads / kv_heads, split = 4"]
//
// Method (docs/model.md G10 to G14). A tile holds the query heads of a KV head. Its keys are divided
// into parts, so that also few sequences fill the GPU; a part takes a latency for each block of keys.
// Multiprocessors work on several parts side by side. The cache comes from DRAM or the L2, at their
// rates. Combining the parts, copies of the queries and writing the cache come before and after.
//
// Limits: one query; equal lengths within a batch.
#pragma once

#include "model/engine/law_time.h"

namespace ridge::model {

[[nodiscard]] LawTime attention_parts(const LawCall& call);

}  // namespace ridge::model
