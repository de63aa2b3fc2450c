// Tiled attention with mma.sync: online softmax in registers, for sm_80 and newer.
//
// Method (after FlashAttention-2, Dao, arXiv 2307.08691): a block of 4 warps owns 128 queries of
// one head, 32 rows per warp, and walks the keys in blocks of 64 that cp.async copies into two
// shared-memory buffers, with K and V each one block ahead of their use. Each warp keeps its
// output, running maximum and sum in registers; the scores of a block stay there and become the
// operand of P V. exp(scale (s - m)) is exp2 with scale log2(e) folded into one multiply-add. With
// a causal mask, key blocks beyond the diagonal are skipped, and the longest tiles (last queries)
// are launched first.
#include "measure/cuda/kernels/attention.h"
#include "measure/cuda/kernels/mma_sync.cuh"
#include "measure/cuda/kernels/row_math.cuh"

namespace ridge::measure::cuda {
namespace {

template <int HeadDim>
constexpr bundled::AttentionKernel layout_of = bundled::attention_mma_sync(HeadDim);
constexpr int block_m = layout_of<128>.queries;
constexpr int block_n = layout_of<128>.keys;
constexpr int threads = layout_of<128>.threads;
constexpr int blocks_per_multiprocessor = layout_of<128>.blocks_per_sm;
constexpr int row_tiles = 2;  // 16-row tiles per warp
constexpr int warp_rows = row_tiles * 16;
static_assert(block_m == threads / 32 * warp_rows && layout_of<128>.stages == 2);
static_assert(layout_of<64>.queries == block_m && layout_of<64>.keys == block_n);

struct Extents {
    int queries;
    int keys;
    int heads_per_kv;
    AttentionStrides q;  // also of O
    AttentionStrides kv;
    float scale;
    float scale_log2;
};

static_assert(layout_of<64>.shared_bytes == (block_m + 4 * block_n) * 64 * 2);
static_assert(layout_of<128>.shared_bytes == (block_m + 4 * block_n) * 128 * 2);

// Starts the copy of `Rows` tokens of one head, with zeros beyond `tokens`.
template <int HeadDim, int Rows, typename Element>
__device__ __forceinline__ void copy_tokens(std::uint32_t destination, const Element* head,
                                            std::int64_t stride, int first, int tokens) {
    constexpr int chunks = HeadDim / 8;
    constexpr int rows_per_pass = threads / chunks;
    static_assert(rows_per_pass % 8 == 0, "the swizzle repeats every 8 rows");
    const int row = static_cast<int>(threadIdx.x) / chunks;
    const int chunk = static_cast<int>(threadIdx.x) % chunks;
    destination += mma::swizzled_offset<HeadDim * 2>(row, chunk);
    const Element* source = head + (first + row) * stride + chunk * 8;
#pragma unroll
    for (int i = 0; i < Rows / rows_per_pass; ++i) {
        const bool in_range = first + row + i * rows_per_pass < tokens;
        mma::copy_16_bytes(destination + i * rows_per_pass * HeadDim * 2, in_range ? source : head,
                           in_range);
        source += rows_per_pass * stride;
    }
}

// Tiles start at multiples of their row length, so that the swizzle of a chunk is an exclusive-or
// on the address of its row.
using Scores = float[row_tiles][block_n / 8][4];

template <typename Element, int HeadDim>
__device__ __forceinline__ void multiply_scores(Scores& scores, std::uint32_t q_tile,
                                                std::uint32_t k_tile) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp_row = static_cast<int>(threadIdx.x) / 32 * warp_rows;
    constexpr int row_bytes = HeadDim * 2;
    const std::uint32_t q_lane =
        q_tile + mma::swizzled_offset<row_bytes>(warp_row + lane % 16, lane / 16);
    const std::uint32_t k_lane =
        k_tile + mma::swizzled_offset<row_bytes>(lane % 8 + lane / 16 * 8, lane / 8 % 2);
#pragma unroll
    for (int i = 0; i < row_tiles; ++i)
#pragma unroll
        for (int j = 0; j < block_n / 8; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) scores[i][j][e] = 0.0F;
#pragma unroll
    for (int step = 0; step < HeadDim / 16; ++step) {
        std::uint32_t q[row_tiles][4];
#pragma unroll
        for (int i = 0; i < row_tiles; ++i)
            mma::load_matrices(q[i], (q_lane ^ (step * 32)) + i * 16 * row_bytes);
#pragma unroll
        for (int j = 0; j < block_n / 8; j += 2) {
            std::uint32_t k[4];
            mma::load_matrices(k, (k_lane ^ (step * 32)) + j * 8 * row_bytes);
#pragma unroll
            for (int i = 0; i < row_tiles; ++i) {
                mma::multiply<Element>(scores[i][j], q[i], k[0], k[1]);
                mma::multiply<Element>(scores[i][j + 1], q[i], k[2], k[3]);
            }
        }
    }
}

template <typename Element, int HeadDim>
__device__ __forceinline__ void multiply_output(float (&output)[row_tiles][HeadDim / 8][4],
                                                const Scores& p, std::uint32_t v_tile) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    constexpr int row_bytes = HeadDim * 2;
    const std::uint32_t v_lane = v_tile + mma::swizzled_offset<row_bytes>(lane % 16, lane / 16);
#pragma unroll
    for (int step = 0; step < block_n / 16; ++step) {
        std::uint32_t a[row_tiles][4];
#pragma unroll
        for (int i = 0; i < row_tiles; ++i) {
            const auto& left = p[i][step * 2];
            const auto& right = p[i][step * 2 + 1];
            a[i][0] = mma::pack<Element>(left[0], left[1]);
            a[i][1] = mma::pack<Element>(left[2], left[3]);
            a[i][2] = mma::pack<Element>(right[0], right[1]);
            a[i][3] = mma::pack<Element>(right[2], right[3]);
        }
#pragma unroll
        for (int j = 0; j < HeadDim / 8; j += 2) {
            std::uint32_t v[4];
            mma::load_matrices_transposed(v, (v_lane ^ (j * 16)) + step * 16 * row_bytes);
#pragma unroll
            for (int i = 0; i < row_tiles; ++i) {
                mma::multiply<Element>(output[i][j], a[i], v[0], v[1]);
                mma::multiply<Element>(output[i][j + 1], a[i], v[2], v[3]);
            }
        }
    }
}

