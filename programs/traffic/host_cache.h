// Pages of a server's cache that are kept in the host's memory too.
//
//   HostCache host(1000);
//   host.store(group, 32);         // its first 32 pages are there from now on
//   host.find(group, 40);          // 32
//
// Method (W28 of docs/models.md): pages are copied when they are complete; the copy costs no time of the GPU, and the link carries both
// directions at once. What is full loses pages from the ends of the prefixes unused for longest.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>

namespace ridge::programs {

class HostCache {
  public:
    explicit HostCache(std::int64_t pages) : pages_(pages) {}

    /// Whole pages that are there, at most `most`; counts as a use.
    [[nodiscard]] std::int64_t find(std::int64_t key, std::int64_t most);
    /// The first `pages` pages of `key`, as far as there is room.
    void store(std::int64_t key, std::int64_t pages);
    void drop(std::int64_t key);

    [[nodiscard]] std::int64_t stored() const { return stored_; }
    [[nodiscard]] std::int64_t dropped() const { return dropped_; }
    [[nodiscard]] std::int64_t used() const { return used_; }

  private:
    struct Kept {
        std::int64_t pages = 0;
        std::list<std::int64_t>::iterator place;
    };
    std::int64_t pages_;
    std::int64_t used_ = 0;
    std::int64_t stored_ = 0;
    std::int64_t dropped_ = 0;
    std::list<std::int64_t> order_{};  ///< of use, the newest first
    std::unordered_map<std::int64_t, Kept> kept_{};
};

}  // namespace ridge::programs
