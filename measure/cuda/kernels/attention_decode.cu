// Attention of a few queries over a long key-value cache: split along the keys, bound by memory.
//
// Method: the query heads that share a key-value head, times their queries, become the rows of one
// 16-row tensor-core tile, so that the cache is read once for all of them. A block takes one tile,
// one key-value head and one range of keys. Its four warps are independent: each streams slices of
// 16 tokens through its own ring of shared-memory stages with cp.async and keeps a running softmax
// over them in registers. The four results are merged only at the end. With more than one split,
// partial outputs (float32) and their log-sum-exp go to the workspace, and a second kernel combines
// them.
//
// Traffic: 2 * batch * kv_heads * keys * head_dim elements of K and V, once per 16 rows; queries,
// outputs and partial results are small. A causal mask only hides keys among the last `queries`; no
// block is skipped.
#include "measure/cuda/kernels/attention.h"
#include "measure/cuda/kernels/mma_sync.cuh"
#include "measure/cuda/kernels/row_math.cuh"

namespace ridge::measure::cuda {
namespace {

template <int HeadDim>
constexpr bundled::AttentionKernel layout_of = bundled::attention_decode(HeadDim);
constexpr int rows_per_tile = layout_of<128>.queries;
constexpr int slice = bundled::decode_slice;  // tokens that a warp takes at a time
constexpr int warps = bundled::decode_warps;
constexpr int threads = layout_of<128>.threads;
constexpr int block_tokens = layout_of<128>.keys;
constexpr int blocks_per_multiprocessor = layout_of<128>.blocks_per_sm;
constexpr int max_splits = bundled::decode_most_splits;
static_assert(rows_per_tile == 16 && block_tokens == warps * slice && threads == warps * 32);

template <int HeadDim>
constexpr int stages_of = layout_of<HeadDim>.stages;
template <int HeadDim>
constexpr int slice_bytes = slice* HeadDim * 2;
static_assert(layout_of<64>.shared_bytes == warps * stages_of<64> * 2 * slice_bytes<64>);
static_assert(layout_of<128>.shared_bytes == warps * stages_of<128> * 2 * slice_bytes<128>);

struct Extents {
    int queries;
    int keys;
    int heads;
    int kv_heads;
    int rows;              // (heads / kv_heads) * queries: rows that share one key-value head
    int tokens_per_split;  // a multiple of block_tokens
    int splits;
    AttentionStrides q;  // also of O
    AttentionStrides kv;
    float scale;
    float scale_log2;
    AttentionMask mask;
};

struct RowPlace {
    int head;
    int query;
};

__device__ __forceinline__ RowPlace place_of(int row, int kv_head, const Extents& extents) {
    return {.head = kv_head * (extents.heads / extents.kv_heads) + row / extents.queries,
            .query = row % extents.queries};
}

// One warp's running softmax over 16 rows; lane t holds rows t / 4 and t / 4 + 8.
template <int HeadDim>
struct Partial {
    float output[HeadDim / 8][4];
    float maximum[2];
    float sum[2];
};

template <typename Element, int HeadDim>
__device__ __forceinline__ void load_queries(std::uint32_t (&q)[HeadDim / 16][4],
                                             const Element* batch_q, int first_row, int kv_head,
                                             const Extents& extents) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = first_row + lane / 4 + half * 8;
        const bool in_range = row < extents.rows;
        const RowPlace place = place_of(in_range ? row : 0, kv_head, extents);
        const Element* const line =
            batch_q + place.head * extents.q.head + place.query * extents.q.token + lane % 4 * 2;
#pragma unroll
        for (int step = 0; step < HeadDim / 16; ++step) {
            q[step][half] =
                in_range ? *reinterpret_cast<const std::uint32_t*>(line + step * 16) : 0U;
            q[step][half + 2] =
                in_range ? *reinterpret_cast<const std::uint32_t*>(line + step * 16 + 8) : 0U;
        }
    }
}

