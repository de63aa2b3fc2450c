// Planted faults of occupancy, grids, synchronisation and atomics: see planted.h.
#include "planted.h"

namespace planted {
namespace {

/// A stream of which each thread waits for one load at a time.
__device__ void stream(const float4* in, float4* out, std::size_t count) {
#pragma unroll 1
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float4 v = in[i];
        out[i] = {v.x + 1.0F, v.y + 1.0F, v.z + 1.0F, v.w + 1.0F};
    }
}

/// Registers that stay alive across the loop.
template <int Values>
__device__ void stream_with_values(const float4* in, float4* out, std::size_t count) {
    float kept[Values];
#pragma unroll
    for (int j = 0; j < Values; ++j)
        kept[j] = reinterpret_cast<const float*>(in)[first_index() + j];
    stream(in, out, count);
    float sum = 0.0F;
#pragma unroll
    for (int j = 0; j < Values; ++j) sum = fmaf(sum, 0.5F, kept[j]);
    reinterpret_cast<float*>(out)[first_index()] = sum;
}
__global__ void __launch_bounds__(256, 1) k05a(const float4* in, float4* out, std::size_t count) {
    stream_with_values<180>(in, out, count);
}
__global__ void k05b(const float4* in, float4* out, std::size_t count) {
    stream_with_values<4>(in, out, count);
}

__device__ void stream_through(float4* shared, const float4* in, float4* out, std::size_t count) {
#pragma unroll 1
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        shared[threadIdx.x] = in[i];
        out[i] = shared[threadIdx.x];
    }
}
__global__ void k06a(const float4* in, float4* out, std::size_t count) {
    extern __shared__ float4 buffer[];
    stream_through(buffer, in, out, count);
}
__global__ void k06b(const float4* in, float4* out, std::size_t count) {
    extern __shared__ float4 buffer[];
    stream_through(buffer, in, out, count);
}

__global__ void k09a(const float4* in, float4* out, std::size_t count) {
    stream(in, out, count);
}
__global__ void k09b(const float4* in, float4* out, std::size_t count) {
    stream(in, out, count);
}

/// Blocks of equal work, one of 1024 threads to a multiprocessor.
__device__ void long_block(float* out, int steps) {
    float a = static_cast<float>(threadIdx.x);
    float b = a + 1.0F;
    for (int i = 0; i < steps; ++i) {
        a = fmaf(a, 0.99F, 0.1F);
        b = fmaf(b, 0.98F, 0.2F);
    }
    out[first_index()] = a + b;
}
__global__ void k10a(float* out, int steps) {
    long_block(out, steps);
}
__global__ void k10b(float* out, int steps) {
    long_block(out, steps);
}

__global__ void k17a(const unsigned* in, unsigned* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        atomicAdd(out + in[i] % 8, 1U);
    }
}
__global__ void k17b(const unsigned* in, unsigned* out, std::size_t count) {
    __shared__ unsigned bins[8];
    if (threadIdx.x < 8) bins[threadIdx.x] = 0;
    __syncthreads();
    unsigned seen[8] = {};
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const unsigned bin = in[i] % 8;
#pragma unroll
        for (unsigned j = 0; j < 8; ++j) seen[j] += bin == j ? 1U : 0U;
    }
#pragma unroll
    for (unsigned j = 0; j < 8; ++j) {
        const unsigned sum = __reduce_add_sync(~0U, seen[j]);
        if (threadIdx.x % 32 == 0) atomicAdd(bins + j, sum);
    }
    __syncthreads();
    if (threadIdx.x < 8) atomicAdd(out + threadIdx.x, bins[threadIdx.x]);
}

__global__ void k18a(const float* in, float* out, std::size_t count) {
    __shared__ float bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0.0F;
    __syncthreads();
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float v = in[i];
        atomicAdd(bins + (__float_as_uint(v) & 1U), v);
    }
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(out + threadIdx.x, bins[threadIdx.x]);
}
__global__ void k18b(const float* in, float* out, std::size_t count) {
    float even = 0.0F;
    float odd = 0.0F;
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float v = in[i];
        if ((__float_as_uint(v) & 1U) != 0) {
            odd += v;
        } else {
            even += v;
        }
    }
    for (int lane = 16; lane > 0; lane /= 2) {
        even += __shfl_xor_sync(~0U, even, lane);
        odd += __shfl_xor_sync(~0U, odd, lane);
    }
    if (threadIdx.x % 32 == 0) {
        atomicAdd(out, even);
        atomicAdd(out + 1, odd);
    }
}

