#include "model/roof/memory_time.h"

#include <algorithm>
#include <cmath>

#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

/// Fills in the pipes and the total. `time` holds dram, l2 and latency without the drain.
KernelTime finished(const MemoryParameters& memory, KernelTime time, const StreamWork& work,
                    double busy_sms, Time drain) {
    const Frequency clocks = memory.clock * std::min(busy_sms, memory.sm_count);
    time.fma = work.slots / work.lanes * units::cycle / clocks;
    time.results = work.special;
    time.special = work.special / memory.special_lanes * units::cycle / clocks;
    const Time throughput = combined({time.dram, time.l2, time.fma, time.special}, pipes);
    time.total = combined({throughput, time.latency}, bytes_in_flight) + drain;
    time.latency += drain;
    return time;
}

}  // namespace

Time dram_time(const MemoryParameters& memory, Bytes read, Bytes write) {
    const Bytes bytes = read + write;
    if (bytes <= Bytes{}) return Time{};
    const double w = write / bytes;
    const double slowdown = (1.0 - w) / memory.read_efficiency + w / memory.write_efficiency +
                            4.0 * w * (1.0 - w) * memory.turnaround;
    return bytes / memory.dram * slowdown;
}

Time l2_time(const MemoryParameters& memory, Bytes read, Bytes write, double busy_sms) {
    const Bandwidth ports = memory.port * std::min(busy_sms, memory.sm_count);
    return read / std::min(memory.l2_read, ports) + write / std::min(memory.l2_write, ports);
}

KernelTime stream_time(const MemoryParameters& memory, const StreamWork& work,
                       const StreamKernel& kernel, L2State l2) {
    const double kept = memory.l2.found(work.read + work.write);
    const double hits = l2 == L2State::warm ? kept : 0.0;
    const Bytes per_block = kernel.bytes_per_thread * kernel.threads_per_block;
    const double blocks = (work.l2_read + work.l2_write) / per_block;
    const double busy = std::max(1.0, blocks);
    KernelTime time;
    time.rounds = blocks / (kernel.blocks_per_sm * memory.sm_count);
    time.dram_read = work.read * (1.0 - hits);
    time.dram_write = work.write * (1.0 - kept) + memory.l2.displaced(work.read + work.write, l2);
    time.l2_traffic = work.l2_read + work.l2_write;
    time.dram = dram_time(memory, time.dram_read, time.dram_write);
    time.l2 = l2_time(memory, work.l2_read, work.l2_write, busy);
    time.latency = time.rounds * (hits * memory.l2_latency + (1.0 - hits) * memory.dram_latency);
    return finished(memory, time, work, busy, Time{});
}

KernelTime row_time(const MemoryParameters& memory, const RowShape& shape, const RowKernel& kernel,
                    L2State l2) {
    const StreamWork& work = shape.work;
    const double slots = kernel.rows_per_sm * memory.sm_count;
    const double again = kernel.read_passes - 1.0;
    const Bytes resident = work.read * std::min(1.0, slots / shape.rows);
    const Bytes capacity = kernel.reuse * (memory.l1_size * memory.sm_count + memory.l2.capacity());
    const double stays = retained(resident, capacity, memory.l2.steepness);
    const double kept = memory.l2.found(work.read + work.write);
    const double warm = l2 == L2State::warm ? kept : 0.0;
    const double busy = std::max(1.0, shape.rows);

    KernelTime time;
    time.rounds = shape.rows / slots;
    time.dram_read = work.read * (1.0 - warm) * (1.0 + again * (1.0 - stays));
    time.dram_write = work.write * (1.0 - kept) + memory.l2.displaced(work.read + work.write, l2);
    const Bytes l2_read = work.l2_read * kernel.read_passes;
    time.l2_traffic = l2_read + work.l2_write;
    time.dram = dram_time(memory, time.dram_read, time.dram_write);
    time.l2 = l2_time(memory, l2_read, work.l2_write, busy);
    const Time first = warm * memory.l2_latency + (1.0 - warm) * memory.dram_latency;
    const Time repeat = stays * memory.l2_latency + (1.0 - stays) * memory.dram_latency;
    const Time row = kernel.trips * (first + again * repeat) + kernel.reductions;
    time.latency = std::max(1.0, time.rounds) * row;
    const Time drain = std::min(1.0, time.rounds) * row;
    return finished(memory, time, work, busy, drain);
}

Time framework_launch_time(const MemoryParameters& memory, Time kernel, double kernels,
                           LaunchMode mode) {
    const LaunchCosts& costs = memory.launch;
    if (mode != LaunchMode::stream) {
        return costs.kernel * kernels +
               launch_overhead(costs, mode, kernels, costs.kernel + kernel);
    }
    return memory.eager.launch + (kernels - 1.0) * std::max(costs.stream - kernel, costs.graph);
}

}  // namespace ridge::model
