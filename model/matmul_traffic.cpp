#include "model/matmul_traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hardware/checked.h"

namespace ridge::model {
namespace {

constexpr std::int64_t sector = 32;

double real(std::int64_t count) {
    return static_cast<double>(count);
}

/// Shares that were fitted to counters: what is left of shared operands after merging while all
/// blocks are in their first round (1 / rounds of them later on), and requests per sector of C.
struct Merging {
    double first_round = 1.0;
    double rounds = 1.0;  ///< over which merging halves
    double store = 1.0;
};

Merging merging_of(Implementation implementation, const Matmul& op) {
    const bool whole =
        op.n * size_of(op.type) % sector == 0 && op.k * size_of(op.type) % sector == 0;
    switch (implementation) {
        case Implementation::tiled:
            return {.first_round = 0.65, .rounds = 10.0, .store = 1.0};
        case Implementation::register_tiled:
            return {.first_round = 0.72, .rounds = 2.0, .store = op.n % 4 == 0 ? 1.05 : 2.2};
        case Implementation::mma:
            return {.first_round = whole ? 0.68 : 1.05, .rounds = 1.5, .store = 1.65};
        case Implementation::naive:
            return {.store = op.n % 8 == 0 ? 1.5 : 2.2};
        default:
            return {};
    }
}

/// Sectors of a matrix of `rows` rows of `extent` elements, read in runs of `width` elements.
double sectors_of(double rows, std::int64_t extent, std::int64_t width, std::int64_t element) {
    const std::int64_t granularity = std::gcd(std::gcd(extent * element, width * element), sector);
    const double whole = real(extent / width) * mean_sectors(width * element, granularity);
    const std::int64_t rest = extent % width;
    return rows * (whole + (rest > 0 ? mean_sectors(rest * element, granularity) : 0.0));
}

/// Without L1's help in merging runs that straddle a sector, only neighbouring runs of the same
/// block share one: kernels that load through L1 fetch rows of A once, sector by sector.
double sectors_of_a(const Matmul& op, Implementation implementation, const BundledGrid& grid) {
    const std::int64_t element = size_of(op.type);
    const double rows = real(op.m);
    const bool through_l1 =
        implementation != Implementation::mma && implementation != Implementation::wgmma;
    if (through_l1) return rows * real(op.k * element) / real(sector);
    return sectors_of(rows, op.k, grid.tile.k, element);
}

/// Share of `kinds` equally likely values among `drawn` blocks: what L1 does not save.
double distinct_share(double kinds, double drawn) {
    if (drawn <= 1.0) return 1.0;
    return std::min(1.0, kinds * (1.0 - std::pow(1.0 - 1.0 / kinds, drawn)) / drawn);
}

/// Share left of an operand that `blocks` blocks read, when requests in step are merged.
double merged(const Merging& m, double blocks, double rounds) {
    if (blocks <= 1.0) return 1.0;
    const double in_step = 1.0 / (1.0 + std::max(0.0, rounds - 1.0) / m.rounds);
    return 1.0 - (1.0 - m.first_round) * in_step;
}

struct Shares {
    double a = 1.0;
    double b = 1.0;
};

/// naive: blocks of one multiprocessor share rows of A and columns of B through L1.
Shares naive_shares(const BundledGrid& grid, std::int64_t sm_count) {
    constexpr double in_step = 0.93;  // what merging leaves beside that
    const double together = std::min(8.0, grid.units / real(sm_count));
    const double columns = std::min(grid.across, 8.0 * real(sm_count) / grid.down);
    return {.a = in_step * distinct_share(grid.down, together),
            .b = in_step * distinct_share(std::max(1.0, columns), together)};
}

/// coalesced: blocks below one another run in step and share B, four or five tiles high, half of
/// that where rows of B do not start at multiples of 16 bytes.
Shares coalesced_shares(const Matmul& op) {
    return {.a = 1.0, .b = op.n % 4 == 0 ? 0.21 : 0.42};
}

Shares shares_of(const Matmul& op, Implementation implementation, const BundledGrid& grid,
                 std::int64_t sm_count) {
    if (implementation == Implementation::naive) return naive_shares(grid, sm_count);
    if (implementation == Implementation::coalesced) return coalesced_shares(op);
    const double rounds = grid.units / (grid.slots * grid.resident);
    const Merging m = merging_of(implementation, op);
    return {.a = merged(m, grid.across, rounds), .b = merged(m, grid.down, rounds)};
}

}  // namespace

double mean_sectors(std::int64_t bytes, std::int64_t granularity) {
    const std::int64_t steps = ceil_divide(bytes, granularity) * granularity;
    return real(steps + sector - granularity) / real(sector);
}

Bytes bundled_l2_bytes(const Matmul& op, Implementation implementation, const BundledGrid& grid,
                       std::int64_t sm_count) {
    const std::int64_t element = size_of(op.type);
    const bool boxes = implementation == Implementation::wgmma;
    const std::int64_t width = boxes ? 64 : grid.tile.n;  // TMA boxes are 128 bytes wide
    const Shares shares = shares_of(op, implementation, grid, sm_count);
    const double a = sectors_of_a(op, implementation, grid) * grid.across * shares.a;
    const double b = sectors_of(real(op.k), op.n, width, element) * grid.down * shares.b;
    const double c = sectors_of(real(op.m), op.n, width, size_of(op.output)) *
                     merging_of(implementation, op).store;
    return real(op.batch) * (a + b + c) * real(sector) * units::B;
}

}  // namespace ridge::model
