// Predictions of access patterns: strided and misaligned reads, divergent branches, bank conflicts.

#include "model/access/predict.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/access/work.h"
#include "model/access/working_set.h"
#include "model/bundled/access.h"
#include "model/core/real.h"
#include "model/machine/features.h"
#include "model/roof/account.h"
#include "model/roof/band.h"
#include "model/roof/block_time.h"
#include "model/roof/overlap.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

// One step of a divergent path in machine code: the FMA, and a sixteenth of the four instructions
// of the loop, whose dependent chain takes as long as four FMA.
constexpr double slots_per_step = 1.0 + 4.0 / 16.0;
constexpr double step_latency = 4.0 + 16.0 / 16.0;  ///< cycles

/// What a pattern takes on its pipes, without the launch.
struct AccessTime {
    KernelTime kernel;
    Time shared{};
};

/// The memory with a DRAM that also has to pass over skipped bytes. (eq. P5)
MemoryParameters slowed(const MemoryParameters& memory, const AccessWork& access) {
    MemoryParameters slow = memory;
    if (memory.skip <= Bandwidth{} || access.skipped <= Bytes{}) return slow;
    const Time reading = dram_time(memory, access.work.dram_read, Bytes{});
    slow.dram *= reading / (reading + access.skipped / memory.skip);
    return slow;
}

/// After the last load, `further` is waited for and each block adds up what its threads read. (eq.
/// B18)
AccessTime with_block_sum(AccessTime time, const MemoryParameters& memory, Time further = {}) {
    time.kernel.latency += further + memory.reduction();
    time.kernel.total += further + memory.reduction();
    return time;
}

AccessTime read_time(const Access& op, const AccessWork& access, L2State l2,
                     const MemoryParameters& whole) {
    const MemoryParameters memory = slowed(whole, access);
    const auto elements = static_cast<double>(op.elements);
    BlockTraffic moved = stream_traffic(memory, access.lines, Bytes{}, l2);
    moved.dram_read = moved.missing * access.work.dram_read;
    moved.l2_read = access.work.l2;
    const double readers =
        std::min(elements / bundled::access_unroll, memory.sm_count * memory.threads_per_sm);
    const double blocks = elements / bundled::read_tile;
    const double resident = memory.threads_per_sm / bundled::read_threads;
    // The last block reads what is left of a whole tile one by one.
    const double rest = std::ceil(std::fmod(elements, bundled::read_tile) / bundled::read_threads);
    const Time ends = std::max(0.0, rest - 1.0) * memory.bundled.further_load * memory.l2_latency;
    AccessTime time{.kernel = block_time(memory, {.traffic = moved,
                                                  .slots = memory.bundled.element_slots * elements +
                                                           memory.bundled.thread_slots() * readers,
                                                  .blocks = blocks,
                                                  .rounds = whole_rounds(memory, blocks, resident),
                                                  .life = first_load(memory, moved.missing)})};
    return with_block_sum(time, memory, ends);
}

/// Issue slots of all paths, or the chain of dependent FMA if there are few warps. (eq. P3)
AccessTime divergent_time(const Access& op, const AccessWork& access, L2State l2,
                          const MemoryParameters& memory) {
    const auto elements = static_cast<double>(op.elements);
    const double steps = static_cast<double>(bundled::divergent_steps) * access.passes;
    const double blocks = elements / bundled::chip_threads;
    const double resident = memory.threads_per_sm / bundled::chip_threads;
    BlockTraffic moved = stream_traffic(memory, Bytes{}, access.work.dram_write, l2);
    moved.l2_write = access.work.l2;
    KernelTime time = block_time(memory, {.traffic = moved,
                                          .slots = slots_per_step * steps * elements,
                                          .blocks = blocks,
                                          .life = memory.l2_latency});
    const double rounds = std::max(1.0, blocks / (resident * memory.sm_count));
    const Time chain = rounds * steps * step_latency * units::cycle / memory.clock;
    time.latency += chain;
    time.total = combined({time.total, chain}, pipes);
    return {.kernel = time};
}

/// The banks deliver one row of words for each way. (eq. P4)
AccessTime conflict_time(const Access& op, const AccessWork& access, const Machine& machine,
                         const MemoryParameters& memory) {
    const auto blocks = static_cast<double>(ceil_divide(op.elements, bundled::shared_tile));
    const double busy = std::min(1.0, blocks / memory.sm_count);
    const double resident =
        std::min<double>(std::ceil(blocks / memory.sm_count), bundled::chip_blocks_per_sm);
    const double fill =
        resident * bundled::chip_threads * memory.bundled.reduction_slots / memory.fp32_lanes;
    AccessTime time;
    time.shared = access.work.shared * access.passes / (*machine.shared_bandwidth * busy);
    time.kernel.latency = memory.l2_latency + fill * units::cycle / memory.clock;
    time.kernel.total = memory.launch.kernel + time.shared + time.kernel.latency;
    return with_block_sum(time, memory);
}

AccessTime time_of(const Access& op, const AccessWork& access, const Execution& execution,
                   const Machine& machine) {
    const MemoryParameters& memory = *machine.memory;
    switch (op.pattern) {
        case AccessPattern::divergent:
            return divergent_time(op, access, execution.l2, memory);
        case AccessPattern::bank_conflict:
            return conflict_time(op, access, machine, memory);
        case AccessPattern::chase:
            return {.kernel = chase_time(op, machine, execution.l2)};
        case AccessPattern::reread: {
            const Bytes set = real(op.elements) * real(size_of(op.type)) * units::B;
            const RereadTime time = reread_time(machine, set, execution.l2);
            return {.kernel = time.kernel, .shared = time.l1};
        }
        default:
            return read_time(op, access, execution.l2, memory);
    }
}

