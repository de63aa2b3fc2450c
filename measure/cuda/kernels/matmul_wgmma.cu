// Matrix product on Hopper: persistent, warp-specialised, wgmma fed by TMA, stores overlapped with
// the next tile.
//
// Method: a cluster of two blocks computes a 256 x TileN piece of C at a time, 128 rows per block.
// In each block one thread of the producer warpgroup copies 64-wide slices of A and B through a
// ring of shared-memory stages. Both blocks need the same slice of B, so each fetches one half and
// multicasts it. Two consumer warpgroups multiply 64 rows each, hold 64 x TileN accumulators in
// registers, and release a stage when their reads of it are complete. At the end of a tile they
// round to two bytes, put the result in shared memory and leave the store to the copy engine while
// they start on the next tile. Clusters walk C in groups of 8 cluster rows (2048 rows of C), so
// that the tiles in flight share operands in L2.
//
// Traffic per 128 x TileN x 64 step: 16 KiB of A per block and TileN * 128 bytes of B per cluster
// from L2.
// Edges: TMA fills out-of-range elements with zeros on load and drops them on store, so m, n and k
// may be any size, but TMA strides (multiples of 16 bytes) need k and n in multiples of 8.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "measure/cuda/kernels/matmul.h"
#include "measure/cuda/kernels/tensor_map.h"
#include "measure/cuda/kernels/wgmma.cuh"

namespace ridge::measure::cuda {
namespace {

using namespace hopper;

// The parameters that both tiles share.
constexpr bundled::MatmulKernel large = bundled::matmul_wgmma_large;
constexpr bundled::MatmulKernel small = bundled::matmul_wgmma_small;
constexpr int tile_m = large.tile.m;
constexpr int tile_k = large.tile.k;
constexpr int cluster_blocks = large.cluster;
constexpr int threads = large.threads;
constexpr int group_rows = large.group_rows;  // cluster rows that are walked together
constexpr int consumer_warpgroups = tile_m / bundled::wgmma_warpgroup_rows;
constexpr int warps_per_warpgroup = 4;
static_assert(small.tile.m == tile_m && small.tile.k == tile_k && small.threads == threads);
static_assert(small.cluster == cluster_blocks && small.group_rows == group_rows);
static_assert(bundled::wgmma_warpgroup == warpgroup_threads);
constexpr int producer_registers = 40;
constexpr int consumer_registers =
    232;  // 128 x 40 + 256 x 232 fits the 384 x 168 registers of the launch
constexpr int output_columns = bundled::wgmma_output_columns;

template <int TileN>
constexpr bundled::MatmulKernel layout_of = TileN == large.tile.n ? large : small;

template <int TileN>
struct SharedStorage {
    static constexpr int stages = layout_of<TileN>.stages;
    static constexpr int a_bytes = tile_m * tile_k * 2;
    static constexpr int b_bytes = TileN * tile_k * 2;