// Starts the copy of one slice of K and V into a stage of this warp, with zeros beyond `end`.
template <typename Element, int HeadDim>
__device__ __forceinline__ void copy_slice(std::uint32_t stage, const Element* k, const Element* v,
                                           std::int64_t stride, int first, int end) {
    constexpr int chunks = HeadDim / 8;
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < slice * chunks / 32; ++i) {
        const int index = i * 32 + lane;
        const int row = index / chunks;
        const int chunk = index % chunks;
        const bool in_range = first + row < end;
        const std::int64_t offset = in_range ? (first + row) * stride + chunk * 8 : 0;
        const std::uint32_t destination = stage + mma::swizzled_offset<HeadDim * 2>(row, chunk);
        mma::copy_16_bytes(destination, k + offset, in_range);
        mma::copy_16_bytes(destination + slice_bytes<HeadDim>, v + offset, in_range);
    }
}

template <typename Element, int HeadDim>
__device__ __forceinline__ void attend_slice(Partial<HeadDim>& partial,
                                             const std::uint32_t (&q)[HeadDim / 16][4],
                                             std::uint32_t stage, int limit0, int limit1,
                                             float scale_log2) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float scores[2][4] = {};
#pragma unroll
    for (int step = 0; step < HeadDim / 16; ++step) {
        std::uint32_t k[4];
        mma::load_matrices(k, stage + mma::swizzled_offset<HeadDim * 2>(lane % 8 + lane / 16 * 8,
                                                                        step * 2 + lane / 8 % 2));
        mma::multiply<Element>(scores[0], q[step], k[0], k[1]);
        mma::multiply<Element>(scores[1], q[step], k[2], k[3]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int limit = half == 0 ? limit0 : limit1;
        float maximum = partial.maximum[half];
#pragma unroll
        for (int j = 0; j < 2; ++j) {
#pragma unroll
            for (int e = 0; e < 2; ++e) {
                if (j * 8 + lane % 4 * 2 + e >= limit) scores[j][half * 2 + e] = -INFINITY;
                maximum = fmaxf(maximum, scores[j][half * 2 + e]);
            }
        }
        maximum = quad_max(maximum);
        const float shift = maximum == -INFINITY ? 0.0F : maximum * scale_log2;
        const float correction = exp2_fast(partial.maximum[half] * scale_log2 - shift);
        partial.maximum[half] = maximum;
        partial.sum[half] *= correction;
#pragma unroll
        for (int j = 0; j < 2; ++j) {
#pragma unroll
            for (int e = half * 2; e < half * 2 + 2; ++e) {
                scores[j][e] = exp2_fast(fmaf(scores[j][e], scale_log2, -shift));
                partial.sum[half] += scores[j][e];
            }
        }
#pragma unroll
        for (int j = 0; j < HeadDim / 8; ++j) {
            partial.output[j][half * 2] *= correction;
            partial.output[j][half * 2 + 1] *= correction;
        }
    }
    const std::uint32_t p[4] = {mma::pack<Element>(scores[0][0], scores[0][1]),
                                mma::pack<Element>(scores[0][2], scores[0][3]),
                                mma::pack<Element>(scores[1][0], scores[1][1]),
                                mma::pack<Element>(scores[1][2], scores[1][3])};
#pragma unroll
    for (int j = 0; j < HeadDim / 8; j += 2) {
        std::uint32_t v[4];
        mma::load_matrices_transposed(
            v, stage + slice_bytes<HeadDim> +
                   mma::swizzled_offset<HeadDim * 2>(lane % 16, j + lane / 16));
        mma::multiply<Element>(partial.output[j], p, v[0], v[1]);
        mma::multiply<Element>(partial.output[j + 1], p, v[2], v[3]);
    }
}

// Shared memory in which the four warps merge: 16 rows each of unnormalised output, maximum and
// sum.
template <int HeadDim>
struct Exchange {
    float output[warps][rows_per_tile][HeadDim + 4];
    float maximum[warps][rows_per_tile];
    float sum[warps][rows_per_tile];
};

template <int HeadDim>
__device__ __forceinline__ void publish(Exchange<HeadDim>& exchange,
                                        const Partial<HeadDim>& partial) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        const int row = lane / 4 + half * 8;
        const float sum = quad_sum(partial.sum[half]);
        if (lane % 4 == 0) {
            exchange.maximum[warp][row] = partial.maximum[half];
            exchange.sum[warp][row] = sum;
        }
