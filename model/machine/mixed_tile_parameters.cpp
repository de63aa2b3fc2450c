#include "model/machine/mixed_tile_parameters.h"

#include <array>

namespace ridge::model {
namespace {

using M = MixedTiles;

template <auto member>
constexpr Parameter<M> of_mixed(std::string_view name, hardware::Range range,
                                std::string_view meaning) {
    return parameter_of<M, member>(name, range, meaning, everywhere(Origin::tables));
}

// clang-format off
constexpr std::array mixed_table{
    of_mixed<&M::start>("start", ranges::span_of_time, "fixed time of the kernel"),
    of_mixed<&M::block>("block", ranges::clocks, "a block of keys of a tile of the chunk, on a busy multiprocessor"),
    of_mixed<&M::decode_block>("decode_block", ranges::clocks, "the same of a sequence that decodes"),
    of_mixed<&M::alone>("alone", ranges::clocks, "a block of keys of the longest tile, which others do not hold up"),
    of_mixed<&M::tile>("tile", ranges::clocks, "start and end of a tile"),
    of_mixed<&M::overlap>("overlap", ranges::exponent_of_norm, "exponent of the norm that joins the longest tile and the work of all"),
    of_mixed<&M::dram>("dram", ranges::share_of_peak, "share of the DRAM bandwidth"),
    of_mixed<&M::held>("held", ranges::factor, "bytes that the L2 must hold, over those of the caches"),
    of_mixed<&M::again>("again", ranges::factor, "part of the caches that heads with common keys read from DRAM again where the L2 does not hold them"),
};

constexpr std::array<LawAttribute, 2> attributes_of_mixed{{
    {"rows", 64, "queries of a tile"},
    {"keys", 128, "keys of a block"},
}};
// clang-format on

}  // namespace

std::span<const Parameter<MixedTiles>> mixed_tiles_table() {
    return mixed_table;
}
std::span<const LawAttribute> mixed_tiles_attributes() {
    return attributes_of_mixed;
}

}  // namespace ridge::model
