// Occupancy by the CUDA rules, each case worked by hand in its comment.
#include "model/machine/occupancy.h"

#include "model/catalogue/catalogue.h"
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
    // 8 warps per block, 64 warps per SM.
    require_occupancy(occupancy({.threads = 256, .registers = 32}, limits), 8, 64,
                      OccupancyLimiter::threads);
    // 40 x 32 = 1280 registers per warp (a multiple of 256): 65536 / 4 / 1280 = 12 warps per
    // partition, 48 per SM, six blocks of 8 warps.
    require_occupancy(occupancy({.threads = 256, .registers = 40}, limits), 6, 48,
                      OccupancyLimiter::registers);
    // 33 x 32 = 1056 rounds up to 1280: the same.
    require_occupancy(occupancy({.threads = 256, .registers = 33}, limits), 6, 48,
                      OccupancyLimiter::registers);
    // 255 x 32 = 8160 rounds up to 8192: 2 warps per partition, 8 per SM, one block of 8 warps.
    require_occupancy(occupancy({.threads = 256, .registers = 255}, limits), 1, 8,
                      OccupancyLimiter::registers);
    // One warp per block: the SM holds 32 blocks.
    require_occupancy(occupancy({.threads = 32, .registers = 16}, limits), 32, 32,
                      OccupancyLimiter::blocks);
    // 48 KiB and 1 KiB for the system: 164 / 49 = 3 blocks of 4 warps.
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
    // Three warp groups, 168 registers: 5376 per warp, 3 warps per partition, 12 per SM, one block.
    require_occupancy(
        occupancy({.threads = 384, .registers = 168, .shared = 200.0 * units::KiB}, limits), 1, 12,
        OccupancyLimiter::registers);
    require_occupancy(
        occupancy({.threads = 128, .registers = 32, .shared = 227.0 * units::KiB}, limits), 1, 4,
        OccupancyLimiter::shared);
    // Half of 228 KiB less the reserve is 113 KiB; with one byte more, only one block fits.
    CHECK(occupancy({.threads = 128, .shared = 113.0 * units::KiB}, limits).blocks == 2);
    CHECK(occupancy({.threads = 128, .shared = 113.0 * units::KiB + units::B}, limits).blocks == 1);
}

TEST_CASE("a partial warp counts as a whole warp", "[occupancy]") {
    const SmLimits limits = limits_of("a100-sxm-80gb");
    // 33 threads are 2 warps: 32 blocks, 64 warps.
    require_occupancy(occupancy({.threads = 33, .registers = 16}, limits), 32, 64,
                      OccupancyLimiter::threads);
    // 96 threads are 3 warps: 64 / 3 = 21 blocks.
    CHECK(occupancy({.threads = 96, .registers = 16}, limits).blocks == 21);
}

