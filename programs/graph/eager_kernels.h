// Kernels of PyTorch's operators that no single operation describes: grouped products, sorts, masks, the gradient
// of an embedding, dropout in attention.
//
//   const Entry up = grouped_product(32768, 4096, 2048, 64, DataType::bf16, DataType::bf16);
//   const std::vector<SmallKernel> sort = sort_kernels(32768);   // 3 and 8 of a radix sort
//
// Method: docs/models.md, W1 to W4, and docs/model.md, S7 and S8. A grouped product is a batched
// one whose matrices have equal rows, times what CUTLASS' grouped kernel takes more; a small kernel
// moves its bytes, but takes its least time.
// Limits: how the rows are spread over groups is not known: evenly. Sorts of one row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "programs/graph/kernel_work.h"
#include "programs/graph/program.h"

namespace ridge::programs {

/// Clocks of a multiprocessor for an element of a kernel that computes indices (W3): 1.5 elements a
/// clock where tensors are read with strides.
inline constexpr double clocks_indexed = 1.0 / 1.5;

/// The product of `rows` rows, in groups of equal size with a matrix [k, n] each.
[[nodiscard]] model::Matmul grouped_matmul(std::int64_t rows, std::int64_t n, std::int64_t k,
                                           std::int64_t groups, model::DataType type,
                                           model::DataType output);
/// How much longer a grouped kernel takes than a batched one of cuBLAS: rows padded to tiles for
/// each group, no split. (W4)
inline constexpr double grouped_stretch = 1.4;

/// The same for cuDNN's attention with a mask tensor, against one without: from 256 queries on it takes
/// longer and longer, from 1024 on 1.65 times. (W4)
[[nodiscard]] double masked_attention_stretch(std::int64_t queries);

/// The gradient of an embedding's table, which is `rows` indices of a table that is gathered from. (S7)
struct EmbeddingGradient {
    KernelWork zeros{};                ///< fills the table
    std::optional<KernelWork> sort{};  ///< of the indices, where there are many
    KernelWork sums{};
};
inline constexpr std::int64_t most_unsorted_indices = 3072;
[[nodiscard]] EmbeddingGradient embedding_gradient(const model::Gather& op);

/// The numbers that fused attention with dropout draws for its scores. (S8)
[[nodiscard]] KernelWork drawn_numbers(const model::Attention& op,
                                       model::Implementation implementation);

/// Bytes that the kernel in front of a grouped product writes: addresses and sizes of the groups.
[[nodiscard]] constexpr std::int64_t grouped_addresses(std::int64_t groups) {
    return groups * 32;
}

/// A kernel by its bytes and its least time; 0: what any small kernel takes.
struct SmallKernel {
    std::int64_t bytes = 0;
    float least_us = 0.0F;
    std::int64_t count = 1;
};
/// The least time of a small kernel (W3).
[[nodiscard]] Time small_time(float least_us);
/// A kernel that only moves bytes.
[[nodiscard]] model::Copy moving(std::int64_t bytes);
[[nodiscard]] Entry entry_of(const SmallKernel& kernel, std::string name);

/// Sorting one row of 64-bit keys beside their numbers (W1).
[[nodiscard]] std::vector<SmallKernel> sort_kernels(std::int64_t elements);

/// Sorting the places of rows that are added up, all its kernels together (W1).
[[nodiscard]] SmallKernel index_sort(std::int64_t rows);

/// The best of each row are gathered, then sorted unless they may stay as they come.
inline constexpr float top_gather_us = 7.0F;
inline constexpr float top_sort_us = 4.5F;

}  // namespace ridge::programs
