// Online softmax on the accumulators of a 64 x N wgmma (fragment layout in wgmma.cuh), one
// warpgroup at a time.
//
// Method: a thread holds two rows, 8 apart, with the same columns of each; the four lanes that
// share a row combine by shuffles. Over the blocks of a row, m and l follow m' = max(m, max s), l'
// = l exp(m - m') + sum exp(s - m'), and what was accumulated under m is multiplied by exp(m - m')
// (Milakov and Gimelshein, arXiv 1805.02867). exp(scale x) is exp2 with scale log2(e) folded into
// one multiply-add.
#pragma once

#include "measure/cuda/kernels/row_math.cuh"
#include "measure/cuda/kernels/wgmma.cuh"

namespace ridge::measure::cuda::hopper {

// The two rows of a thread: running maximum of the raw scores and this thread's share of the
// running sum.
struct RowState {
    float maximum[2] = {-INFINITY, -INFINITY};
    float sum[2] = {0.0F, 0.0F};
};

// Masks the keys from `limit` on (one limit per row), counted from the first key of the block.
template <int Count>
__device__ __forceinline__ void hide_keys(float (&scores)[Count], int limit0, int limit1) {
    const int column = static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
    for (int i = 0; i < Count; i += 4) {
        const int key = i * 2 + column;
        if (key >= limit0) scores[i] = -INFINITY;
        if (key + 1 >= limit0) scores[i + 1] = -INFINITY;
        if (key >= limit1) scores[i + 2] = -INFINITY;
        if (key + 1 >= limit1) scores[i + 3] = -INFINITY;
    }
}

// Replaces scores by exp(scale (score - maximum)) with the updated maximum. Sets `correction`, the
// factor by which values accumulated under the old maximum must be multiplied.
template <int Count>
__device__ __forceinline__ void exponentiate(float (&scores)[Count], RowState& rows,
                                             float (&correction)[2], float scale_log2) {
#pragma unroll
    for (int row = 0; row < 2; ++row) {
        float maximum = rows.maximum[row];
#pragma unroll
        for (int i = row * 2; i < Count; i += 4)
            maximum = fmaxf(maximum, fmaxf(scores[i], scores[i + 1]));
        maximum = quad_max(maximum);
        const float shift = maximum == -INFINITY ? 0.0F : maximum * scale_log2;
        correction[row] = exp2_fast(rows.maximum[row] * scale_log2 - shift);
        rows.maximum[row] = maximum;
        float sum = rows.sum[row] * correction[row];
#pragma unroll
        for (int i = row * 2; i < Count; i += 4) {
            scores[i] = exp2_fast(fmaf(scores[i], scale_log2, -shift));
            scores[i + 1] = exp2_fast(fmaf(scores[i + 1], scale_log2, -shift));
            sum += scores[i] + scores[i + 1];
        }
        rows.sum[row] = sum;
    }
}

template <typename Element, int Count>
__device__ __forceinline__ void round_scores(std::uint32_t (&p)[Count / 2],
                                             const float (&scores)[Count]) {
#pragma unroll
    for (int i = 0; i < Count / 2; ++i) p[i] = pack<Element>(scores[2 * i], scores[2 * i + 1]);
}

template <int Count>
__device__ __forceinline__ void rescale(float (&output)[Count], const float (&factor)[2]) {
#pragma unroll
    for (int i = 0; i < Count; ++i) output[i] *= factor[i / 2 % 2];
}

}  // namespace ridge::measure::cuda::hopper
