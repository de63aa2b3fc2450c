#include "model/machine/expert_block_parameters.h"

#include <array>

namespace ridge::model {
namespace {

using B = ExpertBlock;

template <auto member>
constexpr Parameter<B> of_block(std::string_view name, hardware::Range range,
                                std::string_view meaning) {
    return parameter_of<B, member>(name, range, meaning, everywhere(Origin::tables));
}

// clang-format off
constexpr std::array block_table{
    of_block<&B::start>("start", ranges::span_of_time, "fixed time of all kernels of a block"),
    of_block<&B::expert>("expert", ranges::span_of_time, "time of each expert that has rows"),
    of_block<&B::sort>("sort", ranges::span_of_time, "additional time above 256 tokens, which several kernels sort"),
    of_block<&B::route>("route", ranges::clocks, "scoring one token for one expert, on one multiprocessor"),
    of_block<&B::pair>("pair", ranges::clocks, "placing one token at one expert, on one multiprocessor"),
    of_block<&B::dram>("dram", ranges::share_of_peak, "share of the DRAM bandwidth in the grouped products"),
    of_block<&B::held>("held", ranges::factor, "bytes that the L2 must hold between calls, over those of the block"),
    of_block<&B::depth>("depth", ranges::clocks, "latency of one element along k in a tile"),
    of_block<&B::load>("load", ranges::rate_per_clock, "rate at which one multiprocessor loads the operands of its tiles"),
    of_block<&B::tensor>("tensor", ranges::share_of_peak, "share of the tensor peak in a tile"),
    of_block<&B::tile>("tile", ranges::clocks, "filling the pipeline and storing one tile"),
    of_block<&B::blocks>("blocks", ranges::factor, "tiles that a multiprocessor works on at once"),
    of_block<&B::whole_waves>("whole_waves", ranges::share, "1: tiles run in whole waves; near 0: they are spread evenly"),
    of_block<&B::overlap>("overlap", ranges::share, "part of the shorter of tiles and DRAM that is not hidden"),
    of_block<&B::rows>("rows", ranges::rate_per_clock, "rate per multiprocessor of rows between the kernels"),
    of_block<&B::rows_dram>("rows_dram", ranges::factor, "rate of those that leave the L2 over the DRAM bandwidth"),
    of_block<&B::tokens>("tokens", ranges::rate_per_clock, "rate per multiprocessor of tokens in and out"),
    of_block<&B::foreign>("foreign", ranges::share, "part of the rows of other GPUs' experts that the kernels treat, too"),
    of_block<&B::skip>("skip", ranges::clocks, "leaving out one tile of another GPU's expert"),
};

constexpr std::array<LawAttribute, 3> block_attributes{{
    {"rows", 0, "rows of a tile; 0: the best of 16 to 256, as a tuner finds it"},
    {"columns", 128, "columns of a tile"},
    {"unpacked", 0, "1: weights lie in memory in the type of the computation, unpacked beforehand"},
}};
// clang-format on

}  // namespace

std::span<const Parameter<ExpertBlock>> expert_block_table() {
    return block_table;
}

std::span<const LawAttribute> expert_block_attributes() {
    return block_attributes;
}

}  // namespace ridge::model
