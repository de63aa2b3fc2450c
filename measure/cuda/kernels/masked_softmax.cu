// The softmax of standard attention over the rows of a score matrix in memory, scaled and
// optionally causal.
//
// Method: one block per row. A row that fits the block's registers is read once in 16-byte vectors
// and held there as float32 for the three steps (maximum, sum of exponentials, quotient). Longer
// rows are read twice: once for the maximum and sum, which are computed together online, and once
// to write. Traffic: each visible score is read once (twice in rows of over 32768 two-byte or 16384
// float32 elements, or not in whole 16-byte vectors), each result is written once; scores that a
// causal mask hides are not read.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "measure/cuda/kernels/attention.h"
#include "model/bundled/rows.h"

namespace ridge::measure::cuda {
namespace {

constexpr int max_threads = bundled::most_score_threads;
constexpr int max_vectors = bundled::most_score_vectors;  // per thread, held in registers

struct Extents {
    int queries;
    int keys;
    float scale_log2;
    AttentionMask mask;
};

// `Width` consecutive elements, moved in one access.
template <typename Element, int Width>
struct alignas(sizeof(Element) * Width) Vector {
    Element values[Width];
};

template <typename Element>
__device__ __forceinline__ float widen(Element value) {
    return static_cast<float>(value);
}

// Combines one value per thread over the block; every thread gets the result.
template <typename Combine>
__device__ __forceinline__ float combine_block(float value, float neutral, float* scratch,
                                               Combine combine) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value = combine(value, __shfl_xor_sync(0xffffffffU, value, distance));
    __syncthreads();
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
    __syncthreads();
    value = threadIdx.x % 32 < blockDim.x / 32 ? scratch[threadIdx.x % 32] : neutral;
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2)
        value = combine(value, __shfl_xor_sync(0xffffffffU, value, distance));
    return value;
}

__device__ __forceinline__ float larger(float a, float b) {
    return fmaxf(a, b);
}
__device__ __forceinline__ float added(float a, float b) {
    return a + b;
}

__device__ __forceinline__ int visible_keys(const Extents& extents) {
    if (extents.mask == AttentionMask::none) return extents.keys;
    const int query = static_cast<int>(blockIdx.x % extents.queries);
    return max(0, min(extents.keys, query + 1 + extents.keys - extents.queries));
}

