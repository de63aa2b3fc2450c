// The mma.sync ceiling (see tensor_peak.h): m16n8 instructions on register operands.
#include "measure/cuda/kernels/tensor_operands.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr int threads = 256;
constexpr int blocks_per_multiprocessor = 2;
constexpr int row_fragments = 2;
constexpr int column_fragments = 4;  // row_fragments * column_fragments independent accumulators

template <ElementType Type>
constexpr int k_of = 32 / bytes_per_element(Type);  // 32 bytes of k per instruction

template <ElementType Type>
constexpr int target_of = Type == ElementType::float8_e4m3 ? 890 : 800;

// One instruction; the accumulators are four 32-bit words, float32 or int32 by type.
template <ElementType Type>
__device__ __forceinline__ void multiply(std::uint32_t (&c)[4], const std::uint32_t (&a)[4],
                                         const std::uint32_t (&b)[2]) {
#define RIDGE_MMA(shape_and_types)                                                  \
    asm volatile("mma.sync.aligned." shape_and_types                                \
                 " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};" \
                 : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])                   \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))
    if constexpr (Type == ElementType::bfloat16) RIDGE_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
    if constexpr (Type == ElementType::float16) RIDGE_MMA("m16n8k16.row.col.f32.f16.f16.f32");
    if constexpr (Type == ElementType::tfloat32) RIDGE_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
    if constexpr (Type == ElementType::int8) RIDGE_MMA("m16n8k32.row.col.s32.s8.s8.s32");
    if constexpr (Type == ElementType::float8_e4m3) RIDGE_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
#undef RIDGE_MMA
}

template <ElementType Type>
__global__ void __launch_bounds__(threads, blocks_per_multiprocessor)
    tensor_peak_mma_sync_kernel(int iterations, OperandPattern pattern, float* sink,
                                long long* cycles) {
#if defined(__CUDA_ARCH__)
    if constexpr (__CUDA_ARCH__ >= target_of<Type>) {
        const std::uint32_t thread = blockIdx.x * threads + threadIdx.x;
        std::uint32_t a[row_fragments][4];
        std::uint32_t b[column_fragments][2];
        std::uint32_t acc[row_fragments][column_fragments][4] = {};
#pragma unroll
        for (int i = 0; i < row_fragments; ++i)
#pragma unroll
            for (int word = 0; word < 4; ++word)
                a[i][word] = operand_word<Type>(thread * 32 + i * 4 + word, pattern);
#pragma unroll
        for (int j = 0; j < column_fragments; ++j)
#pragma unroll
            for (int word = 0; word < 2; ++word)
                b[j][word] = operand_word<Type>(thread * 32 + 16 + j * 2 + word, pattern);
        __syncthreads();
        const long long start = clock64();
#pragma unroll 2
        for (int iteration = 0; iteration < iterations; ++iteration)
#pragma unroll
            for (int i = 0; i < row_fragments; ++i)
#pragma unroll
                for (int j = 0; j < column_fragments; ++j) multiply<Type>(acc[i][j], a[i], b[j]);
        __syncthreads();
        if (cycles != nullptr && threadIdx.x == 0) cycles[blockIdx.x] = clock64() - start;
        std::uint32_t mixed = 0;
        for (int i = 0; i < row_fragments; ++i)
            for (int j = 0; j < column_fragments; ++j)
                mixed ^= acc[i][j][0] ^ acc[i][j][1] ^ acc[i][j][2] ^ acc[i][j][3];
        sink[thread] = __uint_as_float(mixed);
    }
#endif
}

template <ElementType Type>
TensorPeak build(const TensorPeakProblem& p, int multiprocessors) {
    const int blocks = multiprocessors * blocks_per_multiprocessor;
    const LaunchShape shape{.grid = dim3(static_cast<unsigned>(blocks)), .block = dim3(threads)};
    const double per_instruction = 2.0 * 16 * 8 * k_of<Type>;
    return peak_of("tensor_peak_mma_sync", tensor_peak_mma_sync_kernel<Type>, shape,
                   per_instruction * row_fragments * column_fragments * (threads / 32.0) * blocks,
                   p);
}

}  // namespace

std::int64_t tensor_peak_sink_elements(int multiprocessors) {
    return static_cast<std::int64_t>(multiprocessors) * blocks_per_multiprocessor * threads;
}

TensorPeak tensor_peak_mma_sync(const TensorPeakProblem& p, int multiprocessors) {
    if (p.type == ElementType::float8_e4m3) {
        const auto limits = device_limits();
        if (limits.compute_major * 10 + limits.compute_minor < 89)
            throw std::runtime_error(
                "tensor_peak: mma.sync takes float8_e4m3 from compute capability 8.9 on");
    }
    return for_tensor_type(p.type, [&](auto type) { return build<type()>(p, multiprocessors); });
}

TensorPeak tensor_peak(const TensorPeakProblem& p) {
    if (p.sink == nullptr) throw std::runtime_error("tensor_peak: sink must be a device pointer");
    if (p.iterations < 1 || p.iterations > (1 << 30))
        throw std::runtime_error("tensor_peak: iterations must be from 1 to 2^30");
    const int multiprocessors = device_limits().multiprocessors;
    return p.path == TensorPath::mma_sync ? tensor_peak_mma_sync(p, multiprocessors)
                                          : tensor_peak_wgmma(p, multiprocessors);
}

}  // namespace ridge::measure::cuda
