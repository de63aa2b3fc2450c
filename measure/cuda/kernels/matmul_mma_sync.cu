// Matrix product on tensor cores with mma.sync: 128 x 128 x 32 tiles, cp.async pipeline, for sm_80
// and newer.
//
// Method: 4 warps as 2 x 2, each 64 x 64 of C in registers, so that a byte read from shared memory
// feeds 32 FLOP. Slices of 32 along k arrive through four shared-memory stages; ldmatrix reads
// them, transposing B when it is stored [k][n]. Blocks walk C in groups of 8 tile rows for L2
// reuse.
// Edges: rows and columns beyond the matrix load as zeros and are not stored. Rows must be whole
// 16-byte chunks: k a multiple of 8, and n too when B is [k][n].
#include "measure/cuda/kernels/matmul.h"
#include "measure/cuda/kernels/mma_sync.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr bundled::MatmulKernel layout = bundled::matmul_mma_sync;
constexpr int tile_m = layout.tile.m;
constexpr int tile_n = layout.tile.n;
constexpr int tile_k = layout.tile.k;
constexpr int stages = layout.stages;
constexpr int threads = layout.threads;
constexpr int warp_m = 64;
constexpr int warp_n = 64;
constexpr int row_fragments = warp_m / 16;
constexpr int column_fragments = warp_n / 8;
constexpr int group_rows = layout.group_rows;
constexpr int a_bytes = tile_m * tile_k * 2;
constexpr int b_bytes = tile_n * tile_k * 2;
constexpr int stage_bytes = a_bytes + b_bytes;
static_assert(layout.shared_bytes == stages * stage_bytes);
static_assert(tile_m / warp_m * (tile_n / warp_n) * 32 == threads);

struct Extents {
    int m;
    int n;
    int k;
    int tile_rows;
    int tile_columns;
};

struct Origin {
    int row;
    int column;
};

__device__ __forceinline__ Origin locate(const Extents& extents) {
    const int per_group = group_rows * extents.tile_columns;
    const int group = static_cast<int>(blockIdx.x) / per_group;
    const int in_group = static_cast<int>(blockIdx.x) % per_group;
    const int rows = min(group_rows, extents.tile_rows - group * group_rows);
    return {.row = (group * group_rows + in_group % rows) * tile_m,
            .column = in_group / rows * tile_n};
}

// Starts the copy of a tile of `Rows` x `RowElements` from a row-major matrix, with zeros beyond
// its `rows` x `columns`.
template <int Rows, int RowElements, typename Element>
__device__ __forceinline__ void copy_tile(std::uint32_t destination, const Element* matrix,
                                          int first_row, int first_column, int rows, int columns) {
    constexpr int chunks = RowElements / 8;
    constexpr int rows_per_pass = threads / chunks;
    static_assert(rows_per_pass % 8 == 0, "the swizzle repeats every 8 rows");
    const int row = first_row + static_cast<int>(threadIdx.x) / chunks;
    const int column = first_column + static_cast<int>(threadIdx.x) % chunks * 8;
    destination += mma::swizzled_offset<RowElements * 2>(static_cast<int>(threadIdx.x) / chunks,
                                                         static_cast<int>(threadIdx.x) % chunks);
    const Element* source = matrix + static_cast<std::int64_t>(row) * columns + column;
#pragma unroll
    for (int i = 0; i < Rows / rows_per_pass; ++i) {
        const bool in_range = row + i * rows_per_pass < rows && column < columns;
        mma::copy_16_bytes(destination + i * rows_per_pass * RowElements * 2,
                           in_range ? source : matrix, in_range);
        source += static_cast<std::int64_t>(rows_per_pass) * columns;
    }
}

// One warp's operands for a step of 16 along k.
struct Fragments {
    std::uint32_t a[row_fragments][4];
    std::uint32_t b[column_fragments / 2][4];  // two neighbouring 8-column fragments each
};

// Where a lane's rows of A and chunks of B start in a stage. Tiles start at multiples of their row
// length, so that moving along a row is an exclusive-or on the address, and moving by 8 rows is an
// addition.
struct LaneOffsets {
    std::uint32_t a;
    std::uint32_t b;
};

template <BLayout Layout>
__device__ __forceinline__ LaneOffsets lane_offsets(int warp_row, int warp_column) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const std::uint32_t a = mma::swizzled_offset<tile_k * 2>(warp_row + lane % 16, lane / 16);
    if constexpr (Layout == BLayout::n_by_k)
        return {.a = a,
                .b = a_bytes + mma::swizzled_offset<tile_k * 2>(
                                   warp_column + lane % 8 + lane / 16 * 8, lane / 8 % 2)};
    else
        return {.a = a,
                .b = a_bytes +
                     mma::swizzled_offset<tile_n * 2>(lane % 16, warp_column / 8 + lane / 16)};
}

template <BLayout Layout>
__device__ __forceinline__ void load(Fragments& fragments, int step, std::uint32_t stage,
                                     const LaneOffsets& lane) {
#pragma unroll
    for (int i = 0; i < row_fragments; ++i)
        mma::load_matrices(fragments.a[i], ((stage + lane.a) ^ (step * 32)) + i * 16 * tile_k * 2);
#pragma unroll
    for (int j = 0; j < column_fragments / 2; ++j) {
        if constexpr (Layout == BLayout::n_by_k)
            mma::load_matrices(fragments.b[j],
                               ((stage + lane.b) ^ (step * 32)) + j * 16 * tile_k * 2);
        else
            mma::load_matrices_transposed(fragments.b[j],
                                          ((stage + lane.b) ^ (j * 32)) + step * 16 * tile_n * 2);
    }
}

