// Plans of access patterns; see plan.h. Their results must be exact.
#include <cmath>
#include <cstring>

#include "measure/cuda/kernels/access.h"
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

/// The sums of sampled blocks against `expected(block)`.
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
        std::uint64_t value = 0;  // little endian, as the device
        std::memcpy(&value, bytes.data() + static_cast<std::size_t>(i * read.stride) * word, word);
        sum += folded(value);
    }
    return sum;
}

/// The sum of one block, whose tiles follow each other by the number of blocks.
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

/// The sum of one block: the same words for every whole tile, a part of them for the last.
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

/// What each path leaves, by the same single-precision FMA.
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
    }
    plan.implementation = execution.implementation;
    return plan;
}

}  // namespace ridge::measure::cuda