TEST_CASE("a block that needs too much cannot run", "[occupancy]") {
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

TEST_CASE("occupancy agrees with NVIDIA's calculator", "[occupancy]") {
    // Results of cuda_occupancy.h of the CUDA Toolkit 13.0 for these blocks.
    struct Row {
        const char* gpu;
        std::int64_t threads;
        std::int64_t registers;
        double shared_kib;
        std::int64_t blocks;
    };
    for (const Row& row : {Row{"k80", 256, 64, 48.0, 2},
                           Row{"k80", 1024, 64, 0.0, 2},
                           Row{"k80", 128, 255, 16.0, 4},
                           Row{"k80", 96, 72, 12.0, 9},
                           Row{"k80", 384, 168, 40.0, 2},
                           Row{"p100-sxm", 256, 64, 48.0, 1},
                           Row{"p100-sxm", 1024, 64, 0.0, 1},
                           Row{"p100-sxm", 128, 255, 16.0, 2},
                           Row{"p100-sxm", 96, 72, 12.0, 5},
                           Row{"p100-sxm", 384, 168, 40.0, 1},
                           Row{"v100-sxm", 256, 64, 48.0, 2},
                           Row{"v100-sxm", 1024, 64, 0.0, 1},
                           Row{"v100-sxm", 128, 255, 16.0, 2},
                           Row{"v100-sxm", 96, 72, 12.0, 8},
                           Row{"v100-sxm", 384, 168, 40.0, 1},
                           Row{"t4", 256, 64, 48.0, 1},
                           Row{"t4", 1024, 64, 0.0, 1},
                           Row{"t4", 128, 255, 16.0, 2},
                           Row{"t4", 96, 72, 12.0, 5},
                           Row{"t4", 384, 168, 40.0, 1},
                           Row{"a100-sxm-80gb", 256, 64, 48.0, 3},
                           Row{"a100-sxm-80gb", 1024, 64, 0.0, 1},
                           Row{"a100-sxm-80gb", 128, 255, 16.0, 2},
                           Row{"a100-sxm-80gb", 96, 72, 12.0, 9},
                           Row{"a100-sxm-80gb", 384, 168, 40.0, 1},
                           Row{"l40s", 256, 64, 48.0, 2},
                           Row{"l40s", 1024, 64, 0.0, 1},
                           Row{"l40s", 128, 255, 16.0, 2},
                           Row{"l40s", 96, 72, 12.0, 7},
                           Row{"l40s", 384, 168, 40.0, 1},
                           Row{"h100-sxm", 256, 64, 48.0, 4},
                           Row{"h100-sxm", 1024, 64, 0.0, 1},
                           Row{"h100-sxm", 128, 255, 16.0, 2},
                           Row{"h100-sxm", 96, 72, 12.0, 9},
                           Row{"h100-sxm", 384, 168, 40.0, 1},
                           Row{"b200", 256, 64, 48.0, 4},
                           Row{"b200", 1024, 64, 0.0, 1},
                           Row{"b200", 128, 255, 16.0, 2},
                           Row{"b200", 96, 72, 12.0, 9},
                           Row{"b200", 384, 168, 40.0, 1}}) {
        CAPTURE(row.gpu, row.threads, row.registers, row.shared_kib);
        const Occupancy found = occupancy({.threads = row.threads,
                                           .registers = row.registers,
                                           .shared = row.shared_kib * units::KiB},
                                          limits_of(row.gpu));
        CHECK(found.blocks == row.blocks);
    }
}

TEST_CASE("using fewer registers or less shared memory fits one more block", "[occupancy]") {
    const SmLimits limits = limits_of("a100-sxm-80gb");
    // 64 registers: 8 warps per partition, four blocks of 8 warps. Five blocks need 10 warps per
    // partition: 65536 / 4 / 10 = 1638 registers per warp, 1536 in units of 256, 48 per thread.
    CHECK(fewer_registers({.threads = 256, .registers = 64}, limits) == 48);
    // Threads are the limit, so fewer registers do not help.
    CHECK_FALSE(fewer_registers({.threads = 256, .registers = 32}, limits));
    // Three blocks of 48 + 1 KiB. Four blocks share 164 KiB: 41 each, 40 without the reserve.
    const BlockResources block{.threads = 256, .registers = 32, .shared = 48.0 * units::KiB};
    CHECK(less_shared(block, limits) == 40.0 * units::KiB);
    CHECK_FALSE(less_shared({.threads = 1024, .registers = 32, .shared = units::KiB}, limits));
    // 3 x 49 = 147 KiB fit in the carve-out of 164 KiB.
    CHECK(carveout_of(block, limits) == 164.0 * units::KiB);
    // Each of two blocks keeps 1 KiB even without shared memory of its own.
    CHECK(carveout_of({.threads = 1024, .registers = 32}, limits) == 8.0 * units::KiB);
    CHECK_FALSE(carveout_of({.threads = 256}, limits_of("p100-sxm")));
}

TEST_CASE("the suggested shared memory is the most that fits one more block", "[occupancy]") {
    for (const char* gpu :
         {"k80", "p100-sxm", "v100-sxm", "t4", "a100-sxm-80gb", "l40s", "h100-sxm"}) {
        const SmLimits limits = limits_of(gpu);
        for (std::int64_t threads = 32; threads <= 1024; threads += 96) {
            for (double kib = 1.0; kib * units::KiB <= limits.shared_per_block; kib += 3.5) {
                BlockResources block{
                    .threads = threads, .registers = 32, .shared = kib * units::KiB};
                const Occupancy now = occupancy(block, limits);
                const auto less = less_shared(block, limits);
                block.shared = less ? *less : Bytes{};
                const std::int64_t then = occupancy(block, limits).blocks;
                CAPTURE(gpu, threads, kib);
                if (!less) {
                    CHECK((then == now.blocks || now.limiter != OccupancyLimiter::shared));
                    continue;
                }
                CHECK(then > now.blocks);
                block.shared += units::B;
                CHECK(occupancy(block, limits).blocks == now.blocks);
            }
        }
    }
}

TEST_CASE("a block that needs more never fits more often", "[occupancy]") {
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
