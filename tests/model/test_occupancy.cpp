// Occupancy by the CUDA rules, each case worked by hand in its comment.
#include "model/machine/occupancy.h"

#include "model/machine/catalogue.h"
#include "tests/catch.h"

namespace ridge::model {
namespace {

SmLimits limits_of(const char* gpu) {
    return make_machine(model::catalogue().at(gpu)).limits.value();
}

void require_occupancy(const Occupancy& found, std::int64_t blocks, std::int64_t warps,
                       OccupancyLimiter limiter) {
    CHECK(found.blocks == blocks);
    CHECK(found.warps == warps);
    CHECK(found.fraction == static_cast<double>(warps) / 64.0);
    CHECK(name_of(found.limiter) == name_of(limiter));
}

TEST_CASE("occupancy on compute capability 8.0", "[occupancy]") {
    const SmLimits limits = limits_of("a100-sxm-80gb");
    // 8 warps a block, 64 warps an SM.
    require_occupancy(occupancy({.threads = 256, .registers = 32}, limits), 8, 64,
                      OccupancyLimiter::threads);
    // 40 x 32 = 1280 registers a warp (a multiple of 256): 65536 / 4 / 1280 = 12 warps a partition,
    // 48 an SM, six blocks of 8.
    require_occupancy(occupancy({.threads = 256, .registers = 40}, limits), 6, 48,
                      OccupancyLimiter::registers);
    // 33 x 32 = 1056 rounds up to 1280: the same.
    require_occupancy(occupancy({.threads = 256, .registers = 33}, limits), 6, 48,
                      OccupancyLimiter::registers);
    // 255 x 32 = 8160 rounds up to 8192: 2 warps a partition, 8 an SM, one block of 8.
    require_occupancy(occupancy({.threads = 256, .registers = 255}, limits), 1, 8,
                      OccupancyLimiter::registers);
    // One warp a block: the SM holds 32 blocks.
    require_occupancy(occupancy({.threads = 32, .registers = 16}, limits), 32, 32,
                      OccupancyLimiter::blocks);
    // 48 KiB and 1 KiB of the system: 164 / 49 = 3 blocks of 4 warps.
    require_occupancy(
        occupancy({.threads = 128, .registers = 32, .shared = 48.0 * units::KiB}, limits), 3, 12,
        OccupancyLimiter::shared);
    // The largest block: 163 + 1 = 164 KiB.
    require_occupancy(
        occupancy({.threads = 128, .registers = 32, .shared = 163.0 * units::KiB}, limits), 1, 4,
        OccupancyLimiter::shared);
}

TEST_CASE("occupancy on compute capability 9.0", "[occupancy]") {
    const SmLimits limits = limits_of("h100-sxm");
    // 48 + 1 = 49 KiB: 228 / 49 = 4 blocks of 4 warps.
    require_occupancy(
        occupancy({.threads = 128, .registers = 32, .shared = 48.0 * units::KiB}, limits), 4, 16,
        OccupancyLimiter::shared);
    // Three warp groups at 168 registers: 5376 a warp, 3 warps a partition, 12 an SM: one block.
    require_occupancy(
        occupancy({.threads = 384, .registers = 168, .shared = 200.0 * units::KiB}, limits), 1, 12,
        OccupancyLimiter::registers);
    require_occupancy(
        occupancy({.threads = 128, .registers = 32, .shared = 227.0 * units::KiB}, limits), 1, 4,
        OccupancyLimiter::shared);
    // Half of 228 KiB less the reserve is 113 KiB; a byte more no longer fits twice.
    CHECK(occupancy({.threads = 128, .shared = 113.0 * units::KiB}, limits).blocks == 2);
    CHECK(occupancy({.threads = 128, .shared = 113.0 * units::KiB + units::B}, limits).blocks == 1);
}

TEST_CASE("a partial warp takes a whole one", "[occupancy]") {
    const SmLimits limits = limits_of("a100-sxm-80gb");
    // 33 threads are 2 warps: 32 blocks, 64 warps.
    require_occupancy(occupancy({.threads = 33, .registers = 16}, limits), 32, 64,
                      OccupancyLimiter::threads);
    // 96 threads are 3 warps: 64 / 3 = 21 blocks.
    CHECK(occupancy({.threads = 96, .registers = 16}, limits).blocks == 21);
}

TEST_CASE("a block that asks for too much cannot run", "[occupancy]") {
    for (const char* gpu : {"a100-sxm-80gb", "h100-sxm"}) {
        const SmLimits limits = limits_of(gpu);
        CHECK(occupancy({.threads = 128, .registers = 256}, limits).blocks == 0);
        CHECK(occupancy({.threads = 1024, .registers = 128}, limits).blocks == 0);
        CHECK(occupancy({.threads = 1025, .registers = 16}, limits).blocks == 0);
        CHECK(occupancy({.threads = 0}, limits).blocks == 0);
        const Bytes too_much = limits.shared_per_block + units::B;
        CHECK(occupancy({.threads = 128, .shared = too_much}, limits).blocks == 0);
    }
}

TEST_CASE("asking for more never fits more", "[occupancy]") {
    const SmLimits limits = limits_of("h100-sxm");
    std::int64_t before = limits.blocks;
    for (std::int64_t registers = 16; registers <= 255; ++registers) {
        const Occupancy found = occupancy({.threads = 128, .registers = registers}, limits);
        CHECK(found.blocks <= before);
        CHECK(found.blocks * 128 * registers <= limits.registers);
        before = found.blocks;
    }
    before = limits.blocks;
    for (double kib = 0.0; kib <= 227.0; kib += 0.5) {
        const Occupancy found = occupancy({.threads = 128, .shared = kib * units::KiB}, limits);
        CHECK(found.blocks <= before);
        CHECK(static_cast<double>(found.blocks) * kib * units::KiB <= limits.shared);
        before = found.blocks;
    }
}

}  // namespace
}  // namespace ridge::model
