// Kernels of PyTorch's operators that no single operation describes: grouped products, sorts,
// masks, the gradient of an embedding, dropout in attention.
//
//   const Entry up = grouped_product(32768, 4096, 2048, 64, DataType::bf16, DataType::bf16);
//   const std::vector<SmallKernel> sort = sort_kernels(32768);   // 3 + 8 kernels of a radix sort
//
// Method: docs/models.md, W1 to W4, and docs/model.md, S7 and S8. A grouped product is a batched
// one whose matrices have equal rows, times the factor by which CUTLASS' grouped kernel is slower.
// A small kernel moves its bytes, but takes at least a minimum time.
// Limits: the real distribution of rows over groups is unknown; it is assumed even. Sorts of one
// row only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "programs/graph/kernel_work.h"
#include "programs/graph/program.h"

namespace ridge::programs {

/// Clocks of an SM per element of a kernel that computes indices (W3): 1.5 elements per clock if
/// tensors are read with strides.
inline constexpr double clocks_indexed = 1.0 / 1.5;

/// The product of `rows` rows, in groups of equal size, each with its own matrix [k, n].
[[nodiscard]] model::Matmul grouped_matmul(std::int64_t rows, std::int64_t n, std::int64_t k,
                                           std::int64_t groups, model::DataType type,
                                           model::DataType output);
/// How much longer a grouped kernel takes than a batched one of cuBLAS: rows are padded to tiles in
/// each group, and k is not split. (W4)
[[nodiscard]] double grouped_stretch();

/// The same for cuDNN's attention with a mask tensor, relative to attention without one: the factor
/// grows from 256 queries on and reaches 1.65 at 1024. (W4)
[[nodiscard]] double masked_attention_stretch(std::int64_t queries);

/// The gradient of an embedding's table; the operation gathers `rows` indices from the table. (S7)
struct EmbeddingGradient {
    KernelWork zeros{};                ///< fills the table
    std::optional<KernelWork> sort{};  ///< of the indices, if there are many
    KernelWork sums{};
};
inline constexpr std::int64_t most_unsorted_indices = 3072;
[[nodiscard]] EmbeddingGradient embedding_gradient(const model::Gather& op);

/// The random numbers that fused attention with dropout draws for its scores. (S8)
[[nodiscard]] KernelWork drawn_numbers(const model::Attention& op,
                                       model::Implementation implementation);

/// Bytes written by the kernel that runs before a grouped product: addresses and sizes of the
/// groups.
[[nodiscard]] constexpr std::int64_t grouped_addresses(std::int64_t groups) {
    return groups * 32;
}

/// A kernel given by its bytes and its least time; 0: the minimum of any small kernel.
struct SmallKernel {
    std::int64_t bytes = 0;
    Time least{};
    std::int64_t count = 1;
};
/// The least time of a small kernel (W3).
[[nodiscard]] Time small_time(Time least);
/// A kernel that only moves bytes.
[[nodiscard]] model::Copy moving(std::int64_t bytes);
[[nodiscard]] Entry entry_of(const SmallKernel& kernel, std::string name);

/// Sorting one row of 64-bit keys together with their indices (W1).
[[nodiscard]] std::vector<SmallKernel> sort_kernels(std::int64_t elements);

/// Sorting the positions of rows that are added up, as one kernel that stands for all of them (W1).
[[nodiscard]] SmallKernel index_sort(std::int64_t rows);

}  // namespace ridge::programs
