#include "programs/graph/eager_kernels.h"

#include <algorithm>
#include <utility>

#include "hardware/checked.h"
#include "model/streams/row_work.h"
#include "programs/graph/costs.h"

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

double grouped_stretch() {
    return cost("stretch.grouped");
}

double masked_attention_stretch(std::int64_t queries) {
    return 1.0 + cost("stretch.masked") *
                     std::clamp(static_cast<double>(queries - 256) / 768.0, 0.0, 1.0);
}

EmbeddingGradient embedding_gradient(const model::Gather& op) {
    const auto rows = static_cast<double>(op.rows);
    const double row = static_cast<double>(op.cols) * static_cast<double>(model::size_of(op.type));
    EmbeddingGradient kernels{.zeros = {.moved = static_cast<double>(op.table_rows) * row,
                                        .dram_share = cost("table_gradient.fill"),
                                        .floors = 1.0},
                              .sums = {.moved = rows * row}};
    if (op.rows <= most_unsorted_indices) {
        kernels.sums.chains = 1;
        kernels.sums.chain_clocks =
            cost("table_gradient.start") + cost("table_gradient.row") * rows;
        kernels.sums.floors = 1.0;
        return kernels;
    }
    kernels.sort = KernelWork{
        .chains = 1,
        .chain_clocks = cost("table_gradient.sort_start") + cost("table_gradient.sort_row") * rows,
        .floors = 0.0};
    const double columns = 32.0 * static_cast<double>(ceil_divide(op.cols, 32));
    kernels.sums.clocks = cost("table_gradient.sum") *
                          (model::gather_distinct_rows(op) + rows / cost("table_gradient.part")) *
                          columns;
    return kernels;
}

namespace {

/// Clocks that an SM takes to draw the number of a score and to keep or drop the score. (S8)
double drawing_clocks(model::Implementation implementation, model::Direction direction) {
    const bool back = direction == model::Direction::backward;
    switch (implementation) {
        case model::Implementation::torch_cudnn:
            return cost(back ? "drawn.cudnn_backward" : "drawn.cudnn");
        case model::Implementation::torch_efficient:
            return cost(back ? "drawn.efficient_backward" : "drawn.efficient");
        default:
            return cost(back ? "drawn.flash_backward" : "drawn.flash");
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

Time small_time(Time least) {
    return least > Time{} ? least : time_cost("least.small");
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
    entry.least = small_time(kernel.least);
    return entry;
}

std::vector<SmallKernel> sort_kernels(std::int64_t elements) {
    // Up to 4096 keys, one block sorts them with their indices; the time is that of the next of
    // four sizes. More keys take a radix sort: indices, histogram, offsets, and a pass for each of
    // the eight bytes of a key.
    if (elements <= 4096) {
        const Time least = time_cost(elements <= 32     ? "least.sort_32"
                                     : elements <= 128  ? "least.sort_128"
                                     : elements <= 1024 ? "least.sort_1024"
                                                        : "least.sort_4096");
        return {{.bytes = elements * 16}, {.bytes = elements * 32, .least = least}};
    }
    return {{.bytes = elements * 16, .least = time_cost("least.sort_start"), .count = 3},
            {.bytes = elements * 32, .least = time_cost("least.sort_pass"), .count = 8}};
}

SmallKernel index_sort(std::int64_t rows) {
    constexpr std::int64_t one_block = 2304;
    return {.bytes = rows * 32,
            .least = time_cost(rows <= one_block ? "least.index_sort" : "least.index_sort_many")};
}

}  // namespace ridge::programs
