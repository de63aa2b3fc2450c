#include "model/machine/attention_walk_parameters.h"

#include <array>

namespace ridge::model {
namespace {

using ranges::clocks;
using ranges::factor;
using ranges::rate_per_clock;
using ranges::share;
using ranges::share_of_peak;
using ranges::span_of_time;

constexpr Origins fitted_to_tables = everywhere(Origin::tables);

template <class Set, auto... path>
constexpr Parameter<Set> of_walk(std::string_view name, hardware::Range range,
                                 std::string_view meaning) {
    return parameter_of<Set, path...>(name, range, meaning, fitted_to_tables);
}

// clang-format off
using W = AttentionWalk;
template <class Set>
constexpr std::array<Parameter<Set>, 23> walk_rows{
    of_walk<Set, &Set::walk, &W::start>("start", span_of_time, "fixed time of the call"),
    of_walk<Set, &Set::walk, &W::matmul>("matmul", factor, "time of the two products of a block over that at the dense peak"),
    of_walk<Set, &Set::walk, &W::block>("block", clocks, "one block of scores beside its products"),
    of_walk<Set, &Set::walk, &W::load>("load", rate_per_clock, "rate of K and V into a tile"),
    of_walk<Set, &Set::walk, &W::narrow>("narrow", factor, "time of a block and of a tile for head_dim up to 64, over their formulas"),
    of_walk<Set, &Set::walk, &W::odd>("odd", factor, "the same for a head_dim that is no multiple of 16"),
    of_walk<Set, &Set::walk, &W::wide>("wide", factor, "the same for head_dim above 128"),
    of_walk<Set, &Set::walk, &W::wider>("wider", factor, "the same for head_dim above 192"),
    of_walk<Set, &Set::walk, &W::widest>("widest", factor, "the same for head_dim above 256"),
    of_walk<Set, &Set::walk, &W::skip>("skip", clocks, "a block outside the window, if the kernel walks over it"),
    of_walk<Set, &Set::walk, &W::tile>("tile", clocks, "prologue, filling the pipeline and epilogue of a tile"),
    of_walk<Set, &Set::walk, &W::tile_rows>("tile_rows", clocks, "per 64 rows of a tile that hold queries (16 in decoding): load Q, store O"),
    of_walk<Set, &Set::walk, &W::tile_columns>("tile_columns", clocks, "per 64 of head_dim: first K and V"),
    of_walk<Set, &Set::walk, &W::last_wave>("last_wave", factor, "idle part of a last wave that shows; 0: work is spread evenly"),
    of_walk<Set, &Set::walk, &W::dram>("dram", share_of_peak, "share of the DRAM bandwidth"),
    of_walk<Set, &Set::walk, &W::write_wave>("write_wave", clocks, "one wave of threads that write new K and V to the cache"),
    of_walk<Set, &Set::walk, &W::write_query>("write_query", factor, "passes over the queries beside the attention"),
    of_walk<Set, &Set::walk, &W::write_load>("write_load", rate_per_clock, "rate per multiprocessor of these copies through the L2"),
    of_walk<Set, &Set::walk, &W::scan>("scan", span_of_time, "reading the lengths of 32 sequences"),
    of_walk<Set, &Set::walk, &W::combine>("combine", span_of_time, "combining parts: fixed"),
    of_walk<Set, &Set::walk, &W::combine_part>("combine_part", span_of_time, "combining parts: per square root of their number"),
    of_walk<Set, &Set::walk, &W::combine_load>("combine_load", rate_per_clock, "rate per multiprocessor at partial results"),
    of_walk<Set, &Set::walk, &W::pad>("pad", span_of_time, "added for head_dim between 64 and 128 or 128 and 192 (both without the ends, but 192), which the engine pads"),
};

using A = AttentionTiles;
constexpr std::array tiles_own{
    of_walk<A, &A::window_block>("window_block", factor, "time of a block under a window over that without one"),
    of_walk<A, &A::edge_block>("edge_block", factor, "the same of a block that the window cuts"),
    of_walk<A, &A::lone>("lone", factor, "time of a tile that has its multiprocessor alone, over its share of a full one"),
    of_walk<A, &A::tail>("tail", factor, "part of the longest causal tile that runs on after the average"),
    of_walk<A, &A::droop>("droop", share, "slow-down of a long run at the power limit"),
    of_walk<A, &A::pad_copy>("pad_copy", factor, "passes over Q, K and V that pad them"),
    of_walk<A, &A::reread>("reread", factor, "part of K and V that tiles read from DRAM again, where heads of all sequences run side by side"),
};
using D = AttentionParts;
constexpr std::array parts_own{
    of_walk<D, &D::single>("single", factor, "time of a block for one head over that for a group"),
    of_walk<D, &D::shared>("shared", factor, "parts that a multiprocessor works on at once without slowing down"),
    of_walk<D, &D::idle_part>("idle_part", clocks, "a part without keys"),
    of_walk<D, &D::l2>("l2", rate_per_clock, "rate per multiprocessor at K and V of all heads through the L2"),
    of_walk<D, &D::dram_start>("dram_start", span_of_time, "exposed start of a cold stream"),
    of_walk<D, &D::fold>("fold", span_of_time, "one kernel that reorders grouped queries"),
    of_walk<D, &D::search>("search", clocks, "a part that looks among 32 sequences for its own"),
    of_walk<D, &D::crowding>("crowding", factor, "exponent of 128 / head_dim in the number of parts at once"),
    of_walk<D, &D::cold>("cold", factor, "time that loads of a part take longer from DRAM than from the L2, over that from the L2"),
    of_walk<D, &D::combine_block>("combine_block", clocks, "a block of the combining kernel, where its grid has 8 rows of all queries for every sequence"),
};

constexpr std::array<LawAttribute, 11> attributes{{
    {"rows", 128, "query rows of a tile"},
    {"keys", 128, "keys of a block"},
    {"pack", 1, "query heads folded into the rows of a tile"},
    {"width", 0, "head_dim as the instructions pad it; 0: as it is"},
    {"split", 0, "how the keys of a tile are divided: 0 whole, 1 fill, 2 history, 3 flash2, 4 flash3, 5 chunks, 6 fixed, 7 lengths"},
    {"waves", 1, "thread blocks per multiprocessor that a split fills"},
    {"part", 128, "fewest keys of a part"},
    {"parts", 1, "number of parts, or most of them"},
    {"combines", 0, "1: the kernel that combines parts runs even if there is one"},
    {"apart", 0, "1: tiles of one head run far apart, so that they do not share K and V in the L2"},
    {"folds", 0, "1: other kernels reorder the queries of a group"},
}};
// clang-format on

template <class Set, std::size_t own>
constexpr auto joined(const std::array<Parameter<Set>, own>& rows) {
    std::array<Parameter<Set>, walk_rows<Set>.size() + own> all{};
    for (std::size_t i = 0; i < walk_rows<Set>.size(); ++i) all[i] = walk_rows<Set>[i];
    for (std::size_t i = 0; i < own; ++i) all[walk_rows<Set>.size() + i] = rows[i];
    return all;
}

constexpr auto tiles_rows = joined(tiles_own);
constexpr auto parts_rows = joined(parts_own);

}  // namespace

std::span<const Parameter<AttentionTiles>> attention_tiles_table() {
    return tiles_rows;
}

std::span<const Parameter<AttentionParts>> attention_parts_table() {
    return parts_rows;
}

std::span<const LawAttribute> attention_walk_attributes() {
    return attributes;
}

}  // namespace ridge::model
