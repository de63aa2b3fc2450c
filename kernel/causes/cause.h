// The causes of a kernel's time beyond its ideal, with their names.
//
//   name_of(Cause::bank_conflicts)      // "bank conflicts"
//   key_of(Cause::bank_conflicts)       // "bank_conflicts": in JSON and CSV
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace ridge::kernel {

enum class Cause : std::uint8_t {
    launch,           ///< what every kernel pays
    too_few_blocks,   ///< fewer blocks than multiprocessors
    last_wave,        ///< multiprocessors wait for the last blocks
    small_blocks,     ///< blocks too small to keep a multiprocessor full
    occupancy,        ///< too few warps to hide latency, for registers or shared memory
    uncoalesced,      ///< sectors of which the threads asked for a part
    narrow_accesses,  ///< many small loads instead of wide ones
    cache_thrash,     ///< data read again from DRAM that a cache could have kept
    spills,           ///< local memory
    bank_conflicts,
    divergence,      ///< lanes that are off
    wrong_pipe,      ///< work on a slower pipe than it needs
    pipe_pressure,   ///< one pipe busy beyond what the ideal needs
    l2_pressure,     ///< bytes between L2 and multiprocessors
    memory_latency,  ///< loads that wait for each other, or few in flight
    dependence,      ///< instructions that wait for each other
    barriers,
    atomics,
    fences,
    instruction_supply,  ///< instruction and constant caches
    clock                ///< clock below its highest
};

/// All causes, in the order above.
[[nodiscard]] std::span<const Cause> all_causes();
[[nodiscard]] std::string_view name_of(Cause cause);
[[nodiscard]] std::string_view key_of(Cause cause);
/// What to do about it, as an imperative: "pad the rows of shared arrays ...".
[[nodiscard]] std::string_view remedy_of(Cause cause);

}  // namespace ridge::kernel
