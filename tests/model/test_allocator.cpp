// The caching allocator worked by hand: rounding, segments, splitting, merging, emptying, mapping.
#include <cstdint>
#include <random>
#include <vector>

#include "model/allocator/caching_allocator.h"
#include "model/allocator/memory_plan.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

constexpr std::int64_t mib = 1 << 20;

TEST_CASE("requests round up to 512 bytes and reserve a segment", "[allocator]") {
    CachingAllocator memory;
    const auto scalar = memory.allocate(1);
    CHECK(memory.now() == MemoryLevel{.requested = 1, .allocated = 512, .reserved = 2 * mib});
    const auto small = memory.allocate(mib);  // the last size of the small pool
    CHECK(memory.now().reserved == 2 * mib);
    const auto large = memory.allocate(mib + 1);
    CHECK(memory.bytes_of(large) == mib + 512);
    CHECK(memory.now().reserved == 22 * mib);
    memory.release(scalar);
    memory.release(small);
    memory.release(large);
    CHECK(memory.now() == MemoryLevel{.requested = 0, .allocated = 0, .reserved = 22 * mib});
    memory.empty_cache();
    CHECK(memory.now().reserved == 0);
    CHECK(memory.peak().reserved == 22 * mib);
}

TEST_CASE("a request of 10 MiB or more has its own segment and keeps a rest of up to 1 MiB",
          "[allocator]") {
    CachingAllocator memory;
    const auto whole = memory.allocate(11 * mib);  // segment of 12 MiB, rest exactly 1 MiB
    CHECK(memory.bytes_of(whole) == 12 * mib);
    const auto split = memory.allocate(11 * mib - 512);  // a rest above 1 MiB is split off
    CHECK(memory.bytes_of(split) == 11 * mib - 512);
    CHECK(memory.now().reserved == 24 * mib);
    CHECK(memory.now().requested == 22 * mib - 512);
    // The rest serves the next request of the large pool that fits into it.
    const auto rest = memory.allocate(mib + 1);
    CHECK(memory.bytes_of(rest) == mib + 512);
    CHECK(memory.now().reserved == 24 * mib);
}

TEST_CASE("the smallest free block that fits is taken, and neighbours merge", "[allocator]") {
    CachingAllocator memory;
    const auto a = memory.allocate(4 * mib);
    const auto b = memory.allocate(6 * mib);
    const auto c = memory.allocate(3 * mib);
    CHECK(memory.now().reserved == 20 * mib);
    memory.release(a);
    // Free: 4 MiB at the start, 7 MiB at the end.
    const auto d = memory.allocate(3 * mib - 512);
    memory.release(b);
    memory.release(d);
    // a, b and d are one stretch of 10 MiB again, so no new segment is needed.
    const auto e = memory.allocate(9 * mib);
    CHECK(memory.now().reserved == 20 * mib);
    CHECK(memory.bytes_of(e) == 10 * mib);
    memory.release(c);
    memory.empty_cache();
    CHECK(memory.now().reserved == 20 * mib);  // e keeps the segment
}

TEST_CASE("expandable segments grow and shrink by whole units", "[allocator]") {
    CachingAllocator memory({.expandable_segments = true});
    const auto a = memory.allocate(15 * mib);
    CHECK(memory.now() ==
          MemoryLevel{.requested = 15 * mib, .allocated = 15 * mib, .reserved = 20 * mib});
    const auto b = memory.allocate(15 * mib);  // 5 MiB are free, 10 more are mapped
    CHECK(memory.now().reserved == 40 * mib);
    memory.release(a);
    memory.empty_cache();  // the first 15 MiB contain no whole unit of 20
    CHECK(memory.now().reserved == 40 * mib);
    memory.release(b);
    memory.empty_cache();
    CHECK(memory.now().reserved == 0);
    const auto c = memory.allocate(100);
    CHECK(memory.now().reserved == 2 * mib);
    memory.release(c);
}

TEST_CASE("sizes round up to parts of a power of two", "[allocator]") {
    const CachingAllocator memory({.roundup_power2_divisions = 4});
    CHECK(memory.rounded(1200) == 1536);  // up to 512 x 4, in steps of 512
    CHECK(memory.rounded(1024 * 1024 + 1) == 1024 * 1280);
    CHECK(memory.rounded(1024 * 1280) == 1024 * 1280);
    CHECK(CachingAllocator().rounded(1024 * 1024 + 1) == 1024 * 1024 + 512);
}

TEST_CASE("a limit empties the cache before memory is exhausted", "[allocator]") {
    CachingAllocator memory({.limit = 40 * mib});
    const auto a = memory.allocate(30 * mib);
    memory.release(a);
    const auto b = memory.allocate(32 * mib);
    CHECK_FALSE(memory.exhausted());
    CHECK(memory.now().reserved == 32 * mib);
    (void)memory.allocate(10 * mib);
    CHECK(memory.exhausted());
    memory.release(b);
}

TEST_CASE("totals stay consistent over random sequences", "[allocator][property]") {
    std::mt19937_64 random(7);
    for (const bool expandable : {false, true}) {
        CachingAllocator memory({.expandable_segments = expandable});
        std::vector<CachingAllocator::Block> live;
        std::int64_t requested = 0;
        std::vector<std::int64_t> sizes;
        for (int step = 0; step < 4000; ++step) {
            if (live.empty() || random() % 5 < 3) {
                const auto bytes =
                    static_cast<std::int64_t>(1 + random() % (1ULL << (9 + random() % 18)));
                live.push_back(memory.allocate(bytes));
                sizes.push_back(bytes);
                requested += bytes;
                CHECK(memory.bytes_of(live.back()) >= bytes);
            } else {
                const std::size_t at = random() % live.size();
                memory.release(live[at]);
                requested -= sizes[at];
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
                sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(at));
            }
            if (step % 500 == 499) memory.empty_cache();
            REQUIRE(memory.now().requested == requested);
            REQUIRE(memory.now().allocated >= requested);
            REQUIRE(memory.now().reserved >= memory.now().allocated);
        }
        while (!live.empty()) {
            memory.release(live.back());
            live.pop_back();
        }
        memory.empty_cache();
        CHECK(memory.now() == MemoryLevel{});
    }
}

TEST_CASE("a plan reports its phases relative to their starts", "[allocator]") {
    MemoryPlan plan;
    plan.begin("inputs");
    const auto x = plan.allocate("x", 1000);
    plan.begin("work", CacheBefore::emptied);
    plan.touch("scratch", 4096);
    const auto y = plan.allocate("y", 512);
    plan.release(x);
    const MemoryTimeline timeline = replay(plan);
    CHECK(timeline.phase("inputs").after.allocated == 1024);
    CHECK(timeline.phase("work").peak.allocated == 4096);
    CHECK(timeline.phase("work").peak_step == 1);
    CHECK(timeline.phase("work").after.allocated == 512 - 1024);
    CHECK(timeline.phase("work").after.requested == 512 - 1000);
    CHECK(timeline.levels.back().allocated == 512);
    CHECK(plan.allocations()[y].given == MemoryPlan::never);
    const std::vector<std::int64_t> resident{3 * mib};
    CHECK(replay(plan, {}, resident).levels.back().allocated == 512);
}

}  // namespace
}  // namespace ridge::model