/// Steps of a ring of 1024 values, each read by its neighbour after a barrier.
__global__ void k20a(const float* in, float* out) {
    __shared__ float value[2][1024];
    const unsigned next = (threadIdx.x & ~31U) | ((threadIdx.x + 1) & 31U);
    float mine = in[first_index()];
    for (int step = 0; step < 512; ++step) {
        value[step & 1][threadIdx.x] = mine;
        __syncthreads();
        mine = 0.5F * (mine + value[step & 1][next]);
    }
    out[first_index()] = mine;
}
/// The ring is that of a warp, which needs no barrier.
__global__ void k20b(const float* in, float* out) {
    __shared__ float value[2][1024];
    const unsigned next = (threadIdx.x & ~31U) | ((threadIdx.x + 1) & 31U);
    float mine = in[first_index()];
    for (int step = 0; step < 512; ++step) {
        value[step & 1][threadIdx.x] = mine;
        __syncwarp();
        mine = 0.5F * (mine + value[step & 1][next]);
    }
    out[first_index()] = mine;
}

__global__ void k26a(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i * 8];
}
__global__ void k26b(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i];
}

template <int Unroll>
__device__ void unrolled(const float4* in, float* out, std::size_t count) {
    float sum = 0.0F;
#pragma unroll 1
    for (std::size_t i = first_index(); i + (Unroll - 1) * step_of_grid() < count;
         i += Unroll * step_of_grid()) {
        float4 v[Unroll];
#pragma unroll
        for (int j = 0; j < Unroll; ++j) v[j] = in[i + j * step_of_grid()];
#pragma unroll
        for (int j = 0; j < Unroll; ++j) sum += v[j].x + v[j].y + v[j].z + v[j].w;
    }
    out[first_index()] = sum;
}
__global__ void k28a(const float4* in, float* out, std::size_t count) {
    unrolled<1>(in, out, count);
}
__global__ void k28b(const float4* in, float* out, std::size_t count) {
    unrolled<8>(in, out, count);
}

__global__ void k29a(const float4* in, float4* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        out[i] = in[i];
        __threadfence_system();
        out[i].x += 1.0F;
        __threadfence_system();
    }
}
__global__ void k29b(const float4* in, float4* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        float4 v = in[i];
        v.x += 1.0F;
        out[i] = v;
    }
}

/// Block n does n units of work.
__device__ void units(float* out, int amount) {
    float a = static_cast<float>(threadIdx.x);
    for (int i = 0; i < amount * 64; ++i) a = fmaf(a, 0.99F, 0.1F);
    out[first_index()] = a;
}
__global__ void k32a(float* out) {
    units(out, blockIdx.x < 132 ? 512 : 16);
}
__global__ void k32b(float* out) {
    units(out, 78);
}

__global__ void k39a(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid())
        atomicAdd(out + i % 1024, in[i]);
}
__global__ void k39b(const float* in, float* out, std::size_t count) {
    float sum = 0.0F;
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) sum += in[i];
    atomicAdd(out + first_index() % 1024, sum);
}

__global__ void k42a(const float* in, float* out) {
    out[first_index()] = in[first_index()] * 2.0F;
}
__global__ void k42b(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i] * 2.0F;
}

/// One barrier a step, though the warps share nothing and have unequal work in each.
__global__ void k46a(const float* in, float* out, int steps) {
    float a = in[first_index()];
    const int warp = threadIdx.x / 32;
    for (int i = 0; i < steps; ++i) {
        const int length = (warp + i) % 32 == 0 ? 128 : 2;
        for (int j = 0; j < length; ++j) a = fmaf(a, 0.99F, 0.1F);
        __syncthreads();
    }
    out[first_index()] = a;
}
__global__ void k46b(const float* in, float* out, int steps) {
    float a = in[first_index()];
    const int warp = threadIdx.x / 32;
    for (int i = 0; i < steps; ++i) {
        const int length = (warp + i) % 32 == 0 ? 128 : 2;
        for (int j = 0; j < length; ++j) a = fmaf(a, 0.99F, 0.1F);
    }
    out[first_index()] = a;
}

/// Two faults: columns of shared memory, and one block of 64 threads to a multiprocessor.
template <int Pitch>
__device__ void gather_columns(const float* in, float* out) {
    extern __shared__ float tile[];
    for (int i = threadIdx.x; i < 64 * Pitch; i += blockDim.x) tile[i] = in[i];
    __syncthreads();
    float sum = 0.0F;
    for (int pass = 0; pass < 64; ++pass) {
#pragma unroll 4
        for (int c = 0; c < 32; ++c) sum += tile[threadIdx.x % 64 * Pitch + ((c + pass) & 31)];
    }
    out[first_index()] = sum;
}
__global__ void k27a(const float* in, float* out) {
    gather_columns<32>(in, out);
}
__global__ void k27b(const float* in, float* out) {
    gather_columns<33>(in, out);
}

/// A warp of which one lane does the work of all.
__global__ void k47a(const float* in, float* out) {
    float sum = 0.0F;
    if (threadIdx.x % 32 == 0) {
        for (int j = 0; j < 32; ++j) {
            float x = in[first_index() + j];
            for (int k = 0; k < 64; ++k) x = fmaf(x, 0.9F, 0.1F);
            sum += x;
        }
    }
    out[first_index()] = sum;
}
__global__ void k47b(const float* in, float* out) {
    float x = in[first_index()];
    for (int k = 0; k < 64; ++k) x = fmaf(x, 0.9F, 0.1F);
    for (int lane = 16; lane > 0; lane /= 2) x += __shfl_xor_sync(~0U, x, lane);
    out[first_index()] = threadIdx.x % 32 == 0 ? x : 0.0F;
}

