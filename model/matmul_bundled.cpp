#include "model/matmul_bundled.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/combine.h"

#include "model/matmul_search.h"
#include "model/roofline.h"

namespace ridge::model {
namespace {

double real(std::int64_t count) {
    return static_cast<double>(count);
}
double pieces(std::int64_t extent, std::int64_t size) {
    return real(ceil_divide(extent, size));
}

/// The loop and DRAM traffic hide each other but for the ends.
constexpr Overlap loop_and_dram{4.0};
/// Blocks start as others end, so the last round costs about half of its missing blocks.
constexpr double last_round = 0.5;
/// What the wgmma kernel reckons for a 128 x 256 tile against a 128 x 128 one.
constexpr double large_tile_cost = 1.9;
constexpr double warp = 32.0;
constexpr std::int64_t l2_line = 128;  ///< bytes

/// Shared-memory-like wavefronts of one load of A by a warp on 16 rows: tags pass two per clock,
/// and rows that are multiples of 128 bytes apart meet in one bank.
double naive_wavefronts(const Matmul& op) {
    return op.k % 32 == 0 ? 16.0 : 8.0;
}

double blocks_per_sm(const Matmul& op, Implementation implementation, const BundledKernel& kernel) {
    const bool elementwise_b = implementation == Implementation::register_tiled && op.n % 4 != 0;
    return elementwise_b ? 1.0 : static_cast<double>(kernel.blocks_per_sm);
}

double rounds(const MatmulSituation& s, const BundledKernel& kernel, const Tile& tile) {
    const double units =
        real(s.op.batch) * pieces(s.op.m, tile.m * kernel.cluster) * pieces(s.op.n, tile.n);
    return std::ceil(units / std::floor(real(s.machine.sm_count) / kernel.cluster));
}

Tile tile_of(const MatmulSituation& s, const BundledKernel& kernel) {
    if (s.tile) return *s.tile;
    if (!kernel.small_tile) return kernel.tile;
    const bool large =
        large_tile_cost * rounds(s, kernel, kernel.tile) <= rounds(s, kernel, *kernel.small_tile);
    return large ? kernel.tile : *kernel.small_tile;
}

/// What the limiting pipe needs for one step of one block, at full use.
Time pipe_step(const MatmulSituation& s, Implementation implementation, const BundledGrid& grid) {
    const double area = real(grid.tile.m) * grid.tile.n;
    if (implementation == Implementation::naive) {
        return area / warp * naive_wavefronts(s.op) * units::cycle / s.machine.boost_clock;
    }
    if (implementation == Implementation::coalesced) {
        return area / warp * 2.0 * units::cycle / s.machine.boost_clock;
    }
    return 2.0 * area * grid.tile.k * units::FLOP * real(s.machine.sm_count) / s.peak;
}

struct Traffic {
    double read = 0.0;
    double written = 0.0;
    double repeats = 0.0;
    double miss = 0.0;  ///< share of the operands that comes from DRAM
};

/// Bytes that L2 loses between windows of resident blocks and between groups of tile rows (M22).
double repeated(const MatmulSituation& s, const BundledKernel& kernel, const BundledGrid& grid,
                double drift) {
    const double element = real(size_of(s.op.type));
    const double result = real(size_of(s.op.output));
    const double k = real(s.op.k) * element;
    const double rows = real(grid.tile.m) * kernel.cluster;
    const double columns = grid.tile.n;
    const double at_once = grid.slots * grid.resident;
    if (grid.down * grid.across <= at_once) return 0.0;
    const double group =
        kernel.group_rows > 0 ? std::min<double>(kernel.group_rows, grid.down) : grid.down;
    const double window = std::clamp(at_once / group, 1.0, grid.across);
    const double groups = std::ceil(grid.down / group);
    const double a = real(s.op.m) * k;
    const double b = real(s.op.n) * k;
    const double a_group = group * rows * k;
    const double in_window = a_group + window * columns * (k + group * rows * result);
    const double in_group = a_group + b + group * rows * real(s.op.n) * result;
    const double a_again = search::lost_share(s, in_window) * a * (grid.across / window - 1.0);
    const double b_lost = search::lost_share(s, in_group);
    const double b_again = b_lost * b * (groups - 1.0);
    const double apart = drift * b_lost * (1.0 - 1.0 / groups) * (a + b + a_again + b_again);
    return real(s.op.batch) * (a_again + b_again + apart);
}

Traffic traffic_of(const MatmulSituation& s, const BundledKernel& kernel, const BundledGrid& grid,
                   double drift) {
    const search::Context c = search::make_context(s);
    Traffic t;
    t.miss = c.cold_share;
    t.repeats = repeated(s, kernel, grid, drift);
    t.read = c.read_bytes + t.repeats;
    t.written = c.write_bytes;
    return t;
}

/// The clock falls under the power limit (M14); mma.sync and vector kernels stay below it.
Time power_time(const MatmulSituation& s, Implementation implementation,
                const BundledKernel& kernel) {
    if (implementation != Implementation::wgmma) return Time{};
    const Flop executed = bundled_executed_flop(s, implementation, kernel);
    return executed / FlopRate::from_base(search::make_context(s).power_rate);
}

/// Steps and stores of all rounds of the busiest slot.
struct Loop {
    Time fill, latency, pipe, store, total;
};

Loop loop_time(const MatmulSituation& s, Implementation implementation, const BundledKernel& kernel,
               const BundledMatmul& p, const BundledGrid& grid, double miss) {
    const bool elements_of_a =
        implementation == Implementation::register_tiled && s.op.k % 4 != 0 && s.op.n % 4 == 0;
    // The stages of the cluster kernel hide DRAM, unless rows of k straddle two lines each.
    const bool whole_lines = s.op.k * size_of(s.op.type) % l2_line == 0;
    const double waiting = kernel.cluster > 1 && whole_lines ? 0.0 : miss;
    const Time latency =
        p.step + waiting * p.step_miss + (elements_of_a ? p.step_unaligned : Time{});
    const Time pipe = pipe_step(s, implementation, grid) / p.issue_fraction;
    Time store{};
    if (p.store_per_sm > BytesPerCycle{}) {
        const double block = std::min(real(grid.tile.m) * kernel.cluster, real(s.op.m)) *
                             std::min<double>(grid.tile.n, real(s.op.n));
        store = block * real(size_of(s.op.output)) * units::B /
                (p.store_per_sm * s.machine.tensor_clock);
    }
    const double repeats = std::max(1.0, grid.busiest / grid.resident);
    Loop loop;
    loop.fill = repeats * p.fill;
    loop.latency = std::ceil(grid.busiest / grid.resident) * grid.steps * latency;
    loop.pipe = grid.busiest * grid.steps * pipe;
    loop.store = grid.busiest * store;
    loop.total = loop.fill + std::max(loop.latency, loop.pipe) + loop.store;
    return loop;
}

}  // namespace

BundledGrid bundled_grid(const MatmulSituation& s, Implementation implementation,
                         const BundledKernel& kernel) {
    BundledGrid grid;
    grid.tile = tile_of(s, kernel);
    grid.down = pieces(s.op.m, grid.tile.m * kernel.cluster);
    grid.across = pieces(s.op.n, grid.tile.n);
    grid.units = real(s.op.batch) * grid.down * grid.across;
    grid.slots = std::max(1.0, std::floor(real(s.machine.sm_count) / kernel.cluster));
    grid.resident = blocks_per_sm(s.op, implementation, kernel);
    grid.steps = pieces(s.op.k, std::max(1, grid.tile.k));
    const double share = grid.units / grid.slots;
    const double whole = std::ceil(share);
    const bool persistent = kernel.cluster > 1;
    grid.busiest =
        persistent || whole <= grid.resident ? whole : share + last_round * (whole - share);
    return grid;
}

MatmulTime bundled_matmul_time(const MatmulSituation& s, Implementation implementation,
                               const BundledKernel& kernel, const BundledMatmul& p) {
    const BundledGrid grid = bundled_grid(s, implementation, kernel);
    const Traffic traffic = traffic_of(s, kernel, grid, p.drift);
    const Loop loop = loop_time(s, implementation, kernel, p, grid, traffic.miss);
    const Bandwidth dram = s.parameters.dram_fraction * s.machine.dram_bandwidth;
    MatmulTime t;
    t.tile = grid.tile;
    t.launch = p.launch + launch_gaps(s.machine, s.launch, 1.0);
    t.fill = loop.fill;
    t.pipe = loop.pipe;
    t.latency = loop.latency;
    t.store = loop.store;
    t.loop = std::max(loop.latency, loop.pipe);
    t.power = power_time(s, implementation, kernel);
    t.dram_reads = Bytes::from_base(traffic.read);
    t.dram_writes = Bytes::from_base(traffic.written);
    t.repeats = Bytes::from_base(traffic.repeats);
    t.dram_read = t.dram_reads / dram;
    t.dram = (t.dram_reads + t.dram_writes) / dram;
    t.total = t.launch + std::max(combined({loop.total, t.dram}, loop_and_dram), t.power);
    return t;
}

Flop bundled_executed_flop(const MatmulSituation& s, Implementation implementation,
                           const BundledKernel& kernel) {
    const BundledGrid grid = bundled_grid(s, implementation, kernel);
    const bool exact = grid.tile.k <= 1;
    const double m = exact ? real(s.op.m) : grid.down * grid.tile.m * kernel.cluster;
    const double n = exact ? real(s.op.n) : grid.across * grid.tile.n;
    const double k = exact ? real(s.op.k) : grid.steps * grid.tile.k;
    return 2.0 * real(s.op.batch) * m * n * k * units::FLOP;
}

}  // namespace ridge::model