struct RowState {
    float maximum[row_tiles][2];
    float sum[row_tiles][2];
};

// Replaces scores by exp(scale (score - maximum)) with the updated maximum, and rescales output and
// sum accordingly.
template <int HeadDim>
__device__ __forceinline__ void exponentiate(Scores& scores,
                                             float (&output)[row_tiles][HeadDim / 8][4],
                                             RowState& rows, float scale_log2) {
#pragma unroll
    for (int i = 0; i < row_tiles; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float maximum = rows.maximum[i][half];
#pragma unroll
            for (int j = 0; j < block_n / 8; ++j)
                maximum = fmaxf(maximum, fmaxf(scores[i][j][half * 2], scores[i][j][half * 2 + 1]));
            maximum = quad_max(maximum);
            const float shift = maximum == -INFINITY ? 0.0F : maximum * scale_log2;
            const float correction = exp2_fast(rows.maximum[i][half] * scale_log2 - shift);
            rows.maximum[i][half] = maximum;
            float sum = rows.sum[i][half] * correction;
#pragma unroll
            for (int j = 0; j < block_n / 8; ++j) {
#pragma unroll
                for (int e = half * 2; e < half * 2 + 2; ++e) {
                    scores[i][j][e] = exp2_fast(fmaf(scores[i][j][e], scale_log2, -shift));
                    sum += scores[i][j][e];
                }
            }
            rows.sum[i][half] = sum;
#pragma unroll
            for (int j = 0; j < HeadDim / 8; ++j) {
                output[i][j][half * 2] *= correction;
                output[i][j][half * 2 + 1] *= correction;
            }
        }
    }
}

