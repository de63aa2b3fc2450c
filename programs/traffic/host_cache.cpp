#include "programs/traffic/host_cache.h"

#include <algorithm>

namespace ridge::programs {

std::int64_t HostCache::find(std::int64_t key, std::int64_t most) {
    const auto at = kept_.find(key);
    if (at == kept_.end() || most <= 0) return 0;
    order_.splice(order_.begin(), order_, at->second.place);
    return std::min(at->second.pages, most);
}

void HostCache::store(std::int64_t key, std::int64_t pages) {
    const std::int64_t wanted = std::min(pages, pages_);
    if (wanted <= 0) return;
    auto at = kept_.find(key);
    if (at == kept_.end()) {
        order_.push_front(key);
        at = kept_.emplace(key, Kept{.pages = 0, .place = order_.begin()}).first;
    } else {
        order_.splice(order_.begin(), order_, at->second.place);
    }
    const std::int64_t more = wanted - at->second.pages;
    if (more <= 0) return;
    // Only others lose pages: what is wanted is at most all.
    while (used_ + more > pages_) {
        const std::int64_t oldest = order_.back();
        Kept& other = kept_.at(oldest);
        const std::int64_t lost = std::min(other.pages, used_ + more - pages_);
        other.pages -= lost;
        used_ -= lost;
        dropped_ += lost;
        if (other.pages > 0) continue;
        order_.pop_back();
        kept_.erase(oldest);
    }
    at->second.pages += more;
    used_ += more;
    stored_ += more;
}

void HostCache::drop(std::int64_t key) {
    const auto at = kept_.find(key);
    if (at == kept_.end()) return;
    used_ -= at->second.pages;
    dropped_ += at->second.pages;
    order_.erase(at->second.place);
    kept_.erase(at);
}

}  // namespace ridge::programs
