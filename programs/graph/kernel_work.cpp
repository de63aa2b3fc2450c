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

std::int64_t quotient(std::int64_t all, std::int64_t each) {
    return (all + each - 1) / each;
}

/// How many blocks share a result: PyTorch splits a reduction whose threads would go through 256
/// parts or more, until the grid has four blocks of 512 threads for each multiprocessor. (eq. S6)
std::int64_t blocks_of(const SplitSums& sums, std::int64_t multiprocessors) {
    constexpr std::int64_t threads = 512;
    constexpr std::int64_t most_parts = 256;
    constexpr std::int64_t fewest_parts = 16;
    constexpr std::int64_t resident = 4;
    const std::int64_t parts = quotient(sums.parts, threads);
    if (parts < most_parts) return 1;
    const std::int64_t wanted = quotient(resident * multiprocessors, sums.results);
    return std::max(std::min(wanted, quotient(parts, fewest_parts)), quotient(parts, most_parts));
}

struct Chains {
    std::int64_t count = 0;
    double latency = 0.0;  ///< clocks of one
    double busy = 0.0;     ///< what each adds on its SM
};

/// The last of a result's blocks adds up what the others found.
Chains chains_of(const KernelWork& kernel, std::int64_t multiprocessors) {
    if (!kernel.sums) return {kernel.chains, kernel.chain_clocks, kernel.block_clocks};
    const std::int64_t shared = blocks_of(*kernel.sums, multiprocessors);
    const auto parts = static_cast<double>(kernel.sums->parts) / static_cast<double>(shared);
    return {.count = kernel.sums->results * shared,
            .latency = cost(shared > 1 ? "rows.apart_start_shared" : "rows.apart_start"),
            .busy = cost("rows.apart_busy") + cost("rows.apart_element") * parts};
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
    if (const Chains chains = chains_of(kernel, machine.sm_count); chains.count > 0) {
        const double rounds = std::ceil(waves(chains.count, machine.sm_count));
        work += (chains.latency + rounds * chains.busy) / clock;
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
