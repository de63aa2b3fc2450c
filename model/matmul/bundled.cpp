#include "model/matmul/bundled.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hardware/checked.h"
#include "model/core/real.h"
#include "model/roof/overlap.h"

#include "model/matmul/search.h"
#include "model/matmul/traffic.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

/// Columns of C to which the `fill` of a wgmma block refers.
constexpr double fill_columns = bundled::matmul_wgmma_large.tile.n;
constexpr std::int64_t warp = bundled::warp_threads;

/// Time of one load of A by a warp on 16 rows: tags pass two per clock, and of the rows that start
/// in the same bank one passes per clock.
Time naive_load(const MatmulSituation& s) {
    constexpr double rows = bundled::matmul_naive.tile.m;
    const double banks = real(warp / std::gcd(s.op.k, warp));
    const Time clock = units::cycle / s.machine.boost_clock;
    return combined({rows / 2.0 * clock, std::max(1.0, rows / banks) * clock},
                    Overlap{s.machine.bundled.product.load_overlap});
}

/// How register_tiled loads its operands: element by element if rows are not whole vectors.
struct VectorLoads {
    bool a, b;
};

VectorLoads vector_loads(const Matmul& op) {
    return {bundled::in_float_vectors(op.k), bundled::in_float_vectors(op.n)};
}

double blocks_per_sm(const Matmul& op, Implementation implementation,
                     const bundled::MatmulKernel& layout) {
    if (implementation != Implementation::register_tiled) return layout.blocks_per_sm;
    const auto [a, b] = vector_loads(op);
    return bundled::register_tiled_blocks_per_sm(a, b);
}

bundled::MatmulExtents extents_of(const Matmul& op) {
    return {.m = op.m, .n = op.n, .k = op.k, .batch = op.batch};
}

/// A layout with a tile of another size. Its depth is the kernel's own, or the tile's shorter edge
/// in kernels whose threads load one element of each operand per step. A block of such a kernel has
/// a thread for each element, so more small blocks share a multiprocessor.
bundled::MatmulKernel with_tile(bundled::MatmulKernel layout, Tile tile,
                                Implementation implementation) {
    constexpr std::int32_t most_blocks = 32;
    const std::int64_t area = std::int64_t{tile.m} * tile.n;
    const bool by_elements = implementation == Implementation::tiled;
    if (tile.k == 0) tile.k = by_elements ? std::min(tile.m, tile.n) : layout.tile.k;
    if (by_elements && area <= layout.threads) {
        const std::int64_t at_once = std::int64_t{layout.blocks_per_sm} * layout.threads;
        layout.blocks_per_sm = static_cast<std::int32_t>(
            std::min<std::int64_t>(most_blocks, at_once / std::max(area, warp)));
        layout.threads = static_cast<std::int32_t>(std::max(area, warp));
    }
    layout.tile = tile;
    return layout;
}

/// The layout with the kernel's own tile, or with the tile that the situation names.
bundled::MatmulKernel layout_of(const MatmulSituation& s, Implementation implementation,
                                const BundledKernel& kernel) {
    const bundled::MatmulKernel layout =
        implementation == Implementation::wgmma
            ? bundled::wgmma_for(extents_of(s.op), s.machine.sm_count)
            : kernel.layout;
    return s.tile ? with_tile(layout, *s.tile, implementation) : layout;
}

/// Time that the limiting pipe needs for one step of one block at full use.
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

/// Share of the operands that is read again because blocks drift apart. Blocks of the tensor
/// kernels stay in step better than the library's, and those of naive and tiled kernels are slow
/// enough to stay together.
double drift_of(const Machine& machine, Implementation implementation) {
    switch (implementation) {
        case Implementation::register_tiled:
            return machine.library_drift;
        case Implementation::mma:
        case Implementation::wgmma:
            return machine.bundled.product.in_step;
        default:
            return 0.0;
    }
}

