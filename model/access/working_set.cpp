#include "model/access/working_set.h"

#include <algorithm>

#include "model/bundled/access.h"
#include "model/core/real.h"
#include "model/roof/block_time.h"
#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

constexpr double vector_bytes = 16.0;  ///< bytes of one load
constexpr double slots_per_vector =
    8.0;  ///< instructions of one load: address, wrapping, four sums

}  // namespace

LevelShares levels_of(const MemoryParameters& memory, Bytes set, Readers readers) {
    LevelShares shares;
    if (memory.l1_size > Bytes{})
        shares.l1 = retained(set, memory.l1_size, memory.bundled.sectors.chase);
    shares.l2 = memory.l2.found(set, readers);
    if (memory.l2.partitions > 1.0 && shares.l2 > 0.0) {
        const Bytes partition = memory.l2.size / memory.l2.partitions;
        shares.near = std::min(1.0, retained(set, partition, memory.l2.steepness) / shares.l2);
    }
    return shares;
}

bool has_latencies(const Machine& machine) {
    return machine.l1_latency && machine.l2_latency && machine.dram_latency;
}

KernelTime chase_time(const Access& op, const Machine& machine, L2State l2) {
    const MemoryParameters& memory = *machine.memory;
    const Bytes set = real(op.elements) * real(size_of(op.type)) * units::B;
    const double loads = real(bundled::chase_loads(static_cast<std::int64_t>(set.base())));
    const double first = std::min(loads, set.base() / real(bundled::chase_line));
    const LevelShares shares = levels_of(memory, set, Readers::one);
    // What the L1 serves later has been loaded into it once.
    const double in_l1 = shares.l1 * (loads - first);
    const double held = shares.l2 * (l2 == L2State::warm ? loads - in_l1 : loads - in_l1 - first);
    const double missing = loads - in_l1 - held;
    const Time l2_latency =
        shares.near * *machine.l2_latency +
        (1.0 - shares.near) * machine.l2_far_latency.value_or(*machine.l2_latency);
    KernelTime time;
    time.latency =
        in_l1 * *machine.l1_latency + held * l2_latency + missing * *machine.dram_latency;
    time.dram_read = missing * real(machine.dram_access) * units::B;
    time.l2_traffic = (loads - in_l1) * real(machine.dram_sector) * units::B;
    time.total = memory.launch.kernel + time.latency;
    return time;
}

RereadTime reread_time(const Machine& machine, Bytes set, L2State l2) {
    const MemoryParameters& memory = *machine.memory;
    const Bytes all = real(bundled::reread_bytes) * units::B;
    const LevelShares shares = levels_of(memory, set, Readers::all);
    const Bytes first = std::min(set, all / memory.sm_count) * memory.sm_count;
    const Bytes beyond = shares.l1 * first + (1.0 - shares.l1) * all;
    const double lost = 1.0 - shares.l2;
    const BlockTraffic moved{
        .dram_read = lost * beyond + (l2 == L2State::warm ? Bytes{} : shares.l2 * set),
        .l2_read = beyond,
        .missing = l2 == L2State::warm ? lost : 1.0};
    const Time life = first_load(memory, moved.missing) + memory.reduction();
    RereadTime time;
    time.kernel = block_time(memory, {.traffic = moved,
                                      .slots = slots_per_vector * all.base() / vector_bytes,
                                      .blocks = memory.sm_count * bundled::chip_blocks_per_sm,
                                      .life = life});
    if (machine.shared_bandwidth) time.l1 = all / *machine.shared_bandwidth;
    const Time start = memory.launch.kernel + life;
    time.kernel.total = start + combined({time.kernel.total - start, time.l1}, pipes);
    return time;
}

}  // namespace ridge::model
