#include "programs/graph/eager_kernels.h"

#include <algorithm>
#include <utility>

#include "hardware/checked.h"
#include "model/streams/row_work.h"

namespace ridge::programs {

model::Matmul grouped_matmul(std::int64_t rows, std::int64_t n, std::int64_t k, std::int64_t groups,
                             model::DataType type, model::DataType output) {
    // The matrix of every group is read; rows are distributed evenly.
    const std::int64_t used = std::min(rows, groups);
    return {.batch = used,
            .m = ceil_divide(rows, used),
            .n = n,
            .k = k,
            .type = type,
            .output = output,
            .b_layout = model::Layout::column_major};
}

double masked_attention_stretch(std::int64_t queries) {
    return 1.0 + 0.65 * std::clamp(static_cast<double>(queries - 256) / 768.0, 0.0, 1.0);
}

EmbeddingGradient embedding_gradient(const model::Gather& op) {
    constexpr double part = 10.0;  // positions of a token that one thread adds up
    const auto rows = static_cast<double>(op.rows);
    const double row = static_cast<double>(op.cols) * static_cast<double>(model::size_of(op.type));
    EmbeddingGradient kernels{.zeros = {.moved = static_cast<double>(op.table_rows) * row,
                                        .dram_share = 0.93,
                                        .floors = 1.0},
                              .sums = {.moved = rows * row}};
    if (op.rows <= most_unsorted_indices) {
        kernels.sums.chains = 1;
        kernels.sums.chain_clocks = 2400.0 + 70.4 * rows;
        kernels.sums.floors = 1.0;
        return kernels;
    }
    kernels.sort = KernelWork{.chains = 1, .chain_clocks = 140e3 + 1.27 * rows, .floors = 0.0};
    const double columns = 32.0 * static_cast<double>(ceil_divide(op.cols, 32));
    kernels.sums.clocks = 3.83 * (model::gather_distinct_rows(op) + rows / part) * columns;
    return kernels;
}

namespace {

/// Clocks that an SM takes to draw the number of a score and to keep or drop the score. (S8)
double drawing_clocks(model::Implementation implementation, model::Direction direction) {
    const bool back = direction == model::Direction::backward;
    switch (implementation) {
        case model::Implementation::torch_cudnn:
            return back ? 0.115 : 0.231;
        case model::Implementation::torch_efficient:
            return back ? 0.918 : 0.452;
        default:
            return back ? 0.115 : 0.081;
    }
}

}  // namespace

KernelWork drawn_numbers(const model::Attention& op, model::Implementation implementation) {
    constexpr std::int64_t tile = 128;
    const std::int64_t blocks = op.batch * op.heads * ceil_divide(op.seq_q, tile);
    const auto across = static_cast<double>(ceil_divide(op.seq_kv, tile));
    const auto own = static_cast<double>(ceil_divide(op.seq_q, tile));
    const double visited = op.causal ? across - (own - 1.0) / 2.0 : across;
    const double square =
        drawing_clocks(implementation, op.direction) * static_cast<double>(tile * tile);
    return {.clocks = square * static_cast<double>(blocks) * visited,
            .tiles = blocks,
            .longest_clocks = square * across,
            .growing = op.causal,
            .floors = 0.0};
}

Time small_time(float least_us) {
    return (least_us > 0.0F ? static_cast<double>(least_us) : 1.1) * units::us;
}

model::Copy moving(std::int64_t bytes) {
    return {.elements = std::max<std::int64_t>(1, bytes / 4), .type = model::DataType::bf16};
}

Entry entry_of(const SmallKernel& kernel, std::string name) {
    Entry entry;
    entry.operation = moving(kernel.bytes);
    entry.execution.implementation = model::Implementation::torch;
    entry.count = kernel.count;
    entry.name = std::move(name);
    entry.least = small_time(kernel.least_us);
    return entry;
}

std::vector<SmallKernel> sort_kernels(std::int64_t elements) {
    // Up to 4096 keys, one block sorts them with their indices; the time is that of the next of
    // four sizes. More keys take a radix sort: indices, histogram, offsets, and a pass for each of
    // the eight bytes of a key.
    if (elements <= 4096) {
        const float us = elements <= 32     ? 3.7F
                         : elements <= 128  ? 8.6F
                         : elements <= 1024 ? 26.7F
                                            : 32.0F;
        return {{.bytes = elements * 16}, {.bytes = elements * 32, .least_us = us}};
    }
    return {{.bytes = elements * 16, .least_us = 1.9F, .count = 3},
            {.bytes = elements * 32, .least_us = 6.0F, .count = 8}};
}

SmallKernel index_sort(std::int64_t rows) {
    constexpr std::int64_t one_block = 2304;
    return {.bytes = rows * 32, .least_us = rows <= one_block ? 5.2F : 12.3F};
}

}  // namespace ridge::programs
