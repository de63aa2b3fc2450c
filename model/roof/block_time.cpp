#include "model/roof/block_time.h"

#include <algorithm>
#include <cmath>

#include "model/roof/overlap.h"

namespace ridge::model {
BlockTraffic stream_traffic(const MemoryParameters& memory, Bytes read, Bytes write, L2State l2) {
    const Bytes footprint = read + write;
    const double missing = l2 == L2State::warm ? 1.0 - memory.l2.found(footprint) : 1.0;
    return {.dram_read = read * missing,
            .dram_write = memory.l2.written_back(write, footprint, l2),
            .l2_read = read,
            .l2_write = write,
            .missing = missing};
}

Time first_load(const MemoryParameters& memory, double missing) {
    return missing * memory.bundled.first_dram + (1.0 - missing) * memory.l2_latency;
}

double even_share(const MemoryParameters& memory, double blocks) {
    const double whole = std::max(1.0, blocks);
    return whole / std::ceil(whole / memory.sm_count);
}

double whole_rounds(const MemoryParameters& memory, double blocks, double blocks_per_sm) {
    return std::max(1.0, std::ceil(blocks / (blocks_per_sm * memory.sm_count)));
}

KernelTime block_time(const MemoryParameters& memory, const BlockKernel& kernel) {
    const BlockTraffic& moved = kernel.traffic;
    const Frequency clocks = memory.clock * even_share(memory, kernel.blocks);
    KernelTime time;
    time.rounds = kernel.rounds;
    time.dram_read = moved.dram_read;
    time.dram_write = moved.dram_write;
    time.l2_traffic = moved.l2_read + moved.l2_write;
    time.dram = dram_time(memory, moved.dram_read, moved.dram_write);
    time.l2 = l2_time(memory, moved.l2_read, moved.l2_write, std::max(1.0, kernel.blocks));
    const double lanes = kernel.lanes > 0.0 ? kernel.lanes : memory.fp32_lanes;
    time.fma = kernel.slots / lanes * units::cycle / clocks;
    time.results = kernel.special;
    time.special = kernel.special / memory.special_lanes * units::cycle / clocks;
    const Time rounds = (kernel.rounds - 1.0) * kernel.life;
    const Time throughput = combined({time.dram, time.l2, time.fma, time.special}, pipes);
    time.latency = kernel.life + rounds;
    time.total = memory.launch.kernel + kernel.life +
                 combined({throughput, rounds}, Overlap{memory.bundled.code.rounds_overlap});
    return time;
}

KernelTime& operator+=(KernelTime& sum, const KernelTime& further) {
    sum.dram += further.dram;
    sum.l2 += further.l2;
    sum.fma += further.fma;
    sum.special += further.special;
    sum.latency += further.latency;
    sum.total += further.total;
    sum.dram_read += further.dram_read;
    sum.dram_write += further.dram_write;
    sum.l2_traffic += further.l2_traffic;
    sum.results += further.results;
    sum.rounds += further.rounds;
    return sum;
}

double resident_blocks(const MemoryParameters& memory, double threads, double registers) {
    const double by_threads = std::floor(memory.threads_per_sm / threads);
    const double by_registers = std::floor(memory.registers_per_sm / (threads * registers));
    return std::max(1.0, std::min({memory.blocks_per_sm, by_threads, by_registers}));
}

}  // namespace ridge::model
