#include "model/machine/memory_parameters.h"

#include <string>
#include <string_view>

#include "model/machine/clock.h"
#include "model/machine/machine.h"
#include "model/machine/scaling.h"
#include "model/machine/section_reader.h"

namespace ridge::model {
namespace {

using hardware::Description;

using ranges::clocks;
using ranges::data_rate;
using ranges::exponent_of_norm;
using ranges::factor;
using ranges::rate_per_clock;
using ranges::share;
using ranges::span_of_time;

using enum Origin;
using enum Need;
constexpr hardware::Range elements_per_clock{1e-3, 1e5};
constexpr hardware::Range slots{1e-3, 1e4};

// clang-format off
using M = MemoryParameters;
constexpr std::array memory_table{
    parameter<&M::read_efficiency>("read_efficiency", share, "share of the DRAM bandwidth that a pure read stream reaches", {either}, required),
    parameter<&M::write_efficiency>("write_efficiency", share, "share of the DRAM bandwidth that a pure write stream reaches", {records}, required),
    parameter<&M::turnaround>("turnaround", {1e-6, 10.0}, "time added per byte at equal reads and writes, over that at full bandwidth; none where measurements cannot tell it from the efficiencies", {either}),
    parameter<&M::skip>("skip", data_rate, "rate at which DRAM passes over the bytes between pieces that are far apart", {measured}),
    parameter<&M::dram_latency>("dram_latency", span_of_time, "load from DRAM under load", {measured}, required),
    parameter<&M::l2_latency>("l2_latency", span_of_time, "load that hits in the L2 under load", {measured}, required),
    per_clock<&M::l2_read>("l2_read", rate_per_clock, "L2 read bandwidth reached, per multiprocessor and its clock", {measured}, required),
    per_clock<&M::l2_write>("l2_write", rate_per_clock, "L2 write bandwidth reached, per multiprocessor and its clock", {records}, required),
};

using B = BundledCosts;
constexpr std::array bundled_table{
    parameter<&M::bundled, &B::first_dram>("first_dram", span_of_time, "start of a block with its first load, from DRAM", {records}, required),
    per_clock<&M::bundled, &B::scatter>("scatter", rate_per_clock, "sectors written for single elements, per multiprocessor and its clock", {records}, required),
    parameter<&M::bundled, &B::tile_rate>("tile_rate", elements_per_clock, "elements per clock and multiprocessor of the tiled transpose", {records}, required),
    parameter<&M::bundled, &B::further_load>("further_load", factor, "a load behind the first, in a row, of what is left behind whole accesses or of a gather's next group, as a share of a first load", {records}, required),
    parameter<&M::bundled, &B::reduction_slots>("reduction_slots", slots, "issue slots of a thread that takes part in sums of its row; 0.65 of them of others, beside their elements", {records}, required),
    parameter<&M::bundled, &B::element_slots>("element_slots", slots, "issue slots of an element of a row, half as many of one that is only added", {records}, required),
    parameter<&M::bundled, &B::narrow_slots>("narrow_slots", slots, "issue slots of a two-byte element read or written: its conversion", {records}, required),
    parameter<&M::bundled, &B::flop_clocks>("flop_clocks", clocks, "clocks of a FLOP in a thread's dependent chain", {records}, required),
};

using C = BundledCode;
constexpr std::array code_table{
    parameter<&M::bundled, &B::code, &C::single_load>("single_load", factor, "slots of an element loaded by itself, in those of one in a vector", {records}),
    parameter<&M::bundled, &B::code, &C::empty_place>("empty_place", factor, "slots of a place for an element that may stay empty, in those of one in a vector", {records}),
    parameter<&M::bundled, &B::code, &C::added_only>("added_only", factor, "slots of an element that is only added, in those of one that is computed with", {records}),
    parameter<&M::bundled, &B::code, &C::element_chain>("element_chain", factor, "clocks of an element of a row, in those of a FLOP", {records}),
    count_of_clocks<&M::bundled, &B::code, &C::narrow_chain>("narrow_chain", clocks, "clocks of a two-byte element of a norm that is loaded by itself", {records}),
    parameter<&M::bundled, &B::code, &C::dependent_load>("dependent_load", factor, "a load that waits for what another brings, as a share of a first load", {records}),
    parameter<&M::bundled, &B::code, &C::thread_share>("thread_share", factor, "slots of a thread without sums, in those of one with them", {records}),
    parameter<&M::bundled, &B::code, &C::element_tile>("element_tile", factor, "dependent part of a tile moved by elements, in loads from DRAM", {records}),
    parameter<&M::bundled, &B::code, &C::tile_overlap>("tile_overlap", exponent_of_norm, "how far loads, copies and stores of tiles overlap: exponent of their norm", {records}),
    parameter<&M::bundled, &B::code, &C::rounds_overlap>("rounds_overlap", exponent_of_norm, "how far rounds of blocks overlap with throughput: exponent of their norm", {records}),
    parameter<&M::bundled, &B::code, &C::evicted>("evicted", share, "sectors written for single elements that go to DRAM before they are full and are read again", {measured}),
};

using S = BundledSectors;
constexpr hardware::Range exponent{0.1, 100.0};
constexpr std::array sector_table{
    parameter<&M::bundled, &B::sectors, &S::apart>("apart", share, "stores of different warps that meet inside a sector: share of it that is written twice", {measured}),
    parameter<&M::bundled, &B::sectors, &S::unrolled>("unrolled", share, "the same of four stores of a warp in a row", {measured}),
    parameter<&M::bundled, &B::sectors, &S::tile>("tile", factor, "sectors written for a sector of the tiled transpose", {measured}),
    parameter<&M::bundled, &B::sectors, &S::tile_uneven>("tile_uneven", factor, "the same where rows of the result are not whole KiB apart", {measured}),
    parameter<&M::bundled, &B::sectors, &S::narrow_tile>("narrow_tile", factor, "sectors written for a sector of the tiled transpose of two-byte elements", {measured}),
    parameter<&M::bundled, &B::sectors, &S::narrow_tile_uneven>("narrow_tile_uneven", factor, "the same where rows of the result are not whole KiB apart", {measured}),
    parameter<&M::bundled, &B::sectors, &S::tile_inside>("tile_inside", factor, "factor on them where rows of the result begin inside a sector", {measured}),
    parameter<&M::bundled, &B::sectors, &S::table>("table", share, "share of the L1 that keeps rows of a gather's table", {measured}),
    parameter<&M::bundled, &B::sectors, &S::chase>("chase", exponent, "exponent with which a pointer chase loses what the L1 holds as its set passes it", {measured}),
    parameter<&M::bundled, &B::sectors, &S::skipped>("skipped", {1.0, 4096.0}, "bytes between words that DRAM passes over, at most: farther words have a page each", {measured}),
};

using R = BundledRegisters;
constexpr hardware::Range registers{1.0, 255.0};
constexpr std::array register_table{
    parameter<&M::bundled, &B::registers, &R::sum>("sum", registers, "registers of a thread: sums of rows of vectors by warps", {measured}),
    parameter<&M::bundled, &B::registers, &R::held>("held", registers, "registers of a thread that holds a part of its row, beside that", {measured}),
    parameter<&M::bundled, &B::registers, &R::held_bias>("held_bias", registers, "registers more of it with weights and a bias", {measured}),
    parameter<&M::bundled, &B::registers, &R::exponential>("exponential", registers, "registers of a thread: exponentials of vectors of two-byte elements", {measured}),
    parameter<&M::bundled, &B::registers, &R::gather>("gather", registers, "registers of a thread: gather of vectors", {measured}),
};

using V = ViewCode;
constexpr std::array view_table{
    count_of_clocks<&M::views, &V::chain>("chain", clocks, "clocks of a thread's first element", {measured}),
    parameter<&M::views, &V::rounds>("rounds", factor, "of it, what each further one takes", {measured}),
    parameter<&M::views, &V::slots>("slots", slots, "lane slots for the indices of an element's source and its result", {measured}),
};

using E = EagerCosts;
constexpr std::array eager_table{
    parameter<&M::eager, &E::launch>("launch", span_of_time, "events around one call, beside the kernel itself; a property of the host", {tables}, required),
    in_clocks<&M::eager, &E::reductions>("reductions", clocks, "reductions, start and end of one row", {tables}, required),
    parameter<&M::eager, &E::reuse>("reuse", share, "share of all L1 and of what fits in the L2 that rows between two passes may fill", {tables}, required),
};
// clang-format on

constexpr auto place = [](auto& machine) { return machine.memory ? &*machine.memory : nullptr; };
constexpr std::array places{
    section<M, place>("memory", "memory-bound kernels", memory_table),
    section<M, place>("bundled", "bundled streaming and row kernels", bundled_table),
    section<M, place>("eager", "kernels of an eager framework", eager_table),
    section<M, place>("bundled.code", "compiled code of the bundled kernels", code_table),
    section<M, place>("torch.views", "views that PyTorch joins", view_table),
    section<M, place>("bundled.sectors", "sectors of the bundled streams, rows and accesses",
                      sector_table),
    section<M, place>("bundled.registers", "registers of the bundled streams and rows",
                      register_table)};

/// Reads optional facts and remembers whether one was missing.
class Facts {
  public:
    explicit Facts(const Description& gpu) : gpu_(gpu) {}

