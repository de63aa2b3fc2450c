// What access patterns cost; see access.h.
#include "measure/cuda/kernels/access.h"

#include <numeric>
#include <stdexcept>

#include "measure/cuda/kernels/clock_span.cuh"
#include "measure/cuda/kernels/on_chip.h"
#include "measure/cuda/kernels/reduce.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr int read_threads = 256;
constexpr int unroll = 8;
constexpr int tile_words = read_threads * unroll;
constexpr int chip_threads = 512;
constexpr int chip_blocks_per_multiprocessor = 4;

__device__ __forceinline__ void store_block_sum(std::uint32_t sum, std::uint32_t* partial_sums) {
    __shared__ std::uint32_t scratch[32];
    sum = reduce_block(sum, Add{}, 0U, scratch);
    if (threadIdx.x == 0) partial_sums[blockIdx.x] = sum;
}

// Strided and misaligned in one: word i is at offset + i * stride.
__global__ void word_read_kernel(const std::uint32_t* source, std::uint32_t* partial_sums,
                                 std::int64_t words, int stride) {
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * tile_words + threadIdx.x;
    std::uint32_t held[unroll];
#pragma unroll
    for (int i = 0; i < unroll; ++i) {
        const std::int64_t word = first + i * read_threads;
        held[i] = word < words ? __ldcg(source + word * stride) : 0;
    }
    std::uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < unroll; ++i) sum += held[i];
    store_block_sum(sum, partial_sums);
}

__device__ __forceinline__ std::uint32_t load_shared_word(const std::uint32_t* address) {
    std::uint32_t value;
    asm volatile("ld.shared.u32 %0, [%1];"
                 : "=r"(value)
                 : "r"(static_cast<std::uint32_t>(__cvta_generic_to_shared(address))));
    return value;
}

__global__ void bank_conflict_kernel(std::uint32_t* partial_sums, ClockSpan* spans, int stride,
                                     int iterations) {
    constexpr int count = (bank_conflict_rows + unroll) * 32;
    __shared__ std::uint32_t words[count];
    for (int i = threadIdx.x; i < count; i += blockDim.x) words[i] = hash_word(i);
    __syncthreads();
    const ClockSpan span = open_span();
    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    std::uint32_t sum = 0;
#pragma unroll 1
    for (int i = 0; i < iterations; ++i) {
        const std::uint32_t* first = words + conflict_word(lane, warp, i * unroll, stride);
        std::uint32_t held[unroll];
#pragma unroll
        for (int j = 0; j < unroll; ++j) held[j] = load_shared_word(first + j * 32);
#pragma unroll
        for (int j = 0; j < unroll; ++j) sum += held[j];
    }
    close_span(span, spans);
    store_block_sum(sum, partial_sums);
}

template <int path>
__device__ __noinline__ float walk_path(int iterations) {
    float x = 1.0F;
#pragma unroll 16
    for (int i = 0; i < iterations; ++i) x = fmaf(x, path_factor(path), path_term(path));
    return x;
}

template <int first, int count>
__device__ __forceinline__ float take_path(int path, int iterations) {
    if constexpr (count == 1) {
        return walk_path<first>(iterations);
    } else {
        return path < first + count / 2 ? take_path<first, count / 2>(path, iterations)
                                        : take_path<first + count / 2, count / 2>(path, iterations);
    }
}

