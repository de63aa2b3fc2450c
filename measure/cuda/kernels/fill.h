// Test data on the GPU: random normal, random uniform or constant. The same seed gives the same
// values, whatever the launch.
//
// Method: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011, section 3.3) with counter = element
// index / 4 and key = seed gives four 32-bit words per counter; uniform takes the top 24 bits,
// normal pairs them by Box-Muller. Element i does not depend on the number of elements.
//
// Example:
//   launch_of(Fill{.destination = d, .elements = n, .type = ElementType::bfloat16,
//                  .pattern = FillPattern::normal, .seed = 7})(stream);
// Units: normal has mean 0 and deviation `scale`; uniform is [-scale, scale); constant writes
// `scale`. int8 rounds to nearest and clamps to [-127, 127]; e4m3 rounds to nearest and saturates
// at 448.
// Limits: double elements have only 24 random bits.
#pragma once

#include <cstdint>

#include "measure/cuda/kernels/launch.h"

namespace ridge::measure::cuda {

struct PhiloxWords {
    std::uint32_t word[4];
};

// Philox4x32-10 of counter (low, high, 0, 0) with key `key`.
[[nodiscard]] __host__ __device__ constexpr PhiloxWords philox(std::uint64_t counter,
                                                               std::uint64_t key) {
    PhiloxWords x{
        {static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}};
    std::uint32_t key_low = static_cast<std::uint32_t>(key);
    std::uint32_t key_high = static_cast<std::uint32_t>(key >> 32);
    for (int round = 0; round < 10; ++round) {
        const std::uint64_t left = std::uint64_t{0xD2511F53U} * x.word[0];
        const std::uint64_t right = std::uint64_t{0xCD9E8D57U} * x.word[2];
        x = {{static_cast<std::uint32_t>(right >> 32) ^ x.word[1] ^ key_low,
              static_cast<std::uint32_t>(right),
              static_cast<std::uint32_t>(left >> 32) ^ x.word[3] ^ key_high,
              static_cast<std::uint32_t>(left)}};
        key_low += 0x9E3779B9U;
        key_high += 0xBB67AE85U;
    }
    return x;
}

// In [0, 1), a multiple of 2^-24, so exact in float.
[[nodiscard]] __host__ __device__ constexpr float uniform_of(std::uint32_t word) {
    return static_cast<float>(word >> 8) * (1.0F / 16777216.0F);
}

enum class FillPattern { normal, uniform, constant };

struct Fill {
    void* destination = nullptr;
    std::int64_t elements = 0;
    ElementType type = ElementType::float32;
    FillPattern pattern = FillPattern::normal;
    float scale = 1;
    std::uint64_t seed = 0;
};

[[nodiscard]] Launch launch_of(const Fill& fill);

}  // namespace ridge::measure::cuda