/// Bytes that L2 loses between windows of resident blocks and between groups of tile rows (M22).
double repeated(const MatmulSituation& s, const BundledKernel& kernel, const BundledGrid& grid,
                double drift) {
    const double element = real(size_of(s.op.type));
    const double result = real(size_of(s.op.output));
    const double k = real(s.op.k) * element;
    const double rows = real(grid.tile.m) * kernel.layout.cluster;
    const double columns = grid.tile.n;
    const double at_once = grid.slots * grid.resident;
    if (grid.down * grid.across <= at_once) return 0.0;
    const std::int32_t group_rows = kernel.layout.group_rows;
    const double group = group_rows > 0 ? std::min<double>(group_rows, grid.down) : grid.down;
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

/// Time under the power limit, which lowers the clock (M14); mma.sync and vector kernels stay below
/// the limit.
Time power_time(const MatmulSituation& s, Implementation implementation,
                const BundledKernel& kernel) {
    if (implementation != Implementation::wgmma) return Time{};
    const Flop executed = bundled_executed_flop(s, implementation, kernel);
    return executed / FlopRate::from_base(search::make_context(s).power_rate);
}

/// Times of all rounds of the busiest slot, and of the first block's start.
struct Loop {
    Time fill, latency, pipe, l2, steps, store, total;
};

/// Time in which the epilogues of the busiest slot store; zero if the stores are hidden.
Time store_time(const MatmulSituation& s, const BundledMatmul& p, const BundledGrid& grid) {
    if (p.store_per_sm <= BytesPerCycle{}) return Time{};
    const double block =
        std::min<double>(grid.tile.m, real(s.op.m)) * std::min<double>(grid.tile.n, real(s.op.n));
    return grid.busiest * block * real(size_of(s.op.output)) * units::B /
           (p.store_per_sm * s.machine.tensor_clock);
}

/// Time until the last multiprocessor has its first operands, which grows with the number of
/// multiprocessors.
Time start_time(const BundledMatmul& p, const BundledGrid& grid) {
    return std::sqrt(std::min(1.0, grid.units / grid.slots)) * p.start;
}

/// Blocks run in rounds of those that share a multiprocessor; the last round may have fewer.
Loop block_loop(const MatmulSituation& s, Implementation implementation, const BundledMatmul& p,
                const BundledGrid& grid, double miss) {
    // One operand is loaded as vectors and the other by elements, so the kernel waits for them in
    // turn.
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

/// Persistent clusters: the copy engine runs ahead of the pipe by the stages of the kernel, so the
/// pipe waits only if L2 and DRAM together deliver less than it consumes.
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
    loop.steps = combined({loop.pipe, fed}, Overlap{s.machine.bundled.product.feed_overlap});
    loop.total = loop.fill + loop.steps;
    return loop;
}

}  // namespace

BundledGrid bundled_grid(const MatmulSituation& s, Implementation implementation,
                         const BundledKernel& kernel) {
    const bundled::MatmulKernel layout = layout_of(s, implementation, kernel);
    BundledGrid grid;
    grid.tile = layout.tile;
    grid.down = real(bundled::units_down(layout, s.op.m));
    grid.across = real(bundled::units_across(layout, s.op.n));
    grid.units = real(s.op.batch) * grid.down * grid.across;
    grid.slots = real(bundled::slots_of(layout, s.machine.sm_count));
    grid.resident = blocks_per_sm(s.op, implementation, layout);
    grid.steps = real(bundled::steps_of(layout, s.op.k));
    grid.busiest = std::ceil(grid.units / grid.slots);
    return grid;
}

MatmulTime bundled_matmul_time(const MatmulSituation& s, Implementation implementation,
                               const BundledKernel& kernel, const BundledMatmul& p) {
    const BundledGrid grid = bundled_grid(s, implementation, kernel);
    const Traffic traffic = traffic_of(s, kernel, grid, drift_of(s.machine, implementation));
    const Bandwidth dram = s.parameters.dram_fraction * s.machine.dram_bandwidth;
    const Loop loop = kernel.layout.cluster > 1
                          ? cluster_loop(s, p, grid, traffic, dram)
                          : block_loop(s, implementation, p, grid, traffic.miss);
    MatmulTime t;
    t.tile = grid.tile;
    t.launch = std::max(p.launch, s.machine.launch.kernel) + launch_gaps(s.machine, s.launch, 1.0);
    t.fill = loop.fill;
    t.pipe = loop.pipe;
    t.latency = loop.latency;
    t.store = loop.store;
    t.loop = loop.steps;
    t.l2 = loop.l2;
    t.l2_reads = kernel.layout.cluster > 1 ? cluster_line_bytes(s.op, grid) : Bytes{};
    t.power = power_time(s, implementation, kernel);
    t.dram_reads = Bytes::from_base(traffic.read);
    t.dram_writes = Bytes::from_base(traffic.written);
    t.repeats = Bytes::from_base(traffic.repeats);
    t.dram_read = t.dram_reads / dram;
    t.dram = (t.dram_reads + t.dram_writes) / dram;
    t.total = t.launch + std::max(combined({loop.total, t.dram}, pipes), t.power);
    return t;
}

Flop bundled_executed_flop(const MatmulSituation& s, Implementation implementation,
                           const BundledKernel& kernel) {
    const BundledGrid grid = bundled_grid(s, implementation, kernel);
    const bool exact = grid.tile.k <= 1;
    const double m = exact ? real(s.op.m) : grid.down * grid.tile.m * kernel.layout.cluster;
    const double n = exact ? real(s.op.n) : grid.across * grid.tile.n;
    const double k = exact ? real(s.op.k) : grid.steps * grid.tile.k;
    return 2.0 * real(s.op.batch) * m * n * k * units::FLOP;
}

}  // namespace ridge::model
