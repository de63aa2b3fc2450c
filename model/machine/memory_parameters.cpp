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
    parameter<&M::turnaround>("turnaround", {1e-6, 10.0}, "time added per byte at equal reads and writes, over that at full bandwidth; absent if measurements cannot tell it from the efficiencies", {either}),
    parameter<&M::skip>("skip", data_rate, "rate at which DRAM skips the bytes between pieces that are far apart", {measured}),
    parameter<&M::dram_latency>("dram_latency", span_of_time, "latency of a load from DRAM under load", {measured}, required),
    parameter<&M::l2_latency>("l2_latency", span_of_time, "latency of a load that hits in the L2 under load", {measured}, required),
    per_clock<&M::l2_read>("l2_read", rate_per_clock, "L2 read bandwidth reached, per multiprocessor and clock", {measured}, required),
    per_clock<&M::l2_write>("l2_write", rate_per_clock, "L2 write bandwidth reached, per multiprocessor and clock", {records}, required),
};

using B = BundledCosts;
constexpr std::array bundled_table{
    parameter<&M::bundled, &B::first_dram>("first_dram", span_of_time, "start of a block including its first load from DRAM", {records}, required),
    per_clock<&M::bundled, &B::scatter>("scatter", rate_per_clock, "bytes of sectors written for single elements, per multiprocessor and clock", {records}, required),
    parameter<&M::bundled, &B::tile_rate>("tile_rate", elements_per_clock, "elements per clock and multiprocessor of the tiled transpose", {records}, required),
    parameter<&M::bundled, &B::further_load>("further_load", factor, "time of a further load (later in a row, left over after whole accesses, or the next group of a gather), as a share of a first load", {records}, required),
    parameter<&M::bundled, &B::reduction_slots>("reduction_slots", slots, "issue slots of a thread that takes part in the sums of its row, beside those of its elements; other threads take thread_share of them", {records}, required),
    parameter<&M::bundled, &B::element_slots>("element_slots", slots, "issue slots per element of a row; half as many if it is only added", {records}, required),
    parameter<&M::bundled, &B::narrow_slots>("narrow_slots", slots, "issue slots to convert a two-byte element that is read or written", {records}, required),
    parameter<&M::bundled, &B::flop_clocks>("flop_clocks", clocks, "clocks per FLOP in a thread's dependent chain", {records}, required),
};

using C = BundledCode;
constexpr std::array code_table{
    parameter<&M::bundled, &B::code, &C::single_load>("single_load", factor, "slots of an element loaded by itself, over those of one in a vector", {records}),
    parameter<&M::bundled, &B::code, &C::empty_place>("empty_place", factor, "slots of an element's place that may stay empty, over those of an element in a vector", {records}),
    parameter<&M::bundled, &B::code, &C::added_only>("added_only", factor, "slots of an element that is only added, over those of one that is computed with", {records}),
    parameter<&M::bundled, &B::code, &C::element_chain>("element_chain", factor, "clocks of an element of a row, over those of a FLOP", {records}),
    count_of_clocks<&M::bundled, &B::code, &C::narrow_chain>("narrow_chain", clocks, "clocks of a two-byte element of a norm that is loaded by itself", {records}),
    parameter<&M::bundled, &B::code, &C::dependent_load>("dependent_load", factor, "time of a load that waits for another load's result, as a share of a first load", {records}),
    parameter<&M::bundled, &B::code, &C::thread_share>("thread_share", factor, "slots of a thread without sums, over those of one with them", {records}),
    parameter<&M::bundled, &B::code, &C::element_tile>("element_tile", factor, "dependent part of a tile moved by elements, in loads from DRAM", {records}),
    parameter<&M::bundled, &B::code, &C::tile_overlap>("tile_overlap", exponent_of_norm, "how far loads, copies and stores of tiles overlap: exponent of their norm", {records}),
    parameter<&M::bundled, &B::code, &C::rounds_overlap>("rounds_overlap", exponent_of_norm, "how far rounds of blocks overlap with throughput: exponent of their norm", {records}),
    parameter<&M::bundled, &B::code, &C::evicted>("evicted", share, "share of the sectors written for single elements that go to DRAM before they are full and are read again", {measured}),
};

