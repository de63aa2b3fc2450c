// Tiled attention on Hopper: online softmax over wgmma and TMA, persistent, warp-specialised.
//
// Method (after FlashAttention-3, Shah et al., arXiv 2407.08608): a block owns one tile of queries
// at a time, 64 rows per consumer warpgroup, and walks the key blocks from the last to the first
// while one producer thread copies Q, K and V into shared memory. Each consumer issues the product
// Q K^T of the next key block and then P V of the current one, and computes the softmax of the next
// block while P V is still running; named barriers hand the tensor cores from warpgroup to
// warpgroup, so that one computes exponentials while another multiplies. Scores stay in registers:
// the accumulator layout of Q K^T is the operand layout of P V. Rows keep a running maximum m and
// sum l; exp(scale (s - m)) is exp2 with scale log2(e) folded into one multiply-add.
//
// Schedule: a block that finishes takes the next query tile from a counter in global memory. Heads
// are processed in groups whose keys and values fit in two thirds of L2. Within a group the longest
// tiles (last queries, when causal) come first, and key blocks beyond the diagonal are skipped. The
// counter returns to zero at the end of each launch, so a Launch must not overlap itself.
//
// Tiles: head_dim 128: 128 queries x 176 keys (128 when causal), 2 consumers; head_dim 64: 192 x
// 128, 3 consumers (bundled::attention_wgmma). FLOP executed are those of whole key blocks.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <memory>

#include "measure/cuda/kernels/attention.h"
#include "measure/cuda/kernels/tensor_map.h"
#include "measure/cuda/kernels/wgmma_softmax.cuh"

