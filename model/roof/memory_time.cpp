#include "model/roof/memory_time.h"

#include <algorithm>
#include <cmath>

#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

// Share of the L2 at which half of a repeated stream still hits, and how sharp the loss is: set by
// hand from the copy ramps of RRZE-HPC/gpu-benches on A100 and GH200.
constexpr double l2_retention = 0.87;
constexpr double l2_steepness = 10.0;

double share_kept(const MemoryParameters& memory, const StreamWork& work) {
    return retained(work.read + work.write, memory.l2_size * l2_retention, l2_steepness);
}

/// Fills in the pipes and the total; `time` holds dram, l2 and latency without drain.
KernelTime finished(const MemoryParameters& memory, KernelTime time, const StreamWork& work,
                    double busy_sms, Time drain) {
    const Frequency clocks = memory.clock * std::min(busy_sms, memory.sm_count);
    time.fma = work.slots / work.lanes * units::cycle / clocks;
    time.special = work.special / memory.special_lanes * units::cycle / clocks;
    const Time throughput = combined({time.dram, time.l2, time.fma, time.special}, pipes);
    time.total = combined({throughput, time.latency}, bytes_in_flight) + drain;
    time.latency += drain;
    return time;
}

}  // namespace

double retained(Bytes footprint, Bytes capacity, double steepness) {
    if (capacity <= Bytes{}) return 0.0;
    return 1.0 / (1.0 + std::pow(footprint / capacity, steepness));
}

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
    const double kept = share_kept(memory, work);
    const double hits = l2 == L2State::warm ? kept : 0.0;
    const Bytes per_block = kernel.bytes_per_thread * kernel.threads_per_block;
    const double blocks = (work.l2_read + work.l2_write) / per_block;
    const double busy = std::max(1.0, blocks);
    KernelTime time;
    time.rounds = blocks / (kernel.blocks_per_sm * memory.sm_count);
    time.dram_read = work.read * (1.0 - hits);
    time.dram_write = work.write * (1.0 - kept);
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
    const Bytes capacity =
        kernel.reuse_l1 * memory.l1_size * memory.sm_count + kernel.reuse_l2 * memory.l2_size;
    const double stays = retained(resident, capacity, kernel.reuse_steepness);
    const double kept = share_kept(memory, work);
    const double warm = l2 == L2State::warm ? kept : 0.0;
    const double busy = std::max(1.0, shape.rows);

    KernelTime time;
    time.rounds = shape.rows / slots;
    time.dram_read = work.read * (1.0 - warm) * (1.0 + again * (1.0 - stays));
    time.dram_write = work.write * (1.0 - kept);
    const Bytes l2_read = work.l2_read * kernel.read_passes;
    time.l2_traffic = l2_read + work.l2_write;
    time.dram = dram_time(memory, time.dram_read, time.dram_write);
    time.l2 = l2_time(memory, l2_read, work.l2_write, busy);
    const Time first = warm * memory.l2_latency + (1.0 - warm) * memory.dram_latency;
    const Time repeat = stays * memory.l2_latency + (1.0 - stays) * memory.dram_latency;
    const Time row =
        kernel.trip_latencies * kernel.trips * (first + again * repeat) + kernel.reductions;
    time.latency = std::max(1.0, time.rounds) * row;
    const Time drain = kernel.drain_rows * std::min(1.0, time.rounds) * row;
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