#pragma unroll
        for (int j = 0; j < HeadDim / 8; ++j) {
            exchange.output[warp][row][j * 8 + lane % 4 * 2] = partial.output[j][half * 2];
            exchange.output[warp][row][j * 8 + lane % 4 * 2 + 1] = partial.output[j][half * 2 + 1];
        }
    }
}

template <typename Element>
struct Outputs {
    Element* o;
    float* lse;
    float* partial_outputs;  // [row of O][split][head_dim], with more than one split
    float* partial_lse;      // [row of O][split]
};

// The part of the problem that a block works on.
struct BlockPlace {
    int split;
    int first_row;
    int batch;
    int kv_head;
};

// Merges the results of the four warps and writes them: to O and its log-sum-exp, or to the
// workspace when there are more splits.
template <typename Element, int HeadDim>
__device__ __forceinline__ void store_merged(const Exchange<HeadDim>& exchange,
                                             const Outputs<Element>& outputs,
                                             const BlockPlace& block, const Extents& extents) {
    for (int index = static_cast<int>(threadIdx.x); index < rows_per_tile * HeadDim;
         index += threads) {
        const int row = index / HeadDim;
        const int column = index % HeadDim;
        if (block.first_row + row >= extents.rows) break;
        float maximum = exchange.maximum[0][row];
#pragma unroll
        for (int w = 1; w < warps; ++w) maximum = fmaxf(maximum, exchange.maximum[w][row]);
        const float shift = maximum == -INFINITY ? 0.0F : maximum * extents.scale_log2;
        float value = 0.0F;
        float sum = 0.0F;
#pragma unroll
        for (int w = 0; w < warps; ++w) {
            const float weight = exp2_fast(exchange.maximum[w][row] * extents.scale_log2 - shift);
            value += weight * exchange.output[w][row][column];
            sum += weight * exchange.sum[w][row];
        }
        value = sum > 0.0F ? value / sum : 0.0F;
        const float row_lse = sum > 0.0F ? maximum * extents.scale + logf(sum) : -INFINITY;
        const RowPlace place = place_of(block.first_row + row, block.kv_head, extents);
        const std::int64_t line =
            (static_cast<std::int64_t>(block.batch) * extents.heads + place.head) *
                extents.queries +
            place.query;
        if (extents.splits == 1) {
            outputs.o[block.batch * extents.q.batch + place.head * extents.q.head +
                      place.query * extents.q.token + column] = mma::round_to<Element>(value);
            if (column == 0) outputs.lse[line] = row_lse;
        } else {
            outputs.partial_outputs[(line * extents.splits + block.split) * HeadDim + column] =
                value;
            if (column == 0) outputs.partial_lse[line * extents.splits + block.split] = row_lse;
        }
    }
}

// One past the last key that the query of `row` sees in a split that ends at `end`.
__device__ __forceinline__ int visible_end(int row, int end, const Extents& extents) {
    if (extents.mask == AttentionMask::none) return end;
    return min(end, row % extents.queries + 1 + extents.keys - extents.queries);
}

