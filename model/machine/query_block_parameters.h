// What the law `query_blocks` knows of one kernel of an engine (`model/engine/query_blocks.h`).
//
//   [model.engine.query_blocks.sglang.indexer]
//   key = { value = "8 clk", source = "FIT" }
#pragma once

#include <cstdint>
#include <span>

#include "hardware/quantity.h"
#include "model/machine/engine_law.h"
#include "model/machine/parameter.h"

namespace ridge::model {

struct QueryBlocks {
    Time start{};
    Cycles block{};
    Cycles key{};
    double queries = 1.0;
    Cycles spread{};
    Cycles spread_key{};
};
[[nodiscard]] std::span<const Parameter<QueryBlocks>> query_blocks_table();
[[nodiscard]] std::span<const LawAttribute> query_blocks_attributes();
enum class QueryAttribute : std::uint8_t { padded };

}  // namespace ridge::model
