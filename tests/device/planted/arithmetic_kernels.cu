// Planted faults of arithmetic, registers and control flow: see planted.h.
#include <cuda_fp16.h>
#include <mma.h>

#include "planted.h"

namespace planted {
namespace {

/// FMA in `Chains` independent chains; as many in all for every number of chains.
template <int Chains>
__device__ void chains(float* out, int steps) {
    float value[Chains];
#pragma unroll
    for (int c = 0; c < Chains; ++c) value[c] = static_cast<float>(threadIdx.x + c);
#pragma unroll 4
    for (int i = 0; i < steps / Chains; ++i) {
#pragma unroll
        for (int c = 0; c < Chains; ++c) value[c] = fmaf(value[c], 0.999F, 0.5F);
    }
    float sum = 0.0F;
#pragma unroll
    for (int c = 0; c < Chains; ++c) sum += value[c];
    out[first_index()] = sum;
}
__global__ void k13a(float* out) {
    chains<1>(out, 65536);
}
__global__ void k13b(float* out) {
    chains<8>(out, 65536);
}

__global__ void k14a(const std::uint32_t* next, float* out) {
    std::uint32_t at = static_cast<std::uint32_t>(first_index() * 977U) % links;
    for (int i = 0; i < 128; ++i) at = next[at];
    out[first_index()] = static_cast<float>(at);
}
__global__ void k14b(const std::uint32_t* next, float* out) {
    std::uint32_t at[8];
#pragma unroll
    for (int c = 0; c < 8; ++c) {
        at[c] = static_cast<std::uint32_t>((first_index() * 8 + c) * 977U) % links;
    }
    for (int i = 0; i < 16; ++i) {
#pragma unroll
        for (int c = 0; c < 8; ++c) at[c] = next[at[c]];
    }
    std::uint32_t sum = 0;
#pragma unroll
    for (int c = 0; c < 8; ++c) sum += at[c];
    out[first_index()] = static_cast<float>(sum);
}

/// One of eight polynomials; which one depends on `which`.
__device__ float work(float x, int which, int steps) {
    switch (which) {
        case 0:
            for (int i = 0; i < steps; ++i) x = fmaf(x, 0.91F, 0.1F);
            break;
        case 1:
            for (int i = 0; i < steps; ++i) x = fmaf(x, 0.92F, 0.2F) - 0.11F;
            break;
        case 2:
            for (int i = 0; i < steps; ++i) x = fmaf(x, x, 0.3F) * 0.5F;
            break;
        case 3:
            for (int i = 0; i < steps; ++i) x = fmaf(x, 0.94F, 0.4F);
            break;
        case 4:
            for (int i = 0; i < steps; ++i) x = fmaf(x, -0.95F, 0.5F);
            break;
        case 5:
            for (int i = 0; i < steps; ++i) x = fmaf(x, -0.96F, 0.6F) + 0.17F;
            break;
        case 6:
            for (int i = 0; i < steps; ++i) x = fmaf(x, -x, 0.7F) * 0.5F;
            break;
        default:
            for (int i = 0; i < steps; ++i) x = fmaf(x, -0.98F, 0.8F);
            break;
    }
    return x;
}
__global__ void k15a(const float* in, float* out) {
    out[first_index()] = work(in[first_index()], threadIdx.x % 8, 512);
}
__global__ void k15b(const float* in, float* out) {
    out[first_index()] = work(in[first_index()], threadIdx.x / 32 % 8, 512);
}

__global__ void k16a(const float* in, float* out, int active) {
    float x = in[first_index()];
    if (static_cast<int>(threadIdx.x % 32) < active) {
        for (int i = 0; i < 2048; ++i) x = fmaf(x, 0.99F, 0.1F);
    }
    out[first_index()] = x;
}
__global__ void k16b(const float* in, float* out) {
    float x = in[first_index()];
    for (int i = 0; i < 2048; ++i) x = fmaf(x, 0.99F, 0.1F);
    out[first_index()] = x;
}

/// A sum of 48 running values, which need that many registers.
__device__ void many_values(const float* in, float* out) {
    float value[48];
#pragma unroll
    for (int j = 0; j < 48; ++j) value[j] = in[first_index() + 32 * j];
#pragma unroll 1
    for (int i = 0; i < 64; ++i) {
#pragma unroll
        for (int j = 0; j < 48; ++j) value[j] = fmaf(value[j], 0.99F, value[(j + 7) % 48]);
    }
    float sum = 0.0F;
#pragma unroll
    for (int j = 0; j < 48; ++j) sum += value[j];
    out[first_index()] = sum;
}
__global__ void __maxnreg__(32) k08a(const float* in, float* out) {
    many_values(in, out);
}
__global__ void k08b(const float* in, float* out) {
    many_values(in, out);
}

__global__ void k21a(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        double x = in[i];
        for (int k = 0; k < 16; ++k) x = x * 0.75 + 0.125 * x * x;
        out[i] = static_cast<float>(x);
    }
}
__global__ void k21b(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        float x = in[i];
        for (int k = 0; k < 16; ++k) x = x * 0.75F + 0.125F * x * x;
        out[i] = x;
    }
}

