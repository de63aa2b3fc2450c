// Rules of c10/cuda/CUDACachingAllocator.cpp (eq. V10 to V13 of docs/vram.md).
#include "model/allocator/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "hardware/checked.h"
#include "hardware/error.h"

namespace ridge::model {
namespace {

constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::int64_t smallest_block = 512;
constexpr std::int64_t largest_small = mebibyte;  // requests up to this size use the small pool
constexpr std::int64_t small_segment = 2 * mebibyte;
constexpr std::int64_t large_segment = 20 * mebibyte;  // for requests below `own_segment`
constexpr std::int64_t own_segment = 10 * mebibyte;
constexpr std::int64_t segment_unit = 2 * mebibyte;
constexpr std::int64_t address_space = std::int64_t{1} << 44;  // of one expandable segment

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
    return ceil_divide(value, unit) * unit;
}

std::int64_t segment_bytes(std::int64_t bytes) {
    if (bytes <= largest_small) return small_segment;
    if (bytes < own_segment) return large_segment;
    return round_up(bytes, segment_unit);
}

/// The next of `divisions` steps between two powers of two.
std::int64_t next_division(std::int64_t bytes, std::int64_t divisions) {
    const auto value = static_cast<std::uint64_t>(bytes);
    const auto floor = static_cast<std::int64_t>(std::bit_floor(value));
    if (floor == bytes) return bytes;
    const std::int64_t step = floor / divisions;
    return step == 0 ? 2 * floor : round_up(bytes, step);
}

}  // namespace

std::int64_t CachingAllocator::rounded(std::int64_t bytes) const {
    if (bytes < smallest_block) return smallest_block;
    const std::int64_t divisions = options_.roundup_power2_divisions;
    if (divisions > 1 && bytes > smallest_block * divisions) return next_division(bytes, divisions);
    return round_up(bytes, smallest_block);
}

CachingAllocator::Block CachingAllocator::add(const Extent& extent) {
    extents_.push_back(extent);
    return extents_.size() - 1;
}

void CachingAllocator::mark_free(Block block) {
    Extent& extent = extents_[block];
    extent.state = State::free;
    std::vector<Key>& free = pool_of(extent).free;
    const Key key{extent.bytes, extent.address, block};
    free.insert(std::lower_bound(free.begin(), free.end(), key), key);
}

void CachingAllocator::take_from_free(Block block) {
    Extent& extent = extents_[block];
    std::vector<Key>& free = pool_of(extent).free;
    free.erase(
        std::lower_bound(free.begin(), free.end(), Key{extent.bytes, extent.address, block}));
}

/// Joins a neighbour in the same state to a block that is in no set.
void CachingAllocator::merge(Block into, std::ptrdiff_t neighbour) {
    if (neighbour < 0) return;
    const auto other = static_cast<Block>(neighbour);
    Extent& extent = extents_[into];
    Extent& gone = extents_[other];
    if (gone.state != extent.state) return;
    if (gone.state == State::free) {
        take_from_free(other);
    } else {
        pool_of(gone).unmapped.erase({gone.address, other});
    }
    if (gone.address < extent.address) {
        extent.address = gone.address;
        extent.previous = gone.previous;
        if (gone.previous >= 0) {
            extents_[static_cast<Block>(gone.previous)].next = static_cast<std::ptrdiff_t>(into);
        }
    } else {
        extent.next = gone.next;
        if (gone.next >= 0) {
            extents_[static_cast<Block>(gone.next)].previous = static_cast<std::ptrdiff_t>(into);
        }
    }
    extent.bytes += gone.bytes;
    gone.state = State::merged;
}

std::int64_t CachingAllocator::expandable_bytes(const Extent& extent) const {
    if (extent.next < 0) return extent.bytes;
    const Extent& next = extents_[static_cast<Block>(extent.next)];
    return extent.bytes + (next.state == State::unmapped ? next.bytes : 0);
}

/// The smallest free block that is large enough. A block next to unmapped address space in an
/// expandable segment counts as large as it can grow.
std::ptrdiff_t CachingAllocator::best_fit(Pool& pool, std::int64_t bytes) const {
    auto it = std::lower_bound(pool.free.begin(), pool.free.end(), Key{bytes, -1, 0});
    if (it == pool.free.end()) return -1;
    if (options_.expandable_segments) {
        const auto extent_at = [this](auto at) -> const Extent& { return extents_[at->block]; };
        const auto is_split = [](const Extent& extent) {
            return extent.previous >= 0 || extent.next >= 0;
        };
        for (auto next = std::next(it);
             is_split(extent_at(it)) && next != pool.free.end() &&
             expandable_bytes(extent_at(next)) < expandable_bytes(extent_at(it));
             ++next) {
            it = next;
        }
    }
    return static_cast<std::ptrdiff_t>(it->block);
}

