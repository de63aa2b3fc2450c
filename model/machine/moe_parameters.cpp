#include "model/machine/moe_parameters.h"

#include "model/machine/machine.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

using ranges::factor;
using ranges::rate_per_clock;
using ranges::span_of_time;

using enum Origin;
using enum Need;

// clang-format off
using P = MoeParameters;
constexpr std::array table{
    parameter<&P::start>("start", span_of_time, "fixed time of a block, without the gaps between its kernels", {tables}, required),
    parameter<&P::sort>("sort", span_of_time, "additional fixed time if several kernels sort the tokens", {tables}),
    parameter<&P::quantise>("quantise", span_of_time, "additional fixed time for experts of 8 bits and fewer, whose rows are quantised", {tables}),
    parameter<&P::step>("step", span_of_time, "latency of 128 bytes along k in grouped products, which do not split k, beyond the library's", {tables}),
    parameter<&P::expert>("expert", span_of_time, "time of each expert that has rows", {tables}),
    parameter<&P::product_factor>("product_factor", factor, "time of a grouped product over that of the library's batched product", {tables}),
    parameter<&P::uneven>("uneven", factor, "additional share of that time when the loads of experts follow a power law", {tables}),
    parameter<&P::overlap>("overlap", factor, "part of the shorter of a product's DRAM and tensor time that the longer does not hide", {tables}),
    parameter<&P::row_rate>("row_bytes_per_clock", rate_per_clock, "rate at which one multiprocessor moves rows between the products", {tables}, required),
    parameter<&P::token_rate>("token_bytes_per_clock", rate_per_clock, "rate at which one multiprocessor writes the weighted sums of tokens", {tables}, required),
};
// clang-format on

constexpr auto place = [](auto& machine) { return machine.moe ? &*machine.moe : nullptr; };
constexpr std::array places{section<P, place>("moe", "block of experts", table)};

}  // namespace

std::span<const Section<MoeParameters>> moe_sections() {
    return places;
}

std::optional<MoeParameters> read_moe_parameters(const hardware::Description& gpu) {
    MoeParameters parameters;
    if (!read_section(gpu, places[0], parameters)) return std::nullopt;
    parameters.evidence = evidence_of(gpu, places[0], "start");
    return parameters;
}

}  // namespace ridge::model