/// Replaces the roofline's terms and time.
void settle(Prediction& prediction, const AccessTime& time, const Execution& execution,
            const MemoryParameters& memory) {
    const KernelTime& kernel = time.kernel;
    const Time launch =
        memory.launch.kernel + launch_overhead(memory.launch, execution.launch, 1.0, kernel.total);
    Work& work = prediction.work;
    work.dram_read = kernel.dram_read;
    work.dram_write = kernel.dram_write;
    prediction.terms.clear();
    add_term(prediction, Resource::fma, kernel.fma, work.fma.base());
    add_term(prediction, Resource::dram, kernel.dram,
             (kernel.dram_read + kernel.dram_write).base());
    add_term(prediction, Resource::l2, kernel.l2, kernel.l2_traffic.base());
    add_term(prediction, Resource::shared, time.shared, work.shared.base());
    add_term(prediction, Resource::latency, kernel.latency, 0.0);
    add_term(prediction, Resource::launch, launch);
    prediction.time = kernel.total - memory.launch.kernel + launch;
    apply_band(prediction, BandClass::access, memory.streams, Validity::validated);
}

/// The roofline with its pipes used `passes` times, for a device without a memory model.
void settle_roofline(Prediction& prediction, const Execution& execution, const Machine& machine) {
    prediction.time = std::max(prediction.time, prediction.lower_bound + machine.kernel_floor) +
                      launch_gaps(machine, execution.launch, 1);
    apply_roofline_band(prediction);
}

/// The lower bound: whole sectors from DRAM, each pass over the banks or the pipe. (R7, P1 to P4)
Time least_time(const AccessWork& access, const Machine& machine, L2State l2) {
    Work moved = access.work;
    moved.compulsory_read = std::min(moved.dram_read, moved.l2);
    Time least = roofline_bound(moved, FlopRate{}, machine, l2);
    const Roofs roofs = roofs_of(machine, DataType::fp32);
    if (access.work.fma > Flop{} && roofs.vector) {
        least = std::max(least, access.passes * (access.work.fma / *roofs.vector));
    }
    if (access.work.shared > Bytes{} && roofs.shared) {
        least = std::max(least, access.passes * (access.work.shared / *roofs.shared));
    }
    return least;
}

/// Why this machine has no answer; empty if it has one.
std::string missing_for(const Access& op, const Machine& machine) {
    if (!features_of(machine.compute_capability).warps) {
        return "access patterns are counted for warps of 32 threads, which " + machine.name +
               " does not have";
    }
    const Bandwidth shared = machine.shared_bandwidth.value_or(Bandwidth{});
    const bool on_chip =
        op.pattern == AccessPattern::bank_conflict || op.pattern == AccessPattern::reread;
    if (on_chip && shared <= Bandwidth{}) {
        return "the description of " + machine.name +
               " has no shared-memory bandwidth (shared.bytes_per_clock, clock.boost)";
    }
    if (op.pattern == AccessPattern::chase && !(machine.memory && has_latencies(machine))) {
        return "the description of " + machine.name +
               " has no latencies of L1, L2 and DRAM (latency.l1, latency.l2, latency.dram), or no "
               "model of memory-bound kernels";
    }
    const FlopRate vector = machine.vector_peak(DataType::fp32).value_or(FlopRate{});
    if (op.pattern == AccessPattern::divergent && vector <= FlopRate{}) {
        return "the description of " + machine.name + " has no fp32 rate (rate.fma.fp32)";
    }
    return {};
}

void add_notes(Prediction& prediction, const AccessWork& access, const Machine& machine) {
    const Bytes moved = access.work.dram();
    if (access.useful < 1.0) {
        prediction.note(note::WholeSectors{.sectors = access.sectors, .useful = access.useful});
    }
    // DRAM is read in bursts longer than a sector, so the useful share of its bytes is smaller.
    const double useful_in_dram = moved > Bytes{} ? access.work.compulsory() / moved : 1.0;
    if (useful_in_dram < 0.99 * access.useful) {
        prediction.note(note::WholeBursts{.useful = useful_in_dram});
    }
    if (access.passes > 1.0) prediction.note(note::Serialised{.passes = access.passes});
    if (moved > Bytes{} && machine.l2.holds(moved)) {
        prediction.note(note::L2Resident{.data = moved, .capacity = machine.l2.size});
    }
}

}  // namespace

Outcome predict(const Access& op, const Execution& execution, const Machine& machine) {
    if (std::string missing = missing_for(op, machine); !missing.empty()) {
        return NotModelled{std::move(missing)};
    }
    const AccessWork access = access_work(
        op, {.sector = machine.dram_sector,
             .access = machine.dram_access,
             .most_skipped = machine.memory ? machine.memory->bundled.sectors.skipped : Bytes{}});
    Prediction prediction = roofline(access.work, roofs_of(machine, op.type), machine);
    prediction.implementation = Implementation::bundled;
    prediction.lower_bound = least_time(access, machine, execution.l2);
    if (machine.memory) {
        settle(prediction, time_of(op, access, execution, machine), execution, *machine.memory);
    } else {
        settle_roofline(prediction, execution, machine);
    }
    add_notes(prediction, access, machine);
    return prediction;
}

}  // namespace ridge::model