namespace ridge::measure::cuda {
namespace {

using namespace hopper;

constexpr int kv_stages = bundled::attention_wgmma(128, false).stages;
constexpr int rows_per_warpgroup = bundled::attention_warpgroup_rows;
static_assert(bundled::attention_warpgroup == warpgroup_threads);
constexpr int warps_per_warpgroup = 4;
// Named barriers: turn_barrier + w lets warpgroup w use the tensor cores; epilogue_barrier + w is
// only for the threads of warpgroup w.
constexpr int turn_barrier = 1;
constexpr int epilogue_barrier = 5;

template <int HeadDim_, int BlockN_, int Consumers_, AttentionMask Mask_>
struct Tile {
    static constexpr int head_dim = HeadDim_;
    static constexpr int block_n = BlockN_;
    static constexpr int consumers = Consumers_;
    static constexpr AttentionMask mask = Mask_;
    static constexpr int block_m = consumers * rows_per_warpgroup;
    static constexpr int threads = (consumers + 1) * warpgroup_threads;
    static constexpr int producer_registers = consumers == 2 ? 40 : 32;
    static constexpr int consumer_registers = consumers == 2 ? 232 : 160;
    static constexpr int panels =
        head_dim / tensor_map_box_columns;  // boxes side by side that make up head_dim
    static constexpr int q_panel_bytes = rows_per_warpgroup * 128;
    static constexpr int kv_panel_bytes = block_n * 128;
};

template <typename T>
struct SharedStorage {
    alignas(1024) unsigned char q[T::consumers]
                                 [T::panels * T::q_panel_bytes];  // reused to stage the output
    alignas(1024) unsigned char k[kv_stages][T::panels * T::kv_panel_bytes];
    alignas(1024) unsigned char v[kv_stages][T::panels * T::kv_panel_bytes];
    int tile[T::consumers];  // the tile whose Q is in q, guarded by the barriers of q; past the
                             // last one: no more work
    int next_tile;           // used only by the producer
    Barrier q_full[T::consumers];
    Barrier q_empty[T::consumers];
    Barrier k_full[kv_stages];
    Barrier k_empty[kv_stages];
    Barrier v_full[kv_stages];
    Barrier v_empty[kv_stages];
};

struct Walk {
    int queries;
    int keys;
    int heads;
    int heads_per_kv;
    int batch_heads;    // batch * heads
    int query_tiles;    // per head
    int heads_grouped;  // heads whose keys and values are kept in L2 together
    float scale_log2;   // scale * log2(e)
    float scale;
};

struct Work {
    int query_tile;
    int head;
    int batch;
    int key_blocks;
};

template <typename T>
__device__ __forceinline__ Work locate(const Walk& walk, int index) {
    const int per_group = walk.heads_grouped * walk.query_tiles;
    const int group = index / per_group;
    const int in_group = index - group * per_group;
    const int first_head = group * walk.heads_grouped;
    const int heads = min(walk.heads_grouped, walk.batch_heads - first_head);
    const int batch_head = first_head + in_group % heads;
    const int query_tile = walk.query_tiles - 1 - in_group / heads;
    int visible = walk.keys;
    if constexpr (T::mask == AttentionMask::causal)
        visible = min(visible, (query_tile + 1) * T::block_m + walk.keys - walk.queries);
    return {.query_tile = query_tile,
            .head = batch_head % walk.heads,
            .batch = batch_head / walk.heads,
            .key_blocks = max(1, (visible + T::block_n - 1) / T::block_n)};
}

// The next tile that no block has taken yet. The first tiles are those equal to the block indices;
// a counter gives out the rest. There is one call per tile, so the counter wraps to zero with the
// last call of the launch.
__device__ __forceinline__ int take_tile(unsigned* counter, int total) {
    return static_cast<int>(gridDim.x + atomicInc(counter, static_cast<unsigned>(total - 1)));
}

template <typename T>
__device__ __forceinline__ void load_kv(unsigned char* destination, const CUtensorMap& map,
                                        Barrier& full, Barrier& empty, std::uint32_t phase, int row,
                                        int head, int batch) {
    wait(empty, phase ^ 1);
    arrive_expecting(full, T::panels * T::kv_panel_bytes);
#pragma unroll
    for (int panel = 0; panel < T::panels; ++panel)
        load_box(destination + panel * T::kv_panel_bytes, map, full, panel * tensor_map_box_columns,
                 row, head, batch);
}

template <typename T>
__device__ __forceinline__ void load_q(const CUtensorMap& map, const Work& work, int index,
                                       std::uint32_t phase, SharedStorage<T>& shared) {
#pragma unroll
    for (int w = 0; w < T::consumers; ++w) {
        wait(shared.q_empty[w], phase ^ 1);
        shared.tile[w] = index;
        arrive_expecting(shared.q_full[w], T::panels * T::q_panel_bytes);
#pragma unroll
        for (int panel = 0; panel < T::panels; ++panel)
            load_box(shared.q[w] + panel * T::q_panel_bytes, map, shared.q_full[w],
                     panel * tensor_map_box_columns,
                     work.query_tile * T::block_m + w * rows_per_warpgroup, work.head, work.batch);
    }
}

template <typename T>
__device__ __forceinline__ void produce(const CUtensorMap& q_map, const CUtensorMap& k_map,
                                        const CUtensorMap& v_map, const Walk& walk,
                                        unsigned* counter, SharedStorage<T>& shared) {
    const int total = walk.batch_heads * walk.query_tiles;
    PipelineState<kv_stages> slot;
    std::uint32_t q_phase = 0;
    int index = static_cast<int>(blockIdx.x);
    while (index < total) {
        const Work work = locate<T>(walk, index);
        const int kv_head = work.head / walk.heads_per_kv;
#pragma unroll 1
        for (int block = work.key_blocks - 1; block >= 0; --block) {
            const int row = block * T::block_n;
            const auto s = slot.stage;
            load_kv<T>(shared.k[s], k_map, shared.k_full[s], shared.k_empty[s], slot.phase, row,
                       kv_head, work.batch);
            if (block == work.key_blocks - 1) {
                load_q<T>(q_map, work, index, q_phase, shared);
                shared.next_tile = take_tile(counter, total);  // the loads hide its latency here
            }
            load_kv<T>(shared.v[s], v_map, shared.v_full[s], shared.v_empty[s], slot.phase, row,
                       kv_head, work.batch);
            slot.advance();
        }
        q_phase ^= 1;
        index = shared.next_tile;
    }
    for (int w = 0; w < T::consumers; ++w) {
        wait(shared.q_empty[w], q_phase ^ 1);
        shared.tile[w] = index;
        arrive(shared.q_full[w]);
    }
}

__device__ __forceinline__ void release(Barrier& empty) {
    if (threadIdx.x % 32 == 0) arrive(empty);
}

// Scores (64 x block_n) = Q K^T, issued and committed but not awaited.
template <typename Element, typename T>
__device__ __forceinline__ void issue_scores(float (&scores)[T::block_n / 2],
                                             const unsigned char* q, const unsigned char* k) {
    const std::uint64_t a = k_major_descriptor(q);
    const std::uint64_t b = k_major_descriptor(k);
    begin();
#pragma unroll
    for (int i = 0; i < T::head_dim / 16; ++i) {
        const std::uint64_t a_offset = (i / 4 * T::q_panel_bytes >> 4) + i % 4 * k_major_step;
        const std::uint64_t b_offset = (i / 4 * T::kv_panel_bytes >> 4) + i % 4 * k_major_step;
        multiply<T::block_n, Element>(scores, a + a_offset, b + b_offset, i != 0);
    }
    commit();
}

// Output (64 x head_dim) += P V, issued and committed but not awaited.
template <typename Element, typename T>
__device__ __forceinline__ void issue_output(float (&output)[T::head_dim / 2],
                                             const std::uint32_t (&p)[T::block_n / 4],
                                             const unsigned char* v, bool accumulate) {
    const std::uint64_t b = n_major_descriptor(v, T::kv_panel_bytes);
    begin();
#pragma unroll
    for (int i = 0; i < T::block_n / 16; ++i)
        multiply<T::head_dim, Element, Major::n>(output, p[4 * i], p[4 * i + 1], p[4 * i + 2],
                                                 p[4 * i + 3], b + i * n_major_step,
                                                 accumulate || i != 0);
    commit();
}

// Masks the keys of one block that this thread's rows do not see; `first_row` is the first query of
// the warpgroup.
template <typename T>
__device__ __forceinline__ void mask_block(float (&scores)[T::block_n / 2], int block,
                                           int first_row, const Walk& walk) {
    const int first_key = block * T::block_n;
    int limit0 = walk.keys - first_key;
    int limit1 = limit0;
    int smallest = limit0;
    if constexpr (T::mask == AttentionMask::causal) {
        const int thread = static_cast<int>(threadIdx.x) % warpgroup_threads;
        const int offset = walk.keys - walk.queries + 1 -
                           first_key;  // query i sees the keys below i + offset of this block
        const int row = first_row + thread / 32 * 16 + thread % 32 / 4;
        smallest = min(smallest, first_row + offset);
        limit0 = min(limit0, row + offset);
        limit1 = min(limit1, row + 8 + offset);
    }
    if (smallest < T::block_n) hide_keys(scores, limit0, limit1);
}

// Runs all key blocks of one query tile for one warpgroup; leaves the unnormalised output and the
// row state.
template <typename Element, typename T>
__device__ __forceinline__ void attend(float (&output)[T::head_dim / 2], RowState& rows,
                                       int warpgroup, const Work& work, const Walk& walk,
                                       SharedStorage<T>& shared, PipelineState<kv_stages>& slot) {
    const int first_row = work.query_tile * T::block_m + warpgroup * rows_per_warpgroup;
    const int turn_threads = 2 * warpgroup_threads;
    const int next_warpgroup = warpgroup + 1 == T::consumers ? 0 : warpgroup + 1;

    float scores[T::block_n / 2];
    std::uint32_t p[T::block_n / 4];
    float correction[2];
    wait(shared.k_full[slot.stage], slot.phase);
    issue_scores<Element, T>(scores, shared.q[warpgroup], shared.k[slot.stage]);
    wait_for<0>();
    fence_operands(scores);
    release(shared.k_empty[slot.stage]);
    mask_block<T>(scores, work.key_blocks - 1, first_row, walk);
    exponentiate(scores, rows, correction, walk.scale_log2);
    round_scores<Element>(p, scores);
#pragma unroll
    for (int i = 0; i < T::head_dim / 2; ++i) output[i] = 0.0F;

    for (int block = work.key_blocks - 2; block >= 0; --block) {
        const PipelineState<kv_stages> current = slot;
        slot.advance();
        wait(shared.k_full[slot.stage], slot.phase);
        named_sync(turn_barrier + warpgroup, turn_threads);
        fence_operands(scores);
        issue_scores<Element, T>(scores, shared.q[warpgroup], shared.k[slot.stage]);
        wait(shared.v_full[current.stage], current.phase);
        fence_operands(output);
        fence_operands(p);
        issue_output<Element, T>(output, p, shared.v[current.stage], true);
        named_arrive(turn_barrier + next_warpgroup, turn_threads);
        wait_for<1>();
        fence_operands(scores);
        release(shared.k_empty[slot.stage]);
        mask_block<T>(scores, block, first_row, walk);
        exponentiate(scores, rows, correction, walk.scale_log2);
        wait_for<0>();
        fence_operands(output);
        fence_operands(p);
        release(shared.v_empty[current.stage]);
        round_scores<Element>(p, scores);
        rescale(output, correction);
    }
    wait(shared.v_full[slot.stage], slot.phase);
    fence_operands(output);
    fence_operands(p);
    issue_output<Element, T>(output, p, shared.v[slot.stage], true);
    wait_for<0>();
    fence_operands(output);
    release(shared.v_empty[slot.stage]);
    slot.advance();
}

template <typename Element, typename T>
__device__ __forceinline__ void consume(int warpgroup, const CUtensorMap& o_map, const Walk& walk,
                                        float* lse, SharedStorage<T>& shared) {
    const int total = walk.batch_heads * walk.query_tiles;
    const int thread = static_cast<int>(threadIdx.x) % warpgroup_threads;
    PipelineState<kv_stages> slot;
    std::uint32_t q_phase = 0;
    if (warpgroup == T::consumers - 1)
        named_arrive(turn_barrier, 2 * warpgroup_threads);  // the first turn is warpgroup 0's
    while (true) {
        wait(shared.q_full[warpgroup], q_phase);
        q_phase ^= 1;
        const int index = shared.tile[warpgroup];
        if (index >= total) break;
        const Work work = locate<T>(walk, index);
        float output[T::head_dim / 2];
        RowState rows;
        attend<Element, T>(output, rows, warpgroup, work, walk, shared, slot);

        const int first_row = work.query_tile * T::block_m + warpgroup * rows_per_warpgroup;
        float inverse[2];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
            const float sum = quad_sum(rows.sum[r]);
            inverse[r] = sum > 0.0F ? 1.0F / sum : 0.0F;
            const int row = first_row + thread / 32 * 16 + thread % 32 / 4 + 8 * r;
            if (thread % 4 == 0 && row < walk.queries)
                lse[(static_cast<std::int64_t>(work.batch) * walk.heads + work.head) *
                        walk.queries +
                    row] = sum > 0.0F ? rows.maximum[r] * walk.scale + logf(sum) : -INFINITY;
        }
        // Q of this warpgroup is no longer needed, so its shared memory can hold the output. Every
        // warp must have finished reading it.
        named_sync(epilogue_barrier + warpgroup, warpgroup_threads);
        store_fragments<Element, T::head_dim>(shared.q[warpgroup], output, 0, inverse[0],
                                              inverse[1]);
        fence_async_proxy();
        named_sync(epilogue_barrier + warpgroup, warpgroup_threads);
        if (thread == 0) {
#pragma unroll
            for (int panel = 0; panel < T::panels; ++panel)
                store_box(o_map, shared.q[warpgroup] + panel * T::q_panel_bytes,
                          panel * tensor_map_box_columns, first_row, work.head, work.batch);
            commit_stores();
            wait_stores_read();
        }
        arrive(shared.q_empty[warpgroup]);  // every thread has read the tile's index
    }
    if (warpgroup == 0)
        named_sync(turn_barrier, 2 * warpgroup_threads);  // consumes the remaining turn
    if (thread == 0) wait_stores();
}

template <typename Element, typename T>
__global__ void __launch_bounds__(T::threads, 1)
    attention_wgmma_kernel(const __grid_constant__ CUtensorMap q_map,
                           const __grid_constant__ CUtensorMap k_map,
                           const __grid_constant__ CUtensorMap v_map,
                           const __grid_constant__ CUtensorMap o_map, const Walk walk, float* lse,
                           unsigned* counter) {
    if constexpr (can_compile) {
        extern __shared__ __align__(1024) unsigned char shared_bytes[];
        auto& shared = *reinterpret_cast<SharedStorage<T>*>(shared_bytes);
        if (threadIdx.x == 0) {
            for (int w = 0; w < T::consumers; ++w) {
                init(shared.q_full[w], 1);
                init(shared.q_empty[w], warpgroup_threads);
            }
            for (int stage = 0; stage < kv_stages; ++stage) {
                init(shared.k_full[stage], 1);
                init(shared.v_full[stage], 1);
                init(shared.k_empty[stage], T::consumers * warps_per_warpgroup);
                init(shared.v_empty[stage], T::consumers * warps_per_warpgroup);
            }
            fence_barrier_init();
        }
        __syncthreads();
        const int role = static_cast<int>(threadIdx.x) / warpgroup_threads;
        if (role == 0) {
            shrink_registers<T::producer_registers>();
            if (threadIdx.x == 0) produce<T>(q_map, k_map, v_map, walk, counter, shared);
        } else {
            grow_registers<T::consumer_registers>();
            consume<Element, T>(role - 1, o_map, walk, lse, shared);
        }
    }
}

template <int HeadDim, AttentionMask Mask>
constexpr bundled::AttentionKernel layout_of = bundled::attention_wgmma(HeadDim,
                                                                        Mask ==
                                                                            AttentionMask::causal);

template <int HeadDim, AttentionMask Mask>
using TileOf = Tile<HeadDim, layout_of<HeadDim, Mask>.keys,
                    layout_of<HeadDim, Mask>.queries / rows_per_warpgroup, Mask>;

template <int HeadDim, AttentionMask Mask>
constexpr bool tile_has_its_layout =
    TileOf<HeadDim, Mask>::threads ==
        layout_of<HeadDim, Mask>.threads&& TileOf<HeadDim, Mask>::block_m ==
        layout_of<HeadDim, Mask>.queries &&
    sizeof(SharedStorage<TileOf<HeadDim, Mask>>) == layout_of<HeadDim, Mask>.shared_bytes;
static_assert(tile_has_its_layout<64, AttentionMask::none>);
static_assert(tile_has_its_layout<64, AttentionMask::causal>);
static_assert(tile_has_its_layout<128, AttentionMask::none>);
static_assert(tile_has_its_layout<128, AttentionMask::causal>);

// Calls `use` with the element type and the tile that the problem needs.
template <typename Use>
auto with_tile(const AttentionProblem& problem, Use use) {
    const auto with_element = [&]<typename Element>(Element element) {
        const bool causal = problem.mask == AttentionMask::causal;
        if (problem.head_dim == 128)
            return causal ? use(element, TileOf<128, AttentionMask::causal>{})
                          : use(element, TileOf<128, AttentionMask::none>{});
        return causal ? use(element, TileOf<64, AttentionMask::causal>{})
                      : use(element, TileOf<64, AttentionMask::none>{});
    };
    return problem.type == ElementType::bfloat16 ? with_element(__nv_bfloat16{})
                                                 : with_element(__half{});
}

Walk make_walk(const AttentionProblem& p, int block_m, std::int64_t l2_bytes) {
    const bundled::AttentionExtents extents = extents_of(p);
    const std::int64_t groups = bundled::wgmma_head_groups(extents, l2_bytes);
    constexpr float log2_e = 1.4426950408889634F;
    return {.queries = static_cast<int>(p.queries),
            .keys = static_cast<int>(p.keys),
            .heads = static_cast<int>(p.heads),
            .heads_per_kv = static_cast<int>(extents.group()),
            .batch_heads = static_cast<int>(p.batch * p.heads),
            .query_tiles = static_cast<int>(ceil_div(p.queries, block_m)),
            .heads_grouped = static_cast<int>(bundled::wgmma_heads_per_group(extents, groups)),
            .scale_log2 = p.scale * log2_e,
            .scale = p.scale};
}

CUtensorMap encode(const AttentionProblem& p, const void* base, std::int64_t heads,
                   std::int64_t tokens, int box_rows, const char* name) {
    const auto strides = attention_strides(p.layout, heads, tokens, p.head_dim);
    return encode_tensor_map({.base = base,
                              .type = p.type,
                              .extents = {p.head_dim, tokens, heads, p.batch},
                              .strides = {strides.token, strides.head, strides.batch},
                              .box_rows = box_rows,
                              .name = name});
}

// A zero in device memory that lives as long as the Launch that holds it.
std::shared_ptr<unsigned> make_counter() {
    unsigned* counter = nullptr;
    check(cudaMalloc(&counter, sizeof *counter), "cudaMalloc");
    std::shared_ptr<unsigned> owner(counter, [](unsigned* pointer) { cudaFree(pointer); });
    check(cudaMemset(counter, 0, sizeof *counter), "cudaMemset");
    check(cudaStreamSynchronize(nullptr),
          "cudaStreamSynchronize");  // a launch on another stream must find the zero
    return owner;
}

}  // namespace

