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
    if (prefix.users == 0) idle_.erase({prefix.idle_since, group});
    ++prefix.users;
}

void PageCache::release(std::int64_t group, std::int64_t now) {
    if (group < 0) return;
    Prefix& prefix = prefixes_[group];
    RIDGE_CONTRACT(prefix.users > 0);
    --prefix.users;
    if (prefix.users > 0) return;
    prefix.idle_since = now;
    idle_.insert({now, group});
}

bool PageCache::take(std::int64_t pages) {
    while (used() + pages > pages_ && !idle_.empty()) {
        const std::int64_t group = idle_.begin()->second;
        idle_.erase(idle_.begin());
        shared_ -= prefixes_[group].pages;
        prefixes_.erase(group);
    }
    if (used() + pages > pages_) return false;
    taken_ += pages;
    return true;
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
