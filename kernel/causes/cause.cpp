#include "kernel/causes/cause.h"

#include <array>

#include "hardware/error.h"

namespace ridge::kernel {
namespace {

struct CauseText {
    Cause cause;
    std::string_view key;
    std::string_view name;
    std::string_view remedy;
};

constexpr std::array cause_texts{
    CauseText{Cause::launch, "launch", "start and end of the kernel",
              "do more work in one kernel, or replay a graph"},
    CauseText{Cause::too_few_blocks, "too_few_blocks", "too few blocks",
              "launch at least one block for each multiprocessor; split the work further"},
    CauseText{Cause::last_wave, "last_wave", "last wave and uneven blocks",
              "choose a grid that fills whole waves, smaller blocks of work, or a persistent grid"},
    CauseText{Cause::small_blocks, "small_blocks", "small blocks",
              "use blocks of 128 threads or more"},
    CauseText{Cause::occupancy, "occupancy", "latency not hidden at this occupancy",
              "make room for more warps, or give each thread more independent loads"},
    CauseText{Cause::uncoalesced, "uncoalesced", "uncoalesced access",
              "let neighbouring threads read neighbouring words: change the layout, or stage "
              "through shared memory"},
    CauseText{Cause::narrow_accesses, "narrow_accesses", "narrow loads and stores",
              "read and write 16 bytes a thread"},
    CauseText{Cause::cache_thrash, "cache_thrash", "data read again from DRAM",
              "finish one part that fits in the cache before the next"},
    CauseText{Cause::spills, "spills", "spills and local memory",
              "allow more registers, use fewer values at a time, index arrays by constants"},
    CauseText{Cause::bank_conflicts, "bank_conflicts", "bank conflicts",
              "pad the rows of shared arrays by one word, or swizzle them"},
    CauseText{Cause::divergence, "divergence", "divergence and lanes that are off",
              "give the threads of a warp the same branch; compact the active ones"},
    CauseText{Cause::wrong_pipe, "wrong_pipe", "work on the wrong pipe",
              "compute in the type of the data: no double literals, no conversions"},
    CauseText{Cause::pipe_pressure, "pipe_pressure", "pressure on one pipe",
              "use fewer instructions of this pipe, or move work to another"},
    CauseText{Cause::l2_pressure, "l2_pressure", "traffic between L2 and multiprocessors",
              "keep what is read again in shared memory or registers"},
    CauseText{Cause::memory_latency, "memory_latency", "few loads in flight",
              "unroll, load ahead, or copy asynchronously"},
    CauseText{Cause::dependence, "dependence", "instructions that wait for each other",
              "interleave independent chains; unroll with several accumulators"},
    CauseText{Cause::barriers, "barriers", "barriers",
              "synchronise less often, in smaller groups, or with more blocks per multiprocessor"},
    CauseText{Cause::atomics, "atomics", "atomics",
              "combine in registers or shared memory first; spread the addresses"},
    CauseText{Cause::fences, "fences", "memory fences", "fence once, after the last store"},
    CauseText{Cause::instruction_supply, "instruction_supply", "instruction and constant caches",
              "shorten the loop; read constants at the same address in a warp"},
    CauseText{Cause::clock, "clock", "clock below its highest",
              "a power or thermal limit holds the clock"},
};

constexpr auto causes_in_order = [] {
    std::array<Cause, cause_texts.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = cause_texts[i].cause;
    return all;
}();

const CauseText& text_of(Cause cause) {
    const auto place = static_cast<std::size_t>(cause);
    RIDGE_CONTRACT(place < cause_texts.size() && cause_texts[place].cause == cause);
    return cause_texts[place];
}

}  // namespace

std::span<const Cause> all_causes() {
    return causes_in_order;
}

std::string_view name_of(Cause cause) {
    return text_of(cause).name;
}

std::string_view key_of(Cause cause) {
    return text_of(cause).key;
}

std::string_view remedy_of(Cause cause) {
    return text_of(cause).remedy;
}

}  // namespace ridge::kernel