__global__ void k22a(const unsigned* in, unsigned* out, std::size_t count, unsigned size) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        unsigned x = in[i];
        for (int k = 0; k < 8; ++k) x = x / size + (x + k) % size;
        out[i] = x;
    }
}
__global__ void k22b(const unsigned* in, unsigned* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        unsigned x = in[i];
        for (int k = 0; k < 8; ++k) x = x / 64U + (x + k) % 64U;
        out[i] = x;
    }
}

__global__ void k31a(const float* in, float* out, const std::uint32_t* index) {
    float value[32];
    for (int j = 0; j < 32; ++j) value[j] = in[first_index() + 32 * j];
    float sum = 0.0F;
    for (int i = 0; i < 128; ++i) {
        const unsigned j = (index[i] + threadIdx.x / 32) % 32;
        value[j] = fmaf(value[j], 0.5F, 1.0F);
        sum += value[(j + 5) % 32];
    }
    out[first_index()] = sum;
}
__global__ void k31b(const float* in, float* out) {
    float value[32];
#pragma unroll
    for (int j = 0; j < 32; ++j) value[j] = in[first_index() + 32 * j];
    float sum = 0.0F;
#pragma unroll
    for (int i = 0; i < 128; ++i) {
        value[(i * 13) % 32] = fmaf(value[(i * 13) % 32], 0.5F, 1.0F);
        sum += value[(i * 13 + 5) % 32];
    }
    out[first_index()] = sum;
}

__global__ void k35a(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        float x = in[i];
        for (int k = 0; k < 12; ++k) x = __sinf(x) + __expf(-x);
        out[i] = x;
    }
}
__global__ void k35b(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        float x = in[i];
        for (int k = 0; k < 12; ++k) x = fmaf(x, fmaf(x, 0.16F, -0.5F), 1.0F);
        out[i] = x;
    }
}

