// Pages of a server's cache: those of running sequences, and those of prefixes that groups share.
//
//   PageCache cache(1000, 16, true);
//   const std::int64_t found = cache.find(group, 512);     // tokens of its prefix that are there
//   cache.hold(group);                                     // while a sequence uses them
//   if (cache.take(3)) ...                                 // three pages, dropping idle prefixes
//   cache.give(3);
//   cache.keep(group, 32);                                 // pages in hand become the prefix's
//
// Idle prefixes lose pages when pages are needed, from their ends, the one unused for longest first. The
// pages of a preempted sequence are such a prefix until it comes back (`reclaim`).
#pragma once

#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>

namespace ridge::programs {

class PageCache {
  public:
    PageCache(std::int64_t pages, std::int64_t block, bool keeps_prefixes)
        : pages_(pages), block_(block), keeps_prefixes_(keeps_prefixes) {}

    [[nodiscard]] std::int64_t pages() const { return pages_; }
    [[nodiscard]] std::int64_t block() const { return block_; }
    [[nodiscard]] std::int64_t used() const { return taken_ + shared_; }
    [[nodiscard]] std::int64_t taken() const { return taken_; }
    [[nodiscard]] std::int64_t shared() const { return shared_; }
    [[nodiscard]] std::int64_t pages_for(std::int64_t tokens) const {
        return (tokens + block_ - 1) / block_;
    }

    /// Whole pages of the group's prefix, at most `tokens` of them.
    [[nodiscard]] std::int64_t find(std::int64_t group, std::int64_t tokens) const;
    void hold(std::int64_t group);
    void release(std::int64_t group, std::int64_t now);

    /// Whether there was room; idle prefixes lose pages for it, but only if it is enough.
    [[nodiscard]] bool take(std::int64_t pages);
    void give(std::int64_t pages) { taken_ -= pages; }
    /// Makes pages that a sequence holds those of its group, as many as the prefix lacks to `pages`;
    /// returns how many. The sequence holds the group from then on.
    [[nodiscard]] std::int64_t keep(std::int64_t group, std::int64_t pages);
    /// Takes the pages of an idle prefix back into the hands of a sequence; returns how many.
    [[nodiscard]] std::int64_t reclaim(std::int64_t group);
    /// Drops what the only user of a group does not use.
    void trim(std::int64_t group, std::int64_t pages);

  private:
    struct Prefix {
        std::int64_t pages = 0;
        std::int64_t users = 0;
        std::int64_t idle_since = 0;
    };
    std::int64_t pages_;
    std::int64_t block_;
    bool keeps_prefixes_;
    std::int64_t taken_ = 0;
    std::int64_t shared_ = 0;
    std::int64_t idle_pages_ = 0;  ///< of `shared_`
    std::unordered_map<std::int64_t, Prefix> prefixes_;
    std::set<std::pair<std::int64_t, std::int64_t>> idle_;  ///< by time, then group
};

}  // namespace ridge::programs