    alignas(1024) unsigned char a[stages][a_bytes];
    alignas(1024) unsigned char b[stages][b_bytes];
    alignas(1024) unsigned char c[consumer_warpgroups][64 * output_columns * 2];
    Barrier full[stages];
    Barrier empty[stages];
};
static_assert(sizeof(SharedStorage<large.tile.n>) == large.shared_bytes);
static_assert(sizeof(SharedStorage<small.tile.n>) == small.shared_bytes);

struct TileWalk {
    int rows;     // cluster tiles along m
    int columns;  // tiles along n
    int batch;
    int k_steps;
};

struct TileCoordinate {
    int row;
    int column;
    int batch;
};

__device__ __forceinline__ TileCoordinate locate(const TileWalk& walk, int index) {
    const int per_matrix = walk.rows * walk.columns;
    const int batch = index / per_matrix;
    const int in_matrix = index - batch * per_matrix;
    const int per_group = group_rows * walk.columns;
    const int group = in_matrix / per_group;
    const int in_group = in_matrix - group * per_group;
    const int rows = min(group_rows, walk.rows - group * group_rows);
    return {.row = group * group_rows + in_group % rows, .column = in_group / rows, .batch = batch};
}

template <int TileN, Major BMajor>
__device__ __forceinline__ void produce(const CUtensorMap& a_map, const CUtensorMap& b_map,
                                        const TileWalk& walk, SharedStorage<TileN>& shared) {
    using Shared = SharedStorage<TileN>;
    constexpr std::uint16_t both_blocks = (1 << cluster_blocks) - 1;
    const int rank = static_cast<int>(cluster_rank());
    const int clusters = static_cast<int>(gridDim.x) / cluster_blocks;
    const int total = walk.rows * walk.columns * walk.batch;
    PipelineState<Shared::stages> slot;
    for (int index = static_cast<int>(blockIdx.x) / cluster_blocks; index < total;
         index += clusters) {
        const TileCoordinate tile = locate(walk, index);
        const int row = (tile.row * cluster_blocks + rank) * tile_m;
        const int column = tile.column * TileN + rank * (TileN / cluster_blocks);
        for (int step = 0; step < walk.k_steps; ++step) {
            Barrier& full = shared.full[slot.stage];
            wait(shared.empty[slot.stage], slot.phase ^ 1);
            arrive_expecting(full, Shared::a_bytes + Shared::b_bytes);
            load_box(shared.a[slot.stage], a_map, full, step * tile_k, row, tile.batch, 0);
            unsigned char* const half =
                shared.b[slot.stage] + rank * (Shared::b_bytes / cluster_blocks);
            if constexpr (BMajor == Major::k) {
                load_box_multicast(half, b_map, full, both_blocks, step * tile_k, column,
                                   tile.batch, 0);
            } else {
                constexpr int box_bytes = tile_k * 128;
#pragma unroll
                for (int box = 0; box < TileN / cluster_blocks / 64; ++box)
                    load_box_multicast(half + box * box_bytes, b_map, full, both_blocks,
                                       column + box * 64, step * tile_k, tile.batch, 0);
            }
            slot.advance();
        }
    }
}

// One lane per block of the cluster reports that this warp is done with a stage.
__device__ __forceinline__ void release(Barrier& empty) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    if (lane < cluster_blocks) arrive_remote(empty, static_cast<std::uint32_t>(lane));
}

template <typename Element, int TileN, Major BMajor>
__device__ __forceinline__ void multiply_tile(float (&acc)[TileN / 2], int warpgroup, int k_steps,
                                              SharedStorage<TileN>& shared,
                                              PipelineState<SharedStorage<TileN>::stages>& slot) {
    constexpr std::uint64_t b_step = BMajor == Major::k ? k_major_step : n_major_step;
    int previous_stage = 0;
    for (int step = 0; step < k_steps; ++step) {
        wait(shared.full[slot.stage], slot.phase);
        const std::uint64_t a = k_major_descriptor(shared.a[slot.stage] + warpgroup * (64 * 128));
        const std::uint64_t b = BMajor == Major::k
                                    ? k_major_descriptor(shared.b[slot.stage])
                                    : n_major_descriptor(shared.b[slot.stage], tile_k * 128);
        fence_operands(acc);
        begin();
#pragma unroll
        for (int i = 0; i < tile_k / 16; ++i)
            multiply<TileN, Element, BMajor>(acc, a + i * k_major_step, b + i * b_step,
                                             (step | i) != 0);
        commit();
        wait_for<1>();
        fence_operands(acc);
        if (step > 0) release(shared.empty[previous_stage]);
        previous_stage = static_cast<int>(slot.stage);
        slot.advance();
    }
    wait_for<0>();
    fence_operands(acc);
    release(shared.empty[previous_stage]);
}

template <typename Element, int TileN>
__device__ __forceinline__ void store_tile(const float (&acc)[TileN / 2], int warpgroup,
                                           const CUtensorMap& c_map, int row, int column, int batch,
                                           unsigned char* staging) {
    const bool leader = threadIdx.x % warpgroup_threads == 0;
#pragma unroll
    for (int first = 0; first < TileN; first += output_columns) {
        if (leader) wait_stores_read();
        named_sync(1 + warpgroup, warpgroup_threads);
        store_fragments<Element, output_columns>(staging, acc, first, 1.0F, 1.0F);
        fence_async_proxy();
        named_sync(1 + warpgroup, warpgroup_threads);
        if (leader) {
#pragma unroll
            for (int box = 0; box < output_columns / 64; ++box)
                store_box(c_map, staging + box * (64 * 128), column + first + box * 64, row, batch,
                          0);
            commit_stores();
        }
    }
}

template <typename Element, int TileN, Major BMajor>
__device__ __forceinline__ void consume(int warpgroup, const CUtensorMap& c_map,
                                        const TileWalk& walk, SharedStorage<TileN>& shared) {
    const int rank = static_cast<int>(cluster_rank());
    const int clusters = static_cast<int>(gridDim.x) / cluster_blocks;
    const int total = walk.rows * walk.columns * walk.batch;
    PipelineState<SharedStorage<TileN>::stages> slot;
    float acc[TileN / 2];
    for (int index = static_cast<int>(blockIdx.x) / cluster_blocks; index < total;
         index += clusters) {
        const TileCoordinate tile = locate(walk, index);
        multiply_tile<Element, TileN, BMajor>(acc, warpgroup, walk.k_steps, shared, slot);
        const int row = (tile.row * cluster_blocks + rank) * tile_m + warpgroup * 64;
        store_tile<Element, TileN>(acc, warpgroup, c_map, row, tile.column * TileN, tile.batch,
                                   shared.c[warpgroup]);
    }
    if (threadIdx.x % warpgroup_threads == 0) wait_stores();
}

template <typename Element, int TileN, Major BMajor>
__global__ void __launch_bounds__(threads, 1)
    matmul_wgmma_kernel(const __grid_constant__ CUtensorMap a_map,
                        const __grid_constant__ CUtensorMap b_map,
                        const __grid_constant__ CUtensorMap c_map, const TileWalk walk) {
    if constexpr (can_compile) {
        extern __shared__ __align__(1024) unsigned char shared_bytes[];
        auto& shared = *reinterpret_cast<SharedStorage<TileN>*>(shared_bytes);
        if (threadIdx.x == 0) {
            for (int stage = 0; stage < SharedStorage<TileN>::stages; ++stage) {
                init(shared.full[stage], 1);
                init(shared.empty[stage],
                     cluster_blocks * consumer_warpgroups * warps_per_warpgroup);
            }
            fence_barrier_init();
            prefetch_descriptor(a_map);
            prefetch_descriptor(b_map);
            prefetch_descriptor(c_map);
        }
        cluster_sync();

        const int role = static_cast<int>(threadIdx.x) / warpgroup_threads;
        if (role == 0) {
            shrink_registers<producer_registers>();
            if (threadIdx.x == 0) produce<TileN, BMajor>(a_map, b_map, walk, shared);
            __syncwarp();
            cluster_sync();  // a block must not exit while its peer still signals its barriers
        } else {
            grow_registers<consumer_registers>();
            consume<Element, TileN, BMajor>(role - 1, c_map, walk, shared);
            __syncwarp();
            cluster_sync();
        }
    }
}

template <typename Element, int TileN, Major BMajor>
Launch build(const MatmulProblem& p) {
    const auto a_map = encode_tensor_map({.base = p.a,
                                          .type = p.type,
                                          .extents = {p.k, p.m, p.batch, 1},
                                          .strides = {p.k, p.m * p.k, 0},
                                          .box_rows = tile_m,
                                          .name = "A"});
    const auto b_map = BMajor == Major::k ? encode_tensor_map({.base = p.b,
                                                               .type = p.type,
                                                               .extents = {p.k, p.n, p.batch, 1},
                                                               .strides = {p.k, p.n * p.k, 0},
                                                               .box_rows = TileN / cluster_blocks,
                                                               .name = "B"})
                                          : encode_tensor_map({.base = p.b,
                                                               .type = p.type,
                                                               .extents = {p.n, p.k, p.batch, 1},
                                                               .strides = {p.n, p.n * p.k, 0},
                                                               .box_rows = tile_k,
                                                               .name = "B"});
    const auto c_map = encode_tensor_map({.base = p.c,
                                          .type = p.type,
                                          .extents = {p.n, p.m, p.batch, 1},
                                          .strides = {p.n, p.m * p.n, 0},
                                          .box_rows = 64,
                                          .name = "C"});
    constexpr bundled::MatmulKernel layout = layout_of<TileN>;
    const TileWalk walk{.rows = static_cast<int>(bundled::units_down(layout, p.m)),
                        .columns = static_cast<int>(bundled::units_across(layout, p.n)),
                        .batch = static_cast<int>(p.batch),
                        .k_steps = static_cast<int>(bundled::steps_of(layout, p.k))};
    auto* const kernel = matmul_wgmma_kernel<Element, TileN, BMajor>;
    const LaunchShape shape =
        shape_of(bundled::matmul_grid(layout, extents_of(p), device_limits().multiprocessors),
                 SharedMemory::dynamic, cluster_blocks);
    allow_shared_bytes("matmul_wgmma", kernel, shape.dynamic_shared_bytes);
    return [=](cudaStream_t stream) {
        launch_kernel("matmul_wgmma", kernel, shape, stream, a_map, b_map, c_map, walk);
    };
}

template <typename Element, int TileN>
Launch build_layout(const MatmulProblem& problem) {
    return problem.b_layout == BLayout::n_by_k ? build<Element, TileN, Major::k>(problem)
                                               : build<Element, TileN, Major::n>(problem);
}

template <typename Element>
Launch build_tile(const MatmulProblem& problem, const bundled::MatmulKernel& kernel) {
    return kernel.tile.n == large.tile.n ? build_layout<Element, large.tile.n>(problem)
                                         : build_layout<Element, small.tile.n>(problem);
}

}  // namespace

Launch matmul_wgmma(const MatmulProblem& problem, const bundled::MatmulKernel& kernel) {
    require_matmul("matmul_wgmma", problem, true);
    require_hopper("matmul_wgmma");
    return problem.type == ElementType::bfloat16 ? build_tile<__nv_bfloat16>(problem, kernel)
                                                 : build_tile<__half>(problem, kernel);
}

}  // namespace ridge::measure::cuda
