// The host-side checks of a problem that all matmul kernels share.
#include <limits>
#include <stdexcept>
#include <string>

#include "measure/cuda/kernels/matmul.h"

namespace ridge::measure::cuda {
namespace {

[[noreturn]] void refuse(const char* kernel, const std::string& reason) {
    throw std::runtime_error(std::string(kernel) + ": " + reason);
}

void require_extent(const char* kernel, const char* name, std::int64_t value, std::int64_t limit) {
    if (value >= 1 && value <= limit) return;
    refuse(kernel, std::string(name) + " must be from 1 to " + std::to_string(limit) + ", got " +
                       std::to_string(value));
}

}  // namespace

void require_matmul(const char* kernel, const MatmulProblem& p, bool two_byte_elements) {
    constexpr std::int64_t extent_limit = std::numeric_limits<std::int32_t>::max() / 2;
    require_extent(kernel, "m", p.m, extent_limit);
    require_extent(kernel, "n", p.n, extent_limit);
    require_extent(kernel, "k", p.k, extent_limit);
    require_extent(kernel, "batch", p.batch, 65535);
    if (ceil_div(p.m, 128) * ceil_div(p.n, 128) * p.batch > extent_limit)
        refuse(kernel, "C has too many tiles for one grid");
    if (p.a == nullptr || p.b == nullptr || p.c == nullptr)
        refuse(kernel, "A, B and C must be device pointers");
    if (!two_byte_elements) {
        if (p.type != ElementType::float32) refuse(kernel, "takes float32 elements");
        if (p.b_layout != BLayout::k_by_n) refuse(kernel, "takes B as [k][n] (BLayout::k_by_n)");
        return;
    }
    if (p.type != ElementType::bfloat16 && p.type != ElementType::float16)
        refuse(kernel, "takes bfloat16 or float16 elements");
    if (p.k % 8 != 0)
        refuse(kernel, "k must be a multiple of 8 (16-byte rows), got " + std::to_string(p.k));
    if (p.b_layout == BLayout::k_by_n && p.n % 8 != 0)
        refuse(kernel, "n must be a multiple of 8 when B is [k][n] (16-byte rows), got " +
                           std::to_string(p.n));
}

}  // namespace ridge::measure::cuda
