#include "model/matmul/bundled.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hardware/checked.h"
#include "model/roof/overlap.h"

#include "model/matmul/search.h"
#include "model/matmul/traffic.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

double real(std::int64_t count) {
    return static_cast<double>(count);
}
double pieces(std::int64_t extent, std::int64_t size) {
    return real(ceil_divide(extent, size));
}

/// The loop and DRAM traffic hide each other but for the ends; so do tags and banks of L1, and the
/// pipe and the copies that feed it.
constexpr Overlap loop_and_dram{4.0};
constexpr Overlap tags_and_banks{4.0};
constexpr Overlap pipe_and_feed{4.0};
/// What the wgmma kernel reckons for a 128 x 256 tile against a 128 x 128 one.
constexpr double large_tile_cost = 1.9;
/// Columns of C that the `fill` of a wgmma block stands for.
constexpr double fill_columns = 256.0;
constexpr std::int64_t warp = 32;
constexpr std::int64_t vector_elements = 4;  ///< of fp32, in a load of 16 bytes

/// Clocks of one load of A by a warp on 16 rows: tags pass two per clock, and of the rows that
/// start in one bank one passes per clock.
Time naive_load(const MatmulSituation& s) {
    constexpr double rows = 16.0;
    const double banks = real(warp / std::gcd(s.op.k, warp));
    const Time clock = units::cycle / s.machine.boost_clock;
    return combined({rows / 2.0 * clock, std::max(1.0, rows / banks) * clock}, tags_and_banks);
}

/// How register_tiled loads its operands: a matrix whose rows are no whole vectors by elements.
struct VectorLoads {
    bool a, b;
};

VectorLoads vector_loads(const Matmul& op) {
    return {op.k % vector_elements == 0, op.n % vector_elements == 0};
}

/// Loads of both operands by elements need more registers than two blocks have.
double blocks_per_sm(const Matmul& op, Implementation implementation, const BundledKernel& kernel) {
    const auto [a, b] = vector_loads(op);
    const bool elementwise = implementation == Implementation::register_tiled && !a && !b;
    return elementwise ? 1.0 : static_cast<double>(kernel.blocks_per_sm);
}

