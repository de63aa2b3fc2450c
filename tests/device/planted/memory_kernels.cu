// Planted faults of memory access: see planted.h.
#include "planted.h"

namespace planted {
namespace {

__global__ void k01a(const float* in, float* out, std::size_t count) {
    constexpr std::size_t run = 32;
    const std::size_t start = first_index() * run;
    for (std::size_t i = start; i < start + run && i < count; ++i) out[i] = in[i] * 2.0F;
}
__global__ void k01b(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i] * 2.0F;
}

__global__ void k02a(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i * 8] * 2.0F;
}
__global__ void k02b(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i] * 2.0F;
}

__device__ void read_shifted(const float* in, float* out, int shift) {
    constexpr std::size_t elements = std::size_t{8} << 20U;
    const auto* const values = reinterpret_cast<const unsigned short*>(in) + shift;
    unsigned sum = 0;
    for (int pass = 0; pass < 12; ++pass) {
        for (std::size_t i = first_index(); i + 3 * step_of_grid() < elements;
             i += 4 * step_of_grid()) {
            sum += __ldcg(values + i) + __ldcg(values + i + step_of_grid());
            sum +=
                __ldcg(values + i + 2 * step_of_grid()) + __ldcg(values + i + 3 * step_of_grid());
        }
    }
    out[first_index()] = static_cast<float>(sum);
}
__global__ void k03a(const float* in, float* out) {
    read_shifted(in, out, 15);
}
__global__ void k03b(const float* in, float* out) {
    read_shifted(in, out, 0);
}

template <int Pitch>
__device__ void columns(const float* in, float* out) {
    __shared__ float tile[32 * Pitch];
    const int lane = threadIdx.x % 32;
    const int row = threadIdx.x / 32;
    for (int r = row; r < 32; r += 8) tile[r * Pitch + lane] = in[first_index() + r];
    __syncthreads();
    float sum = 0.0F;
    for (int pass = 0; pass < 64; ++pass) {
#pragma unroll
        for (int c = 0; c < 8; ++c) sum += tile[lane * Pitch + ((row + c + pass) & 31)];
    }
    out[first_index()] = sum;
}
__global__ void k04a(const float* in, float* out) {
    columns<32>(in, out);
}
__global__ void k04b(const float* in, float* out) {
    columns<33>(in, out);
}

__global__ void k11a(const unsigned char* in, unsigned char* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i] ^ 1U;
}
__global__ void k11b(const uint4* in, uint4* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const uint4 v = in[i];
        constexpr unsigned ones = 0x01010101U;
        out[i] = {v.x ^ ones, v.y ^ ones, v.z ^ ones, v.w ^ ones};
    }
}

__global__ void k12a(const float* in, float* out, std::size_t count) {
#pragma unroll 1
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i] * 2.0F;
}
__global__ void k12b(const float4* in, float4* out, std::size_t count) {
#pragma unroll 1
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const float4 v = in[i];
        out[i] = {v.x * 2.0F, v.y * 2.0F, v.z * 2.0F, v.w * 2.0F};
    }
}

__global__ void k19a(const float4* in, float* out, std::size_t count) {
    float sum = 0.0F;
    for (int pass = 0; pass < 6; ++pass) {
        for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
            const float4 v = in[i];
            sum += (v.x + v.y + v.z + v.w) * static_cast<float>(pass);
        }
    }
    out[first_index()] = sum;
}
__global__ void k19b(const float4* in, float* out, std::size_t count) {
    float sum = 0.0F;
    constexpr std::size_t piece = 4;
    for (std::size_t base = first_index(); base < count; base += piece * step_of_grid()) {
        for (int pass = 0; pass < 6; ++pass) {
            for (std::size_t j = 0; j < piece; ++j) {
                const std::size_t i = base + j * step_of_grid();
                if (i >= count) break;
                const float4 v = __ldcg(in + i);
                sum += (v.x + v.y + v.z + v.w) * static_cast<float>(pass);
            }
        }
    }
    out[first_index()] = sum;
}

constexpr std::size_t width = 8192;
__global__ void k24a(const float* in, float* out) {
    const std::size_t x = blockIdx.x * 32 + threadIdx.x;
    for (int j = threadIdx.y; j < 32; j += 8) {
        const std::size_t y = blockIdx.y * 32 + j;
        out[x * width + y] = in[y * width + x];
    }
}
__global__ void k24b(const float* in, float* out) {
    __shared__ float tile[32][33];
    const std::size_t x = blockIdx.x * 32;
    const std::size_t y = blockIdx.y * 32;
    for (int j = threadIdx.y; j < 32; j += 8) {
        tile[j][threadIdx.x] = in[(y + j) * width + x + threadIdx.x];
    }
    __syncthreads();
    for (int j = threadIdx.y; j < 32; j += 8) {
        out[(x + j) * width + y + threadIdx.x] = tile[threadIdx.x][j];
    }
}

__global__ void k25a(const float* in, float* out, const std::uint32_t* index) {
    for (std::size_t i = first_index(); i < links; i += step_of_grid()) out[i] = in[index[i]];
}
__global__ void k25b(const float* in, float* out, const std::uint32_t* index) {
    for (std::size_t i = first_index(); i < links; i += step_of_grid()) {
        out[i] = in[i] + static_cast<float>(index[i] & 1U);
    }
}

__global__ void k41a(const unsigned short* in, unsigned short* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        out[i] = static_cast<unsigned short>(in[i] + 3);
    }
}
__global__ void k41b(const uint4* in, uint4* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        uint4 v = in[i];
        v.x = __vadd2(v.x, 0x00030003U);
        v.y = __vadd2(v.y, 0x00030003U);
        v.z = __vadd2(v.z, 0x00030003U);
        v.w = __vadd2(v.w, 0x00030003U);
        out[i] = v;
    }
}

