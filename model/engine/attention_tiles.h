// The law `attention_tiles`: attention of an engine over many queries, as prefill or in an encoder.
//
//   law = "attention_tiles"
//   dispatch = ["rows = 128, keys = 64, when head_dim <= 128", "rows = 64, keys = 64"]
//
// Method (docs/model.md G10 to G12, G14). A tile takes its prologue and epilogue and a time for each
// block of keys; the run takes the longest tile, or the average over the multiprocessors and what
// runs on after it, and slows down at the power limit. DRAM serves what is not in the L2. Writing
// the cache and combining parts come before and after.
//
// Limits: forward; no dropout; equal lengths within a batch.
#pragma once

#include "model/engine/law_time.h"

namespace ridge::model {

[[nodiscard]] LawTime attention_tiles(const LawCall& call);

}  // namespace ridge::model