template <AttentionMask Mask>
__device__ __forceinline__ void hide_keys(Scores& scores, int first_key, int warp_first_row,
                                          const Extents& extents) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int offset =
        extents.keys - extents.queries + 1;  // query i sees the keys below i + offset
    int smallest = extents.keys;
    if constexpr (Mask == AttentionMask::causal) smallest = min(smallest, warp_first_row + offset);
    if (first_key + block_n <= smallest) return;
#pragma unroll
    for (int i = 0; i < row_tiles; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            int limit = extents.keys;
            if constexpr (Mask == AttentionMask::causal)
                limit = min(limit, warp_first_row + i * 16 + half * 8 + lane / 4 + offset);
#pragma unroll
            for (int j = 0; j < block_n / 8; ++j) {
                const int key = first_key + j * 8 + lane % 4 * 2;
                if (key >= limit) scores[i][j][half * 2] = -INFINITY;
                if (key + 1 >= limit) scores[i][j][half * 2 + 1] = -INFINITY;
            }
        }
    }
}

template <typename Element, int HeadDim>
__device__ __forceinline__ void store(const float (&output)[row_tiles][HeadDim / 8][4],
                                      const RowState& rows, Element* o, float* lse,
                                      int warp_first_row, const Extents& extents) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
#pragma unroll
    for (int i = 0; i < row_tiles; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const float sum = quad_sum(rows.sum[i][half]);
            const int row = warp_first_row + i * 16 + half * 8 + lane / 4;
            if (row >= extents.queries) continue;
            if (lane % 4 == 0)
                lse[row] =
                    sum > 0.0F ? rows.maximum[i][half] * extents.scale + logf(sum) : -INFINITY;
            const float inverse = sum > 0.0F ? 1.0F / sum : 0.0F;
            Element* const line = o + row * extents.q.token + lane % 4 * 2;
#pragma unroll
            for (int j = 0; j < HeadDim / 8; ++j)
                *reinterpret_cast<std::uint32_t*>(line + j * 8) = mma::pack<Element>(
                    output[i][j][half * 2] * inverse, output[i][j][half * 2 + 1] * inverse);
        }
    }
}