template <typename Element, int HeadDim>
__global__ void __launch_bounds__(threads, blocks_per_multiprocessor)
    attention_decode_kernel(const Element* __restrict__ q, const Element* __restrict__ k,
                            const Element* __restrict__ v, const Outputs<Element> outputs,
                            const Extents extents) {
    extern __shared__ __align__(128) unsigned char stages_bytes[];
    constexpr int stages = stages_of<HeadDim>;
    static_assert(sizeof(Exchange<HeadDim>) <= layout_of<HeadDim>.shared_bytes);
    const BlockPlace place{.split = static_cast<int>(blockIdx.x),
                           .first_row = static_cast<int>(blockIdx.y) * rows_per_tile,
                           .batch = static_cast<int>(blockIdx.z) / extents.kv_heads,
                           .kv_head = static_cast<int>(blockIdx.z) % extents.kv_heads};
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    k += place.batch * extents.kv.batch + place.kv_head * extents.kv.head;
    v += place.batch * extents.kv.batch + place.kv_head * extents.kv.head;

    const int begin = place.split * extents.tokens_per_split;
    const int end = min(extents.keys, begin + extents.tokens_per_split);
    const int warp_begin = begin + warp * slice;
    const int slices = warp_begin < end ? (end - warp_begin + block_tokens - 1) / block_tokens : 0;
    const std::uint32_t ring =
        mma::shared_address(stages_bytes) + warp * stages * 2 * slice_bytes<HeadDim>;
    const auto copy = [&](int index) {
        if (index < slices)
            copy_slice<Element, HeadDim>(ring + index % stages * 2 * slice_bytes<HeadDim>, k, v,
                                         extents.kv.token, warp_begin + index * block_tokens, end);
        mma::commit_copies();
    };
#pragma unroll
    for (int index = 0; index < stages; ++index) copy(index);

    std::uint32_t queries[HeadDim / 16][4];
    load_queries<Element, HeadDim>(queries, q + place.batch * extents.q.batch, place.first_row,
                                   place.kv_head, extents);
    const int row = place.first_row + lane / 4;
    const int limits[2] = {visible_end(row, end, extents), visible_end(row + 8, end, extents)};

    Partial<HeadDim> partial{};
    partial.maximum[0] = partial.maximum[1] = -INFINITY;
    for (int index = 0; index < slices; ++index) {
        mma::wait_copies<stages - 1>();
        __syncwarp();
        const int first = warp_begin + index * block_tokens;
        attend_slice<Element, HeadDim>(partial, queries,
                                       ring + index % stages * 2 * slice_bytes<HeadDim>,
                                       limits[0] - first, limits[1] - first, extents.scale_log2);
        __syncwarp();
        copy(index + stages);
    }
    mma::wait_copies<0>();
    __syncthreads();

    auto& exchange = *reinterpret_cast<Exchange<HeadDim>*>(stages_bytes);
    publish(exchange, partial);
    __syncthreads();
    store_merged<Element, HeadDim>(exchange, outputs, place, extents);
}

// One block per row (head and query), one thread per element of head_dim: adds the partial outputs
// weighted by exp(lse - total lse).
template <typename Element, int HeadDim>
__global__ void __launch_bounds__(HeadDim)
    attention_combine_kernel(Element* __restrict__ o, float* __restrict__ lse,
                             const float* __restrict__ partial_outputs,
                             const float* __restrict__ partial_lse, const Extents extents) {
    __shared__ float weights[max_splits];
    __shared__ float warp_values[HeadDim / 32];
    const std::int64_t line = blockIdx.x;
    const int thread = static_cast<int>(threadIdx.x);
    const float* const line_lse = partial_lse + line * extents.splits;
    const auto reduce = [&](float value, auto combine) {
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2)
            value = combine(value, __shfl_xor_sync(0xffffffffU, value, distance));
        __syncthreads();
        if (thread % 32 == 0) warp_values[thread / 32] = value;
        __syncthreads();
        value = warp_values[0];
#pragma unroll
        for (int w = 1; w < HeadDim / 32; ++w) value = combine(value, warp_values[w]);
        return value;
    };

    float maximum = -INFINITY;
    for (int split = thread; split < extents.splits; split += HeadDim)
        maximum = fmaxf(maximum, line_lse[split]);
    maximum = reduce(maximum, [](float a, float b) { return fmaxf(a, b); });
    float sum = 0.0F;
    for (int split = thread; split < extents.splits; split += HeadDim) {
        const float weight = maximum == -INFINITY ? 0.0F : __expf(line_lse[split] - maximum);
        weights[split] = weight;
        sum += weight;
    }
    sum = reduce(sum, [](float a, float b) { return a + b; });

    const float* const values = partial_outputs + line * extents.splits * HeadDim + thread;
    float value = 0.0F;
    for (int split = 0; split < extents.splits; ++split)
        value += weights[split] * values[split * HeadDim];
    const std::int64_t per_batch = static_cast<std::int64_t>(extents.heads) * extents.queries;
    const std::int64_t batch = line / per_batch;
    const std::int64_t head = line % per_batch / extents.queries;
    const std::int64_t query = line % extents.queries;
    o[batch * extents.q.batch + head * extents.q.head + query * extents.q.token + thread] =
        mma::round_to<Element>(sum > 0.0F ? value / sum : 0.0F);
    if (thread == 0) lse[line] = sum > 0.0F ? maximum + logf(sum) : -INFINITY;
}

