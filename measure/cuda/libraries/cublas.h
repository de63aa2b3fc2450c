// Matrix products of NVIDIA's cuBLASLt, which is found at run time.
//
// Method: the library is column-major, so the row-major C = A B is requested as C^T = B^T A^T. The
// first algorithm of its heuristic that fits in 64 MiB of workspace runs. fp8 uses fast
// accumulation (as inference does); for tf32 the library rounds fp32 inputs.
//
//   const LibraryMatmul product = library_matmul({.a = a, .b = b, ...});
//   product.launch(stream);
//
// Errors: Refusal when the library is missing or has no algorithm for the request, for example fp8
// with a row-major B before Blackwell, or leading dimensions that it cannot align.
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"
#include "measure/cuda/memory/read_back.h"
#include "measure/record/observation.h"
#include "model/core/operation.h"

namespace ridge::measure::cuda {

struct LibraryProduct {
    const void* a = nullptr;
    const void* b = nullptr;
    const void* c = nullptr;  ///< added if beta is not zero, otherwise unused
    void* d = nullptr;
    const void* bias = nullptr;  ///< n elements, of the output type (bf16 for fp8)
    std::int64_t batch = 1;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    model::DataType type = model::DataType::bf16;
    model::DataType accumulate = model::DataType::fp32;
    StoredType output = StoredType::bfloat16;
    model::Layout a_layout = model::Layout::row_major;
    model::Layout b_layout = model::Layout::row_major;
    model::Epilogue epilogue = model::Epilogue::none;
    double alpha = 1.0;
};

/// Path and version of the library, or why there is none.
[[nodiscard]] Maybe<std::string> library_description();

struct LibraryMatmul {
    Launch launch;
    /// Number of parts of k that are added in the output type, with each sum rounded.
    std::int32_t rounded_sums = 1;
};

[[nodiscard]] LibraryMatmul library_matmul(const LibraryProduct& product);

}  // namespace ridge::measure::cuda
