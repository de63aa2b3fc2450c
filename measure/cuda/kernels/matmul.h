// Matrix products C = A B, from the simplest kernel to the fastest, each as a factory that returns
// a Launch.
//
// Shapes: A is [batch][m][k], row-major and dense; C is [batch][m][n], row-major and dense; B is
// [batch][n][k] (BLayout::n_by_k, the "TN" product of BLAS, both operands contiguous in k) or
// [batch][k][n] (BLayout::k_by_n). Work: 2 m n k batch FLOP.
//
// | kernel         | elements          | B layout | needs                                       |
// | naive          | float32           | k_by_n   | -                                           |
// | coalesced      | float32           | k_by_n   | -                                           |
// | shared_tiled   | float32           | k_by_n   | -                                           |
// | register_tiled | float32           | k_by_n   | -                                           |
// | mma_sync       | bfloat16, float16 | both     | sm_80; k, and n for k_by_n, multiples of 8  |
// | wgmma          | bfloat16, float16 | both     | sm_90a; k and n multiples of 8              |
//
// Accumulation is in float32. Any m is accepted; the batch is limited to 65535. A problem outside
// these limits is refused with std::runtime_error.
//
//     const MatmulProblem problem{.a = a, .b = b, .c = c, .m = 4096, .n = 4096, .k = 4096,
//                                 .type = ElementType::bfloat16};
//     const Launch run = matmul_wgmma(problem, bundled::wgmma_for(extents_of(problem), 132));
//     run(stream);
#pragma once

#include "measure/cuda/kernels/launch.h"
#include "model/bundled/matmul.h"

namespace ridge::measure::cuda {

enum class BLayout { n_by_k, k_by_n };

struct MatmulProblem {
    const void* a = nullptr;
    const void* b = nullptr;
    void* c = nullptr;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    std::int64_t batch = 1;
    ElementType type = ElementType::float32;  // of A, B and C
    BLayout b_layout = BLayout::n_by_k;
};

[[nodiscard]] constexpr bundled::MatmulExtents extents_of(const MatmulProblem& problem) {
    return {.m = problem.m, .n = problem.n, .k = problem.k, .batch = problem.batch};
}

// Throws std::runtime_error unless sizes are positive, pointers are set and the kernel's limits
// (see the table above) hold.
void require_matmul(const char* kernel, const MatmulProblem& problem, bool two_byte_elements);

[[nodiscard]] Launch matmul_naive(const MatmulProblem& problem);
[[nodiscard]] Launch matmul_coalesced(const MatmulProblem& problem);
[[nodiscard]] Launch matmul_shared_tiled(const MatmulProblem& problem);
[[nodiscard]] Launch matmul_register_tiled(const MatmulProblem& problem);
[[nodiscard]] Launch matmul_mma_sync(const MatmulProblem& problem);
// `kernel` is bundled::matmul_wgmma_large or matmul_wgmma_small; bundled::wgmma_for chooses.
[[nodiscard]] Launch matmul_wgmma(const MatmulProblem& problem,
                                  const bundled::MatmulKernel& kernel);

}  // namespace ridge::measure::cuda
