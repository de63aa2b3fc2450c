// A program of 100 kernels that differ in name and grid: streams, sums, transposes and wmma
// products over 1 GiB. scripts/measure/compare-profile.py uses it to time how long a profiler takes to count
// them.
//
//   hundred_kernels 4            # each kernel four times
//   hundred_kernels 1 sum-first  # each product after a sum, which leaves little to write back
#include <cuda_fp16.h>
#include <cuda_runtime.h>
#include <mma.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace {

constexpr std::size_t bytes = std::size_t{512} << 20U;  // size of each of the two buffers

template <int K>
__global__ void stream(const float4* in, float4* out, std::size_t count) {
    const std::size_t step = gridDim.x * std::size_t{blockDim.x};
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count; i += step) {
        float4 value = in[i];
        for (int k = 0; k < K; ++k) {
            value.x = fmaf(value.x, 1.01F, 0.5F);
            value.y = fmaf(value.y, 1.01F, 0.5F);
        }
        out[i] = value;
    }
}

template <int K>
__global__ void total(const float4* in, float* out, std::size_t count) {
    const std::size_t step = gridDim.x * std::size_t{blockDim.x};
    float sum = 0.0F;
    for (std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; i < count; i += step) {
        const float4 value = in[i];
        sum += value.x + value.y + value.z + value.w * K;
    }
    for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_down_sync(~0U, sum, lane);
    if (threadIdx.x % 32 == 0) atomicAdd(out + K, sum);
}

/// Blocks of 256 threads, each for a tile of 32 x 32 of a matrix of 8192 x 8192.
template <int K>
__global__ void transpose(const float* in, float* out) {
    __shared__ float tile[32][33];
    constexpr std::size_t width = 8192;
    const int x = threadIdx.x % 32;
    const int y = threadIdx.x / 32;
    const std::size_t row = blockIdx.y * 32;
    const std::size_t column = blockIdx.x * 32;
    for (int j = 0; j < 32; j += 8) tile[y + j][x] = in[(row + y + j) * width + column + x] + K;
    __syncthreads();
    for (int j = 0; j < 32; j += 8) out[(column + y + j) * width + row + x] = tile[x][y + j];
}

template <int K>
__global__ void multiply(const half* in, float* out, int depth) {
    namespace wmma = nvcuda::wmma;
    constexpr std::size_t width = 4096;
    wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, static_cast<float>(K));
    const std::size_t warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    for (int k = 0; k < depth; k += 16) {
        wmma::load_matrix_sync(a, in + warp % 64 * 16 * width + k, width);
        wmma::load_matrix_sync(b, in + warp / 64 % 64 * 16 * width + k, width);
        wmma::mma_sync(sum, a, b, sum);
    }
    wmma::store_matrix_sync(out + warp * 256, sum, 16, wmma::mem_row_major);
}

enum class Order { sum_second, sum_before_product };

template <int K>
void launch(float4* in, float4* out, Order order) {
    constexpr std::size_t count = bytes / sizeof(float4) - K * 4096;
    const auto sum = [&] { total<K><<<528 + K, 256>>>(in, reinterpret_cast<float*>(out), count); };
    stream<K><<<1056 + K, 256>>>(in, out, count);
    if (order == Order::sum_second) sum();
    transpose<K>
        <<<dim3(256 - K, 256), 256>>>(reinterpret_cast<float*>(in), reinterpret_cast<float*>(out));
    if (order == Order::sum_before_product) sum();
    multiply<K><<<256 + K, 256>>>(reinterpret_cast<half*>(in), reinterpret_cast<float*>(out), 4096);
}

template <int... K>
void launch_all(float4* in, float4* out, Order order, std::integer_sequence<int, K...> /*kinds*/) {
    (launch<K>(in, out, order), ...);
}

void require(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
    std::exit(1);
}

}  // namespace

int main(int count, char** arguments) {
    const int rounds = count > 1 ? std::atoi(arguments[1]) : 1;
    const bool sum_first = count > 2 && std::string_view(arguments[2]) == "sum-first";
    const Order order = sum_first ? Order::sum_before_product : Order::sum_second;
    float4* in = nullptr;
    float4* out = nullptr;
    require(cudaMalloc(&in, bytes), "cudaMalloc");
    require(cudaMalloc(&out, bytes), "cudaMalloc");
    require(cudaMemset(in, 0, bytes), "cudaMemset");
    require(cudaMemset(out, 0, bytes), "cudaMemset");
    for (int i = 0; i < rounds; ++i)
        launch_all(in, out, order, std::make_integer_sequence<int, 25>());
    require(cudaDeviceSynchronize(), "a kernel");
    return 0;
}
