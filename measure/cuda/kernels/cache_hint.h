// How a streaming kernel's loads and stores treat the caches.
#pragma once

namespace ridge::measure::cuda {

enum class CacheHint {
    cached,           // the default: L1 and L2
    streaming,        // .cs: evict first
    l2_only,          // .cg: not in L1
    sector_prefetch,  // loads: not in L1, 256 bytes fetched into L2; stores: default
};

[[nodiscard]] constexpr const char* name_of(CacheHint hint) {
    switch (hint) {
        case CacheHint::cached:
            return "cached";
        case CacheHint::streaming:
            return "streaming";
        case CacheHint::l2_only:
            return "l2_only";
        case CacheHint::sector_prefetch:
            return "sector_prefetch";
    }
    return "";
}

}  // namespace ridge::measure::cuda
