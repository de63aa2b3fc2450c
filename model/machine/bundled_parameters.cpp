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
    parameter<&P::single_stores>("single_stores", factor, "sectors written for a sector of C that is stored by elements (naive, register_tiled)", {measured}),
    parameter<&P::joined_stores>("joined_stores", factor, "the same, naive, where rows of C are whole groups of 8", {measured}),
    parameter<&P::pair_stores>("pair_stores", factor, "the same for pieces of 4 bytes (mma)", {measured}),
    parameter<&P::spilled>("spilled", registers, "registers that a thread of register_tiled puts away where two blocks share a multiprocessor", {measured}),
    parameter<&P::in_step>("in_step", share, "operands read again because blocks of mma and wgmma drift apart", {measured}),
    parameter<&P::load_overlap>("load_overlap", ranges::exponent_of_norm, "how far tags and banks of the L1 overlap in a load of naive: exponent of their norm", {records}),
    parameter<&P::feed_overlap>("feed_overlap", ranges::exponent_of_norm, "how far the pipe of wgmma overlaps with the copies that feed it: exponent of their norm", {records}),
};

using A = BundledAttentionCounts;
constexpr std::array attention_table{
    parameter<&A::apart>("apart", factor, "share of O that mma writes twice, as stores of less than a sector", {measured}),
    parameter<&A::apart_wide>("apart_wide", factor, "the same for heads of 128", {measured}),
    parameter<&A::spilled>("spilled", registers, "registers that a thread of wgmma puts away, causal, heads of 64", {measured}),
    parameter<&A::block_spilled>("block_spilled", registers, "the same of mma, causal, heads of 128, for each block of keys", {measured}),
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
