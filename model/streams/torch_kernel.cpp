#include "model/streams/torch_kernel.h"

#include <algorithm>
#include <cmath>

#include "model/roof/block_time.h"

namespace ridge::model {
namespace {

constexpr double resident_blocks_of_loops = 16.0;

}  // namespace

TorchKernel moving(const MemoryParameters& memory, Bytes read, Bytes write, L2State l2) {
    const BlockTraffic traffic = stream_traffic(memory, read, write, l2);
    return {.dram_read = traffic.dram_read,
            .dram_write = traffic.dram_write,
            .l2_read = traffic.l2_read,
            .l2_write = traffic.l2_write,
            .missing = l2 == L2State::warm ? 0.0 : 1.0};
}

TorchKernel looping(const MemoryParameters& memory, TorchKernel kernel, const ElementLoop& loop,
                    double elements, double items, double blocks) {
    kernel.chain = loop.chain;
    kernel.steps = std::min(items, std::ceil(elements / pointwise_block_threads)) - 1.0;
    kernel.slots = loop.slots * elements;
    kernel.rounds = memory.torch->code.pointwise.loop_rounds * blocks /
                    (resident_blocks_of_loops * memory.sm_count);
    return kernel;
}

double further_rounds(const MemoryParameters& memory, double blocks, double resident) {
    const double slots = std::max(1.0, std::floor(resident)) * memory.sm_count;
    return std::max(0.0, std::ceil(blocks / slots) - 1.0);
}

double busy_share(const MemoryParameters& memory, double blocks) {
    return std::clamp(blocks / memory.sm_count, 1.0 / memory.sm_count, 1.0);
}

Time first_load_of(const MemoryParameters& memory, double missing) {
    return missing * memory.torch->first_dram + (1.0 - missing) * memory.torch->first_l2;
}

Time step_of(const MemoryParameters& memory, double missing) {
    return missing * memory.torch->step_dram + (1.0 - missing) * memory.torch->step_l2;
}

Time clocks_of(const MemoryParameters& memory, double clocks) {
    return clocks * units::cycle / memory.clock;
}

KernelTime torch_kernel_time(const MemoryParameters& memory, const TorchKernel& kernel,
                             OverlapOf overlap) {
    KernelTime time;
    time.rounds = 1.0 + kernel.rounds;
    time.dram_read = kernel.dram_read;
    time.dram_write = kernel.dram_write;
    time.l2_traffic = kernel.l2_read + kernel.l2_write;
    time.dram = dram_time(memory, kernel.dram_read, kernel.dram_write);
    time.l2 = kernel.l2_read / (memory.l2_read * kernel.busy) + kernel.l2_write / memory.l2_write;
    time.fma = kernel.slots * units::cycle /
               (memory.fp32_lanes * memory.sm_count * kernel.busy * memory.clock);
    const Time life = first_load_of(memory, kernel.missing) +
                      kernel.steps * step_of(memory, kernel.missing) +
                      clocks_of(memory, kernel.chain);
    const Time throughput =
        combined({time.dram, time.l2, time.fma}, overlap_of(memory, free_running));
    time.latency = life + kernel.rounds * life;
    time.total = memory.launch.kernel + life +
                 combined({kernel.rounds * life, throughput}, overlap_of(memory, overlap));
    return time;
}

}  // namespace ridge::model
