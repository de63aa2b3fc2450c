// The host-side checks of a problem that all attention kernels share.
#include <limits>
#include <stdexcept>
#include <string>

#include "measure/cuda/kernels/attention.h"

namespace ridge::measure::cuda {

void require_attention(const char* kernel, const AttentionProblem& p) {
    const auto require = [kernel](bool condition, const std::string& reason) {
        if (!condition) throw std::runtime_error(std::string(kernel) + ": " + reason);
    };
    constexpr std::int64_t limit = std::numeric_limits<std::int32_t>::max() / 2;
    require(
        p.q != nullptr && p.k != nullptr && p.v != nullptr && p.o != nullptr && p.lse != nullptr,
        "Q, K, V, O and lse must be device pointers");
    require(p.head_dim == 64 || p.head_dim == 128,
            "head_dim must be 64 or 128, got " + std::to_string(p.head_dim));
    require(p.type == ElementType::bfloat16 || p.type == ElementType::float16,
            "takes bfloat16 or float16 elements");
    require(p.batch >= 1 && p.batch <= 65535,
            "batch must be from 1 to 65535, got " + std::to_string(p.batch));
    require(p.kv_heads >= 1 && p.heads >= 1 && p.heads <= 65535 && p.heads % p.kv_heads == 0,
            "heads must be a multiple of kv_heads and at most 65535, got " +
                std::to_string(p.heads) + " and " + std::to_string(p.kv_heads));
    require(p.queries >= 1 && p.queries <= limit && p.keys >= 1 && p.keys <= limit,
            "queries and keys must be from 1 to " + std::to_string(limit));
    require(p.batch * p.heads * ((p.queries + 63) / 64) <= limit,
            "batch * heads * queries is too large for one grid");
    require(p.scale > 0.0F, "scale must be positive");
}

}  // namespace ridge::measure::cuda
