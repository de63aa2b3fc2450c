// Cost of access patterns; see access.h.
#include "measure/cuda/kernels/access.h"

#include <stdexcept>

#include "measure/cuda/kernels/on_chip.h"
#include "measure/cuda/kernels/reduce.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr int unroll = bundled::access_unroll;
constexpr int read_tile = bundled::read_tile;
constexpr int read_threads = bundled::read_threads;
constexpr int read_blocks_per_multiprocessor = bundled::read_blocks_per_sm;
constexpr int shared_tile = bundled::shared_tile;
constexpr int chip_threads = bundled::chip_threads;
constexpr int conflict_rows = bundled::conflict_rows;
constexpr int most_paths = 32;

__device__ __forceinline__ void store_block_sum(std::uint32_t sum, std::uint32_t* partial_sums) {
    __shared__ std::uint32_t scratch[32];
    sum = reduce_block(sum, Add{}, 0U, scratch);
    if (threadIdx.x == 0) partial_sums[blockIdx.x] = sum;
}

// Calls `whole(tile)` for the tiles of this block and `part(tile, rest)` for the last, shorter one.
template <class Whole, class Part>
__device__ __forceinline__ void for_each_tile(std::int64_t count, int tile, Whole whole,
                                              Part part) {
    const std::int64_t tiles = count / tile;
#pragma unroll 1
    for (std::int64_t i = blockIdx.x; i < tiles; i += gridDim.x) whole(i);
    if (blockIdx.x == tiles % gridDim.x) part(tiles, static_cast<int>(count - tiles * tile));
}

template <class Word>
__global__ void __launch_bounds__(read_threads, read_blocks_per_multiprocessor)
    word_read_kernel(const Word* source, std::uint32_t* partial_sums, std::int64_t words,
                     std::int64_t stride) {
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t step = read_threads * stride;
    source += thread * stride;
    std::uint32_t sum = 0;
    for_each_tile(
        words, read_tile,
        [&](std::int64_t tile) {
            const Word* next = source + tile * read_tile * stride;
            Word held[unroll];
#pragma unroll
            for (int i = 0; i < unroll; ++i) {
                held[i] = __ldcg(next);
                next += step;
            }
#pragma unroll
            for (int i = 0; i < unroll; ++i) sum += folded(held[i]);
        },
        [&](std::int64_t tile, int rest) {
            const Word* next = source + tile * read_tile * stride;
            for (int i = thread; i < rest; i += read_threads, next += step) {
                sum += folded(__ldcg(next));
            }
        });
    store_block_sum(sum, partial_sums);
}

// Volatile for the assembler too, which would otherwise keep a word that is reread in a register.
__device__ __forceinline__ std::uint32_t load_shared_word(const std::uint32_t* address) {
    std::uint32_t value;
    asm volatile("ld.volatile.shared.u32 %0, [%1];"
                 : "=r"(value)
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(address))));
    return value;
}

__global__ void bank_conflict_kernel(std::uint32_t* partial_sums, std::int64_t count, int ways) {
    __shared__ std::uint32_t words[conflict_rows * 32];
    for (int i = threadIdx.x; i < conflict_rows * 32; i += chip_threads) words[i] = hash_word(i);
    __syncthreads();
    const int thread = static_cast<int>(threadIdx.x);
    const std::uint32_t* own = words + conflict_word(thread, 0, ways);
    std::uint32_t sum = 0;
    for_each_tile(
        count, shared_tile,
        [&](std::int64_t) {
            std::uint32_t held[unroll];
#pragma unroll
            for (int j = 0; j < unroll; ++j) held[j] = load_shared_word(own + j * 32);
#pragma unroll
            for (int j = 0; j < unroll; ++j) sum += held[j];
        },
        [&](std::int64_t, int rest) {
            for (int j = 0; j * chip_threads + thread < rest; ++j) {
                sum += load_shared_word(own + j * 32);
            }
        });
    store_block_sum(sum, partial_sums);
}

template <int path>
__device__ __noinline__ float walk_path(int steps) {
    float x = 1.0F;
#pragma unroll 16
    for (int i = 0; i < steps; ++i) x = fmaf(x, path_factor(path), path_term(path));
    return x;
}

template <int first, int count>
__device__ __forceinline__ float take_path(int path, int steps) {
    if constexpr (count == 1) {
        return walk_path<first>(steps);
    } else {
        constexpr int half = count / 2;
        return path < first + half ? take_path<first, half>(path, steps)
                                   : take_path<first + half, half>(path, steps);
    }
}

__global__ void divergence_kernel(float* output, std::int64_t elements, int paths, int steps) {
    const float x = take_path<0, most_paths>(static_cast<int>(threadIdx.x) % paths, steps);
    const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * chip_threads + threadIdx.x;
    if (i < elements) output[i] = x;
}

template <class Word>
Launch word_read(const WordRead& read) {
    return [read](cudaStream_t stream) {
        const LaunchShape shape = shape_of(grid_of(read));
        word_read_kernel<<<shape.grid, shape.block, 0, stream>>>(
            static_cast<const Word*>(read.source) + read.offset, read.partial_sums, read.words,
            read.stride);
        check(cudaGetLastError(), "word read");
    };
}

void require_degree(const char* what, int degree) {
    if (degree >= 1 && degree <= 32) return;
    throw std::invalid_argument(std::string(what) + " must be 1 to 32");
}

}  // namespace

Launch launch_of(const WordRead& read) {
    if (read.words < 1 || read.stride < 1 || read.offset < 0) {
        throw std::invalid_argument(
            "word read: words and stride must be positive, offset not negative");
    }
    switch (read.word_bytes) {
        case 1:
            return word_read<unsigned char>(read);
        case 2:
            return word_read<unsigned short>(read);
        case 4:
            return word_read<unsigned int>(read);
        case 8:
            return word_read<unsigned long long>(read);
        default:
            throw std::invalid_argument("word read: words of 1, 2, 4 or 8 bytes");
    }
}

Launch launch_of(const BankConflict& conflict) {
    require_degree("bank conflict: ways", conflict.ways);
    return [conflict](cudaStream_t stream) {
        const LaunchShape shape = shape_of(grid_of(conflict));
        bank_conflict_kernel<<<shape.grid, shape.block, 0, stream>>>(conflict.partial_sums,
                                                                     conflict.words, conflict.ways);
        check(cudaGetLastError(), "bank conflict");
    };
}

Launch launch_of(const Divergence& divergence) {
    require_degree("divergence: paths", divergence.paths);
    return [divergence](cudaStream_t stream) {
        const LaunchShape shape = shape_of(grid_of(divergence));
        divergence_kernel<<<shape.grid, shape.block, 0, stream>>>(
            divergence.output, divergence.elements, divergence.paths, divergence.steps);
        check(cudaGetLastError(), "divergence");
    };
}

}  // namespace ridge::measure::cuda