template <typename Element, int HeadDim, AttentionMask Mask>
__global__ void __launch_bounds__(threads, blocks_per_multiprocessor)
    attention_mma_sync_kernel(const Element* __restrict__ q, const Element* __restrict__ k,
                              const Element* __restrict__ v, Element* __restrict__ o,
                              float* __restrict__ lse, const Extents extents) {
    extern __shared__ __align__(256) unsigned char tiles[];
    constexpr int kv_bytes = block_n * HeadDim * 2;
    const std::uint32_t q_tile = mma::shared_address(tiles);
    const std::uint32_t k_tiles = q_tile + block_m * HeadDim * 2;
    const std::uint32_t v_tiles = k_tiles + 2 * kv_bytes;

    const int query_tile = static_cast<int>(gridDim.x - 1 - blockIdx.x);
    const int head = static_cast<int>(blockIdx.y);
    const int batch = static_cast<int>(blockIdx.z);
    q += batch * extents.q.batch + head * extents.q.head;
    o += batch * extents.q.batch + head * extents.q.head;
    k += batch * extents.kv.batch + head / extents.heads_per_kv * extents.kv.head;
    v += batch * extents.kv.batch + head / extents.heads_per_kv * extents.kv.head;
    lse += (static_cast<std::int64_t>(batch) * gridDim.y + head) * extents.queries;

    int visible = extents.keys;
    if constexpr (Mask == AttentionMask::causal)
        visible = min(visible, (query_tile + 1) * block_m + extents.keys - extents.queries);
    const int key_blocks = max(1, (visible + block_n - 1) / block_n);
    const auto copy_kv = [&](const Element* head_tokens, std::uint32_t buffers, int block) {
        if (block < key_blocks)
            copy_tokens<HeadDim, block_n>(buffers + block % 2 * kv_bytes, head_tokens,
                                          extents.kv.token, block * block_n, extents.keys);
        mma::commit_copies();
    };

    const int warp_first_row =
        query_tile * block_m + static_cast<int>(threadIdx.x) / 32 * warp_rows;
    float output[row_tiles][HeadDim / 8][4] = {};
    RowState rows;
#pragma unroll
    for (int i = 0; i < row_tiles; ++i) {
        rows.maximum[i][0] = rows.maximum[i][1] = -INFINITY;
        rows.sum[i][0] = rows.sum[i][1] = 0.0F;
    }

    copy_tokens<HeadDim, block_m>(q_tile, q, extents.q.token, query_tile * block_m,
                                  extents.queries);
    copy_kv(k, k_tiles, 0);
    copy_kv(v, v_tiles, 0);
    for (int block = 0; block < key_blocks; ++block) {
        Scores scores;
        mma::wait_copies<1>();
        __syncthreads();
        copy_kv(k, k_tiles, block + 1);
        multiply_scores<Element, HeadDim>(scores, q_tile, k_tiles + block % 2 * kv_bytes);
        hide_keys<Mask>(scores, block * block_n, warp_first_row, extents);
        exponentiate<HeadDim>(scores, output, rows, extents.scale_log2);
        mma::wait_copies<1>();
        __syncthreads();
        copy_kv(v, v_tiles, block + 1);
        multiply_output<Element, HeadDim>(output, scores, v_tiles + block % 2 * kv_bytes);
    }
    store<Element, HeadDim>(output, rows, o, lse, warp_first_row, extents);
}

template <typename Use>
auto with_kernel(const AttentionProblem& p, Use use) {
    const auto with_element = [&]<typename Element>(Element element) {
        const bool causal = p.mask == AttentionMask::causal;
        if (p.head_dim == 128)
            return causal
                       ? use(element,
                             attention_mma_sync_kernel<Element, 128, AttentionMask::causal>)
                       : use(element, attention_mma_sync_kernel<Element, 128, AttentionMask::none>);
        return causal ? use(element, attention_mma_sync_kernel<Element, 64, AttentionMask::causal>)
                      : use(element, attention_mma_sync_kernel<Element, 64, AttentionMask::none>);
    };
    return p.type == ElementType::bfloat16 ? with_element(__nv_bfloat16{}) : with_element(__half{});
}

}  // namespace

Launch attention_mma_sync(const AttentionProblem& p) {
    require_attention("attention_mma_sync", p);
    constexpr float log2_e = 1.4426950408889634F;
    const Extents extents{.queries = static_cast<int>(p.queries),
                          .keys = static_cast<int>(p.keys),
                          .heads_per_kv = static_cast<int>(p.heads / p.kv_heads),
                          .q = attention_strides(p.layout, p.heads, p.queries, p.head_dim),
                          .kv = attention_strides(p.layout, p.kv_heads, p.keys, p.head_dim),
                          .scale = p.scale,
                          .scale_log2 = p.scale * log2_e};
    const LaunchShape shape =
        shape_of(bundled::attention_mma_sync_grid(extents_of(p)), SharedMemory::dynamic);
    return with_kernel(p, [&]<typename Element>(Element, auto* kernel) -> Launch {
        allow_shared_bytes("attention_mma_sync", kernel, shape.dynamic_shared_bytes);
        return [=](cudaStream_t stream) {
            launch_kernel("attention_mma_sync", kernel, shape, stream,
                          static_cast<const Element*>(p.q), static_cast<const Element*>(p.k),
                          static_cast<const Element*>(p.v), static_cast<Element*>(p.o), p.lse,
                          extents);
        };
    });
}

}  // namespace ridge::measure::cuda