/// Products of 1024 x 1024 in tiles of 16 x 16 from shared memory, by FMA of one value at a time.
constexpr int edge = 2048;
__global__ void k34a(const float* a, const float* b, float* out) {
    __shared__ float as[16][16];
    __shared__ float bs[16][17];
    const int x = threadIdx.x % 16;
    const int y = threadIdx.x / 16;
    const int row = blockIdx.y * 16 + y;
    const int column = blockIdx.x * 16 + x;
    float sum = 0.0F;
    for (int k = 0; k < edge; k += 16) {
        as[y][x] = a[row * edge + k + x];
        bs[y][x] = b[(k + y) * edge + column];
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 16; ++j) sum = fmaf(as[y][j], bs[j][x], sum);
        __syncthreads();
    }
    out[row * edge + column] = sum;
}
/// The same with 8 x 8 results a thread.
__global__ void k34b(const float* a, const float* b, float* out) {
    __shared__ float as[8][128];
    __shared__ float bs[8][128];
    const int x = threadIdx.x % 16;
    const int y = threadIdx.x / 16;
    float sum[8][8] = {};
    for (int k = 0; k < edge; k += 8) {
        for (int i = threadIdx.x; i < 1024; i += 256) {
            as[i % 8][i / 8] = a[(blockIdx.y * 128 + i / 8) * edge + k + i % 8];
            bs[i / 128][i % 128] = b[(k + i / 128) * edge + blockIdx.x * 128 + i % 128];
        }
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            float left[8];
            float right[8];
            for (int i = 0; i < 8; ++i) left[i] = as[j][y * 8 + i];
            for (int i = 0; i < 8; ++i) right[i] = bs[j][i * 16 + x];
#pragma unroll
            for (int r = 0; r < 8; ++r) {
#pragma unroll
                for (int c = 0; c < 8; ++c) sum[r][c] = fmaf(left[r], right[c], sum[r][c]);
            }
        }
        __syncthreads();
    }
    for (int r = 0; r < 8; ++r) {
        for (int c = 0; c < 8; ++c) {
            out[(blockIdx.y * 128 + y * 8 + r) * edge + blockIdx.x * 128 + c * 16 + x] = sum[r][c];
        }
    }
}

template <int Threads>
constexpr int blocks_of(int total) {
    return total / Threads;
}

}  // namespace

std::vector<Launch> arithmetic_launches() {
    return {
        {"k08a", [](const Memory& m) { k08a<<<full, threads>>>(m.in, m.out); }},
        {"k08b", [](const Memory& m) { k08b<<<full, threads>>>(m.in, m.out); }},
        {"k13a", [](const Memory& m) { k13a<<<multiprocessors, 128>>>(m.out); }},
        {"k13b", [](const Memory& m) { k13b<<<multiprocessors, 128>>>(m.out); }},
        {"k14a", [](const Memory& m) { k14a<<<multiprocessors, 64>>>(m.next, m.out); }},
        {"k14b", [](const Memory& m) { k14b<<<multiprocessors, 64>>>(m.next, m.out); }},
        {"k15a", [](const Memory& m) { k15a<<<full * 2, threads>>>(m.in, m.out); }},
        {"k15b", [](const Memory& m) { k15b<<<full * 2, threads>>>(m.in, m.out); }},
        {"k16a", [](const Memory& m) { k16a<<<full * 4, threads>>>(m.in, m.out, 8); }},
        {"k16b", [](const Memory& m) { k16b<<<full, threads>>>(m.in, m.out); }},
        {"k21a", [](const Memory& m) { k21a<<<full, threads>>>(m.in, m.out, floats / 8); }},
        {"k21b", [](const Memory& m) { k21b<<<full, threads>>>(m.in, m.out, floats / 8); }},
        {"k22a",
         [](const Memory& m) {
             k22a<<<full, threads>>>(reinterpret_cast<const unsigned*>(m.in),
                                     reinterpret_cast<unsigned*>(m.out), floats / 4, 64U);
         }},
        {"k22b",
         [](const Memory& m) {
             k22b<<<full, threads>>>(reinterpret_cast<const unsigned*>(m.in),
                                     reinterpret_cast<unsigned*>(m.out), floats / 4);
         }},
        {"k31a", [](const Memory& m) { k31a<<<full, threads>>>(m.in, m.out, m.index); }},
        {"k31b", [](const Memory& m) { k31b<<<full, threads>>>(m.in, m.out); }},
        {"k34a",
         [](const Memory& m) {
             k34a<<<dim3(edge / 16, edge / 16), threads>>>(m.in, m.in + edge * edge, m.out);
         }},
        {"k34b",
         [](const Memory& m) {
             k34b<<<dim3(edge / 128, edge / 128), threads>>>(m.in, m.in + edge * edge, m.out);
         }},
        {"k35a", [](const Memory& m) { k35a<<<full, threads>>>(m.in, m.out, floats / 4); }},
        {"k35b", [](const Memory& m) { k35b<<<full, threads>>>(m.in, m.out, floats / 4); }},
    };
}

}  // namespace planted