template <int paths>
__global__ void divergence_kernel(float* output, ClockSpan* spans, int iterations) {
    const ClockSpan span = open_span();
    float x = take_path<0, paths>(threadIdx.x % paths, iterations);
    asm volatile("" : "+f"(x));  // computed before the clock is read
    close_span(span, spans);
    output[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

Launch word_read(const std::uint32_t* first, std::uint32_t* partial_sums, std::int64_t words,
                 int stride) {
    if (words <= 0) throw std::invalid_argument("word read: words must be positive");
    return [=](cudaStream_t stream) {
        word_read_kernel<<<static_cast<unsigned>(ceil_div(words, tile_words)), read_threads, 0,
                           stream>>>(first, partial_sums, words, stride);
        check(cudaGetLastError(), "word read");
    };
}

KernelGeometry word_geometry(std::int64_t words) {
    return {.threads = read_threads,
            .blocks = ceil_div(words, tile_words),
            .bytes_in_flight_per_thread = 4 * unroll};
}

KernelGeometry chip_geometry(int multiprocessors) {
    return {.threads = chip_threads,
            .blocks = std::int64_t{multiprocessors} * chip_blocks_per_multiprocessor};
}

}  // namespace

std::int64_t sectors_of(const StridedRead& read) {
    if (read.stride >= 8) return read.words;
    return ceil_div(((read.words - 1) * read.stride + 1) * 4, 32);
}

std::int64_t sectors_of(const MisalignedRead& read) {
    const int per_warp = read.offset % 8 == 0 ? 4 : 5;
    const std::int64_t rest = read.words % 32;
    return read.words / 32 * per_warp + (rest == 0 ? 0 : ceil_div(read.offset % 8 + rest, 8));
}

KernelGeometry geometry_of(const StridedRead& read) {
    return word_geometry(read.words);
}
KernelGeometry geometry_of(const MisalignedRead& read) {
    return word_geometry(read.words);
}
KernelGeometry geometry_of(const BankConflict& conflict) {
    return chip_geometry(conflict.multiprocessors);
}
KernelGeometry geometry_of(const Divergence& divergence) {
    return chip_geometry(divergence.multiprocessors);
}

KernelWork work_of(const StridedRead& read) {
    return {.dram_bytes_read = 32 * sectors_of(read),
            .dram_bytes_written = 4 * geometry_of(read).blocks};
}
KernelWork work_of(const MisalignedRead& read) {
    return {.dram_bytes_read = 4 * read.words, .dram_bytes_written = 4 * geometry_of(read).blocks};
}
KernelWork work_of(const BankConflict& conflict) {
    return {.shared_bytes_read =
                4 * geometry_of(conflict).blocks * chip_threads * unroll * conflict.iterations};
}
KernelWork work_of(const Divergence& divergence) {
    const std::int64_t threads = geometry_of(divergence).blocks * chip_threads;
    return {.dram_bytes_written = 4 * threads, .flop = 2 * threads * divergence.iterations};
}

Launch launch_of(const StridedRead& read) {
    if (read.stride < 1 || read.stride > 32)
        throw std::invalid_argument("strided read: stride must be 1 to 32 words");
    return word_read(read.source, read.partial_sums, read.words, read.stride);
}

Launch launch_of(const MisalignedRead& read) {
    if (read.offset < 0)
        throw std::invalid_argument("misaligned read: offset must not be negative");
    return word_read(read.source + read.offset, read.partial_sums, read.words, 1);
}

Launch launch_of(const BankConflict& conflict) {
    if (conflict.stride < 1 || conflict.stride > 32)
        throw std::invalid_argument("bank conflict: stride must be 1 to 32 words");
    const auto blocks = static_cast<unsigned>(geometry_of(conflict).blocks);
    return [=](cudaStream_t stream) {
        bank_conflict_kernel<<<blocks, chip_threads, 0, stream>>>(
            conflict.partial_sums, conflict.spans, conflict.stride, conflict.iterations);
        check(cudaGetLastError(), "bank conflict");
    };
}

Launch launch_of(const Divergence& divergence) {
    const auto blocks = static_cast<unsigned>(geometry_of(divergence).blocks);
    const auto with_kernel = [&](auto kernel) -> Launch {
        return [=](cudaStream_t stream) {
            kernel<<<blocks, chip_threads, 0, stream>>>(divergence.output, divergence.spans,
                                                        divergence.iterations);
            check(cudaGetLastError(), "divergence");
        };
    };
    switch (divergence.paths) {
        case 1:
            return with_kernel(divergence_kernel<1>);
        case 2:
            return with_kernel(divergence_kernel<2>);
        case 4:
            return with_kernel(divergence_kernel<4>);
        case 8:
            return with_kernel(divergence_kernel<8>);
        case 16:
            return with_kernel(divergence_kernel<16>);
        case 32:
            return with_kernel(divergence_kernel<32>);
        default:
            throw std::invalid_argument("divergence: paths must be a power of two up to 32");
    }
}

}  // namespace ridge::measure::cuda
