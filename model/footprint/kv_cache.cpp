// eq. V40 to V43 of docs/vram.md.
#include "model/footprint/kv_cache.h"

#include <algorithm>

#include "hardware/checked.h"
#include "hardware/error.h"

namespace ridge::model {
namespace {

/// Tokens of the smallest piece that is allocated.
std::int64_t page_tokens(const KvCache& cache) {
    return std::max<std::int64_t>(1, cache.block);
}

}  // namespace

void validate(const KvCache& cache) {
    if (cache.kind == KvKind::heads) {
        (void)checked_product(
            {{"layers", cache.layers}, {"kv_heads", cache.kv_heads}, {"head_dim", cache.head_dim}});
    } else {
        (void)checked_product({{"layers", cache.layers}, {"latent", cache.latent}});
        if (cache.rope < 0) throw InputError("rope_dim must not be negative");
    }
    if (cache.block < 0) throw InputError("block must not be negative");
}

std::int64_t KvCache::token_bytes() const {
    const std::int64_t elements = kind == KvKind::heads ? 2 * kv_heads * head_dim : latent + rope;
    return checked_product({{"layers", layers}, {"elements", elements}, {"bytes", size_of(type)}});
}

std::int64_t KvCache::sequence_bytes(std::int64_t tokens) const {
    const std::int64_t pages = ceil_divide(tokens, page_tokens(*this));
    return checked_product({{"pages", std::max<std::int64_t>(1, pages)},
                            {"block", page_tokens(*this)},
                            {"token_bytes", token_bytes()}});
}

std::int64_t KvCache::wasted_bytes(std::int64_t tokens) const {
    return sequence_bytes(tokens) - tokens * token_bytes();
}

double KvCache::mean_waste(std::int64_t longest) const {
    const auto tokens = static_cast<double>(longest);
    const double held = 0.5 * (tokens + 1.0);
    if (block == 0) return 1.0 - held / tokens;
    // Mean of ceil(L / b) b over L = 1 .. longest: whole groups of b lengths, then the rest.
    const std::int64_t whole = longest / block;
    const std::int64_t rest = longest % block;
    const std::int64_t pages_of_groups = block * (whole * (whole + 1) / 2);
    const auto pages = static_cast<double>(pages_of_groups + rest * (whole + 1));
    return 1.0 - held / (pages * static_cast<double>(block) / tokens);
}

std::int64_t KvCache::sequences_in(std::int64_t bytes, std::int64_t tokens) const {
    const std::int64_t page = page_tokens(*this) * token_bytes();
    const std::int64_t pages_each = ceil_divide(tokens, page_tokens(*this));
    return std::max<std::int64_t>(0, bytes) / page / pages_each;
}

std::int64_t KvCache::longest_in(std::int64_t bytes, std::int64_t sequences) const {
    const std::int64_t page = page_tokens(*this) * token_bytes();
    return std::max<std::int64_t>(0, bytes) / page / sequences * page_tokens(*this);
}

}  // namespace ridge::model
