#include "model/machine/tiled_product_parameters.h"

#include <array>

namespace ridge::model {
namespace {

using ranges::clocks;
using ranges::exponent_of_norm;
using ranges::factor;
using ranges::rate_per_clock;
using ranges::share;
using ranges::share_of_peak;
using ranges::span_of_time;

template <std::size_t i>
constexpr auto step_at = [](auto& set) -> auto& {
    return set.step[i];
};
template <std::size_t i>
constexpr auto end_at = [](auto& set) -> auto& {
    return set.end[i];
};

constexpr Origins fitted = everywhere(Origin::tables);

template <auto member>
constexpr Parameter<TiledProduct> of(std::string_view name, hardware::Range range,
                                     std::string_view meaning) {
    return parameter_of<TiledProduct, member>(name, range, meaning, fitted);
}

// clang-format off
using T = TiledProduct;
constexpr std::array table{
    of<&T::start>("start", span_of_time, "fixed time of the product: launch, first loads, last stores"),
    of<step_at<0>>("step_1", clocks, "one tile along its depth, where the dispatch says step = 1"),
    of<step_at<1>>("step_2", clocks, "the same for step = 2"),
    of<step_at<2>>("step_3", clocks, "the same for step = 3"),
    of<step_at<3>>("step_4", clocks, "the same for step = 4"),
    of<step_at<4>>("step_5", clocks, "the same for step = 5"),
    of<step_at<5>>("step_6", clocks, "the same for step = 6"),
    of<end_at<0>>("end_1", clocks, "filling the pipeline and storing one tile, where the dispatch says end = 1"),
    of<end_at<1>>("end_2", clocks, "the same for end = 2"),
    of<end_at<2>>("end_3", clocks, "the same for end = 3"),
    of<end_at<3>>("end_4", clocks, "the same for end = 4"),
    of<&T::tensor>("tensor", share_of_peak, "share of the tensor peak that long steps reach; a step takes the longer of that and step_N"),
    of<&T::later_end>("later_end", share, "part of that time which further waves show where the stores of one tile overlap the next"),
    of<&T::whole_waves>("whole_waves", share, "1: blocks take tiles in whole waves; near 0: work is spread evenly"),
    of<&T::dram>("dram", share_of_peak, "share of the DRAM bandwidth"),
    of<&T::kept>("kept", factor, "part of the L2 in which operands stay between calls"),
    of<&T::steepness>("steepness", factor, "how sharply operands are lost where calls use more than that: the exponent of G3"),
    of<&T::l2>("l2", rate_per_clock, "rate per multiprocessor at which tiles read their operands from the L2"),
    of<&T::split_start>("split_start", span_of_time, "adding the parts of k"),
    of<&T::reread>("reread", factor, "part of the operands that blocks of later waves read from DRAM again where a wave's exceed the L2"),
    of<&T::edge>("edge", rate_per_clock, "rate per multiprocessor at which loads beyond the edges of an operand are filled"),
    of<&T::sustained>("sustained", share_of_peak, "share of the tensor peak under the power limit"),
    of<&T::overlap>("overlap", exponent_of_norm, "exponent of the norm that joins tiles, DRAM, edges and power"),
    of<&T::quantise>("quantise", span_of_time, "fixed time of the pass that quantises the input"),
    of<&T::quantise_row>("quantise_row", clocks, "least time of one row in it"),
    of<&T::quantise_start>("quantise_start", clocks, "time of one row beside that of its elements"),
    of<&T::quantise_element>("quantise_element", clocks, "time of one element of a long row"),
    of<&T::quantise_bytes>("quantise_bytes", factor, "rate of that pass over the DRAM bandwidth"),
    of<&T::host>("host", span_of_time, "eager call: the least time between two"),
    of<&T::host_odd>("host_odd", span_of_time, "eager call: what is added to it where m is no multiple of `host_rows`"),
};

constexpr std::array<LawAttribute, 17> attributes{{
    {"rows", 128, "rows of m of a tile"},
    {"columns", 128, "columns of n of a tile"},
    {"depth", 128, "elements of k of a step"},
    {"cluster_rows", 1, "tiles along m that share the loads of their columns"},
    {"cluster_columns", 1, "tiles along n that share the loads of their rows"},
    {"blocks", 1, "tiles that a multiprocessor works on at once"},
    {"split", 1, "parts of k"},
    {"chooses", 0, "1: tiles of 64 to `rows` by 16 to `columns`, the fewest waves first; 2, 3: as DeepGEMM chooses on Hopper, on Blackwell (tiles of 256 rows on Hopper take step_2); 4: the fastest of tiles of 16 to `rows` by 64 to `columns` and of 1 to 16 parts of k, as a library's heuristics find it"},
    {"step", 1, "which step_N is the time of a step"},
    {"end", 1, "which end_N is the time of an end"},
    {"overlaps", 0, "1: the end of a tile overlaps the next one"},
    {"quantises", 0, "1: a pass before the product quantises its input"},
    {"quantise_rows", 1, "rows that a multiprocessor quantises at once"},
    {"copies", 1, "weights over which the measured calls rotated"},
    {"rotates", 0, "1: they rotated over inputs and results, too"},
    {"alone", 0, "with chooses = 2: percent of the multiprocessors from which on one wave of tiles of 128 x 192 or more takes step_3; 0: never"},
    {"host_rows", 1, "rows of the input whose multiples need no further kernel for its scales"},
}};
// clang-format on

}  // namespace

std::span<const Parameter<TiledProduct>> tiled_product_table() {
    return table;
}

std::span<const LawAttribute> tiled_product_attributes() {
    return attributes;
}

}  // namespace ridge::model
