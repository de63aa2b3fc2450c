// Arithmetic ceilings; see arithmetic.h.
#include <stdexcept>

#include "measure/cuda/kernels/arithmetic.h"
#include "measure/cuda/kernels/clock_span.cuh"
#include "measure/cuda/kernels/vector.cuh"

namespace ridge::measure::cuda {
namespace {

constexpr int chains = arithmetic_chains;
constexpr int unroll = arithmetic_unroll;

__device__ __forceinline__ float step(float x, float factor, float term) {
    return fmaf(x, factor, term);
}
__device__ __forceinline__ double step(double x, double factor, double term) {
    return fma(x, factor, term);
}
__device__ __forceinline__ __half2 step(__half2 x, __half2 factor, __half2 term) {
    return __hfma2(x, factor, term);
}

template <typename T>
__host__ __device__ __forceinline__ T constant(float value) {
    return static_cast<T>(value);
}
template <>
__host__ __device__ __forceinline__ __half2 constant<__half2>(float value) {
    return __float2half2_rn(value);
}

__device__ __forceinline__ float result_of(float value) {
    return value;
}
__device__ __forceinline__ double result_of(double value) {
    return value;
}
__device__ __forceinline__ float result_of(__half2 value) {
    return __low2float(value) + __high2float(value);
}

template <typename T, typename Result>
__global__ void __launch_bounds__(1024)
    fma_kernel(Result* output, ClockSpan* spans, int iterations, T factor, T term) {
    T x[chains];
#pragma unroll
    for (int c = 0; c < chains; ++c) x[c] = constant<T>(start_value(threadIdx.x, c));
    const ClockSpan span = open_span();
#pragma unroll 1
    for (int i = 0; i < iterations; ++i) {
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
#pragma unroll
            for (int c = 0; c < chains; ++c) x[c] = step(x[c], factor, term);
        }
    }
    close_span(span, spans);
    Result sum = 0;
#pragma unroll
    for (int c = 0; c < chains; ++c) sum += result_of(x[c]);
    output[static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x] = sum;
}

__device__ __forceinline__ float exp2_of_negative(float x) {
    float result;
    asm("{\n"
        ".reg .f32 minus;\n"
        "neg.f32 minus, %1;\n"
        "ex2.approx.ftz.f32 %0, minus;\n"
        "}"
        : "=f"(result)
        : "f"(x));
    return result;
}

__global__ void __launch_bounds__(1024)
    exp2_kernel(float* output, ClockSpan* spans, int iterations) {
    float x[chains];
#pragma unroll
    for (int c = 0; c < chains; ++c) x[c] = start_value(threadIdx.x, c);
    const ClockSpan span = open_span();
#pragma unroll 1
    for (int i = 0; i < iterations; ++i) {
#pragma unroll
        for (int u = 0; u < unroll; ++u) {
#pragma unroll
            for (int c = 0; c < chains; ++c) x[c] = exp2_of_negative(x[c]);
        }
    }
    close_span(span, spans);
    float sum = 0;
#pragma unroll
    for (int c = 0; c < chains; ++c) sum += x[c];
    output[static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x] = sum;
}

void check(const ArithmeticPlan& plan) {
    if (plan.threads < 32 || plan.threads > 1024 || plan.threads % 32 != 0 ||
        plan.iterations <= 0) {
        throw std::invalid_argument(
            "arithmetic peak: threads must be a multiple of 32 up to 1024, iterations positive");
    }
}

bundled::LaunchGrid geometry(const ArithmeticPlan& plan) {
    return {.x = std::int64_t{plan.multiprocessors} * plan.blocks_per_multiprocessor,
            .threads = plan.threads};
}

std::int64_t steps(const ArithmeticPlan& plan) {
    return geometry(plan).blocks() * plan.threads * plan.iterations * chains * unroll;
}

}  // namespace

bundled::LaunchGrid geometry_of(const FmaPeak& peak) {
    return geometry(peak.plan);
}
bundled::LaunchGrid geometry_of(const Exp2Peak& peak) {
    return geometry(peak.plan);
}

KernelWork work_of(const FmaPeak& peak) {
    return {.flop = steps(peak.plan) * (peak.element == ElementType::float16 ? 4 : 2)};
}
KernelWork work_of(const Exp2Peak& peak) {
    return {.special_operations = steps(peak.plan)};
}

Launch launch_of(const FmaPeak& peak) {
    check(peak.plan);
    const bundled::LaunchGrid shape = geometry_of(peak);
    const auto with_kernel = [&](auto kernel, auto* output, auto factor, auto term) -> Launch {
        return [=](cudaStream_t stream) {
            kernel<<<static_cast<unsigned>(shape.blocks()), shape.threads, 0, stream>>>(
                output, peak.spans, peak.plan.iterations, factor, term);
            check(cudaGetLastError(), "FMA peak");
        };
    };
    switch (peak.element) {
        case ElementType::float64:
            return with_kernel(fma_kernel<double, double>, static_cast<double*>(peak.output), 0.75,
                               0.5);
        case ElementType::float32:
            return with_kernel(fma_kernel<float, float>, static_cast<float*>(peak.output), 0.75F,
                               0.5F);
        case ElementType::float16:
            return with_kernel(fma_kernel<__half2, float>, static_cast<float*>(peak.output),
                               constant<__half2>(0.75F), constant<__half2>(0.5F));
        default:
            throw std::invalid_argument("FMA peak: fp64, fp32 or fp16");
    }
}

Launch launch_of(const Exp2Peak& peak) {
    check(peak.plan);
    const bundled::LaunchGrid shape = geometry_of(peak);
    return [=](cudaStream_t stream) {
        exp2_kernel<<<static_cast<unsigned>(shape.blocks()), shape.threads, 0, stream>>>(
            peak.output, peak.spans, peak.plan.iterations);
        check(cudaGetLastError(), "exp2 peak");
    };
}

}  // namespace ridge::measure::cuda