// Vectors: number of vectors per thread; the row has at most Vectors * Width * blockDim.x elements.
template <typename Element, int Width, int Vectors>
__global__ void __launch_bounds__(max_threads)
    softmax_held_kernel(const Element* scores, Element* out, const Extents extents) {
    __shared__ float scratch[32];
    using Block = Vector<Element, Width>;
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * extents.keys;
    const int visible = visible_keys(extents);
    float values[Vectors][Width];
    float maximum = -INFINITY;
#pragma unroll
    for (int i = 0; i < Vectors; ++i) {
        const int column =
            (i * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * Width;
        Block block{};
        if (column < visible) block = *reinterpret_cast<const Block*>(scores + first + column);
#pragma unroll
        for (int e = 0; e < Width; ++e) {
            values[i][e] = column + e < visible ? widen(block.values[e]) : -INFINITY;
            maximum = fmaxf(maximum, values[i][e]);
        }
    }
    maximum = combine_block(maximum, -INFINITY, scratch, larger);
    const float shift = maximum == -INFINITY ? 0.0F : maximum * extents.scale_log2;
    float sum = 0.0F;
#pragma unroll
    for (int i = 0; i < Vectors; ++i) {
#pragma unroll
        for (int e = 0; e < Width; ++e) {
            values[i][e] = exp2f(fmaf(values[i][e], extents.scale_log2, -shift));
            sum += values[i][e];
        }
    }
    sum = combine_block(sum, 0.0F, scratch, added);
    const float inverse = sum > 0.0F ? 1.0F / sum : 0.0F;
#pragma unroll
    for (int i = 0; i < Vectors; ++i) {
        const int column =
            (i * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * Width;
        if (column >= extents.keys) continue;
        Block block;
#pragma unroll
        for (int e = 0; e < Width; ++e)
            block.values[e] = static_cast<Element>(values[i][e] * inverse);
        *reinterpret_cast<Block*>(out + first + column) = block;
    }
}

// Rows of any length and alignment, read twice.
template <typename Element>
__global__ void __launch_bounds__(max_threads)
    softmax_reread_kernel(const Element* scores, Element* out, const Extents extents) {
    __shared__ float scratch[32];
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * extents.keys;
    const int visible = visible_keys(extents);
    float maximum = -INFINITY;
    float sum = 0.0F;
    for (int column = static_cast<int>(threadIdx.x); column < visible;
         column += static_cast<int>(blockDim.x)) {
        const float value = widen(scores[first + column]) * extents.scale_log2;
        const float previous = maximum;
        maximum = fmaxf(maximum, value);
        sum = sum * exp2f(previous - maximum) + exp2f(value - maximum);
    }
    const float row_maximum = combine_block(maximum, -INFINITY, scratch, larger);
    sum = combine_block(maximum == -INFINITY ? 0.0F : sum * exp2f(maximum - row_maximum), 0.0F,
                        scratch, added);
    const float inverse = sum > 0.0F ? 1.0F / sum : 0.0F;
    for (int column = static_cast<int>(threadIdx.x); column < extents.keys;
         column += static_cast<int>(blockDim.x)) {
        const float value =
            column < visible
                ? exp2f(widen(scores[first + column]) * extents.scale_log2 - row_maximum) * inverse
                : 0.0F;
        out[first + column] = static_cast<Element>(value);
    }
}

template <typename Element>
struct Choice {
    void (*kernel)(const Element*, Element*, Extents);
    bundled::ScoreSoftmaxPlan plan;
};

template <typename Element>
Choice<Element> choose(const MaskedSoftmaxProblem& p) {
    constexpr int width = bundled::vector_bytes / static_cast<int>(sizeof(Element));
    const auto aligned = [](const void* pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer) % bundled::vector_bytes == 0;
    };
    const auto plan = bundled::score_softmax_plan(p.keys, sizeof(Element));
    if (!aligned(p.scores) || !aligned(p.out)) return {softmax_reread_kernel<Element>, {}};
    switch (plan.vectors) {
        case 1:
            return {softmax_held_kernel<Element, width, 1>, plan};
        case 2:
            return {softmax_held_kernel<Element, width, 2>, plan};
        case 4:
            return {softmax_held_kernel<Element, width, 4>, plan};
        case max_vectors:
            return {softmax_held_kernel<Element, width, max_vectors>, plan};
        default:
            return {softmax_reread_kernel<Element>, plan};
    }
}

template <typename Element>
Launch build(const MaskedSoftmaxProblem& p) {
    constexpr float log2_e = 1.4426950408889634F;
    const Extents extents{.queries = static_cast<int>(p.queries),
                          .keys = static_cast<int>(p.keys),
                          .scale_log2 = p.scale * log2_e,
                          .mask = p.mask};
    const Choice<Element> choice = choose<Element>(p);
    const LaunchShape shape =
        shape_of(bundled::score_softmax_grid(p.matrices * p.queries, choice.plan));
    return [=](cudaStream_t stream) {
        launch_kernel("masked_softmax", choice.kernel, shape, stream,
                      static_cast<const Element*>(p.scores), static_cast<Element*>(p.out), extents);
    };
}

}  // namespace

Launch masked_softmax(const MaskedSoftmaxProblem& p) {
    if (p.scores == nullptr || p.out == nullptr)
        throw std::runtime_error("masked_softmax: scores and out must be device pointers");
    if (p.queries < 1 || p.keys < 1 || p.matrices < 1 || p.keys > (std::int64_t{1} << 30) ||
        p.matrices * p.queries > (std::int64_t{1} << 31) - 1)
        throw std::runtime_error(
            "masked_softmax: matrices, queries and keys must be positive, keys at most 2^30, rows "
            "below 2^31");
    if (!(p.scale > 0.0F)) throw std::runtime_error("masked_softmax: scale must be positive");
    switch (p.type) {
        case ElementType::float32:
            return build<float>(p);
        case ElementType::bfloat16:
            return build<__nv_bfloat16>(p);
        case ElementType::float16:
            return build<__half>(p);
        default:
            throw std::runtime_error("masked_softmax: takes float32, bfloat16 or float16 elements");
    }
}

}  // namespace ridge::measure::cuda