Launch attention_wgmma(const AttentionProblem& problem) {
    require_attention("attention_wgmma", problem);
    require_hopper("attention_wgmma");
    const auto limits = device_limits();
    const LaunchShape shape =
        shape_of(bundled::attention_wgmma_grid(extents_of(problem), limits.multiprocessors),
                 SharedMemory::dynamic);
    return with_tile(problem, [&]<typename Element, typename T>(Element, T) -> Launch {
        const auto q_map =
            encode(problem, problem.q, problem.heads, problem.queries, rows_per_warpgroup, "Q");
        const auto k_map =
            encode(problem, problem.k, problem.kv_heads, problem.keys, T::block_n, "K");
        const auto v_map =
            encode(problem, problem.v, problem.kv_heads, problem.keys, T::block_n, "V");
        const auto o_map =
            encode(problem, problem.o, problem.heads, problem.queries, rows_per_warpgroup, "O");
        const Walk walk = make_walk(problem, T::block_m, limits.l2_bytes);
        auto* const kernel = attention_wgmma_kernel<Element, T>;
        allow_shared_bytes("attention_wgmma", kernel, shape.dynamic_shared_bytes);
        float* const lse = problem.lse;
        const std::shared_ptr<unsigned> counter = make_counter();
        return [=](cudaStream_t stream) {
            launch_kernel("attention_wgmma", kernel, shape, stream, q_map, k_map, v_map, o_map,
                          walk, lse, counter.get());
        };
    });
}

}  // namespace ridge::measure::cuda
