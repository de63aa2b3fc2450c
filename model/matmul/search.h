// The inner search of the matrix-product model. It uses plain doubles in base units (second, byte,
// FLOP), because it runs for every tile of every prediction. `time.h` is the typed interface.
#pragma once

#include <algorithm>

#include "model/matmul/time.h"

namespace ridge::model::search {

/// Rounds values between 0 and 2^62 without a call into the mathematics library.
[[nodiscard]] inline double round_down(double value) {
    return static_cast<double>(static_cast<std::int64_t>(value));
}
[[nodiscard]] inline double round_up(double value) {
    const double whole = round_down(value);
    return whole < value ? whole + 1.0 : whole;
}

/// A margin that covers the rounding errors of a bound.
inline constexpr double rounded_down = 1.0 - 1e-9;

/// Values that do not depend on the tile: the shape as doubles, traffic, and rates.
struct Context {
    double m, n, k, batch;
    double element, result;  ///< bytes of A and B with their scales, and of C
    double a_bytes, b_bytes, c_bytes;
    double read_bytes, write_bytes;
    double cold_share;        ///< share of A and B that comes from DRAM
    double a_lines, b_lines;  ///< lines that L2 reads of A and B, over their bytes; at least 1
    double sms;
    double step_elements, steps;  ///< elements of k in 128 bytes; steps along k
    double cluster_tile;          ///< least elements of a tile whose clusters share loads
    double issue_rate;            ///< of one multiprocessor, 128 x 256 tile, alignment included
    double peak_rate;             ///< of one multiprocessor
    double power_rate;            ///< of the GPU
    double l2_rate, dram_rate;    ///< of the GPU
    double store_rate;            ///< of one multiprocessor
    double k_step;                ///< latency of a step, including DRAM
    double second_kernel;
    double alignment;
    double quantisation;
};

/// The parts of one candidate's time.
struct Candidate {
    double total;
    double pipe, power, latency, l2, store, dram, dram_read, reduction;
    double loop, l2_bytes, cold_fill;  ///< l2_bytes: lines of the operands, counting a multicast
                                       ///< once
    double edges;  ///< rows and columns of all tiles, to which their operands are proportional
    Tile tile;
    double split;
};

/// A tile on the output: values that do not depend on the split along k.
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

/// Least times of a product on the whole GPU for any split. They exclude most tiles by
/// multiplications alone.
struct Floors {
    double element, peak_element;  ///< of C on the pipe: at the issue rate, at the peak
    double power_element;
    double feed;         ///< share of an element's time for each element of a tile's rim
    double operands;     ///< A and B from L2, once
    double operand;      ///< a row or column along k from L2, to a whole cluster
    double stored;       ///< an element of C
    double stored_byte;  ///< by one multiprocessor
    double l2_byte;
    double latency;    ///< of a tile along k
    double sum;        ///< reduction of a split, for each part
    double reduction;  ///< of the smallest split; infinite if there is none
    double dram_read;
    double cold_fill;
};

/// The part of a candidate's time on the pipe, which already excludes most candidates.
struct Issue {
    double split;
    double blocks;  ///< of one multiprocessor
    double pipe, latency;
};

[[nodiscard]] Context make_context(const MatmulSituation& situation);
[[nodiscard]] Floors make_floors(const MatmulParameters& p, const Context& c);
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
/// Share of the bytes with this reuse distance that have left L2 (M17).
[[nodiscard]] double miss_share(const MatmulSituation& situation, double reuse_distance);
/// The same between blocks of one kernel (M22).
[[nodiscard]] double lost_share(const MatmulSituation& situation, double reuse_distance);

/// `extent` over `size`, rounded up; `per_size` is 1 / `size`. The nearest integer is one of the
/// two next to the quotient.
[[nodiscard]] inline float parts(float extent, float size, float per_size) {
    constexpr float rounding = 0x1.8p23F;  // adding this leaves no digits after the point
    const float nearest = (extent * per_size + rounding) - rounding;
    return nearest + (nearest * size < extent ? 1.0F : 0.0F);
}

/// A lower bound, for each tile of a list, on the times of all its candidates. It is in single
/// precision and excludes most tiles.
struct Outlines {
    LibraryTiles::Each least;
};

inline void outline(const Floors& f, const Context& c, const LibraryTiles& library,
                    Outlines& found) {
    constexpr std::size_t lanes = 4;
    constexpr float rounding = 1.0F - 1e-4F;  // extents beyond 2^24 have the largest rounding
                                              // errors
    const std::size_t count = (library.count + lanes - 1) / lanes * lanes;
    const auto of = [](double value) { return static_cast<float>(value); };
    const float down = of(c.m);
    const float across = of(c.n);
    for (std::size_t i = 0; i < count; ++i) {
        const float m = library.m[i];
        const float n = library.n[i];
        const float tiles =
            of(c.batch) * parts(down, m, library.per_m[i]) * parts(across, n, library.per_n[i]);
        const float rows = std::min(m, down);
        const float columns = std::min(n, across);
        const float element =
            std::max(of(f.element) * (1.0F + of(f.feed) * library.rim[i]), of(f.peak_element));
        const float l2 =
            std::max(of(f.operands),
                     tiles * (rows * of(c.a_lines) + columns * of(c.b_lines)) * of(f.operand));
        const float reads = std::max(l2, of(f.dram_read));
        // A whole tile takes at least its block's time; a split tile also takes its reduction.
        const float blocks = std::max(tiles, of(c.sms));
        const float step = std::max(m * n * element, of(f.latency));
        const float stored = rows * columns * of(f.stored);
        const float whole = std::max(blocks * step, reads) + blocks * stored;
        const float split = std::max(tiles * (m * n) * element, reads) + tiles * stored;
        const float loop = std::min(whole, split + of(f.reduction)) + of(f.cold_fill);
        found.least[i] = rounding * std::max(loop, tiles * (m * n) * of(f.power_element));
    }
}

/// At most the candidate's `total`.
[[nodiscard]] inline double least_total(const Floors& f, const Context& c, const Cover& cover,
                                        const Issue& issue) {
    const bool split = issue.split > 1.0;
    const double stored = issue.blocks * cover.rows * cover.columns * (split ? 4.0 : c.result);
    const double loop = std::max({issue.pipe, issue.latency, cover.l2_bytes * f.l2_byte});
    const double reduction = split ? c.second_kernel + issue.split * f.sum : 0.0;
    return rounded_down *
           (std::max({loop + f.cold_fill + stored * f.stored_byte, cover.power}) + reduction);
}

}  // namespace ridge::model::search