const auto* fours(const Memory& m) {
    return reinterpret_cast<const float4*>(m.in);
}
auto* fours_out(const Memory& m) {
    return reinterpret_cast<float4*>(m.out);
}
const auto* words(const Memory& m) {
    return reinterpret_cast<const unsigned*>(m.in);
}
auto* words_out(const Memory& m) {
    return reinterpret_cast<unsigned*>(m.out);
}

template <class Kernel>
void with_shared(Kernel kernel, int grid, int block, int bytes, const Memory& m) {
    cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    kernel<<<grid, block, bytes>>>(fours(m), fours_out(m), floats / 16);
}

}  // namespace

std::vector<Launch> schedule_launches() {
    return {
        {"k05a",
         [](const Memory& m) { k05a<<<full, threads>>>(fours(m), fours_out(m), floats / 4); }},
        {"k05b",
         [](const Memory& m) { k05b<<<full, threads>>>(fours(m), fours_out(m), floats / 4); }},
        {"k06a", [](const Memory& m) { with_shared(k06a, full, 128, 180 << 10, m); }},
        {"k06b", [](const Memory& m) { with_shared(k06b, full, 128, 128 * 16, m); }},
        {"k09a",
         [](const Memory& m) { k09a<<<24, threads>>>(fours(m), fours_out(m), floats / 32); }},
        {"k09b",
         [](const Memory& m) { k09b<<<full, threads>>>(fours(m), fours_out(m), floats / 32); }},
        {"k10a", [](const Memory& m) { k10a<<<multiprocessors * 2 + 8, 1024>>>(m.out, 16384); }},
        {"k10b",
         [](const Memory& m) { k10b<<<(multiprocessors * 2 + 8) * 8, 1024>>>(m.out, 2048); }},
        {"k17a",
         [](const Memory& m) { k17a<<<full, threads>>>(words(m), words_out(m), floats / 16); }},
        {"k17b",
         [](const Memory& m) { k17b<<<full, threads>>>(words(m), words_out(m), floats / 16); }},
        {"k18a", [](const Memory& m) { k18a<<<full, threads>>>(m.in, m.out, floats / 4); }},
        {"k18b", [](const Memory& m) { k18b<<<full, threads>>>(m.in, m.out, floats / 4); }},
        {"k20a", [](const Memory& m) { k20a<<<multiprocessors, 1024>>>(m.in, m.out); }},
        {"k20b", [](const Memory& m) { k20b<<<multiprocessors, 1024>>>(m.in, m.out); }},
        {"k26a", [](const Memory& m) { k26a<<<20, threads>>>(m.in, m.out, floats / 32); }},
        {"k26b", [](const Memory& m) { k26b<<<full, threads>>>(m.in, m.out, floats / 32); }},
        {"k28a",
         [](const Memory& m) {
             k28a<<<multiprocessors * 2, threads>>>(fours(m), m.out, floats / 8);
         }},
        {"k28b",
         [](const Memory& m) {
             k28b<<<multiprocessors * 2, threads>>>(fours(m), m.out, floats / 8);
         }},
        {"k29a",
         [](const Memory& m) { k29a<<<full, threads>>>(fours(m), fours_out(m), floats / 16); }},
        {"k29b",
         [](const Memory& m) { k29b<<<full, threads>>>(fours(m), fours_out(m), floats / 16); }},
        {"k32a", [](const Memory& m) { k32a<<<full, threads>>>(m.out); }},
        {"k32b", [](const Memory& m) { k32b<<<full, threads>>>(m.out); }},
        {"k39a", [](const Memory& m) { k39a<<<full, threads>>>(m.in, m.out, floats / 8); }},
        {"k39b", [](const Memory& m) { k39b<<<full, threads>>>(m.in, m.out, floats / 8); }},
        {"k42a", [](const Memory& m) { k42a<<<floats / 2 / 32, 32>>>(m.in, m.out); }},
        {"k42b", [](const Memory& m) { k42b<<<full, threads>>>(m.in, m.out, floats / 2); }},
        {"k46a", [](const Memory& m) { k46a<<<multiprocessors, 1024>>>(m.in, m.out, 512); }},
        {"k46b", [](const Memory& m) { k46b<<<multiprocessors, 1024>>>(m.in, m.out, 512); }},
        {"k27a",
         [](const Memory& m) {
             cudaFuncSetAttribute(k27a, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10);
             k27a<<<full * 2, 64, 100 << 10>>>(m.in, m.out);
         }},
        {"k27b", [](const Memory& m) { k27b<<<full * 2, 64, 64 * 33 * 4>>>(m.in, m.out); }},
        {"k47a", [](const Memory& m) { k47a<<<full * 8, threads>>>(m.in, m.out); }},
        {"k47b", [](const Memory& m) { k47b<<<full * 8, threads>>>(m.in, m.out); }},
    };
}

}  // namespace planted
