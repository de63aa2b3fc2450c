#include "programs/graph/kernel_work.h"

#include <algorithm>
#include <cmath>

namespace ridge::programs {
namespace {

double waves(std::int64_t blocks, std::int64_t multiprocessors) {
    return static_cast<double>(blocks) / static_cast<double>(multiprocessors);
}

/// How much longer tiles take than with a full last wave; the blocks of a partly filled wave run
/// faster.
double wave_loss(std::int64_t tiles, std::int64_t multiprocessors) {
    if (tiles < 1) return 1.0;
    const double full = waves(tiles, multiprocessors);
    return std::sqrt(std::ceil(full) / full);
}

std::optional<FlopRate> peak_of(const KernelWork& kernel, const model::Machine& machine) {
    const auto tensor = machine.tensor_peak(kernel.type);
    return tensor ? tensor : machine.vector_peak(kernel.type);
}

}  // namespace

std::optional<KernelTime> time_of(const KernelWork& kernel, const model::Machine& machine) {
    const double clock = machine.boost_clock.base();
    if (machine.sm_count < 1 || clock <= 0.0) return {};
    const double memory = kernel.moved / machine.dram_bandwidth.base();
    double products = 0.0;
    double useful = 0.0;
    if (kernel.tensor_flop > 0.0) {
        const auto peak = peak_of(kernel, machine);
        if (!peak || *peak <= FlopRate{}) return {};
        products = kernel.tensor_flop / (peak->base() * kernel.efficiency);
        useful = kernel.useful_flop / peak->base();
    }
    const double all = static_cast<double>(machine.sm_count) * clock;
    double work = (products + kernel.clocks / all) * wave_loss(kernel.tiles, machine.sm_count);
    if (kernel.growing) {
        // The last blocks begin when the others end: on average half of the longest block before
        // the end.
        work = products + kernel.clocks / all + kernel.longest_clocks / (2.0 * clock);
    }
    work = std::max(work, kernel.longest_clocks / clock);
    if (kernel.chains > 0) {
        const double rounds = std::ceil(waves(kernel.chains, machine.sm_count));
        work += (kernel.chain_clocks + rounds * kernel.block_clocks) / clock;
    }
    const Time fixed = machine.kernel_floor * kernel.floors;
    const double streamed = memory / kernel.dram_share;
    return KernelTime{.time = fixed + Time::from_base(std::max(streamed, work)),
                      .lower_bound = Time::from_base(std::max(memory, useful)),
                      .memory_bound = memory >= useful,
                      .streams = streamed >= work};
}

std::optional<KernelTime> time_of(std::span<const KernelWork> kernels,
                                  const model::Machine& machine) {
    KernelTime all;
    Time longest;
    for (const KernelWork& kernel : kernels) {
        const std::optional<KernelTime> one = time_of(kernel, machine);
        if (!one) return {};
        all.time += one->time;
        all.lower_bound += one->lower_bound;
        if (one->time > longest) {
            longest = one->time;
            all.memory_bound = one->memory_bound;
            all.streams = one->streams;
        }
    }
    return all;
}

}  // namespace ridge::programs
