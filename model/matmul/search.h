// The inner search of the matrix-product model, in base units (second, byte, FLOP) as plain doubles
// because it runs for every tile of every prediction. `time.h` is the typed front.
#pragma once

#include <algorithm>

#include "model/matmul/time.h"

namespace ridge::model::search {

/// Rounding of values between 0 and 2^62 without a call into the mathematics library.
[[nodiscard]] inline double round_down(double value) {
    return static_cast<double>(static_cast<std::int64_t>(value));
}
[[nodiscard]] inline double round_up(double value) {
    const double whole = round_down(value);
    return whole < value ? whole + 1.0 : whole;
}

/// What does not depend on the tile: the shape as doubles, traffic, and rates.
struct Context {
    double m, n, k, batch;
    double element, result;  ///< bytes of A and B with their scales, and of C
    double a_bytes, b_bytes, c_bytes;
    double read_bytes, write_bytes;
    double cold_share;        ///< share of A and B that comes from DRAM
    double a_lines, b_lines;  ///< what L2 reads of A and B over their bytes, at least 1
    double sms;
    double step_elements, steps;  ///< elements of k in 128 bytes; steps along k
    double issue_rate;            ///< of one multiprocessor, 128 x 256 tile, alignment included
    double peak_rate;             ///< of one multiprocessor
    double power_rate;            ///< of the GPU
    double l2_rate, dram_rate;    ///< of the GPU
    double store_rate;            ///< of one multiprocessor
    double k_step;                ///< latency of a step, DRAM included
    double second_kernel;
    double alignment;
    double quantisation;
};

/// The parts of one candidate's time.
struct Candidate {
    double total;
    double pipe, power, latency, l2, store, dram, dram_read, reduction;
    double loop, l2_bytes, cold_fill;  ///< l2_bytes: lines of the operands, a multicast once
    double edges;  ///< rows and columns of all tiles: what their operands go with
    Tile tile;
    double split;
};

/// A tile on the output: what does not depend on the split along k.
struct Cover {
    Tile tile;
    double tiles;
    double rows, columns;  ///< of a tile, without padding
    double area;
    double step_flop;  ///< of a tile in one step along k
    double flop_time;  ///< of one multiprocessor
    double l2_bytes;
    double power;
};

/// The part of a candidate's time on the pipe, which most candidates lose by already.
struct Issue {
    double split;
    double blocks;  ///< of one multiprocessor
    double pipe, latency;
};

[[nodiscard]] Context make_context(const MatmulSituation& situation);
[[nodiscard]] Cover cover(const MatmulParameters& p, const Context& c, Tile tile);
[[nodiscard]] inline Issue issue(const Context& c, const Cover& cover, double split) {
    const double waves = cover.tiles * split / c.sms;
    const double blocks = waves <= 1.0 ? 1.0 : waves + c.quantisation * (round_up(waves) - waves);
    const double steps = round_up(c.steps / split);
    return {.split = split,
            .blocks = blocks,
            .pipe = blocks * (cover.step_flop * steps) * cover.flop_time,
            .latency = blocks * steps * c.k_step};
}
[[nodiscard]] Candidate complete(const MatmulParameters& p, const Context& c, const Cover& cover,
                                 const Issue& issue);
[[nodiscard]] Candidate evaluate(const MatmulParameters& p, const Context& c, Tile tile,
                                 double split);
/// One row times a matrix: every multiprocessor streams columns of B (M19).
[[nodiscard]] Candidate evaluate_vector(const MatmulParameters& p, const Context& c);
/// Bytes that are read from DRAM again because L2 lost them between waves (M18).
[[nodiscard]] double repeated_bytes(const MatmulSituation& situation, const Context& c, Tile tile);
/// Share of bytes with this reuse distance that have left L2 (M17).
[[nodiscard]] double miss_share(const MatmulSituation& situation, double reuse_distance);
/// The same between blocks of one kernel (M22).
[[nodiscard]] double lost_share(const MatmulSituation& situation, double reuse_distance);

/// No more than the candidate's `total`.
[[nodiscard]] inline double least_total(const Cover& cover, const Issue& issue) {
    constexpr double rounding = 1.0 - 1e-9;
    return rounding * std::max({issue.pipe, issue.latency, cover.power});
}

}  // namespace ridge::model::search
