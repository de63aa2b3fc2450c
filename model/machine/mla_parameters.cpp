#include "model/machine/mla_parameters.h"

#include "model/machine/machine.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

using ranges::factor;
using ranges::share_of_peak;
using ranges::span_of_time;

using enum Origin;
using enum Need;

// clang-format off
using D = MlaDecodeParameters;
constexpr std::array decode{  //                                              16 bits, 8 bits
    parameter<&D::start>("start", span_of_time, "fixed time of a call, without the gaps between its kernels", {tables, tables}, required),
    parameter<&D::query_passes>("query_passes", factor, "number of passes over queries and outputs at DRAM bandwidth", {tables, tables}),
    parameter<&D::tensor_fraction>("tensor_fraction", share_of_peak, "share of the dense tensor peak reached in a tile of heads", {tables, tables}, required),
    parameter<&D::narrow_fraction>("narrow_fraction", share_of_peak, "the same for a tile of 16 heads", {tables, tables}),
    parameter<&D::repeats>("repeats", factor, "share of the latents that each further tile of heads reads again from DRAM", {tables, tables}),
    parameter<&D::tile>("tile", span_of_time, "prologue and epilogue of a thread block", {tables, tables}),
    parameter<&D::dram_fraction>("dram_fraction", share_of_peak, "share of the DRAM bandwidth that the stream of latents reaches", {tables, tables}),
    parameter<&D::dram_start>("dram_start", span_of_time, "exposed start of a stream from DRAM", {tables, tables}),
    parameter<&D::combine>("combine", span_of_time, "fixed time of combining split keys", {tables, tables}),
    parameter<&D::combine_split>("combine_split", span_of_time, "time of combining per split", {tables, tables}),
};

using P = MlaPrefillParameters;
constexpr std::array prefill{  //                                             16 bits, 8 bits
    parameter<&P::start>("start", span_of_time, "fixed time of a call, without the gaps between its kernels", {tables, tables}, required),
    parameter<&P::rotate_passes>("rotate_passes", factor, "passes over queries and keys, at DRAM bandwidth, of the kernel that rotates them and writes the cache", {tables, tables}),
    parameter<&P::tensor_fraction>("tensor_fraction", share_of_peak, "share of the dense tensor peak in a block of scores", {tables, tables}, required),
    parameter<&P::tile>("tile", span_of_time, "prologue and epilogue of a tile of queries", {tables, tables}),
    parameter<&P::lone_block_factor>("lone_block_factor", factor, "time of a block whose tile has its multiprocessor alone, over its time when shared", {tables, tables}),
    parameter<&P::tail>("tail", factor, "share of the longest tile that adds to the average time of the tiles", {tables, tables}),
};
// clang-format on

template <auto member>
constexpr auto place = [](auto& machine) {
    auto& found = machine.mla.*member;
    return found ? &*found : nullptr;
};

using M = MlaParameters;
constexpr std::array decode_places{
    section<D, place<&M::decode>>("mla.decode", "latent decoding, 16-bit cache", decode, 0),
    section<D, place<&M::decode_8bit>>("mla.decode_8bit", "latent decoding, 8-bit cache", decode,
                                       1)};
constexpr std::array prefill_places{
    section<P, place<&M::prefill>>("mla.prefill", "latent prefill, 16-bit cache", prefill, 0),
    section<P, place<&M::prefill_8bit>>("mla.prefill_8bit", "latent prefill, 8-bit cache", prefill,
                                        1)};

template <class Set>
std::optional<Set> read_set(const hardware::Description& gpu, const Section<Set>& section) {
    Set set;
    if (!read_section(gpu, section, set)) return std::nullopt;
    set.evidence = evidence_of(gpu, section, "start");
    return set;
}

}  // namespace

std::span<const Section<MlaDecodeParameters>> mla_decode_sections() {
    return decode_places;
}
std::span<const Section<MlaPrefillParameters>> mla_prefill_sections() {
    return prefill_places;
}

MlaParameters read_mla_parameters(const hardware::Description& gpu) {
    return {.decode = read_set(gpu, decode_places[0]),
            .decode_8bit = read_set(gpu, decode_places[1]),
            .prefill = read_set(gpu, prefill_places[0]),
            .prefill_8bit = read_set(gpu, prefill_places[1])};
}

}  // namespace ridge::model
