// Kernels that judge the cause split: written after its rules were fixed, before any was run.
// n* have a planted fault (a) and a mended twin (b), g* have none; see planted.h.
#include "planted.h"

namespace planted {
namespace {

/// A five-point stencil on 4096 x 4096; neighbouring threads take rows or columns.
template <bool Rows>
__device__ void stencil(const float* in, float* out) {
    constexpr int edge = 4096;
    const int fast = blockIdx.x % (edge / 32) * 32 + threadIdx.x % 32;
    const int slow = blockIdx.x / (edge / 32) * 8 + threadIdx.x / 32;
    const int x = Rows ? slow : fast;
    const int y = Rows ? fast : slow;
    if (x < 1 || y < 1 || x > edge - 2 || y > edge - 2) return;
    const float* const p = in + y * edge + x;
    out[y * edge + x] = 0.2F * (p[0] + p[1] + p[-1] + p[edge] + p[-edge]);
}
__global__ void n01a(const float* in, float* out) {
    stencil<true>(in, out);
}
__global__ void n01b(const float* in, float* out) {
    stencil<false>(in, out);
}

/// Sums of 1024 values in a tree, again and again; strided or sequential addresses.
template <bool Strided>
__device__ void tree(const float* in, float* out) {
    __shared__ float value[1024];
    float sum = 0.0F;
    for (int round = 0; round < 64; ++round) {
        for (int j = 0; j < 4; ++j) value[threadIdx.x + 256 * j] = in[first_index() + j] + sum;
        __syncthreads();
        for (int half = 512; half >= 32; half /= 2) {
            const int step = Strided ? 1024 / half : 1;
            const int other = Strided ? step / 2 : half;
            for (int i = threadIdx.x; i < half; i += 256)
                value[i * step] += value[i * step + other];
            __syncthreads();
        }
        sum += value[Strided ? threadIdx.x % 32 * 32 : threadIdx.x % 32];
        __syncthreads();
    }
    out[first_index()] = sum;
}
__global__ void n02a(const float* in, float* out) {
    tree<true>(in, out);
}
__global__ void n02b(const float* in, float* out) {
    tree<false>(in, out);
}

/// y = a x + y, in blocks that ask for shared memory that they hardly use.
__device__ void axpy(const float4* x, float4* y, std::size_t count) {
#pragma unroll 1
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float4 a = x[i];
        float4 b = y[i];
        b.x += 2.0F * a.x;
        b.y += 2.0F * a.y;
        b.z += 2.0F * a.z;
        b.w += 2.0F * a.w;
        y[i] = b;
    }
}
__global__ void n03a(const float4* x, float4* y, std::size_t count) {
    extern __shared__ float unused[];
    if (count == 0) unused[threadIdx.x] = 0.0F;
    axpy(x, y, count);
}
__global__ void n03b(const float4* x, float4* y, std::size_t count) {
    axpy(x, y, count);
}

/// 40 sums of each thread, in 32 registers or in as many as it needs.
__device__ void forty(const float* in, float* out) {
    float sum[40] = {};
    for (int step = 0; step < 64; ++step) {
        const float x = in[step * 1024 + threadIdx.x];
#pragma unroll
        for (int j = 0; j < 40; ++j) sum[j] = fmaf(sum[j], x, x + static_cast<float>(j));
    }
    float all = 0.0F;
#pragma unroll
    for (int j = 0; j < 40; ++j) all += sum[j] * sum[39 - j];
    out[first_index()] = all;
}
__global__ void __launch_bounds__(1024, 2) n04a(const float* in, float* out) {
    forty(in, out);
}
__global__ void __launch_bounds__(1024, 1) n04b(const float* in, float* out) {
    forty(in, out);
}

/// A polynomial for every element, by a part of the multiprocessors or by all.
__device__ void polynomial(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float x = in[i];
        float y = 0.0F;
        for (int j = 0; j < 96; ++j) y = fmaf(y, x, 0.5F);
        out[i] = y;
    }
}
__global__ void n05a(const float* in, float* out, std::size_t count) {
    polynomial(in, out, count);
}
__global__ void n05b(const float* in, float* out, std::size_t count) {
    polynomial(in, out, count);
}

/// Two independent sequences a thread; equal blocks.
__device__ void sequences(float* out, int steps) {
    float a = static_cast<float>(threadIdx.x) * 0.001F;
    float b = a + 0.5F;
    float c = a - 0.5F;
    float d = a * 0.5F;
    for (int i = 0; i < steps; ++i) {
        a = fmaf(a, a, -0.7F);
        b = fmaf(b, b, -0.6F);
        c = fmaf(c, c, -0.5F);
        d = fmaf(d, d, -0.4F);
    }
    out[first_index()] = a + b + c + d;
}
__global__ void n06a(float* out, int steps) {
    sequences(out, steps);
}
__global__ void n06b(float* out, int steps) {
    sequences(out, steps);
}

