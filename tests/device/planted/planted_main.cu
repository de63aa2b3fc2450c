// Launches every planted kernel ROUNDS times, one after the other.
//
//   planted 4                   # each kernel four times
//   planted 12 k13a h05         # only these
//   ridge profile --counters --page planted.html -- planted 16
//
// Each launch follows a different kernel, so that the L2 holds another kernel's data.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "planted.h"

namespace {

using planted::links;

__global__ void fill(std::uint32_t* words, std::size_t count) {
    for (std::size_t i = planted::first_index(); i < count; i += planted::step_of_grid()) {
        std::uint32_t x = static_cast<std::uint32_t>(i) * 2654435761U + 12345U;
        x ^= x >> 15U;
        x *= 2246822519U;
        x ^= x >> 13U;
        words[i] = 0x3f000000U | (x & 0x007fffffU);  // between 0.5 and 1 as a float
    }
}
/// An odd step visits every index of a power of two; the multiplier scatters neighbours.
__global__ void link(std::uint32_t* next, std::uint32_t* index) {
    for (std::size_t i = planted::first_index(); i < links; i += planted::step_of_grid()) {
        next[i] = static_cast<std::uint32_t>((i * 1664525U + 1013904223U) % links);
        index[i] = static_cast<std::uint32_t>((i * 2654435761U + 7U) % links);
    }
}

bool chosen(const char* name, int count, char** names) {
    if (count == 0) return true;
    for (int i = 0; i < count; ++i) {
        if (std::strcmp(name, names[i]) == 0) return true;
    }
    return false;
}

void require(cudaError_t result, const char* what) {
    if (result == cudaSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(result));
    std::exit(1);
}

}  // namespace

int main(int count, char** arguments) {
    const int rounds = count > 1 ? std::atoi(arguments[1]) : 1;
    planted::Memory memory;
    require(cudaMalloc(&memory.in, planted::floats * sizeof(float)), "cudaMalloc");
    require(cudaMalloc(&memory.out, planted::floats * sizeof(float)), "cudaMalloc");
    require(cudaMalloc(&memory.next, links * sizeof(std::uint32_t)), "cudaMalloc");
    require(cudaMalloc(&memory.index, links * sizeof(std::uint32_t)), "cudaMalloc");
    fill<<<1024, 256>>>(reinterpret_cast<std::uint32_t*>(memory.in), planted::floats);
    link<<<1024, 256>>>(memory.next, memory.index);
    require(cudaDeviceSynchronize(), "fill");
    for (int round = 0; round < rounds; ++round) {
        for (const auto& list : {planted::memory_launches(), planted::field_launches(),
                                 planted::arithmetic_launches(), planted::schedule_launches(),
                                 planted::judge_launches(), planted::more_judge_launches(),
                                 planted::fresh_launches(), planted::more_fresh_launches(),
                                 planted::fresh_healthy_launches(), planted::third_launches(),
                                 planted::more_third_launches(), planted::last_third_launches(),
                                 planted::third_healthy_launches(), planted::healthy_launches()}) {
            for (const planted::Launch& launch : list) {
                if (!chosen(launch.name, count - 2, arguments + 2)) continue;
                launch.run(memory);
                require(cudaGetLastError(), launch.name);
            }
        }
        require(cudaDeviceSynchronize(), "round");
    }
    std::puts("done");
    return 0;
}
