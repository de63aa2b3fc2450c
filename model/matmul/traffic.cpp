#include "model/matmul/traffic.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "hardware/checked.h"
#include "model/core/real.h"
#include "model/roof/sector_runs.h"

namespace ridge::model {
namespace {

/// A matrix in memory, or the part of it that a kernel reads. Elements of half a byte count in
/// pairs.
struct Rows {
    double rows;
    std::int64_t extent;   ///< elements of a row
    std::int64_t element;  ///< bytes
};

/// Bytes of all rows, moved in runs of `width` elements.
double in_runs(const Rows& matrix, std::int64_t width) {
    return matrix.rows * bytes_in_runs(matrix.extent * matrix.element, width * matrix.element);
}

/// Bytes of all rows if L1 keeps the sectors that two steps of a block share.
double through_l1(const Rows& matrix) {
    return matrix.rows * real(matrix.extent * matrix.element);
}

constexpr std::int64_t box = 128;  ///< bytes of a row in one request of the copy engine (TMA)

enum class Delivery : std::uint8_t { own, multicast };

/// Bytes of a box within a row beyond its own: sectors for the multiprocessor that asked, pairs of
/// sectors for one that listens. In a multicast, half of the receivers are of each kind.
double beside_box(std::int64_t granularity, Delivery delivery) {
    const auto straddling = [&](std::int64_t unit) {
        return real(std::max<std::int64_t>(0, unit - granularity));
    };
    if (delivery == Delivery::own) return straddling(sector_size);
    return (straddling(sector_size) + straddling(2 * sector_size)) / 2.0;
}

/// The same for the box in which the row ends after `valid` bytes; the rest is filled with zeros.
double beside_last_box(std::int64_t valid, std::int64_t granularity, Delivery delivery) {
    if (delivery == Delivery::multicast) {
        return beside_box(granularity, delivery) + real(std::max(valid - sector_size, 48 - valid));
    }
    const std::int64_t zeros = ceil_divide(box - valid, sector_size) * sector_size;
    return real(valid) + beside_run(granularity) + real(zeros - box);
}

/// Bytes of a row of a matrix beyond those of its boxes.
double beside_boxes(const Rows& matrix, Delivery delivery) {
    const std::int64_t row = matrix.extent * matrix.element;
    const std::int64_t granularity = (row | box) & -(row | box);  // the box is a power of two
    const std::int64_t valid = row % box;
    return real(row / box) * beside_box(granularity, delivery) +
           (valid > 0 ? beside_last_box(valid, granularity, delivery) : 0.0);
}

/// Bytes of a grid of boxes, with `columns` boxes in each of `rows` rows. Parts beyond the matrix
/// arrive as zeros and count, in whole boxes.
double in_boxes(const Rows& matrix, double rows, double columns, Delivery delivery) {
    return rows * columns * real(box) +
           std::min(rows, matrix.rows) * beside_boxes(matrix, delivery);
}

/// The same in clusters of two blocks, side by side or one below the other: half of the operands
/// arrive as a multicast.
double in_pairs(const Rows& matrix, double rows, double columns) {
    return (in_boxes(matrix, rows, columns, Delivery::own) +
            in_boxes(matrix, rows, columns, Delivery::multicast)) /
           2.0;
}

/// Share of `kinds` equally likely values that occur among `drawn` blocks, which L1 cannot save.
double distinct_share(double kinds, double drawn) {
    if (drawn <= 1.0) return 1.0;
    return std::min(1.0, kinds * (1.0 - std::pow(1.0 - 1.0 / kinds, drawn)) / drawn);
}

std::int64_t element_bytes(const Matmul& op) {
    return std::max<std::int64_t>(1, bits_of(op.type) / 8);
}

/// Elements of `element_bytes` that hold `count` elements of an operand.
std::int64_t elements_of(const Matmul& op, std::int64_t count) {
    return bits_of(op.type) < 8 ? bytes_of(op.type, count) : count;
}

struct Operands {
    Rows a;
    Rows b;  ///< as it is stored in memory
    Rows c;
};

Operands operands_of(const Matmul& op) {
    const std::int64_t element = element_bytes(op);
    const bool column = op.b_layout == Layout::column_major;
    return {.a = {real(op.m), elements_of(op, op.k), element},
            .b = {real(column ? op.n : op.k), elements_of(op, column ? op.k : op.n), element},
            .c = {real(op.m), op.n, size_of(op.output)}};
}

/// naive and coalesced run eight blocks per multiprocessor, one below the other.
constexpr double element_blocks = bundled::matmul_naive.blocks_per_sm;
static_assert(bundled::matmul_naive.blocks_per_sm == bundled::matmul_coalesced.blocks_per_sm);

/// naive: blocks of one multiprocessor share rows of A and columns of B through L1.
double naive_bytes(const Matmul& op, const BundledGrid& grid, const Machine& machine) {
    const double sms = real(machine.sm_count);
    const BundledProductCounts& counts = machine.bundled.product;
    const Operands o = operands_of(op);
    const double together = std::min(element_blocks, grid.units / sms);
    const double columns = std::min(grid.across, element_blocks * sms / grid.down);
    const double a = through_l1(o.a) * grid.across * distinct_share(grid.down, together);
    const double b =
        in_runs(o.b, grid.tile.n) * grid.down * distinct_share(std::max(1.0, columns), together);
    const double stored = op.n % 8 == 0 ? counts.joined_stores : counts.single_stores;
    return a + b + in_runs(o.c, grid.tile.n) * stored;
}

/// coalesced: blocks of one multiprocessor share columns of B through L1. In the first round they
/// are too far apart for that unless columns are long.
double coalesced_bytes(const Matmul& op, const BundledGrid& grid, double sms) {
    const Operands o = operands_of(op);
    const double together = std::min(element_blocks, grid.units / sms);
    const double columns = std::max(1.0, std::min(grid.across, element_blocks * sms / grid.down));
    const double rounds = std::max(1.0, grid.units / (element_blocks * sms));
    const double first = std::min(1.0, columns / together);
    const double later = distinct_share(columns, together);
    const double b = (first + (rounds - 1.0) * later) / rounds;
    return through_l1(o.a) * grid.across + in_runs(o.b, grid.tile.n) * grid.down * b +
           in_runs(o.c, grid.tile.n);
}

/// Operands that pass through L1, in tiles `width` columns wide.
double operands_through_l1(const Operands& o, std::int64_t width, double down, double across) {
    return through_l1(o.a) * across + in_runs(o.b, width) * down;
}

double tiled_bytes(const Matmul& op, const BundledGrid& grid) {
    const Operands o = operands_of(op);
    return operands_through_l1(o, grid.tile.n, grid.down, grid.across) + in_runs(o.c, grid.tile.n);
}

/// With rows at multiples of 16 bytes two blocks share a multiprocessor, for which each thread
/// spills some registers. Otherwise C is stored by elements.
double register_tiled_bytes(const Matmul& op, const BundledGrid& grid,
                            const BundledProductCounts& counts) {
    constexpr double register_bytes = 4.0;
    const double spilled = bundled::matmul_register_tiled.threads * counts.spilled * register_bytes;
    const Operands o = operands_of(op);
    const bool vector_b = bundled::in_float_vectors(op.n);
    const double c = in_runs(o.c, grid.tile.n) * (vector_b ? 1.0 : counts.single_stores);
    const bool spills = vector_b && bundled::in_float_vectors(op.k);
    return operands_through_l1(o, grid.tile.n, grid.down, grid.across) + c +
           (spills ? spilled * grid.down * grid.across : 0.0);
}

/// mma: copies of 16 bytes bypass L1, and two neighbouring ones share a sector. C is stored in
/// pieces of 4 bytes, some of which L1 joins.
double mma_bytes(const Matmul& op, const BundledGrid& grid, const BundledProductCounts& counts) {
    const Operands o = operands_of(op);
    const std::int64_t pair = sector_size / o.a.element;
    return in_runs(o.a, pair) * grid.across + in_runs(o.b, pair) * grid.down +
           in_runs(o.c, grid.tile.n) * counts.pair_stores;
}

/// Boxes that cover both operands for `rows` rows and `columns` columns of C.
struct BoxedOperands {
    double a_rows, a_boxes, b_rows, b_boxes;  ///< boxes of one row
};

BoxedOperands boxed(const Matmul& op, double rows, double columns) {
    const std::int64_t elements = box * 8 / bits_of(op.type);
    const double steps = real(ceil_divide(op.k, elements));
    const bool column_major = op.b_layout == Layout::column_major;
    return {.a_rows = rows,
            .a_boxes = steps,
            .b_rows = column_major ? columns : steps * real(elements),
            .b_boxes = column_major ? steps : columns / real(elements)};
}

/// wgmma: both blocks of a cluster receive all of B; boxes are whole in all directions.
double wgmma_bytes(const Matmul& op, const BundledGrid& grid) {
    constexpr double blocks = bundled::matmul_wgmma_large.cluster;  // one below the other
    const Operands o = operands_of(op);
    const BoxedOperands whole =
        boxed(op, grid.down * blocks * real(grid.tile.m), grid.across * real(grid.tile.n));
    const double a = in_boxes(o.a, whole.a_rows, whole.a_boxes, Delivery::own);
    const double b = in_boxes(o.b, whole.b_rows, whole.b_boxes, Delivery::multicast);
    return a * grid.across + b * grid.down * blocks + in_runs(o.c, box / o.a.element);
}

double bytes_of_one(const Matmul& op, Implementation implementation, const BundledGrid& grid,
                    const Machine& machine) {
    switch (implementation) {
        case Implementation::naive:
            return naive_bytes(op, grid, machine);
        case Implementation::coalesced:
            return coalesced_bytes(op, grid, real(machine.sm_count));
        case Implementation::register_tiled:
            return register_tiled_bytes(op, grid, machine.bundled.product);
        case Implementation::mma:
            return mma_bytes(op, grid, machine.bundled.product);
        case Implementation::wgmma:
            return wgmma_bytes(op, grid);
        default:
            return tiled_bytes(op, grid);
    }
}

}  // namespace

Bytes library_l2_bytes(const Matmul& op, const Tile& tile, std::int32_t split, bool boxes) {
    const Operands o = operands_of(op);
    const double down = real(ceil_divide(op.m, tile.m));
    const double across = real(ceil_divide(op.n, tile.n));
    // Partial sums in fp32 are written once, and read once by the kernel that adds them.
    const double sums = split > 1 ? 8.0 * split * real(op.m) * real(op.n) : 0.0;
    const double stored = in_runs(o.c, tile.n) + sums;
    if (!boxes) {
        const double loaded = operands_through_l1(o, elements_of(op, tile.n), down, across);
        return real(op.batch) * (loaded + stored) * units::B;
    }
    const BoxedOperands whole = boxed(op, down * tile.m, across * tile.n);
    const double a = in_pairs(o.a, whole.a_rows, whole.a_boxes);
    const double b = in_pairs(o.b, whole.b_rows, whole.b_boxes);
    return real(op.batch) * (a * across + b * down + stored) * units::B;
}

Bytes cluster_line_bytes(const Matmul& op, const BundledGrid& grid) {
    const Operands o = operands_of(op);
    const auto lines = [](const Rows& matrix) {
        const std::int64_t row = matrix.extent * matrix.element;
        const double straddling = 2.0 - real(std::gcd(row, box)) / real(box);
        return matrix.rows * real(row) * straddling;
    };
    return real(op.batch) * (lines(o.a) * grid.across + lines(o.b) * grid.down) * units::B;
}

Bytes bundled_l2_bytes(const Matmul& op, Implementation implementation, const BundledGrid& grid,
                       const Machine& machine) {
    return real(op.batch) * bytes_of_one(op, implementation, grid, machine) * units::B;
}

}  // namespace ridge::model
