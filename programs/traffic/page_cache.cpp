#include "programs/traffic/page_cache.h"

#include <algorithm>

#include "hardware/error.h"

namespace ridge::programs {

std::int64_t PageCache::find(std::int64_t group, std::int64_t tokens) const {
    if (!keeps_prefixes_ || group < 0) return 0;
    const auto at = prefixes_.find(group);
    if (at == prefixes_.end()) return 0;
    return std::min(at->second.pages, tokens / block_) * block_;
}

void PageCache::hold(std::int64_t group) {
    if (group < 0) return;
    Prefix& prefix = prefixes_[group];
    if (prefix.users == 0) {
        idle_.erase({prefix.idle_since, group});
        idle_pages_ -= prefix.pages;
    }
    ++prefix.users;
}

void PageCache::release(std::int64_t group, std::int64_t now) {
    if (group < 0) return;
    Prefix& prefix = prefixes_[group];
    RIDGE_CONTRACT(prefix.users > 0);
    --prefix.users;
    if (prefix.users > 0) return;
    prefix.idle_since = now;
    idle_pages_ += prefix.pages;
    idle_.insert({now, group});
}

bool PageCache::take(std::int64_t pages) {
    std::int64_t lacking = used() + pages - pages_;
    if (lacking > idle_pages_) return false;
    while (lacking > 0) {
        const auto oldest = idle_.begin();
        const auto at = prefixes_.find(oldest->second);
        const std::int64_t dropped = std::min(lacking, at->second.pages);
        at->second.pages -= dropped;
        shared_ -= dropped;
        idle_pages_ -= dropped;
        lacking -= dropped;
        if (at->second.pages > 0) continue;
        prefixes_.erase(at);
        idle_.erase(oldest);
    }
    taken_ += pages;
    return true;
}

std::int64_t PageCache::reclaim(std::int64_t group) {
    const auto at = prefixes_.find(group);
    if (at == prefixes_.end()) return 0;
    const std::int64_t pages = at->second.pages;
    RIDGE_CONTRACT(at->second.users == 0);
    idle_.erase({at->second.idle_since, group});
    idle_pages_ -= pages;
    shared_ -= pages;
    taken_ += pages;
    prefixes_.erase(at);
    return pages;
}

std::int64_t PageCache::keep(std::int64_t group, std::int64_t pages) {
    if (!keeps_prefixes_ || group < 0) return 0;
    Prefix& prefix = prefixes_[group];
    const std::int64_t more = std::max<std::int64_t>(0, pages - prefix.pages);
    prefix.pages += more;
    shared_ += more;
    taken_ -= more;
    return more;
}

void PageCache::trim(std::int64_t group, std::int64_t pages) {
    if (group < 0) return;
    const auto at = prefixes_.find(group);
    if (at == prefixes_.end() || at->second.users > 1 || at->second.pages <= pages) return;
    shared_ -= at->second.pages - pages;
    at->second.pages = pages;
}

}  // namespace ridge::programs