/// Returns free segments before more is reserved than there is. If that is not enough, the memory
/// is exhausted.
void CachingAllocator::make_room(std::int64_t bytes) {
    if (options_.limit == 0 || now_.reserved + bytes <= options_.limit) return;
    empty_cache();
    exhausted_ = exhausted_ || now_.reserved + bytes > options_.limit;
}

CachingAllocator::Block CachingAllocator::new_segment(std::int64_t bytes, bool small) {
    const std::int64_t size = segment_bytes(bytes);
    make_room(size);
    now_.reserved += size;
    const Block block = add({.address = next_address_, .bytes = size, .small = small});
    next_address_ += size + segment_unit;
    return block;
}

/// Maps enough whole units at the start of an unmapped extent and joins them to a free neighbour.
CachingAllocator::Block CachingAllocator::map(Block unmapped, std::int64_t bytes) {
    const Extent before = extents_[unmapped];
    const std::int64_t unit = before.small ? small_segment : large_segment;
    const std::int64_t mapped = std::min(before.bytes, round_up(bytes, unit));
    pool_of(before).unmapped.erase({before.address, unmapped});
    now_.reserved += mapped;
    if (mapped < before.bytes) {
        const Block rest = add({.address = before.address + mapped,
                                .bytes = before.bytes - mapped,
                                .previous = static_cast<std::ptrdiff_t>(unmapped),
                                .next = before.next,
                                .state = State::unmapped,
                                .small = before.small});
        if (before.next >= 0) {
            extents_[static_cast<Block>(before.next)].previous = static_cast<std::ptrdiff_t>(rest);
        }
        extents_[unmapped].next = static_cast<std::ptrdiff_t>(rest);
        pool_of(before).unmapped.insert({before.address + mapped, rest});
    }
    Extent& extent = extents_[unmapped];
    extent.bytes = mapped;
    extent.state = State::free;
    merge(unmapped, extent.previous);
    merge(unmapped, extents_[unmapped].next);
    mark_free(unmapped);
    return unmapped;
}

/// A free block of at least `bytes` at the lowest address at which the pool's range has room.
CachingAllocator::Block CachingAllocator::expand(std::int64_t bytes, bool small) {
    make_room(ceil_divide(bytes, small ? small_segment : large_segment) *
              (small ? small_segment : large_segment));
    Pool& pool = pools_[small ? 0 : 1];
    const auto usable = [this](std::ptrdiff_t at) {
        return at >= 0 && extents_[static_cast<Block>(at)].state != State::used;
    };
    std::ptrdiff_t found = -1;
    for (const auto& [address, block] : pool.unmapped) {
        auto start = static_cast<std::ptrdiff_t>(block);
        if (usable(extents_[block].previous)) start = extents_[block].previous;
        std::int64_t room = 0;
        for (std::ptrdiff_t at = start; room < bytes && usable(at);
             at = extents_[static_cast<Block>(at)].next) {
            room += extents_[static_cast<Block>(at)].bytes;
        }
        if (room >= bytes) {
            found = start;
            break;
        }
    }
    if (found < 0) {
        const Block range = add({.address = next_address_,
                                 .bytes = address_space,
                                 .state = State::unmapped,
                                 .small = small});
        next_address_ += address_space;
        pool.unmapped.insert({extents_[range].address, range});
        found = static_cast<std::ptrdiff_t>(range);
    }
    auto block = static_cast<Block>(found);
    if (extents_[block].state == State::unmapped) block = map(block, bytes);
    while (extents_[block].bytes < bytes) {
        const auto next = static_cast<Block>(extents_[block].next);
        block = map(next, bytes - extents_[block].bytes);
    }
    take_from_free(block);
    return block;
}