double rounds(const MatmulSituation& s, const BundledKernel& kernel, const Tile& tile) {
    const double units = real(s.op.batch) * pieces(s.op.m, std::int64_t{tile.m} * kernel.cluster) *
                         pieces(s.op.n, tile.n);
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
    const double warps = area / real(warp);
    if (implementation == Implementation::naive) return warps * naive_load(s);
    if (implementation == Implementation::coalesced) {
        return warps * 2.0 * units::cycle / s.machine.boost_clock;
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

/// All rounds of the busiest slot, and the first block's start.
struct Loop {
    Time fill, latency, pipe, l2, steps, store, total;
};

/// Time that the epilogues of the busiest slot store at; zero where that is hidden.
Time store_time(const MatmulSituation& s, const BundledMatmul& p, const BundledGrid& grid) {
    if (p.store_per_sm <= BytesPerCycle{}) return Time{};
    const double block =
        std::min<double>(grid.tile.m, real(s.op.m)) * std::min<double>(grid.tile.n, real(s.op.n));
    return grid.busiest * block * real(size_of(s.op.output)) * units::B /
           (p.store_per_sm * s.machine.tensor_clock);
}

/// A kernel on more multiprocessors takes longer until the last of them has its first operands.
Time start_time(const BundledMatmul& p, const BundledGrid& grid) {
    return std::sqrt(std::min(1.0, grid.units / grid.slots)) * p.start;
}

/// Blocks in rounds of those that share a multiprocessor; the last round may have fewer.
Loop block_loop(const MatmulSituation& s, Implementation implementation, const BundledMatmul& p,
                const BundledGrid& grid, double miss) {
    // One operand by vectors and one by elements: they are waited for one after the other.
    const auto [vector_a, vector_b] = vector_loads(s.op);
    const bool in_turn = implementation == Implementation::register_tiled && vector_a != vector_b;
    const Time step =
        p.step + miss * (in_turn ? 2.0 : 1.0) * p.step_miss + (in_turn ? p.step_unaligned : Time{});
    const Time pipe = pipe_step(s, implementation, grid) / p.issue_fraction;
    const double whole = std::floor(grid.busiest / grid.resident);
    const double rest = grid.busiest - whole * grid.resident;
    const double rounds = rest > 0.0 ? whole + 1.0 : whole;
    Time slices = whole * std::max(step, grid.resident * pipe);
    if (rest > 0.0) slices += std::max(step, rest * pipe);
    Loop loop;
    const Time fill = p.fill + (vector_b ? Time{} : p.fill_unaligned);
    loop.fill = start_time(p, grid) + rounds * fill;
    loop.latency = rounds * grid.steps * step;
    loop.pipe = grid.busiest * grid.steps * pipe;
    loop.steps = grid.steps * slices;
    loop.store = store_time(s, p, grid);
    loop.total = loop.fill + loop.steps + loop.store;
    return loop;
}

/// Persistent clusters: the copy engine runs ahead of the pipe by the stages of the kernel, so that
/// the pipe waits only where L2 and DRAM together deliver less than it takes.
Loop cluster_loop(const MatmulSituation& s, const BundledMatmul& p, const BundledGrid& grid,
                  const Traffic& traffic, Bandwidth dram) {
    const double tiles = grid.busiest * grid.tile.n / fill_columns;
    const Bandwidth l2 = real(s.machine.sm_count) * p.feed_per_sm * s.machine.tensor_clock;
    Loop loop;
    loop.fill = start_time(p, grid) + traffic.miss * p.cold_fill + tiles * p.fill;
    loop.pipe =
        grid.busiest * grid.steps * pipe_step(s, Implementation::wgmma, grid) / p.issue_fraction;
    loop.l2 = l2 > Bandwidth{} ? cluster_line_bytes(s.op, grid) / l2 : Time{};
    const Time fed = loop.l2 + Bytes::from_base(traffic.read) / dram;
    loop.steps = combined({loop.pipe, fed}, pipe_and_feed);
    loop.total = loop.fill + loop.steps;
    return loop;
}

}  // namespace

BundledGrid bundled_grid(const MatmulSituation& s, Implementation implementation,
                         const BundledKernel& kernel) {
    BundledGrid grid;
    grid.tile = tile_of(s, kernel);
    grid.down = pieces(s.op.m, std::int64_t{grid.tile.m} * kernel.cluster);
    grid.across = pieces(s.op.n, grid.tile.n);
    grid.units = real(s.op.batch) * grid.down * grid.across;
    grid.slots = std::max(1.0, std::floor(real(s.machine.sm_count) / kernel.cluster));
    grid.resident = blocks_per_sm(s.op, implementation, kernel);
    grid.steps = pieces(s.op.k, std::max(1, grid.tile.k));
    grid.busiest = std::ceil(grid.units / grid.slots);
    return grid;
}

MatmulTime bundled_matmul_time(const MatmulSituation& s, Implementation implementation,
                               const BundledKernel& kernel, const BundledMatmul& p) {
    const BundledGrid grid = bundled_grid(s, implementation, kernel);
    const Traffic traffic = traffic_of(s, kernel, grid, p.drift);
    const Bandwidth dram = s.parameters.dram_fraction * s.machine.dram_bandwidth;
    const Loop loop = kernel.cluster > 1 ? cluster_loop(s, p, grid, traffic, dram)
                                         : block_loop(s, implementation, p, grid, traffic.miss);
    MatmulTime t;
    t.tile = grid.tile;
    t.launch = p.launch + launch_gaps(s.machine, s.launch, 1.0);
    t.fill = loop.fill;
    t.pipe = loop.pipe;
    t.latency = loop.latency;
    t.store = loop.store;
    t.loop = loop.steps;
    t.l2 = loop.l2;
    t.l2_reads = kernel.cluster > 1 ? cluster_line_bytes(s.op, grid) : Bytes{};
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
