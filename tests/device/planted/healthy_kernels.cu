// Kernels without a fault: streams at the roof, arithmetic at its peak, products of cuBLAS.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <dlfcn.h>

#include "planted.h"

namespace planted {
namespace {

constexpr int wide = 512;
constexpr int grid = multiprocessors * 4;

__global__ void h01(const float4* in, float4* out, std::size_t count) {
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i];
}
__global__ void h02(const float4* in, float* out, std::size_t count) {
    float sum = 0.0F;
#pragma unroll 4
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float4 v = in[i];
        sum += v.x + v.y + v.z + v.w;
    }
    out[first_index()] = sum;
}
__global__ void h03(float4* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid())
        out[i] = {1.0F, 2.0F, 3.0F, 4.0F};
}
__global__ void h04(const float4* in, float4* out, std::size_t count) {
#pragma unroll 2
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float4 a = in[i];
        const float4 b = in[i + count];
        out[i] = {a.x + 2.0F * b.x, a.y + 2.0F * b.y, a.z + 2.0F * b.z, a.w + 2.0F * b.w};
    }
}
__global__ void h05(float* out) {
    float v[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) v[c] = static_cast<float>(threadIdx.x + c);
#pragma unroll 8
    for (int i = 0; i < 4096; ++i) {
#pragma unroll
        for (int c = 0; c < 8; ++c) v[c] = fmaf(v[c], 0.999F, 0.5F);
    }
    float sum = 0.0F;
#pragma unroll
    for (int c = 0; c < 8; ++c) sum += v[c];
    out[first_index()] = sum;
}

using Multiply = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                    int, const void*, const void*, cudaDataType, int, const void*,
                                    cudaDataType, int, const void*, void*, cudaDataType, int,
                                    cublasComputeType_t, cublasGemmAlgo_t);

struct Blas {
    cublasHandle_t handle = nullptr;
    Multiply multiply = nullptr;
};

const Blas& blas() {
    static const Blas found = [] {
        Blas made;
        void* const library = dlopen("libcublas.so.13", RTLD_NOW);
        if (library == nullptr) return made;
        const auto create = reinterpret_cast<cublasStatus_t (*)(cublasHandle_t*)>(
            dlsym(library, "cublasCreate_v2"));
        made.multiply = reinterpret_cast<Multiply>(dlsym(library, "cublasGemmEx"));
        if (create(&made.handle) != CUBLAS_STATUS_SUCCESS) made.handle = nullptr;
        return made;
    }();
    return found;
}

void product(const Memory& m, int size, cudaDataType type, cublasComputeType_t compute) {
    if (blas().handle == nullptr) return;
    const float one = 1.0F;
    const float zero = 0.0F;
    blas().multiply(blas().handle, CUBLAS_OP_T, CUBLAS_OP_N, size, size, size, &one, m.in, type,
                    size, m.in + floats / 4, type, size, &zero, m.out, type, size, compute,
                    CUBLAS_GEMM_DEFAULT);
}

const auto* fours(const Memory& m) {
    return reinterpret_cast<const float4*>(m.in);
}
auto* fours_out(const Memory& m) {
    return reinterpret_cast<float4*>(m.out);
}

}  // namespace

std::vector<Launch> healthy_launches() {
    return {
        {"h01", [](const Memory& m) { h01<<<grid, wide>>>(fours(m), fours_out(m), floats / 4); }},
        {"h02", [](const Memory& m) { h02<<<grid, wide>>>(fours(m), m.out, floats / 4); }},
        {"h03", [](const Memory& m) { h03<<<grid, wide>>>(fours_out(m), floats / 4); }},
        {"h04", [](const Memory& m) { h04<<<grid, wide>>>(fours(m), fours_out(m), floats / 8); }},
        {"h05", [](const Memory& m) { h05<<<grid, wide>>>(m.out); }},
        {"h06", [](const Memory& m) { product(m, 8192, CUDA_R_16BF, CUBLAS_COMPUTE_32F); }},
        {"h07", [](const Memory& m) { product(m, 4096, CUDA_R_16BF, CUBLAS_COMPUTE_32F); }},
        {"h08", [](const Memory& m) { product(m, 4096, CUDA_R_32F, CUBLAS_COMPUTE_32F); }},
        {"h09",
         [](const Memory& m) { product(m, 4096, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32); }},
        {"h10", [](const Memory& m) { product(m, 6144, CUDA_R_16F, CUBLAS_COMPUTE_32F); }},
    };
}

}  // namespace planted
