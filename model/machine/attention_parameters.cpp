#include "model/machine/attention_parameters.h"

#include <algorithm>
#include <array>

#include "model/machine/features.h"
#include "model/machine/machine.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

using ranges::clocks;
using ranges::data_rate;
using ranges::factor;
using ranges::rate_per_clock;
using ranges::share;
using ranges::share_of_peak;
using ranges::span_of_time;

using enum Origin;
using enum Need;

// clang-format off
using F = FlashParameters;
constexpr std::array flash{  //                                                      flash1, flash2, flash3, flashinfer, flash3_kv8, flashinfer_kv8
    parameter<&F::start>("start", span_of_time, "fixed time of a call, without the gaps between its kernels", {none, tables, tables, tables, tables, tables}, required),
    parameter<&F::cache_write_start>("cache_write_start", span_of_time, "fixed time of a call of the kernel that writes new K and V into the cache", {none, assumed, assumed, assumed}),
    parameter<&F::tensor_fraction>("tensor_fraction", share_of_peak, "share of the dense tensor peak within a block of scores", {assumed, assumed, assumed, tables, none, tables}),
    parameter<&F::softmax_fraction>("softmax_fraction", factor, "part of the time of one exp2 per score that the matmuls do not hide", {none, assumed, tables, tables, tables, tables}),
    in_clocks<&F::page_block>("page_block", clocks, "address arithmetic per block of keys behind a page table", {none, tables}),
    parameter<&F::lone_block_factor>("lone_block_factor", factor, "time of a block whose thread block has its multiprocessor alone, over its time when shared", {none, tables}),
    in_clocks<&F::tile>("tile", clocks, "fixed time of a tile: prologue, pipeline fill, epilogue", {none, tables, tables, tables, tables, tables}),
    in_clocks<&F::decode_tile>("decode_tile", clocks, "fixed time of a tile of the kernel for few query rows", {none, none, tables, tables, tables, tables}),
    in_clocks<&F::tile_rows>("tile_rows", clocks, "time of a tile per 64 query rows: loading or gathering Q, storing O", {none, tables, tables, tables, tables, tables}),
    in_clocks<&F::bulk_rows>("bulk_rows", clocks, "the same when bulk copies move packed rows (4, 8 or 16 query heads per KV head)", {none, none, tables, none, tables}),
    in_clocks<&F::tile_columns>("tile_columns", clocks, "time of a tile per 64 of head_dim: the first K and V", {none, none, tables, tables, tables, tables}),
    in_clocks<&F::decode_columns>("decode_columns", clocks, "the same for the kernel for few query rows", {none, none, tables, tables, tables, assumed}),
    in_clocks<&F::decode_rows>("decode_rows", clocks, "time of a tile of the kernel for few query rows, per 64 of head_dim and 64 rows of its tile", {none, none, none, tables, none, tables}),
    in_clocks<&F::decode_block>("decode_block", clocks, "time of a block of keys in the kernel for few query rows: matmul, softmax and matmul in turn", {none, none, none, tables, none, tables}),
    in_clocks<&F::split_tile>("split_tile", clocks, "additional fixed time of a tile in a kernel that may split the keys", {none, none, tables, none, tables}),
    parameter<&F::bulk_tile>("bulk_tile", data_rate, "rate at which one multiprocessor moves Q and O of a tile by bulk copies in contiguous calls", {none, none, assumed}),
    parameter<&F::tail>("tail", share, "share of the longest causal tile that adds to the average time of the tiles", {none, assumed, assumed, tables, none, tables}),
    parameter<&F::load>("load", rate_per_clock, "rate at which K and V enter one multiprocessor", {none, assumed, tables, none, tables}),
    parameter<&F::wide_load>("wide_load", rate_per_clock, "the same for heads above 128, if it differs", {none, none, none, none, tables}),
    parameter<&F::dram_fraction>("dram_fraction", share, "share of the DRAM bandwidth that the stream of K and V reaches", {none, tables, tables, tables, tables, tables}),
    parameter<&F::dram_start>("dram_start", span_of_time, "exposed start of a stream from DRAM", {none, tables, tables, tables, none, tables}),
    parameter<&F::droop>("droop", factor, "relative slow-down of a long run at the power limit", {none, tables, tables, tables, none, assumed}),
    parameter<&F::droop_time>("droop_time", span_of_time, "run time at which half of the droop is reached", {none, assumed, assumed, assumed}),
    in_clocks<&F::cache_write>("cache_write", clocks, "time of one wave of the kernel that writes new K and V", {none, tables, tables, tables, tables, tables}),
    parameter<&F::scan>("scan", span_of_time, "time in which the scheduler reads the lengths of 31 sequences", {none, none, tables, none, tables}),
    parameter<&F::fold>("fold", span_of_time, "time to reorder the queries of grouped decoding", {none, tables}),
    parameter<&F::copy>("copy", span_of_time, "time of one reordering kernel, when batch and KV heads both exceed one", {none, tables}),
    parameter<&F::copy_fraction>("copy_fraction", share, "share of the DRAM bandwidth that the reordering reaches (flashinfer: that writing the cache reaches)", {none, tables, none, tables, none, tables}),
    parameter<&F::combine>("combine", span_of_time, "fixed time of the kernel that combines split keys", {none, tables, tables, tables, tables, tables}),
    in_clocks<&F::combine_split>("combine_split", clocks, "time of the combining kernel per split", {none, tables, tables, tables, tables, tables}),
    in_clocks<&F::combine_block>("combine_block", clocks, "time of the combining kernel per thread block and multiprocessor when there is nothing to combine", {none, none, tables, none, tables}),
    parameter<&F::backward_tensor_fraction>("backward_tensor_fraction", share_of_peak, "share of the dense tensor peak within a block of the backward pass", {none, assumed, assumed}),
};

