// The law `mixed_tiles`: one call over a mixed step without parts of the keys, as FlashAttention 2 runs it. (G15)
//
//   chunk = 512 new tokens after 4096, beside 64 sequences with caches of 1800:
//   8 tiles of 64 queries and 64 tiles of one query for each head, walking over blocks of 128 keys.
//
// Limits: a sequence that decodes is one tile, however long its cache; sequences have caches of one length.
#pragma once

#include "model/engine/law_time.h"

namespace ridge::model {

[[nodiscard]] LawTime mixed_tiles(const LawCall& call);

}  // namespace ridge::model
