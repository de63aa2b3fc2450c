// Reads device memory: elements as doubles, and elements that were never written.
//
// Method: a kernel widens the elements at base + i x stride to double, exactly for every type, so
// the host sees the values that the device computed with. Outputs are filled with a poison before a
// run: NaN for floating-point types, the smallest value for integers. Elements that still hold it
// (and any NaN) count as wrong.
//
//   const std::vector<double> row = read_elements(c, ElementType::bfloat16, row * n, 1, n, stream);
//   poison(c, ElementType::bfloat16, m * n, stream);
//
// Limits: integer outputs are int32 or int8.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

/// Types of outputs, including some that are not in ElementType.
enum class StoredType { float64, float32, bfloat16, float16, float8_e4m3, int8, int32, int64 };

[[nodiscard]] StoredType stored(ElementType type);
[[nodiscard]] int bytes_of(StoredType type);

/// Reads `count` elements, the first at index `first`, `stride` elements apart.
[[nodiscard]] std::vector<double> read_elements(const void* base, StoredType type,
                                                std::int64_t first, std::int64_t stride,
                                                std::int64_t count, cudaStream_t stream);

void poison(void* base, StoredType type, std::int64_t count, cudaStream_t stream);

/// Number of elements that are NaN or still hold the poison.
[[nodiscard]] std::int64_t count_poisoned(const void* base, StoredType type, std::int64_t count,
                                          cudaStream_t stream);

/// Writes random row numbers 0 .. rows - 1 (Philox, so they are reproducible).
void fill_indices(std::int64_t* indices, std::int64_t count, std::int64_t rows, std::uint64_t seed,
                  cudaStream_t stream);

}  // namespace ridge::measure::cuda
