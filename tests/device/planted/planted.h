// Kernels with one planted fault each, and the same work without it; see planted_main.cu.
//
// Every kernel has a neutral name, kNNa with the fault and kNNb without, so that no name helps a
// tool to guess. faults.csv says what was planted. The work is the same in both: the same elements
// read and written, the same arithmetic that the result needs.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace planted {

/// Device memory that all kernels share; filled with varied numbers before the first launch.
struct Memory {
    float* in = nullptr;             ///< `floats` values
    float* out = nullptr;            ///< as many
    std::uint32_t* next = nullptr;   ///< a permutation of `links` indices in one cycle
    std::uint32_t* index = nullptr;  ///< `links` random indices below `links`
};
inline constexpr std::size_t floats = std::size_t{1} << 26U;  // 256 MiB
inline constexpr std::uint32_t links = 1U << 24U;

struct Launch {
    const char* name;
    void (*run)(const Memory&);
};

inline constexpr int multiprocessors = 132;  // of the GPUs that the kernels were written for
inline constexpr int threads = 256;          // of a block, unless the fault is its size
inline constexpr int full = multiprocessors * 8;

/// The memory as words of another type.
template <class Word>
const Word* in_words(const Memory& m) {
    return reinterpret_cast<const Word*>(m.in);
}
template <class Word>
Word* out_words(const Memory& m) {
    return reinterpret_cast<Word*>(m.out);
}

/// All faults before their twins, so that no twin finds in L2 what its fault has read.
inline std::vector<Launch> faults_first(std::vector<Launch> all) {
    std::stable_partition(all.begin(), all.end(),
                          [](const Launch& each) { return each.name[3] == 'a'; });
    return all;
}

std::vector<Launch> memory_launches();
std::vector<Launch> field_launches();
std::vector<Launch> arithmetic_launches();
std::vector<Launch> schedule_launches();
std::vector<Launch> judge_launches();
std::vector<Launch> more_judge_launches();
std::vector<Launch> fresh_launches();
std::vector<Launch> more_fresh_launches();
std::vector<Launch> fresh_healthy_launches();
std::vector<Launch> third_launches();
std::vector<Launch> more_third_launches();
std::vector<Launch> last_third_launches();
std::vector<Launch> third_healthy_launches();
/// Kernels of libraries and copies at the roof; `library` ones are skipped if the library is absent.
std::vector<Launch> healthy_launches();

/// First index of a grid-stride loop, and its step.
__device__ inline std::size_t first_index() {
    return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
}
__device__ inline std::size_t step_of_grid() {
    return gridDim.x * std::size_t{blockDim.x};
}

}  // namespace planted
