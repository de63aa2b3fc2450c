#include "model/machine/bundled_parameters.h"

#include <array>

#include "model/machine/machine.h"

namespace ridge::model {
namespace {

using ranges::factor;
using ranges::share;
using enum Origin;

constexpr hardware::Range registers{1.0, 255.0};

// clang-format off
using P = BundledProductCounts;
constexpr std::array product_table{
    parameter<&P::single_stores>("single_stores", factor, "sectors written per sector of C when C is stored element by element (naive, register_tiled)", {measured}),
    parameter<&P::joined_stores>("joined_stores", factor, "the same for naive when rows of C are whole groups of 8 elements", {measured}),
    parameter<&P::pair_stores>("pair_stores", factor, "the same for stores of 4 bytes (mma)", {measured}),
    parameter<&P::spilled>("spilled", registers, "registers that a thread of register_tiled spills when two blocks share a multiprocessor", {measured}),
    parameter<&P::in_step>("in_step", share, "drift of mma and wgmma: factor on the operands read again because blocks do not move in step", {measured}),
    parameter<&P::load_overlap>("load_overlap", ranges::exponent_of_norm, "how far tags and banks of the L1 overlap in a load of naive: exponent of their norm", {records}),
    parameter<&P::feed_overlap>("feed_overlap", ranges::exponent_of_norm, "how far the tensor pipe of wgmma overlaps with the copies that feed it: exponent of their norm", {records}),
};

using A = BundledAttentionCounts;
constexpr std::array attention_table{
    parameter<&A::apart>("apart", factor, "share of O that mma writes twice because its stores are smaller than a sector", {measured}),
    parameter<&A::apart_wide>("apart_wide", factor, "the same for a head_dim of 128", {measured}),
    parameter<&A::spilled>("spilled", registers, "registers that a thread of wgmma spills, causal, head_dim 64", {measured}),
    parameter<&A::block_spilled>("block_spilled", registers, "registers that a thread of mma spills per block of keys, causal, head_dim 128", {measured}),
};
// clang-format on

template <auto member>
constexpr auto counts = [](auto& machine) { return &(machine.bundled.*member); };
constexpr std::array product_places{section<P, counts<&BundledCounts::product>>(
    "bundled.product", "sectors, registers and loads of the bundled products", product_table)};
constexpr std::array attention_places{section<A, counts<&BundledCounts::attention>>(
    "bundled.attention", "sectors and registers of bundled attention", attention_table)};

}  // namespace

const BundledCountSections& bundled_count_sections() {
    static const BundledCountSections all{product_places, attention_places};
    return all;
}

}  // namespace ridge::model
