// A simulation of PyTorch's caching allocator of CUDA memory: bytes requested, allocated and
// reserved.
//
// Requests are rounded up to 512 bytes and served from two pools. Blocks up to 1 MiB come from
// segments of 2 MiB, larger ones from segments of 20 MiB or, from 10 MiB on, from segments of their
// own size in steps of 2 MiB. The allocator takes the smallest free block that is large enough and
// splits it. If the rest in the large pool would be at most 1 MiB, the block is handed out whole,
// which is why more is allocated than was requested. Freed neighbours merge and stay reserved until
// `empty_cache`. With expandable segments each pool is one growing range that is mapped in steps of
// 2 and 20 MiB (eq. V10 to V13 of docs/vram.md).
//
//   CachingAllocator memory;
//   const auto block = memory.allocate(14 * mebibyte - 100);
//   memory.now().allocated;  // 14 MiB: the rest of the segment is too small to split
//   memory.release(block);
//
// Limits: one stream, one device, no garbage collection, no largest split size. cudaMalloc is
// assumed to return rising addresses, which matters only between free blocks of equal size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <vector>

namespace ridge::model {

struct AllocatorOptions {
    bool expandable_segments = false;
    /// `roundup_power2_divisions`: sizes round up to the next of this many steps between powers of
    /// two; 0: off.
    std::int64_t roundup_power2_divisions = 0;
    /// Bytes that can be reserved; 0: no limit. The cache is emptied before the limit is exceeded.
    std::int64_t limit = 0;
};

/// Bytes requested, handed out in blocks, and held in segments.
struct MemoryLevel {
    std::int64_t requested = 0;
    std::int64_t allocated = 0;
    std::int64_t reserved = 0;

    friend constexpr bool operator==(const MemoryLevel&, const MemoryLevel&) = default;
};

class CachingAllocator {
  public:
    using Block = std::size_t;

    explicit CachingAllocator(AllocatorOptions options = {}) : options_(options) {}

    /// Makes room for that many calls of `allocate`, which then move nothing.
    void expect(std::size_t allocations) { extents_.reserve(2 * allocations); }

    /// Allocates a block of `bytes`; 0 bytes take no memory, as in PyTorch.
    [[nodiscard]] Block allocate(std::int64_t bytes);
    void release(Block block);
    /// Returns segments that are wholly free.
    void empty_cache();

    [[nodiscard]] const MemoryLevel& now() const { return now_; }
    /// The highest level of each figure since the last `reset_peak`; the peaks may occur at
    /// different times.
    [[nodiscard]] const MemoryLevel& peak() const { return peak_; }
    void reset_peak() { peak_ = now_; }
    /// Whether the limit was exceeded: PyTorch would have reported an out-of-memory error.
    [[nodiscard]] bool exhausted() const { return exhausted_; }
    /// The bytes of the block that holds an allocation.
    [[nodiscard]] std::int64_t bytes_of(Block block) const { return extents_[block].bytes; }
    /// The size to which a request is rounded before a block is looked for.
    [[nodiscard]] std::int64_t rounded(std::int64_t bytes) const;

  private:
    enum class State : std::uint8_t { used, free, unmapped, merged };
    /// A piece of a segment; pieces of one segment are linked in order of address.
    struct Extent {
        std::int64_t address = 0;
        std::int64_t bytes = 0;
        std::int64_t requested = 0;
        std::ptrdiff_t previous = -1;
        std::ptrdiff_t next = -1;
        State state = State::free;
        bool small = false;
    };
    struct Key {
        std::int64_t bytes = 0;
        std::int64_t address = 0;
        Block block = 0;

        friend constexpr bool operator<(const Key& a, const Key& b) {
            return a.bytes != b.bytes ? a.bytes < b.bytes : a.address < b.address;
        }
    };
    struct Pool {
        std::vector<Key> free;  ///< ascending; a node for each block would cost a third of the time
        std::set<std::tuple<std::int64_t, Block>> unmapped;  ///< by address
    };

    [[nodiscard]] Pool& pool_of(const Extent& extent) { return pools_[extent.small ? 0 : 1]; }
    [[nodiscard]] Block add(const Extent& extent);
    void mark_free(Block block);
    void take_from_free(Block block);
    void merge(Block into, std::ptrdiff_t neighbour);
    [[nodiscard]] std::ptrdiff_t best_fit(Pool& pool, std::int64_t bytes) const;
    [[nodiscard]] std::int64_t expandable_bytes(const Extent& extent) const;
    [[nodiscard]] Block new_segment(std::int64_t bytes, bool small);
    [[nodiscard]] Block expand(std::int64_t bytes, bool small);
    [[nodiscard]] Block map(Block unmapped, std::int64_t bytes);
    void unmap(Block block);
    void split(Block block, std::int64_t bytes);
    void make_room(std::int64_t bytes);

    AllocatorOptions options_;
    std::vector<Extent> extents_;
    std::array<Pool, 2> pools_;
    std::int64_t next_address_ = 0;
    MemoryLevel now_;
    MemoryLevel peak_;
    bool exhausted_ = false;
};

}  // namespace ridge::model