using Accumulators = float[row_fragments][column_fragments][4];

template <typename Element>
__device__ __forceinline__ void multiply(Accumulators& acc, const Fragments& fragments) {
#pragma unroll
    for (int i = 0; i < row_fragments; ++i) {
#pragma unroll
        for (int j = 0; j < column_fragments; ++j)
            mma::multiply<Element>(acc[i][j], fragments.a[i], fragments.b[j / 2][j % 2 * 2],
                                   fragments.b[j / 2][j % 2 * 2 + 1]);
    }
}

template <typename Element>
__device__ __forceinline__ void store(const Accumulators& acc, Element* c, int row, int column,
                                      const Extents& extents) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const bool pairs = extents.n % 2 == 0;
#pragma unroll
    for (int i = 0; i < row_fragments; ++i) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int r = row + i * 16 + lane / 4 + half * 8;
            if (r >= extents.m) continue;
            Element* const line = c + static_cast<std::int64_t>(r) * extents.n;
#pragma unroll
            for (int j = 0; j < column_fragments; ++j) {
                const int x = column + j * 8 + lane % 4 * 2;
                const float low = acc[i][j][half * 2];
                const float high = acc[i][j][half * 2 + 1];
                if (pairs) {
                    if (x < extents.n)
                        *reinterpret_cast<std::uint32_t*>(line + x) = mma::pack<Element>(low, high);
                } else {
                    if (x < extents.n) line[x] = mma::round_to<Element>(low);
                    if (x + 1 < extents.n) line[x + 1] = mma::round_to<Element>(high);
                }
            }
        }
    }
}

template <typename Element, BLayout Layout>
__global__ void __launch_bounds__(threads, layout.blocks_per_sm)
    matmul_mma_sync_kernel(const Element* __restrict__ a, const Element* __restrict__ b,
                           Element* __restrict__ c, const Extents extents) {
    extern __shared__ __align__(256) unsigned char tiles[];
    const std::uint32_t base = mma::shared_address(tiles);
    const std::int64_t batch = blockIdx.y;
    a += batch * extents.m * extents.k;
    b += batch * extents.n * extents.k;
    c += batch * extents.m * extents.n;
    const Origin origin = locate(extents);
    const int steps = (extents.k + tile_k - 1) / tile_k;

    const auto copy_step = [&](int step) {
        if (step < steps) {
            const std::uint32_t stage = base + step % stages * stage_bytes;
            copy_tile<tile_m, tile_k>(stage, a, origin.row, step * tile_k, extents.m, extents.k);
            if constexpr (Layout == BLayout::n_by_k)
                copy_tile<tile_n, tile_k>(stage + a_bytes, b, origin.column, step * tile_k,
                                          extents.n, extents.k);
            else
                copy_tile<tile_k, tile_n>(stage + a_bytes, b, step * tile_k, origin.column,
                                          extents.k, extents.n);
        }
        mma::commit_copies();
    };

    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int warp_row = warp / 2 * warp_m;
    const int warp_column = warp % 2 * warp_n;
    const LaneOffsets lane = lane_offsets<Layout>(warp_row, warp_column);
    Accumulators acc = {};
#pragma unroll
    for (int step = 0; step < stages - 1; ++step) copy_step(step);
    for (int step = 0; step < steps; ++step) {
        mma::wait_copies<stages - 2>();
        __syncthreads();
        const std::uint32_t stage = base + step % stages * stage_bytes;
        Fragments fragments[tile_k / 16];
#pragma unroll
        for (int i = 0; i < tile_k / 16; ++i) load<Layout>(fragments[i], i, stage, lane);
        copy_step(step + stages - 1);  // while the fragments arrive
#pragma unroll
        for (int i = 0; i < tile_k / 16; ++i) multiply<Element>(acc, fragments[i]);
    }
    store(acc, c, origin.row + warp_row, origin.column + warp_column, extents);
}

template <typename Use>
auto with_kernel(const MatmulProblem& p, Use use) {
    const bool transposed = p.b_layout == BLayout::n_by_k;
    if (p.type == ElementType::bfloat16)
        return transposed
                   ? use(__nv_bfloat16{}, matmul_mma_sync_kernel<__nv_bfloat16, BLayout::n_by_k>)
                   : use(__nv_bfloat16{}, matmul_mma_sync_kernel<__nv_bfloat16, BLayout::k_by_n>);
    return transposed ? use(__half{}, matmul_mma_sync_kernel<__half, BLayout::n_by_k>)
                      : use(__half{}, matmul_mma_sync_kernel<__half, BLayout::k_by_n>);
}

}  // namespace

Launch matmul_mma_sync(const MatmulProblem& p) {
    require_matmul("matmul_mma_sync", p, true);
    const Extents extents{.m = static_cast<int>(p.m),
                          .n = static_cast<int>(p.n),
                          .k = static_cast<int>(p.k),
                          .tile_rows = static_cast<int>(bundled::units_down(layout, p.m)),
                          .tile_columns = static_cast<int>(bundled::units_across(layout, p.n))};
    const LaunchShape shape =
        shape_of(bundled::matmul_grid(layout, extents_of(p), 0), SharedMemory::dynamic);
    return with_kernel(p, [&]<typename Element>(Element, auto* kernel) -> Launch {
        allow_shared_bytes("matmul_mma_sync", kernel, shape.dynamic_shared_bytes);
        return [=](cudaStream_t stream) {
            launch_kernel("matmul_mma_sync", kernel, shape, stream,
                          static_cast<const Element*>(p.a), static_cast<const Element*>(p.b),
                          static_cast<Element*>(p.c), extents);
        };
    });
}

}  // namespace ridge::measure::cuda