using T = TiledAttentionParameters;
constexpr std::array tiled{  //                                                              mma, wgmma
    parameter<&T::start>("start", span_of_time, "fixed time of a call", {records, records}, required),
    in_clocks<&T::tile_load>("tile_load", clocks, "prologue and epilogue of a tile of queries, per resident thread block on each multiprocessor; the same again per 64 of head_dim (mma), and when the data of the call come from DRAM (wgmma)", {records, records}),
    parameter<&T::softmax_fraction>("softmax_fraction", factor, "time of the softmax of a block alone, over that of one exp2 per score", {records, records}),
    parameter<&T::overlap>("overlap", {1.0, 100.0}, "exponent of the norm by which thread blocks that share a multiprocessor overlap matmuls and softmax", {records}),
};

using D = DecodeAttentionParameters;
constexpr std::array decode{
    parameter<&D::start>("start", span_of_time, "fixed time of a call", {records}, required),
    in_clocks<&D::block_row>("block_row", clocks, "time of a thread block per row of its tile and 128 of head_dim", {records}),
    parameter<&D::block_load>("block_load", rate_per_clock, "rate at which K and V enter a thread block that has its multiprocessor alone", {records}, required),
    parameter<&D::sm_load>("sm_load", rate_per_clock, "rate at which K and V enter a multiprocessor that two thread blocks share", {records}, required),
    parameter<&D::dram_fraction>("dram_fraction", share, "share of the DRAM bandwidth that the stream of K and V reaches (also used by mma and wgmma)", {records}),
    parameter<&D::dram_start>("dram_start", span_of_time, "exposed start of a stream from DRAM", {records}),
    parameter<&D::combine>("combine", span_of_time, "fixed time of the kernel that combines split keys", {records}),
    in_clocks<&D::combine_split>("combine_split", clocks, "time of the combining kernel per split", {records}),
};

using S = StandardParameters;
constexpr std::array standard{
    parameter<&S::forward_dram_fraction>("forward_dram_fraction", share, "share of the DRAM bandwidth that the forward kernels reach", {assumed}),
    parameter<&S::backward_dram_fraction>("backward_dram_fraction", share, "share of the DRAM bandwidth that the backward kernels reach", {assumed}),
    parameter<&S::tensor_fraction>("tensor_fraction", share_of_peak, "share of the dense tensor peak that the matmuls reach", {assumed}),
    parameter<&S::kernel>("kernel", span_of_time, "fixed time of each kernel", {assumed}),
    in_clocks<&S::softmax_row>("softmax_row", clocks, "bundled softmax: latency of the thread block of one row", {records}),
    parameter<&S::softmax_elements>("softmax_elements", {1e-3, 1e5}, "bundled softmax: elements per clock and multiprocessor when rows are not whole 16-byte vectors", {records}),
};
// clang-format on

/// Where a machine keeps a member of its attention parameters.
template <auto member>
constexpr auto place = [](auto& machine) {
    return machine.attention && *machine.attention.*member ? &*(*machine.attention.*member)
                                                           : nullptr;
};
constexpr auto standard_place = [](auto& machine) {
    return machine.attention ? &machine.attention->standard : nullptr;
};

using A = AttentionParameters;
constexpr std::array flash_places{
    section<F, place<&A::flash1>>("attention.flash1", "flash1 (other values as for flash2)", flash,
                                  0),
    section<F, place<&A::flash2>>("attention.flash2", "flash2", flash, 1),
    section<F, place<&A::flash3>>("attention.flash3", "flash3", flash, 2),
    section<F, place<&A::flashinfer>>("attention.flashinfer", "flashinfer", flash, 3),
    section<F, place<&A::flash3_kv8>>("attention.flash3_kv8", "flash3 over an 8-bit cache", flash,
                                      4),
    section<F, place<&A::flashinfer_kv8>>("attention.flashinfer_kv8",
                                          "flashinfer over an 8-bit cache", flash, 5)};
constexpr std::array tiled_places{
    section<T, place<&A::mma>>("attention.mma", "bundled mma attention", tiled, 0),
    section<T, place<&A::wgmma>>("attention.wgmma", "bundled wgmma attention", tiled, 1)};
constexpr std::array decode_places{
    section<D, place<&A::decode>>("attention.decode", "bundled decode attention", decode)};
constexpr std::array standard_places{
    section<S, standard_place>("attention.standard", "unfused attention", standard)};

