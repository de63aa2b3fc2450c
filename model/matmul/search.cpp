#include "model/matmul/search.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/core/real.h"
#include "model/matmul/work.h"

namespace ridge::model::search {
namespace {

double square(double x) {
    return x * x;
}

/// The feed of the tile to whose issue rate `issue_fraction` refers.
constexpr double reference_feed = 1.0 / 128.0 + 1.0 / 256.0;

/// Position in `MatmulParameters::aligned`: rows at 16, 8, 4, 2 bytes.
std::size_t alignment_class(const Matmul& op) {
    const std::int64_t bytes = row_alignment(op);
    if (bytes >= 16) return 0;
    if (bytes >= 8) return 1;
    return bytes >= 4 ? 2 : 3;
}

/// Bytes that L2 reads for a row over the row's own: a box of 128 bytes that starts between two
/// lines needs both (M12).
double lines_of(std::int64_t row_bytes, double straddle) {
    constexpr std::int64_t line = 128;
    const std::int64_t aligned =
        (row_bytes | line) & -(row_bytes | line);  // the line is a power of 2
    if (aligned == line) return 1.0;
    const double beside = real(line - aligned);
    const double rest = real(row_bytes % line);
    const double whole = real(row_bytes / line);
    const double last = rest > 0.0 ? std::max(0.0, rest + beside - real(line)) : 0.0;
    const double boxes = round_up(real(row_bytes) / real(line));
    return 1.0 + straddle * (whole * beside + last) / (boxes * real(line));
}

/// Sets the DRAM traffic for the initial state of L2 (M18).
void set_traffic(const MatmulSituation& s, Context& c) {
    const double once = c.a_bytes + c.b_bytes + c.c_bytes;
    const double miss = miss_share(s, once);
    c.write_bytes = c.c_bytes * miss;
    if (s.l2 != L2State::warm) {
        c.read_bytes = c.a_bytes + c.b_bytes;
        c.write_bytes += s.machine.l2.displaced(Bytes::from_base(once), s.l2).base();
    } else {
        const bool rotating = s.launch == LaunchMode::graph;
        const double weight_miss =
            rotating ? miss_share(s, once + (weights_in_rotation - 1.0) * c.b_bytes) : miss;
        c.read_bytes = c.a_bytes * miss + c.b_bytes * weight_miss;
    }
    c.cold_share = c.read_bytes / (c.a_bytes + c.b_bytes);
}

void set_rates(const MatmulSituation& s, Context& c) {
    const MatmulParameters& p = s.parameters;
    const double clock = s.machine.tensor_clock.base();
    const double peak = s.peak.base();
    c.peak_rate = peak / c.sms;
    c.alignment = p.aligned[alignment_class(s.op)];
    c.issue_rate =
        c.peak_rate * p.issue_fraction * c.alignment * (1.0 + p.feed_elements * reference_feed);
    c.l2_rate = p.l2_per_sm.base() * clock * c.sms;
    c.store_rate = p.store_per_sm.base() * clock;
    c.dram_rate = s.machine.dram_bandwidth.base() * p.dram_fraction;
    const double nominal = 2.0 * c.batch * c.m * c.n * c.k / peak;
    const double fall = p.droop > Time{} ? 1.0 + nominal / p.droop.base() : 1.0;
    c.power_rate = peak * (p.sustained_fraction + (p.burst_fraction - p.sustained_fraction) / fall);
    if (s.op.type == DataType::fp64) c.power_rate = peak;  // this pipe uses little power
}

}  // namespace

double miss_share(const MatmulSituation& s, double reuse_distance) {
    return 1.0 - s.machine.l2.found(Bytes::from_base(reuse_distance));
}

double lost_share(const MatmulSituation& s, double reuse_distance) {
    return 1.0 - s.machine.l2.found(Bytes::from_base(reuse_distance), Readers::all);
}

Context make_context(const MatmulSituation& s) {
    const MatmulParameters& p = s.parameters;
    Context c{};
    c.m = real(s.op.m);
    c.n = real(s.op.n);
    c.k = real(s.op.k);
    c.batch = real(s.op.batch);
    c.element = operand_bytes(s.op.type, 1.0, c.k) / c.k;
    c.result = real(size_of(s.op.output));
    c.a_bytes = c.batch * operand_bytes(s.op.type, c.m, c.k);
    c.b_bytes = c.batch * operand_bytes(s.op.type, c.n, c.k, Operand::weights);
    c.c_bytes = c.batch * c.m * c.n * c.result;
    c.sms = real(s.machine.sm_count);
    c.cluster_tile = s.machine.library_cluster_tile;
    c.step_elements = 128.0 * 8.0 / real(bits_of(s.op.type));
    c.steps = round_up(c.k / c.step_elements);
    c.quantisation = s.tile ? 1.0 : p.quantisation;
    c.second_kernel = std::max(s.machine.kernel_floor, p.second_kernel).base();
    const bool b_by_columns = s.op.b_layout == Layout::column_major;
    c.a_lines = lines_of(bytes_of(s.op.type, s.op.k), p.straddle);
    c.b_lines = lines_of(bytes_of(s.op.type, b_by_columns ? s.op.k : s.op.n), p.straddle);
    set_traffic(s, c);
    c.k_step = p.k_step.base();
    set_rates(s, c);
    return c;
}

Floors make_floors(const MatmulParameters& p, const Context& c) {
    const double pass = 2.0 * c.steps * c.step_elements / c.sms;
    const double sum = c.batch * c.m * c.n * 8.0 / c.l2_rate;
    const bool splits = p.second_kernel > Time{};
    const double partial_sum = 4.0;  // bytes, if k is split
    return {
        .element = pass / c.issue_rate,
        .peak_element = pass / c.peak_rate,
        .power_element = 2.0 * c.k / c.power_rate,
        .feed = p.feed_elements,
        .operands = (c.a_bytes * c.a_lines + c.b_bytes * c.b_lines) / c.l2_rate,
        .operand = c.k * c.element / (std::max(1.0, p.multicast) * c.l2_rate),
        .stored = std::min(c.result, partial_sum) / (c.sms * c.store_rate),
        .stored_byte = 1.0 / c.store_rate,
        .l2_byte = 1.0 / c.l2_rate,
        .latency = c.steps * c.k_step / c.sms,
        .sum = sum,
        .reduction = splits ? c.second_kernel + 2.0 * sum : std::numeric_limits<double>::infinity(),
        .dram_read = c.read_bytes / c.dram_rate,
        .cold_fill = p.cold_fill.base() * c.cold_share};
}

Cover cover(const MatmulParameters& p, const Context& c, Tile tile) {
    const double tile_m = tile.m;
    const double tile_n = tile.n;
    const double area = tile_m * tile_n;
    const double fed = 1.0 + p.feed_elements * (tile_m + tile_n) / area;
    Cover t{};
    t.tile = tile;
    t.tiles = c.batch * round_up(c.m / tile_m) * round_up(c.n / tile_n);
    t.rows = std::min(tile_m, c.m);
    t.columns = std::min(tile_n, c.n);
    t.area = area;
    t.step_flop = 2.0 * area * c.step_elements;
    t.flop_time = std::max(fed / c.issue_rate, 1.0 / c.peak_rate);
    const double multicast = area >= c.cluster_tile && t.tiles > 1.0 ? p.multicast : 1.0;
    t.l2_bytes = std::max(
        c.a_bytes * c.a_lines + c.b_bytes * c.b_lines,
        t.tiles * (t.rows * c.a_lines + t.columns * c.b_lines) * c.k * c.element / multicast);
    t.power = t.tiles * 2.0 * area * c.k / c.power_rate;
    return t;
}

Candidate complete(const MatmulParameters& p, const Context& c, const Cover& cover,
                   const Issue& issue) {
    const double split = issue.split;
    Candidate t{};
    t.tile = cover.tile;
    t.split = split;
    t.edges = cover.tiles * (static_cast<double>(cover.tile.m) + cover.tile.n);
    t.cold_fill = p.cold_fill.base() * c.cold_share;
    t.pipe = issue.pipe;
    t.latency = issue.latency;
    t.l2_bytes = cover.l2_bytes;
    t.l2 = t.l2_bytes / c.l2_rate;
    t.dram_read = c.read_bytes / c.dram_rate;
    t.dram = (c.read_bytes + c.write_bytes) / c.dram_rate;
    t.store =
        issue.blocks * cover.rows * cover.columns * (split > 1.0 ? 4.0 : c.result) / c.store_rate;
    t.power = cover.power;
    if (split > 1.0) t.reduction = c.second_kernel + split * c.batch * c.m * c.n * 8.0 / c.l2_rate;

    const double throughput =
        std::sqrt(square(square(t.pipe)) + square(square(t.l2)) + square(square(t.dram_read)));
    t.loop = std::sqrt(square(t.latency) + throughput) + t.cold_fill;
    t.total = std::max({t.loop + t.store, t.dram, t.power}) + t.reduction;
    return t;
}

Candidate evaluate(const MatmulParameters& p, const Context& c, Tile tile, double split) {
    const Cover covered = cover(p, c, tile);
    return complete(p, c, covered, issue(c, covered, split));
}

Candidate evaluate_vector(const MatmulParameters& p, const Context& c) {
    constexpr double columns = 4.0;
    const double blocks = c.n / columns;
    Candidate t{};
    t.tile = {.m = 1, .n = static_cast<std::int32_t>(columns), .k = 0};
    t.split = 1.0;
    t.dram_read = c.read_bytes / c.dram_rate;
    t.dram = (c.read_bytes + c.write_bytes) / c.dram_rate;
    t.l2_bytes = c.a_bytes + c.b_bytes;
    t.l2 = c.b_bytes / (std::min(c.sms, blocks) * p.gemv_per_sm.base());
    t.loop = t.total = std::max(t.dram, t.l2);
    return t;
}

double repeated_bytes(const MatmulSituation& s, const Context& c, Tile tile) {
    const double tile_m = tile.m;
    const double tile_n = tile.n;
    const double down = round_up(c.m / tile_m);
    const double across = round_up(c.n / tile_n);
    if (down * across <= c.sms) return 0.0;
    const double square_rows = std::sqrt(c.sms * tile_n / tile_m);
    const double columns = std::clamp(c.sms / std::min(square_rows, down), 1.0, across);
    const double rows = std::clamp(c.sms / columns, 1.0, down);
    const double groups = round_up(down / rows);
    const double windows = round_up(across / columns);
    const double a = c.a_bytes / c.batch;
    const double b = c.b_bytes / c.batch;
    const double a_block = rows * tile_m * c.k * c.element;
    const double b_block = columns * tile_n * c.k * c.element;
    const double c_block = rows * tile_m * columns * tile_n * c.result;
    const double a_repeats = a * (across / columns - 1.0);
    const double b_repeats = b * (down / rows - 1.0);
    const double in_window = lost_share(s, a_block + b_block + c_block);
    const double in_row = lost_share(s, a_block + b + c_block * across / columns);
    const double in_column = lost_share(s, b_block + a + c_block * down / rows);
    const double along_n = a_repeats * in_window + b_repeats * in_row;
    const double along_m = b_repeats * in_window + a_repeats * in_column;
    // With one block at a time there is no other block to drift apart from.
    const double shared = a * (1.0 - 1.0 / columns) + b * (1.0 - 1.0 / rows);
    const double drift = s.machine.library_drift * (1.0 - 1.0 / (groups * windows));
    const double n_first = along_n + drift * in_row * (shared + along_n);
    const double m_first = along_m + drift * in_column * (shared + along_m);
    return c.batch * std::min(n_first, m_first);
}

}  // namespace ridge::model::search