/// Grey of red, green and blue bytes, one pixel or four a thread.
__global__ void n07a(const unsigned char* in, unsigned char* out, std::size_t pixels) {
    for (std::size_t i = first_index(); i < pixels; i += step_of_grid()) {
        out[i] = static_cast<unsigned char>(
            (77U * in[3 * i] + 150U * in[3 * i + 1] + 29U * in[3 * i + 2]) >> 8U);
    }
}
__global__ void n07b(const uint4* in, uint4* out, std::size_t pixels) {
    // Sixteen pixels are three words of 16 bytes.
    for (std::size_t i = first_index(); i < pixels / 16; i += step_of_grid()) {
        uint4 words[3] = {in[3 * i], in[3 * i + 1], in[3 * i + 2]};
        const unsigned* w = reinterpret_cast<const unsigned*>(words);
        unsigned grey[4];
#pragma unroll
        for (int g = 0; g < 4; ++g) {
            const unsigned a = w[3 * g];
            const unsigned b = w[3 * g + 1];
            const unsigned c = w[3 * g + 2];
            const auto mix = [](unsigned r, unsigned s, unsigned t) {
                return (77U * (r & 255U) + 150U * (s & 255U) + 29U * (t & 255U)) >> 8U;
            };
            grey[g] = mix(a, a >> 8U, a >> 16U) | mix(a >> 24U, b, b >> 8U) << 8U |
                      mix(b >> 16U, b >> 24U, c) << 16U | mix(c >> 8U, c >> 16U, c >> 24U) << 24U;
        }
        out[i] = {grey[0], grey[1], grey[2], grey[3]};
    }
}

/// Square roots by Newton's method, one after the other or four at once; one block of 128 threads to
/// a multiprocessor.
template <int Together>
__device__ void newton(const float* in, float* out) {
    for (int first = 0; first < 64; first += Together) {
        float x[Together];
        float y[Together];
#pragma unroll
        for (int j = 0; j < Together; ++j) {
            x[j] = in[(first + j) * 16896 + first_index()];
            y[j] = 1.0F;
        }
        for (int step = 0; step < 256; ++step) {
#pragma unroll
            for (int j = 0; j < Together; ++j) {
                y[j] = y[j] * fmaf(-0.5F * x[j], y[j] * y[j], 1.5F);
            }
        }
#pragma unroll
        for (int j = 0; j < Together; ++j) out[(first + j) * 16896 + first_index()] = y[j];
    }
}
__global__ void n08a(const float* in, float* out) {
    newton<1>(in, out);
}
__global__ void n08b(const float* in, float* out) {
    newton<8>(in, out);
}

/// An iteration whose length depends on the element; lengths differ among lanes or among warps.
template <bool Mixed>
__device__ void iterate(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const unsigned key = static_cast<unsigned>(Mixed ? i : i / 32);
        const int steps = static_cast<int>(key * 2654435761U >> 24U);
        float x = in[i];
        for (int j = 0; j < steps; ++j) x = fmaf(x, 0.97F, 0.02F) * 0.99F;
        out[i] = x;
    }
}
__global__ void n09a(const float* in, float* out, std::size_t count) {
    iterate<true>(in, out, count);
}
__global__ void n09b(const float* in, float* out, std::size_t count) {
    iterate<false>(in, out, count);
}

}  // namespace

std::vector<Launch> judge_launches() {
    return {
        {"n01a", [](const Memory& m) { n01a<<<4096 / 32 * 4096 / 8, threads>>>(m.in, m.out); }},
        {"n01b", [](const Memory& m) { n01b<<<4096 / 32 * 4096 / 8, threads>>>(m.in, m.out); }},
        {"n02a", [](const Memory& m) { n02a<<<full * 2, threads>>>(m.in, m.out); }},
        {"n02b", [](const Memory& m) { n02b<<<full * 2, threads>>>(m.in, m.out); }},
        {"n03a",
         [](const Memory& m) {
             cudaFuncSetAttribute(n03a, cudaFuncAttributeMaxDynamicSharedMemorySize, 110 << 10);
             n03a<<<full, 128, 110 << 10>>>(reinterpret_cast<const float4*>(m.in),
                                            reinterpret_cast<float4*>(m.out), floats / 8);
         }},
        {"n03b",
         [](const Memory& m) {
             n03b<<<full, 128>>>(reinterpret_cast<const float4*>(m.in),
                                 reinterpret_cast<float4*>(m.out), floats / 8);
         }},
        {"n04a", [](const Memory& m) { n04a<<<full, 1024>>>(m.in, m.out); }},
        {"n04b", [](const Memory& m) { n04b<<<full, 1024>>>(m.in, m.out); }},
        {"n05a", [](const Memory& m) { n05a<<<40, 1024>>>(m.in, m.out, floats / 16); }},
        {"n05b", [](const Memory& m) { n05b<<<full, threads>>>(m.in, m.out, floats / 16); }},
        {"n06a", [](const Memory& m) { n06a<<<full + 16, threads>>>(m.out, 8192); }},
        {"n06b", [](const Memory& m) { n06b<<<(full + 16) * 8, threads>>>(m.out, 1024); }},
        {"n07a",
         [](const Memory& m) {
             n07a<<<full, threads>>>(reinterpret_cast<const unsigned char*>(m.in),
                                     reinterpret_cast<unsigned char*>(m.out), floats);
         }},
        {"n07b",
         [](const Memory& m) {
             n07b<<<full, threads>>>(reinterpret_cast<const uint4*>(m.in),
                                     reinterpret_cast<uint4*>(m.out), floats);
         }},
        {"n08a", [](const Memory& m) { n08a<<<multiprocessors, 128>>>(m.in, m.out); }},
        {"n08b", [](const Memory& m) { n08b<<<multiprocessors, 128>>>(m.in, m.out); }},
        {"n09a", [](const Memory& m) { n09a<<<full, threads>>>(m.in, m.out, floats / 4); }},
        {"n09b", [](const Memory& m) { n09b<<<full, threads>>>(m.in, m.out, floats / 4); }},
    };
}

}  // namespace planted
