#include "model/engine/laws.h"

#include <array>
#include <utility>

#include "model/engine/attention_parts.h"
#include "model/engine/attention_tiles.h"
#include "model/engine/expert_block.h"
#include "model/engine/mixed_tiles.h"
#include "model/engine/peer_reduce.h"
#include "model/engine/query_blocks.h"
#include "model/engine/recurrences.h"
#include "model/engine/tiled_product.h"

namespace ridge::model {
namespace {

using LawFunction = LawTime (*)(const LawCall& call);

constexpr std::array<std::pair<std::string_view, LawFunction>, 10> functions{
    {{"tiled_product", &tiled_product},
     {"attention_tiles", &attention_tiles},
     {"attention_parts", &attention_parts},
     {"expert_block", &expert_block},
     {"peer_reduce", &peer_reduce},
     {"channel_conv", &channel_conv},
     {"chunked_scan", &chunked_scan},
     {"state_step", &state_step},
     {"query_blocks", &query_blocks},
     {"mixed_tiles", &mixed_tiles}}};

std::vector<LawFunction> by_index() {
    std::vector<LawFunction> all(law_table().size(), nullptr);
    for (const auto& [name, function] : functions) all[law_index(name)] = function;
    for (const LawFunction each : all) RIDGE_CONTRACT(each != nullptr);
    return all;
}

}  // namespace

LawTime time_of(const LawCall& call) {
    static const std::vector<LawFunction> all = by_index();
    return all[call.kernel.recipe->law](call);
}

}  // namespace ridge::model
