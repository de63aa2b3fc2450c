#include "programs/graph/eager_kernels.h"

#include <algorithm>
#include <utility>

#include "hardware/checked.h"

namespace ridge::programs {

model::Matmul grouped_matmul(std::int64_t rows, std::int64_t n, std::int64_t k, std::int64_t groups,
                             model::DataType type, model::DataType output) {
    // Every group's matrix is read; rows are shared out evenly.
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
    // Up to 4096 keys one block sorts, beside their numbers; it takes as long as the next of four sizes.
    // More take a radix sort: numbers, histogram, offsets, a pass for each of the eight bytes of a key.
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

}  // namespace ridge::programs