    double number(std::string_view path) { return found(gpu_.number(path)); }
    double count(std::string_view path) { return static_cast<double>(found(gpu_.count(path))); }
    template <class Q>
    Q quantity(std::string_view path) {
        return found(gpu_.quantity<Q>(path));
    }
    [[nodiscard]] bool complete() const { return complete_; }

  private:
    template <class Value>
    Value found(const std::optional<Value>& value) {
        complete_ = complete_ && value.has_value();
        return value.value_or(Value{});
    }

    const Description& gpu_;
    bool complete_ = true;
};

Confidence confidence_in(const Description& gpu, const Section<M>& section, std::string_view name) {
    return has_own(gpu, section, name) ? Confidence::calibrated : Confidence::family;
}

/// Rates of the L2 that stem from another family's GPU go with what this one's is built to deliver.
void scale_l2(const Description& gpu, MemoryParameters& memory) {
    const auto width = gpu.quantity<BytesPerCycle>("l2.bytes_per_clock");
    const std::string read = field_path(places[0], "l2_read");
    if (!width || evidence_in(gpu, read) != Evidence::foreign) return;
    const Bandwidth here = l2_stream_rate(*width) * memory.clock;
    memory.l2_write = memory.l2_write * (here / memory.l2_read);
    memory.l2_read = here;
}

double lanes(const Description& gpu, std::string_view type) {
    const auto rate = gpu.quantity<FlopPerCycle>("rate.fma." + std::string(type));
    return rate ? rate->base() / 2.0 : 0.0;
}

}  // namespace

std::span<const Section<MemoryParameters>> memory_sections() {
    return places;
}

std::optional<MemoryParameters> resolve_memory(const Description& gpu, const Residency& l2) {
    Facts facts(gpu);
    MemoryParameters memory;
    memory.sm_count = facts.count("sm.count");
    memory.clock = boost_clock_of(gpu);
    memory.threads_per_sm = facts.count("limits.threads_per_sm");
    memory.blocks_per_sm = facts.count("limits.blocks_per_sm");
    memory.registers_per_sm = facts.count("limits.registers_per_sm");
    memory.shared_per_block = facts.quantity<Bytes>("shared.per_block");
    memory.fp32_lanes = lanes(gpu, "fp32");
    memory.fp64_lanes = lanes(gpu, "fp64");
    memory.special_lanes = facts.number("rate.sfu");
    memory.dram = facts.quantity<Bandwidth>("dram.bandwidth");
    memory.port = port_width * memory.clock;
    memory.l2 = l2;
    memory.l1_size = gpu.quantity<Bytes>("l1.size").value_or(Bytes{});
    bool complete = facts.complete() && memory.clock > Frequency{} && memory.fp32_lanes > 0.0 &&
                    l2.size > Bytes{};
    for (const Section<M>& each : places) complete = read_section(gpu, each, memory) && complete;
    if (!complete) return std::nullopt;
    scale_l2(gpu, memory);
    memory.launch = resolve_launch(gpu);
    memory.streams = confidence_in(gpu, places[1], "first_dram");
    memory.eager_kernels = confidence_in(gpu, places[2], "reductions");
    return memory;
}

}  // namespace ridge::model
