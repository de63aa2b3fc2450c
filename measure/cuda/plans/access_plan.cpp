// Plans of access patterns; see plan.h. Their results must be exact.
#include <cmath>
#include <cstring>
#include <numeric>

#include "measure/cuda/kernels/access.h"
#include "measure/cuda/kernels/latency.h"
#include "measure/cuda/kernels/on_chip.h"
#include "measure/cuda/memory/verify.h"
#include "measure/cuda/plans/plan.h"

namespace ridge::measure::cuda {
namespace {

using model::AccessPattern;

constexpr std::int64_t checked_blocks = 16;
constexpr std::int64_t window = 4096;  // elements compared together
constexpr std::uint64_t seed = 29;
constexpr double exact = 0.0;

std::int64_t result_at(const std::uint32_t* sums, std::int64_t index, cudaStream_t stream) {
    return static_cast<std::int64_t>(
        read_elements(sums, StoredType::int32, index, 1, 1, stream).front());
}

/// Compares the sums of sampled blocks with `expected(block)`.
template <class Expected>
std::function<Verification()> sum_check(const std::uint32_t* sums, std::int64_t blocks,
                                        const Launch& launch, cudaStream_t stream,
                                        Expected expected) {
    return [=] {
        poison(const_cast<std::uint32_t*>(sums), StoredType::int32, blocks, stream);
        launch(stream);
        require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        Comparison comparison;
        for (const std::int64_t block : sampled(blocks, checked_blocks, seed)) {
            const std::uint32_t sum = expected(block);
            comparison.add(static_cast<double>(result_at(sums, block, stream)),
                           static_cast<double>(static_cast<std::int32_t>(sum)));
        }
        return comparison.verdict(exact, count_poisoned(sums, StoredType::int32, blocks, stream));
    };
}

std::uint32_t* sums_of(Plan& plan, std::int64_t blocks) {
    plan.buffers.emplace_back(static_cast<std::size_t>(blocks) * sizeof(std::uint32_t));
    return plan.buffers.back().as<std::uint32_t>();
}

/// The sum of one tile from the bytes of the source.
std::uint32_t tile_sum(const WordRead& read, std::int64_t tile) {
    const std::int64_t first = tile * bundled::read_tile;
    const std::int64_t count = std::min<std::int64_t>(bundled::read_tile, read.words - first);
    const auto word = static_cast<std::size_t>(read.word_bytes);
    std::vector<unsigned char> bytes(static_cast<std::size_t>((count - 1) * read.stride + 1) *
                                     word);
    const auto* const source = static_cast<const unsigned char*>(read.source) +
                               (read.offset + first * read.stride) * read.word_bytes;
    require(cudaMemcpy(bytes.data(), source, bytes.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    std::uint32_t sum = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        std::uint64_t value = 0;  // little endian, like the device
        std::memcpy(&value, bytes.data() + static_cast<std::size_t>(i * read.stride) * word, word);
        sum += folded(value);
    }
    return sum;
}

/// The sum of one block, whose tiles are as far apart as the number of blocks.
std::uint32_t block_sum(const WordRead& read, std::int64_t block) {
    std::uint32_t sum = 0;
    for (std::int64_t tile = block; tile * bundled::read_tile < read.words;
         tile += grid_of(read).blocks()) {
        sum += tile_sum(read, tile);
    }
    return sum;
}

Plan plan_read(const model::Access& op, const Context& context) {
    const bool strided = op.pattern == AccessPattern::strided;
    const ElementType type = element_of(op.type);
    WordRead read{.words = op.elements,
                  .stride = strided ? op.degree : 1,
                  .offset = strided ? 0 : op.degree,
                  .word_bytes = bytes_per_element(type),
                  .multiprocessors = context.limits().multiprocessors};
    Plan plan;
    plan.buffers.push_back(
        context.input(type, read.offset + (read.words - 1) * read.stride + 1, 1));
    read.source = plan.buffers.back().as();
    const std::int64_t blocks = grid_of(read).blocks();
    read.partial_sums = sums_of(plan, blocks);
    plan.launch = launch_of(read);
    plan.verify = sum_check(read.partial_sums, blocks, plan.launch, context.stream(),
                            [read](std::int64_t block) { return block_sum(read, block); });
    return plan;
}

/// The sum of one block: the same words for every whole tile, and some of them for the last tile.
std::uint32_t conflict_sum(const BankConflict& conflict, std::int64_t block) {
    constexpr int threads = bundled::chip_threads;
    const auto sum_of = [&](std::int64_t words) {
        std::uint32_t sum = 0;
        for (int i = 0; i < words; ++i) {
            const int word = conflict_word(i % threads, i / threads, conflict.ways);
            sum += hash_word(static_cast<std::uint32_t>(word));
        }
        return sum;
    };
    const std::int64_t blocks = grid_of(conflict).blocks();
    const std::int64_t tiles = conflict.words / bundled::shared_tile;
    const std::int64_t own = tiles / blocks + (block < tiles % blocks ? 1 : 0);
    const std::int64_t rest = block == tiles % blocks ? conflict.words % bundled::shared_tile : 0;
    return static_cast<std::uint32_t>(own) * sum_of(bundled::shared_tile) + sum_of(rest);
}

Plan plan_conflict(const model::Access& op, const Context& context) {
    BankConflict conflict{.words = op.elements,
                          .ways = static_cast<int>(op.degree),
                          .multiprocessors = context.limits().multiprocessors};
    Plan plan;
    const std::int64_t blocks = grid_of(conflict).blocks();
    conflict.partial_sums = sums_of(plan, blocks);
    plan.launch = launch_of(conflict);
    plan.verify =
        sum_check(conflict.partial_sums, blocks, plan.launch, context.stream(),
                  [conflict](std::int64_t block) { return conflict_sum(conflict, block); });
    return plan;
}

/// The result of each path, with the same single-precision FMA.
std::vector<double> path_results(const Divergence& divergence) {
    std::vector<double> results;
    for (int path = 0; path < divergence.paths; ++path) {
        float x = 1.0F;
        for (int i = 0; i < divergence.steps; ++i) {
            x = std::fmaf(x, path_factor(path), path_term(path));
        }
        results.push_back(x);
    }
    return results;
}

Plan plan_divergence(const model::Access& op, const Context& context) {
    Plan plan;
    plan.buffers.emplace_back(bytes_of(ElementType::float32, op.elements));
    const Divergence divergence{.output = plan.buffers.back().as<float>(),
                                .elements = op.elements,
                                .paths = static_cast<int>(op.degree),
                                .steps = static_cast<int>(bundled::divergent_steps)};
    plan.launch = launch_of(divergence);
    plan.verify = [divergence, launch = plan.launch, stream = context.stream()] {
        poison(divergence.output, StoredType::float32, divergence.elements, stream);
        launch(stream);
        require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        const std::vector<double> wanted = path_results(divergence);
        const auto threads = grid_of(divergence).threads;
        Comparison comparison;
        for (const std::int64_t at :
             sampled(ceil_div(divergence.elements, window), checked_blocks, seed)) {
            const std::int64_t first = at * window;
            const std::int64_t count = std::min(window, divergence.elements - first);
            const auto got =
                read_elements(divergence.output, StoredType::float32, first, 1, count, stream);
            for (std::int64_t i = 0; i < count; ++i) {
                const auto path =
                    static_cast<std::size_t>((first + i) % threads % divergence.paths);
                comparison.add(got[static_cast<std::size_t>(i)], wanted[path]);
            }
        }
        return comparison.verdict(exact, count_poisoned(divergence.output, StoredType::float32,
                                                        divergence.elements, stream));
    };
    return plan;
}

/// A chain through the words; each walk continues where the last one stopped.
Plan plan_chase(const model::Access& op, const Context& context) {
    const std::int64_t bytes = op.elements * bytes_per_element(ElementType::float32);
    const std::int64_t slots = bytes / bundled::chase_line;
    Plan plan;
    plan.buffers.emplace_back(static_cast<std::size_t>(bytes));
    auto* const chain = plan.buffers.back().as<std::uint64_t>();
    plan.buffers.emplace_back(sizeof(std::uint64_t));
    auto* const position = plan.buffers.back().as<std::uint64_t>();
    const auto address_of = [chain, slots](std::int64_t place) {
        const std::int64_t slot =
            slot_of(static_cast<std::uint32_t>(place % slots), static_cast<std::uint32_t>(slots));
        return reinterpret_cast<std::uint64_t>(chain) +
               static_cast<std::uint64_t>(slot * bundled::chase_line);
    };
    const auto stand_at_start = [position, start = address_of(0), stream = context.stream()] {
        require(cudaMemcpyAsync(position, &start, sizeof start, cudaMemcpyHostToDevice, stream),
                "cudaMemcpyAsync");
        require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    };
    launch_of(ChaseBuild{.chain = chain,
                         .slots = slots,
                         .stride_bytes = static_cast<int>(bundled::chase_line)})(context.stream());
    stand_at_start();
    const std::int64_t steps = bundled::chase_loads(bytes);
    plan.launch = launch_of(Walk{.position = position, .steps = steps});
    plan.verify = [=, launch = plan.launch, stream = context.stream()] {
        stand_at_start();
        launch(stream);
        std::uint64_t end = 0;
        require(cudaMemcpyAsync(&end, position, sizeof end, cudaMemcpyDeviceToHost, stream),
                "cudaMemcpyAsync");
        require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        Comparison comparison;
        comparison.add(static_cast<double>(end - address_of(0)) + 1.0,
                       static_cast<double>(address_of(steps) - address_of(0)) + 1.0);
        return comparison.verdict(exact, 0);
    };
    return plan;
}

/// The sum of `count` words of the source, starting at `first`.
std::uint32_t words_sum(const Reread& read, std::int64_t first, std::int64_t count) {
    std::vector<std::uint32_t> words(static_cast<std::size_t>(count));
    require(cudaMemcpy(words.data(), static_cast<const std::uint32_t*>(read.source) + first,
                       words.size() * sizeof(std::uint32_t), cudaMemcpyDeviceToHost),
            "cudaMemcpy");
    return std::accumulate(words.begin(), words.end(), std::uint32_t{0});
}

/// What one block reads: its tiles from its own position on, wrapping around at the end of the
/// buffer.
std::uint32_t reread_sum(const Reread& read, std::int64_t block) {
    const std::int64_t blocks = bundled::reread_grid(read.multiprocessors).blocks();
    const std::int64_t words = read.bytes / 4;
    const std::int64_t own =
        tiles_of_block(block, blocks, read.total_bytes / bundled::reread_tile) *
        bundled::reread_tile / 4;
    const std::int64_t first = first_l2_vector(block, blocks, read.bytes / 16) * 4;
    const auto whole = static_cast<std::uint32_t>(own / words);
    const std::int64_t rest = own % words;
    const std::int64_t before_end = std::min(rest, words - first);
    std::uint32_t sum = whole > 0 ? whole * words_sum(read, 0, words) : 0;
    if (before_end > 0) sum += words_sum(read, first, before_end);
    if (rest > before_end) sum += words_sum(read, 0, rest - before_end);
    return sum;
}

Plan plan_reread(const model::Access& op, const Context& context) {
    Plan plan;
    plan.buffers.push_back(context.input(ElementType::float32, op.elements, 1));
    Reread read{.source = plan.buffers.back().as(),
                .bytes = op.elements * bytes_per_element(ElementType::float32),
                .multiprocessors = context.limits().multiprocessors};
    const std::int64_t blocks = bundled::reread_grid(read.multiprocessors).blocks();
    read.partial_sums = sums_of(plan, blocks);
    plan.launch = launch_of(read);
    plan.verify = sum_check(read.partial_sums, blocks, plan.launch, context.stream(),
                            [read](std::int64_t block) { return reread_sum(read, block); });
    return plan;
}

}  // namespace

Plan plan_access(const model::Access& op, const model::Execution& execution,
                 const Context& context) {
    if (execution.implementation != model::Implementation::bundled) {
        refuse(execution.implementation, "access");
    }
    Plan plan;
    switch (op.pattern) {
        case AccessPattern::strided:
        case AccessPattern::misaligned:
            plan = plan_read(op, context);
            break;
        case AccessPattern::divergent:
            plan = plan_divergence(op, context);
            break;
        case AccessPattern::bank_conflict:
            plan = plan_conflict(op, context);
            break;
        case AccessPattern::chase:
            plan = plan_chase(op, context);
            break;
        case AccessPattern::reread:
            plan = plan_reread(op, context);
            break;
    }
    plan.implementation = execution.implementation;
    return plan;
}

}  // namespace ridge::measure::cuda