using S = BundledSectors;
constexpr hardware::Range exponent{0.1, 100.0};
constexpr std::array sector_table{
    parameter<&M::bundled, &B::sectors, &S::apart>("apart", share, "share of the sectors in which stores of different warps meet that is written twice", {measured}),
    parameter<&M::bundled, &B::sectors, &S::unrolled>("unrolled", share, "the same for four consecutive stores of a warp", {measured}),
    parameter<&M::bundled, &B::sectors, &S::tile>("tile", factor, "sectors written per sector of the result of the tiled transpose", {measured}),
    parameter<&M::bundled, &B::sectors, &S::tile_uneven>("tile_uneven", factor, "the same when rows of the result are not whole KiB apart", {measured}),
    parameter<&M::bundled, &B::sectors, &S::narrow_tile>("narrow_tile", factor, "sectors written per sector of the result of the tiled transpose, two-byte elements", {measured}),
    parameter<&M::bundled, &B::sectors, &S::narrow_tile_uneven>("narrow_tile_uneven", factor, "the same when rows of the result are not whole KiB apart", {measured}),
    parameter<&M::bundled, &B::sectors, &S::tile_inside>("tile_inside", factor, "factor on these four when rows of the result begin inside a sector", {measured}),
    parameter<&M::bundled, &B::sectors, &S::table>("table", share, "share of the L1 that keeps rows of a gather's table", {measured}),
    parameter<&M::bundled, &B::sectors, &S::chase>("chase", exponent, "steepness with which a pointer chase loses its hits in the L1 as its working set outgrows it", {measured}),
    parameter<&M::bundled, &B::sectors, &S::skipped>("skipped", {1.0, 4096.0}, "longest distance in bytes between words over which DRAM skips; words farther apart have a page each", {measured}),
};

using R = BundledRegisters;
constexpr hardware::Range registers{1.0, 255.0};
constexpr std::array register_table{
    parameter<&M::bundled, &B::registers, &R::sum>("sum", registers, "registers of a thread in sums of rows, vectors, by warps", {measured}),
    parameter<&M::bundled, &B::registers, &R::held>("held", registers, "registers of a thread that holds a part of its row, beside that part", {measured}),
    parameter<&M::bundled, &B::registers, &R::held_bias>("held_bias", registers, "additional registers of such a thread with weights and a bias", {measured}),
    parameter<&M::bundled, &B::registers, &R::exponential>("exponential", registers, "registers of a thread for exponentials of vectors of two-byte elements", {measured}),
    parameter<&M::bundled, &B::registers, &R::gather>("gather", registers, "registers of a thread in a gather of vectors", {measured}),
};

using V = ViewCode;
constexpr std::array view_table{
    count_of_clocks<&M::views, &V::chain>("chain", clocks, "clocks of a thread's first element", {measured}),
    parameter<&M::views, &V::rounds>("rounds", factor, "time of each further element, as a share of the first", {measured}),
    parameter<&M::views, &V::slots>("slots", slots, "lane slots for the indices of an element's source and of its result", {measured}),
};

using E = EagerCosts;
constexpr std::array eager_table{
    parameter<&M::eager, &E::launch>("launch", span_of_time, "time of the events around one call, beside the kernel itself; a property of the host", {tables}, required),
    in_clocks<&M::eager, &E::reductions>("reductions", clocks, "time of the reductions, start and end of one row", {tables}, required),
    parameter<&M::eager, &E::reuse>("reuse", share, "share of all L1 caches and of the usable L2 that rows may fill between two passes", {tables}, required),
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

/// L2 rates taken from a GPU of another family are scaled to the read width of this GPU's L2.
void scale_l2(const Description& gpu, const Laws& laws, MemoryParameters& memory) {
    const auto width = gpu.quantity<BytesPerCycle>("l2.bytes_per_clock");
    if (!width || evidence_of(gpu, places[0], "l2_read") != Evidence::foreign) return;
    const Bandwidth here = l2_stream_rate(*width, laws) * memory.clock;
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

std::optional<MemoryParameters> resolve_memory(const Description& gpu, const Machine& machine) {
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
    memory.l2 = machine.l2;
    memory.l1_size = gpu.quantity<Bytes>("l1.size").value_or(Bytes{});
    bool complete = facts.complete() && memory.clock > Frequency{} && memory.fp32_lanes > 0.0 &&
                    machine.l2.size > Bytes{};
    for (const Section<M>& each : places) complete = read_section(gpu, each, memory) && complete;
    if (!complete) return std::nullopt;
    scale_l2(gpu, machine.laws, memory);
    memory.launch = machine.launch;
    memory.streams = chip_evidence(evidence_of(gpu, places[1], "first_dram"));
    memory.eager_kernels = chip_evidence(evidence_of(gpu, places[2], "reductions"));
    return memory;
}

}  // namespace ridge::model