/// Splits a block that is in no set; the rest becomes free if it is worth keeping.
void CachingAllocator::split(Block block, std::int64_t bytes) {
    const Extent whole = extents_[block];
    const std::int64_t rest = whole.bytes - bytes;
    const bool keeps =
        whole.small || options_.expandable_segments ? rest >= smallest_block : rest > largest_small;
    if (!keeps) return;
    const Block tail = add({.address = whole.address + bytes,
                            .bytes = rest,
                            .previous = static_cast<std::ptrdiff_t>(block),
                            .next = whole.next,
                            .small = whole.small});
    if (whole.next >= 0) {
        extents_[static_cast<Block>(whole.next)].previous = static_cast<std::ptrdiff_t>(tail);
    }
    extents_[block].next = static_cast<std::ptrdiff_t>(tail);
    extents_[block].bytes = bytes;
    mark_free(tail);
}

CachingAllocator::Block CachingAllocator::allocate(std::int64_t bytes) {
    RIDGE_CONTRACT(bytes >= 0);
    if (bytes == 0) return add({.state = State::used});
    const std::int64_t size = rounded(bytes);
    const bool small = size <= largest_small;
    const std::ptrdiff_t found = best_fit(pools_[small ? 0 : 1], size);
    Block block = 0;
    if (found >= 0) {
        block = static_cast<Block>(found);
        take_from_free(block);
    } else {
        block = options_.expandable_segments ? expand(size, small) : new_segment(size, small);
    }
    split(block, size);
    Extent& extent = extents_[block];
    extent.state = State::used;
    extent.requested = bytes;
    now_.requested += bytes;
    now_.allocated += extent.bytes;
    peak_ = {.requested = std::max(peak_.requested, now_.requested),
             .allocated = std::max(peak_.allocated, now_.allocated),
             .reserved = std::max(peak_.reserved, now_.reserved)};
    return block;
}

void CachingAllocator::release(Block block) {
    Extent& extent = extents_[block];
    RIDGE_CONTRACT(extent.state == State::used);
    now_.requested -= extent.requested;
    now_.allocated -= extent.bytes;
    if (extent.bytes == 0) {
        extent.state = State::merged;
        return;
    }
    extent.state = State::free;
    merge(block, extents_[block].previous);
    merge(block, extents_[block].next);
    mark_free(block);
}

/// Unmaps the whole units inside a free block; what is left on either side stays free.
void CachingAllocator::unmap(Block block) {
    const Extent whole = extents_[block];
    const std::int64_t unit = whole.small ? small_segment : large_segment;
    const std::int64_t base = whole.address / address_space * address_space;
    const std::int64_t first = base + round_up(whole.address - base, unit);
    const std::int64_t last = base + (whole.address + whole.bytes - base) / unit * unit;
    if (last <= first) return;
    take_from_free(block);
    extents_[block].bytes = first - whole.address;
    const auto link = [this](std::ptrdiff_t left, std::ptrdiff_t right) {
        if (left >= 0) extents_[static_cast<Block>(left)].next = right;
        if (right >= 0) extents_[static_cast<Block>(right)].previous = left;
    };
    Block middle = block;
    if (first > whole.address) {
        mark_free(block);
        middle = add({.address = first, .state = State::unmapped, .small = whole.small});
        link(static_cast<std::ptrdiff_t>(block), static_cast<std::ptrdiff_t>(middle));
    }
    extents_[middle].address = first;
    extents_[middle].bytes = last - first;
    extents_[middle].state = State::unmapped;
    link(static_cast<std::ptrdiff_t>(middle), whole.next);
    now_.reserved -= last - first;
    if (const std::int64_t end = whole.address + whole.bytes; last < end) {
        const Block tail = add({.address = last, .bytes = end - last, .small = whole.small});
        link(static_cast<std::ptrdiff_t>(middle), static_cast<std::ptrdiff_t>(tail));
        link(static_cast<std::ptrdiff_t>(tail), whole.next);
        mark_free(tail);
    }
    merge(middle, extents_[middle].previous);
    merge(middle, extents_[middle].next);
    pool_of(extents_[middle]).unmapped.insert({extents_[middle].address, middle});
}

void CachingAllocator::empty_cache() {
    for (Pool& pool : pools_) {
        const std::vector<Key> candidates = pool.free;
        for (const Key& candidate : candidates) {
            if (options_.expandable_segments) {
                unmap(candidate.block);
                continue;
            }
            Extent& extent = extents_[candidate.block];
            if (extent.previous >= 0 || extent.next >= 0) continue;
            take_from_free(candidate.block);
            now_.reserved -= extent.bytes;
            extent.state = State::merged;
        }
    }
}

}  // namespace ridge::model