__global__ void k43a(const unsigned char* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        const unsigned char* const at = in + 4 * i + 1;
        const unsigned bits = at[0] | at[1] << 8U | at[2] << 16U | unsigned{at[3]} << 24U;
        out[i] = __uint_as_float(bits & 0x3fffffffU);
    }
}
__global__ void k43b(const unsigned* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) {
        out[i] = __uint_as_float(in[i] & 0x3fffffffU);
    }
}

/// An array of structures of 48 bytes of which each thread reads one field of 4.
__global__ void k44a(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i * 12 + 5];
}
__global__ void k44b(const float* in, float* out, std::size_t count) {
    for (std::size_t i = first_index(); i < count; i += step_of_grid()) out[i] = in[i];
}

__global__ void k45a(const float* in, float* out, std::size_t count) {
    constexpr int rows = 64;
    float sum = 0.0F;
    const std::size_t row = first_index() % 4096;
    for (int r = 0; r < rows; ++r) sum += in[row * 4096 + (first_index() / 4096 * rows + r) % 4096];
    out[first_index() % count] = sum;
}
__global__ void k45b(const float* in, float* out, std::size_t count) {
    constexpr int rows = 64;
    float sum = 0.0F;
    const std::size_t column = first_index() % 4096;
    for (int r = 0; r < rows; ++r) {
        sum += in[(first_index() / 4096 * rows + r) % 4096 * 4096 + column];
    }
    out[first_index() % count] = sum;
}

const auto* bytes_of(const Memory& m) {
    return reinterpret_cast<const unsigned char*>(m.in);
}

}  // namespace

std::vector<Launch> memory_launches() {
    return {
        {"k01a",
         [](const Memory& m) { k01a<<<floats / 32 / threads, threads>>>(m.in, m.out, floats); }},
        {"k01b", [](const Memory& m) { k01b<<<full, threads>>>(m.in, m.out, floats); }},
        {"k02a", [](const Memory& m) { k02a<<<full, threads>>>(m.in, m.out, floats / 8); }},
        {"k02b", [](const Memory& m) { k02b<<<full, threads>>>(m.in, m.out, floats / 8); }},
        {"k03a", [](const Memory& m) { k03a<<<full, threads>>>(m.in, m.out); }},
        {"k03b", [](const Memory& m) { k03b<<<full, threads>>>(m.in, m.out); }},
        {"k04a", [](const Memory& m) { k04a<<<full, threads>>>(m.in, m.out); }},
        {"k04b", [](const Memory& m) { k04b<<<full, threads>>>(m.in, m.out); }},
        {"k11a",
         [](const Memory& m) {
             k11a<<<full, threads>>>(bytes_of(m), reinterpret_cast<unsigned char*>(m.out), floats);
         }},
        {"k11b",
         [](const Memory& m) {
             k11b<<<full, threads>>>(reinterpret_cast<const uint4*>(m.in),
                                     reinterpret_cast<uint4*>(m.out), floats / 16);
         }},
        {"k12a",
         [](const Memory& m) { k12a<<<multiprocessors * 2, threads>>>(m.in, m.out, floats / 4); }},
        {"k12b",
         [](const Memory& m) {
             k12b<<<multiprocessors * 2, threads>>>(reinterpret_cast<const float4*>(m.in),
                                                    reinterpret_cast<float4*>(m.out), floats / 16);
         }},
        {"k19a",
         [](const Memory& m) {
             k19a<<<full, threads>>>(reinterpret_cast<const float4*>(m.in), m.out, floats / 4);
         }},
        {"k19b",
         [](const Memory& m) {
             k19b<<<full, threads>>>(reinterpret_cast<const float4*>(m.in), m.out, floats / 4);
         }},
        {"k24a",
         [](const Memory& m) { k24a<<<dim3(width / 32, width / 32), dim3(32, 8)>>>(m.in, m.out); }},
        {"k24b",
         [](const Memory& m) { k24b<<<dim3(width / 32, width / 32), dim3(32, 8)>>>(m.in, m.out); }},
        {"k25a", [](const Memory& m) { k25a<<<full, threads>>>(m.in, m.out, m.index); }},
        {"k25b", [](const Memory& m) { k25b<<<full, threads>>>(m.in, m.out, m.index); }},
    };
}

std::vector<Launch> field_launches() {
    return {
        {"k41a",
         [](const Memory& m) {
             k41a<<<full / 2, threads>>>(reinterpret_cast<const unsigned short*>(m.in),
                                         reinterpret_cast<unsigned short*>(m.out), floats);
         }},
        {"k41b",
         [](const Memory& m) {
             k41b<<<full / 2, threads>>>(reinterpret_cast<const uint4*>(m.in),
                                         reinterpret_cast<uint4*>(m.out), floats / 8);
         }},
        {"k43a", [](const Memory& m) { k43a<<<full, threads>>>(bytes_of(m), m.out, floats - 1); }},
        {"k43b",
         [](const Memory& m) {
             k43b<<<full, threads>>>(reinterpret_cast<const unsigned*>(m.in), m.out, floats - 1);
         }},
        {"k44a", [](const Memory& m) { k44a<<<full, threads>>>(m.in, m.out, floats / 12); }},
        {"k44b", [](const Memory& m) { k44b<<<full, threads>>>(m.in, m.out, floats / 12); }},
        {"k45a", [](const Memory& m) { k45a<<<1024, threads>>>(m.in, m.out, floats); }},
        {"k45b", [](const Memory& m) { k45b<<<1024, threads>>>(m.in, m.out, floats); }},
    };
}

}  // namespace planted
