// Matrix product on Hopper: persistent, warp-specialised, wgmma fed by TMA, stores overlapped with
// the next tile.
//
// Method: a cluster of two blocks takes a 256 x TileN piece of C at a time, each block 128 rows of
// it. In each block one thread of the producer warpgroup copies 64-wide slices of A and B through a
// ring of shared-memory stages; both blocks need the same slice of B, so each fetches one half and
// multicasts it. Two consumer warpgroups each multiply 64 rows, holding 64 x TileN accumulators in
// registers, release a stage when their reads of it are complete, and at the end of a tile round to
// two bytes, put the result in shared memory and leave the store to the copy engine while they
// start on the next tile. Clusters walk C in groups of 8 cluster rows (2048 rows of C), so that the
// tiles in flight share operands in L2.
//
// Traffic per 128 x TileN x 64 step: 16 KiB of A per block and TileN * 128 bytes of B per cluster
// from L2. Edges: TMA fills out-of-range elements with zeros on load and drops them on store, so m,
// n and k are free; k and n must be multiples of 8 because TMA strides are multiples of 16 bytes.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>

#include "measure/cuda/kernels/matmul.h"
#include "measure/cuda/kernels/tensor_map.h"
#include "measure/cuda/kernels/wgmma.cuh"

namespace ridge::measure::cuda {
namespace {

using namespace hopper;

constexpr int tile_m = 128;
constexpr int tile_k = 64;
constexpr int cluster_blocks = 2;
constexpr int consumer_warpgroups = 2;
constexpr int warps_per_warpgroup = 4;
constexpr int threads = (1 + consumer_warpgroups) * warpgroup_threads;
constexpr int group_rows = 8;  // cluster rows that are walked together
constexpr int producer_registers = 40;
constexpr int consumer_registers =
    232;  // 128 x 40 + 256 x 232 fits the 384 x 168 registers of the launch
constexpr int output_columns = 128;  // columns of C that a warpgroup stages at a time

template <int TileN>
struct SharedStorage {
    static constexpr int stages = TileN == 256 ? 4 : 6;
    static constexpr int a_bytes = tile_m * tile_k * 2;
    static constexpr int b_bytes = TileN * tile_k * 2;

    alignas(1024) unsigned char a[stages][a_bytes];
    alignas(1024) unsigned char b[stages][b_bytes];
    alignas(1024) unsigned char c[consumer_warpgroups][64 * output_columns * 2];
    Barrier full[stages];
    Barrier empty[stages];
};

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
            cluster_sync();  // a block must not leave while its peer still signals its barriers
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
    const TileWalk walk{.rows = static_cast<int>(ceil_div(p.m, tile_m * cluster_blocks)),
                        .columns = static_cast<int>(ceil_div(p.n, TileN)),
                        .batch = static_cast<int>(p.batch),
                        .k_steps = static_cast<int>(ceil_div(p.k, tile_k))};
    auto* const kernel = matmul_wgmma_kernel<Element, TileN, BMajor>;
    constexpr std::size_t shared_bytes = sizeof(SharedStorage<TileN>);
    allow_shared_bytes("matmul_wgmma", kernel, shared_bytes);
    const auto tile = TileN == 256 ? WgmmaTile::m128n256 : WgmmaTile::m128n128;
    const auto geometry = matmul_wgmma_geometry(p, tile, device_limits().multiprocessors);
    const LaunchShape shape{.grid = dim3(static_cast<unsigned>(geometry.blocks)),
                            .block = dim3(threads),
                            .dynamic_shared_bytes = shared_bytes,
                            .cluster = cluster_blocks};
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
Launch build_tile(const MatmulProblem& problem, WgmmaTile tile) {
    return tile == WgmmaTile::m128n256 ? build_layout<Element, 256>(problem)
                                       : build_layout<Element, 128>(problem);
}

template <int TileN>
const void* kernel_function(const MatmulProblem& problem) {
    const auto pick = [&]<typename Element>(Element) {
        return problem.b_layout == BLayout::n_by_k
                   ? reinterpret_cast<const void*>(matmul_wgmma_kernel<Element, TileN, Major::k>)
                   : reinterpret_cast<const void*>(matmul_wgmma_kernel<Element, TileN, Major::n>);
    };
    return problem.type == ElementType::bfloat16 ? pick(__nv_bfloat16{}) : pick(__half{});
}

}  // namespace

KernelGeometry matmul_wgmma_geometry(const MatmulProblem& problem, WgmmaTile tile,
                                     int multiprocessors) {
    const bool large = tile == WgmmaTile::m128n256;
    const int tile_n = large ? 256 : 128;
    const std::int64_t cluster_tiles =
        ceil_div(problem.m, tile_m * cluster_blocks) * ceil_div(problem.n, tile_n) * problem.batch;
    const std::int64_t clusters =
        std::min<std::int64_t>(cluster_tiles, multiprocessors / cluster_blocks);
    return {.tile_m = tile_m,
            .tile_n = tile_n,
            .tile_k = tile_k,
            .threads = threads,
            .stages = large ? SharedStorage<256>::stages : SharedStorage<128>::stages,
            .cluster = cluster_blocks,
            .dynamic_shared_bytes = large ? sizeof(SharedStorage<256>) : sizeof(SharedStorage<128>),
            .blocks = clusters * cluster_blocks,
            .function = large ? kernel_function<256>(problem) : kernel_function<128>(problem)};
}

// Time in units of one 128 x 128 tile: a block needs one unit per round for the small tile and 1.9
// for the large one, whose operand traffic per FLOP is a quarter lower.
WgmmaTile choose_wgmma_tile(const MatmulProblem& problem, int multiprocessors) {
    const auto rounds = [&](int tile_n) {
        const std::int64_t tiles = ceil_div(problem.m, tile_m * cluster_blocks) *
                                   ceil_div(problem.n, tile_n) * problem.batch;
        return static_cast<double>(ceil_div(tiles, multiprocessors / cluster_blocks));
    };
    return 1.9 * rounds(256) <= rounds(128) ? WgmmaTile::m128n256 : WgmmaTile::m128n128;
}

Launch matmul_wgmma(const MatmulProblem& problem, WgmmaTile tile) {
    require_matmul("matmul_wgmma", problem, true);
    require_hopper("matmul_wgmma");
    return problem.type == ElementType::bfloat16 ? build_tile<__nv_bfloat16>(problem, tile)
                                                 : build_tile<__half>(problem, tile);
}

Launch matmul_wgmma(const MatmulProblem& problem) {
    return matmul_wgmma(problem, choose_wgmma_tile(problem, device_limits().multiprocessors));
}

}  // namespace ridge::measure::cuda