Extents split_extents(const AttentionProblem& p, std::int64_t splits) {
    constexpr float log2_e = 1.4426950408889634F;
    const std::int64_t tokens = bundled::decode_keys_per_split(extents_of(p), splits);
    return {.queries = static_cast<int>(p.queries),
            .keys = static_cast<int>(p.keys),
            .heads = static_cast<int>(p.heads),
            .kv_heads = static_cast<int>(p.kv_heads),
            .rows = static_cast<int>(p.heads / p.kv_heads * p.queries),
            .tokens_per_split = static_cast<int>(tokens),
            .splits = static_cast<int>(splits),
            .q = attention_strides(p.layout, p.heads, p.queries, p.head_dim),
            .kv = attention_strides(p.layout, p.kv_heads, p.keys, p.head_dim),
            .scale = p.scale,
            .scale_log2 = p.scale * log2_e,
            .mask = p.mask};
}

template <typename Element, int HeadDim>
Launch build(const AttentionProblem& p, void* workspace, std::int64_t splits) {
    const Extents extents = split_extents(p, splits);
    auto* const kernel = attention_decode_kernel<Element, HeadDim>;
    const std::int64_t lines = p.batch * p.heads * p.queries;
    auto* const partial_outputs = static_cast<float*>(workspace);
    float* const partial_lse =
        partial_outputs == nullptr ? nullptr : partial_outputs + lines * splits * HeadDim;
    const Outputs<Element> outputs{.o = static_cast<Element*>(p.o),
                                   .lse = p.lse,
                                   .partial_outputs = partial_outputs,
                                   .partial_lse = partial_lse};
    const LaunchShape shape =
        shape_of(bundled::decode_grid(extents_of(p), splits), SharedMemory::dynamic);
    const LaunchShape combine = shape_of(bundled::decode_combine_grid(extents_of(p)));
    allow_shared_bytes("attention_decode", kernel, shape.dynamic_shared_bytes);
    return [=](cudaStream_t stream) {
        launch_kernel("attention_decode", kernel, shape, stream, static_cast<const Element*>(p.q),
                      static_cast<const Element*>(p.k), static_cast<const Element*>(p.v), outputs,
                      extents);
        if (splits > 1)
            launch_kernel("attention_combine", attention_combine_kernel<Element, HeadDim>, combine,
                          stream, static_cast<Element*>(p.o), p.lse,
                          static_cast<const float*>(partial_outputs),
                          static_cast<const float*>(partial_lse), extents);
    };
}

}  // namespace

std::size_t attention_decode_workspace_bytes(const AttentionProblem& p, std::int64_t splits) {
    return static_cast<std::size_t>(p.batch * p.heads * p.queries * splits * (p.head_dim + 1)) *
           sizeof(float);
}

Launch attention_decode(const AttentionProblem& p, void* workspace, std::int64_t splits) {
    require_attention("attention_decode", p);
    if (splits < 1 || splits > max_splits)
        throw std::runtime_error("attention_decode: splits must be from 1 to " +
                                 std::to_string(max_splits));
    if (splits > 1 && workspace == nullptr)
        throw std::runtime_error("attention_decode: more than one split needs a workspace");
    if (p.batch * p.kv_heads > 65535 || bundled::decode_row_tiles(extents_of(p)) > 65535)
        throw std::runtime_error(
            "attention_decode: batch * kv_heads and the row tiles must each be at most 65535");
    if (p.type == ElementType::bfloat16)
        return p.head_dim == 128 ? build<__nv_bfloat16, 128>(p, workspace, splits)
                                 : build<__nv_bfloat16, 64>(p, workspace, splits);
    return p.head_dim == 128 ? build<__half, 128>(p, workspace, splits)
                             : build<__half, 64>(p, workspace, splits);
}

}  // namespace ridge::measure::cuda
