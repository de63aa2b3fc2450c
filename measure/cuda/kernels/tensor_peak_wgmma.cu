// The wgmma ceiling (see tensor_peak.h): m64n256 instructions on operands in shared memory.
#include "measure/cuda/kernels/tensor_operands.cuh"
#include "measure/cuda/kernels/wgmma.cuh"

namespace ridge::measure::cuda {
namespace {

using namespace hopper;

constexpr int warpgroups = 2;
constexpr int threads = warpgroups * warpgroup_threads;
constexpr int tile_m = 64;
constexpr int tile_n = 256;
constexpr int row_bytes = 128;                // of k, both operands
constexpr int instructions = row_bytes / 32;  // each takes 32 bytes of k
constexpr int a_bytes = warpgroups * tile_m * row_bytes;
constexpr int b_bytes = tile_n * row_bytes;

template <ElementType Type>
using Accumulator = std::conditional_t<Type == ElementType::int8, std::uint32_t, float>;

#define RIDGE_I8(d, i)                                                                          \
    "+r"(d[i]), "+r"(d[i + 1]), "+r"(d[i + 2]), "+r"(d[i + 3]), "+r"(d[i + 4]), "+r"(d[i + 5]), \
        "+r"(d[i + 6]), "+r"(d[i + 7])
#define RIDGE_I64(d, i)                                                           \
    RIDGE_I8(d, i), RIDGE_I8(d, i + 8), RIDGE_I8(d, i + 16), RIDGE_I8(d, i + 24), \
        RIDGE_I8(d, i + 32), RIDGE_I8(d, i + 40), RIDGE_I8(d, i + 48), RIDGE_I8(d, i + 56)

template <ElementType Type>
__device__ __forceinline__ void multiply_add(Accumulator<Type> (&acc)[tile_n / 2], std::uint64_t a,
                                             std::uint64_t b) {
    if constexpr (Type == ElementType::bfloat16) multiply<tile_n, __nv_bfloat16>(acc, a, b, true);
    if constexpr (Type == ElementType::float16) multiply<tile_n, __half>(acc, a, b, true);
    if constexpr (Type == ElementType::tfloat32)
        asm volatile("wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" RIDGE_R128
                     "}, %128, %129, 1, 1, 1;"
                     : RIDGE_D64(acc, 0), RIDGE_D64(acc, 64)
                     : "l"(a), "l"(b));
    if constexpr (Type == ElementType::float8_e4m3)
        asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3 {" RIDGE_R128
                     "}, %128, %129, 1, 1, 1;"
                     : RIDGE_D64(acc, 0), RIDGE_D64(acc, 64)
                     : "l"(a), "l"(b));
    if constexpr (Type == ElementType::int8)
        asm volatile("wgmma.mma_async.sync.aligned.m64n256k32.s32.s8.s8 {" RIDGE_R128
                     "}, %128, %129, 1;"
                     : RIDGE_I64(acc, 0), RIDGE_I64(acc, 64)
                     : "l"(a), "l"(b));
}

template <ElementType Type>
__global__ void __launch_bounds__(threads, 1)
    tensor_peak_wgmma_kernel(int iterations, OperandPattern pattern, float* sink,
                             long long* cycles) {
    if constexpr (can_compile) {
        extern __shared__ __align__(1024) unsigned char operands[];
        auto* const words = reinterpret_cast<std::uint32_t*>(operands);
        for (int i = static_cast<int>(threadIdx.x); i < (a_bytes + b_bytes) / 4; i += threads)
            words[i] = operand_word<Type>(blockIdx.x * 65536 + i, pattern);
        fence_async_proxy();
        __syncthreads();

        const int warpgroup = static_cast<int>(threadIdx.x) / warpgroup_threads;
        const std::uint64_t a = k_major_descriptor(operands + warpgroup * tile_m * row_bytes);
        const std::uint64_t b = k_major_descriptor(operands + a_bytes);
        Accumulator<Type> acc[tile_n / 2] = {};
        const long long start = clock64();
        for (int iteration = 0; iteration < iterations; ++iteration) {
            fence_operands(acc);
            begin();
#pragma unroll
            for (int i = 0; i < instructions; ++i)
                multiply_add<Type>(acc, a + i * k_major_step, b + i * k_major_step);
            commit();
            wait_for<1>();
        }
        wait_for<0>();
        fence_operands(acc);
        __syncthreads();
        if (cycles != nullptr && threadIdx.x == 0) cycles[blockIdx.x] = clock64() - start;
        float sum = 0.0F;
#pragma unroll
        for (int i = 0; i < tile_n / 2; ++i) sum += static_cast<float>(acc[i]);
        sink[blockIdx.x * threads + threadIdx.x] = sum;
    }
}

template <ElementType Type>
TensorPeak build(const TensorPeakProblem& p, int multiprocessors) {
    constexpr int k = row_bytes / bytes_per_element(Type);
    const LaunchShape shape{.grid = dim3(static_cast<unsigned>(multiprocessors)),
                            .block = dim3(threads),
                            .dynamic_shared_bytes = a_bytes + b_bytes};
    return peak_of("tensor_peak_wgmma", tensor_peak_wgmma_kernel<Type>, shape,
                   2.0 * tile_m * tile_n * k * warpgroups * multiprocessors, p);
}

}  // namespace

TensorPeak tensor_peak_wgmma(const TensorPeakProblem& p, int multiprocessors) {
    require_hopper("tensor_peak_wgmma");
    return for_tensor_type(p.type, [&](auto type) { return build<type()>(p, multiprocessors); });
}

}  // namespace ridge::measure::cuda