/// Reads the set of a section; empty if a required field is missing.
template <class Set>
std::optional<Set> read_set(const hardware::Description& gpu, const Section<Set>& section,
                            Set parameters = {}) {
    if (!read_section(gpu, section, parameters)) return std::nullopt;
    parameters.evidence = evidence_of(gpu, section, "start");
    return parameters;
}

/// Under the power limit a kernel multiplies no faster than a product does. (eq. L5)
void cap_power(const hardware::Description& gpu, const Consists& consists, FlashParameters& p) {
    const auto energy = gpu.number("model.matmul.tensor.energy");
    if (p.evidence != Evidence::foreign || !energy) return;
    const double powered = powered_share(consists, consists.tensor_peak, *energy);
    p.tensor_fraction = std::min(p.tensor_fraction, powered);
    p.backward_tensor_fraction = std::min(p.backward_tensor_fraction, powered);
}

/// The costs that two implementations have in common, in the terms of one of them.
FlashParameters borrowed_from(const FlashParameters& other, std::size_t place) {
    const Section<FlashParameters>& section = flash_places.at(place);
    FlashParameters p = other;
    const FlashParameters none;
    for (const Parameter<FlashParameters>& row : section.table) {
        if (row.origins.at(section.column) == Origin::none) row.write(p, row.read(none));
    }
    p.evidence = Evidence::foreign;
    p.borrowed = true;
    return p;
}

/// The native kernel of a family, if it was never measured, costs what another family's kernel
/// does. (eq. L10)
void borrow(AttentionParameters& parameters, std::int32_t compute_capability) {
    const Features features = features_of(compute_capability);
    const std::size_t place = features.tensor_memory ? 3 : features.wgmma ? 2 : 1;
    const std::array sets{&parameters.flash2, &parameters.flash3, &parameters.flashinfer};
    auto& native = *sets.at(place - 1);
    if (native || !features.mma_sync) return;
    // The middle of the three generations is adjacent to both others.
    for (const auto* const other : {sets[1], sets[2], sets[0]}) {
        if (!*other) continue;
        native = borrowed_from(**other, place);
        return;
    }
}

}  // namespace

std::span<const Section<FlashParameters>> flash_sections() {
    return flash_places;
}
std::span<const Section<TiledAttentionParameters>> tiled_attention_sections() {
    return tiled_places;
}
std::span<const Section<DecodeAttentionParameters>> decode_attention_sections() {
    return decode_places;
}
std::span<const Section<StandardParameters>> standard_attention_sections() {
    return standard_places;
}

std::optional<AttentionParameters> attention_parameters_of(const hardware::Description& gpu,
                                                           const Consists& consists,
                                                           std::int32_t compute_capability) {
    AttentionParameters parameters;
    FlashParameters blank;
    blank.clock = consists.clock;
    parameters.flash2 = read_set(gpu, flash_places[1], blank);
    // One law of drooping clocks, and one tail of causal tiles, serve every generation of kernels.
    if (parameters.flash2) {
        blank.tail = parameters.flash2->tail;
        blank.droop_time = parameters.flash2->droop_time;
    }
    parameters.flash3 = read_set(gpu, flash_places[2], blank);
    parameters.flashinfer = read_set(gpu, flash_places[3], blank);
    if (parameters.flash3) {
        parameters.flash3_kv8 = read_set(gpu, flash_places[4], *parameters.flash3);
    }
    if (parameters.flash2) cap_power(gpu, consists, *parameters.flash2);
    borrow(parameters, compute_capability);
    if (parameters.flashinfer) {
        parameters.flashinfer_kv8 = read_set(gpu, flash_places[5], *parameters.flashinfer);
    }
    TiledAttentionParameters tiled_blank;
    tiled_blank.clock = consists.clock;
    parameters.mma = read_set(gpu, tiled_places[0], tiled_blank);
    parameters.wgmma = read_set(gpu, tiled_places[1], tiled_blank);
    DecodeAttentionParameters decode_blank;
    decode_blank.clock = consists.clock;
    parameters.decode = read_set(gpu, decode_places[0], decode_blank);
    if (!parameters.flash2 && !parameters.flash3 && !parameters.flashinfer) return std::nullopt;
    parameters.flash1 = parameters.flash2;
    if (parameters.flash1 && has(gpu, flash_places[0], "tensor_fraction")) {
        read_section(gpu, flash_places[0], *parameters.flash1);
        // The backward pass walks the heads as the forward pass does, at the same share of the
        // peak. (T11)
        parameters.flash1->backward_tensor_fraction = parameters.flash1->tensor_fraction;
        parameters.flash1->evidence = std::min(parameters.flash1->evidence, Evidence::family);
    }
    parameters.standard.clock = consists.clock;
    read_section(gpu, standard_places[0], parameters.standard);
    parameters.standard.evidence = evidence_of(gpu, standard_places[0], "forward_dram_fraction");
    parameters.standard.softmax_evidence = evidence_of(gpu, standard_places[0], "softmax_row");
    return parameters;
}

}  // namespace ridge::model
