#include "model/engine/tiled_product.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "hardware/checked.h"
#include "model/core/real.h"
#include "model/engine/deepgemm_tiles.h"
#include "model/machine/tiled_product_parameters.h"
#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

/// How the dispatch cuts a product.
struct Cut {
    double rows;  ///< tiles along m, whole clusters
    double columns;
    double steps;  ///< of one tile along k
    double tiles;
    double blocks;  ///< that run at once
    double waves;
    Tile tile;
    double cluster_rows;
    double cluster_columns;
    double split;
};

/// Operands and result in memory.
struct Sides {
    double a;
    double b;
    double c;
    double row;     ///< bytes of one row of A along k
    double column;  ///< bytes of one column of B along k
};

/// Tiles and parts of k that a library has kernels for, and when it divides k: its tiles do not fill the GPU
/// otherwise, and each part keeps some depth.
constexpr std::array<std::pair<std::int32_t, std::int32_t>, 8> candidate_tiles{
    {{16, 64}, {32, 64}, {64, 64}, {64, 128}, {128, 64}, {128, 128}, {128, 256}, {256, 128}}};
constexpr std::array<std::int64_t, 8> candidate_splits{1, 2, 3, 4, 6, 8, 12, 16};
constexpr double most_split_tiles = 1.0;
constexpr double least_depth = 256.0;

class TiledCall {
  public:
    explicit TiledCall(const LawCall& call)
        : call_(call),
          op_(std::get<Matmul>(call.operation)),
          p_(set_of_values(tiled_product_table(), call.kernel.values)),
          cut_(cut(tile(), whole(TileAttribute::split))),
          sides_(sides()) {
        if (attribute(TileAttribute::chooses) == choose_fastest) cut_ = fastest();
    }

    [[nodiscard]] LawTime result() const {
        LawTime t;
        const Parts parts = parts_of_time();
        t.dram_read = parts.dram_read * units::B;
        t.dram_write = parts.dram_write * units::B;
        t.quantise = time_of_quantising();
        const Time end = time_of_end();
        t.kernels = p_.start + end + joined(parts) + t.quantise;
        t.host = time_of_host();
        t.l2 = l2_bytes() * units::B;
        t.executed = 2.0 * cut_.tiles * cut_.split * cut_.steps * real(cut_.tile.m) *
                     real(cut_.tile.n) * real(cut_.tile.k) * units::FLOP;
        t.launches = t.quantise > Time{} ? 2 : 1;
        t.tiling = tiling();
        add_terms(t, parts, p_.start + end);
        return t;
    }

  private:
    struct Parts {
        Time tiles;
        Time dram;
        Time l2;
        Time edges;
        Time power;
        double dram_read;
        double dram_write;
    };
    static constexpr std::int64_t choose_hopper = 2;  ///< of `chooses`
    static constexpr std::int64_t choose_fastest = 4;

    [[nodiscard]] Parts parts_of_time() const {
        const double read = dram_reads() + reread();
        const double written = sides_.c * found_no_more(bytes_between_calls());
        return {.tiles = time_of_tiles(),
                .dram = (read + written) * units::B / (call_.machine.dram_bandwidth * p_.dram),
                .l2 = time_of_l2(),
                .edges = time_of_edges(),
                .power = time_of_power(),
                .dram_read = read,
                .dram_write = written};
    }
    [[nodiscard]] Time joined(const Parts& parts) const {
        return combined({parts.tiles, parts.dram, parts.l2, parts.edges, parts.power},
                        Overlap{p_.overlap});
    }
    [[nodiscard]] Time time_of_end() const {
        const Time end = cycles(p_.end, TileAttribute::end);
        return cut_.split > 1.0 ? end + p_.split_start : end;
    }

    /// The fastest by this law of the tiles up to the dispatch's, and of some parts of k (G2).
    [[nodiscard]] Cut fastest() {
        const std::int64_t most_rows = whole(TileAttribute::rows);
        const std::int64_t most_columns = whole(TileAttribute::columns);
        Cut best = cut_;
        Time least = joined(parts_of_time()) + time_of_end();
        for (const auto& [rows, columns] : candidate_tiles) {
            if (rows > most_rows || columns > most_columns) continue;
            for (const std::int64_t split : candidate_splits) {
                const Cut trial = cut({.tile = {.m = rows, .n = columns, .k = cut_.tile.k}}, split);
                const bool full = trial.tiles > most_split_tiles * real(call_.machine.sm_count);
                if (split > 1 && (full || real(op_.k) < least_depth * real(split))) break;
                cut_ = trial;
                const Time time = joined(parts_of_time()) + time_of_end();
                if (time >= least) continue;
                least = time;
                best = trial;
            }
        }
        return best;
    }

    [[nodiscard]] std::int64_t attribute(TileAttribute which) const {
        return call_.attributes[static_cast<std::size_t>(which)];
    }
    /// At least 1.
    [[nodiscard]] std::int64_t whole(TileAttribute which) const {
        return std::max<std::int64_t>(attribute(which), 1);
    }
    template <std::size_t size>
    [[nodiscard]] Time cycles(const std::array<Cycles, size>& all, TileAttribute which) const {
        const auto index = std::min(static_cast<std::size_t>(whole(which)), size) - 1;
        return all[index] / call_.machine.tensor_clock;
    }

    /// The tile of the dispatch, or the one with the fewest waves, the fullest last wave and the least
    /// operands among those up to its size.
    [[nodiscard]] Tile fewest_waves(const Tile& most) const {
        constexpr std::int64_t narrowest = 16;
        constexpr std::int32_t lowest = 64;
        Tile best{};
        std::array<std::int64_t, 3> least{};
        for (std::int32_t m = std::min(lowest, most.m); m <= most.m; m *= 2) {
            for (std::int32_t n = narrowest; n <= most.n; n += narrowest) {
                const std::int64_t tiles = ceil_divide(op_.m, m) * ceil_divide(op_.n, n);
                const std::int64_t last = (tiles - 1) % call_.machine.sm_count + 1;
                const std::array<std::int64_t, 3> cost{ceil_divide(tiles, call_.machine.sm_count),
                                                       -last, m + n};
                if (best.m != 0 && cost >= least) continue;
                best = {.m = m, .n = n, .k = most.k};
                least = cost;
            }
        }
        return best;
    }

    [[nodiscard]] DeepGemmTile tile() const {
        const Tile most{.m = static_cast<std::int32_t>(whole(TileAttribute::rows)),
                        .n = static_cast<std::int32_t>(whole(TileAttribute::columns)),
                        .k = static_cast<std::int32_t>(whole(TileAttribute::depth))};
        const DeepGemmTile given{
            .tile = most,
            .cluster_rows = static_cast<std::int32_t>(whole(TileAttribute::cluster_rows)),
            .cluster_columns = static_cast<std::int32_t>(whole(TileAttribute::cluster_columns))};
        switch (attribute(TileAttribute::chooses)) {
            case 1:
                return {.tile = fewest_waves(most)};
            case choose_hopper:
                return deepgemm_tile(op_, call_.machine.sm_count, DeepGemmKernels::hopper);
            case 3:
                return deepgemm_tile(op_, call_.machine.sm_count, DeepGemmKernels::blackwell);
            default:
                return given;
        }
    }

    /// Whether DeepGEMM's largest tiles run in one wave over most multiprocessors (G2). Its kernels
    /// share loads in a cluster only where there are more waves.
    [[nodiscard]] bool alone() const {
        const std::int64_t percent = attribute(TileAttribute::alone);
        return percent > 0 && is_largest_on_hopper(cut_.tile) && cut_.tiles <= cut_.blocks &&
               100.0 * cut_.tiles >= real(percent) * cut_.blocks;
    }

    /// The least time of a step.
    [[nodiscard]] Cycles least_step() const {
        constexpr std::int32_t tall = 256;  // a tile of so many rows has too few registers
        if (attribute(TileAttribute::chooses) == choose_hopper) {
            if (alone()) return p_.step[2];
            if (cut_.tile.m >= tall) return p_.step[1];
        }
        const std::size_t number = static_cast<std::size_t>(whole(TileAttribute::step));
        return p_.step[std::min(number, p_.step.size()) - 1];
    }

    /// One step of a tile: at least a latency, and the time of its multiply-adds.
    [[nodiscard]] Time step() const {
        const Time least = least_step() / call_.machine.tensor_clock;
        const auto peak = call_.machine.tensor_peak(op_.type);
        if (p_.tensor <= 0.0 || !peak) return least;
        const Flop flop =
            2.0 * real(cut_.tile.m) * real(cut_.tile.n) * real(cut_.tile.k) * units::FLOP;
        const FlopRate rate = *peak * (p_.tensor / real(call_.machine.sm_count));
        return combined({least, flop / rate}, Overlap{6.0});
    }

    [[nodiscard]] Cut cut(const DeepGemmTile& chosen, std::int64_t split) const {
        Cut c{};
        c.tile = chosen.tile;
        const std::int64_t along_m = chosen.cluster_rows;
        const std::int64_t along_n = chosen.cluster_columns;
        c.cluster_rows = real(along_m);
        c.cluster_columns = real(along_n);
        c.split = real(split);
        c.rows = real(ceil_divide(ceil_divide(op_.m, c.tile.m), along_m) * along_m);
        c.columns = real(ceil_divide(ceil_divide(op_.n, c.tile.n), along_n) * along_n);
        c.steps = real(ceil_divide(op_.k, c.tile.k * split));
        c.tiles = real(op_.batch) * c.rows * c.columns;
        c.blocks = real(call_.machine.sm_count * whole(TileAttribute::blocks));
        const double even = std::max(1.0, c.tiles * c.split / c.blocks);
        c.waves = p_.whole_waves * std::ceil(even) + (1.0 - p_.whole_waves) * even;
        return c;
    }

    [[nodiscard]] Sides sides() const {
        const double k = real(op_.k);
        return {.a = real(op_.batch) * operand_bytes(op_.type, real(op_.m), k),
                .b = real(op_.batch) * operand_bytes(op_.type, real(op_.n), k, Operand::weights),
                .c = real(op_.batch) * real(op_.m) * real(op_.n) * real(size_of(op_.output)),
                .row = operand_bytes(op_.type, 1.0, k),
                .column = real(bits_of(op_.type)) / 8.0 * k};
    }

    /// The steps of all waves, and the ends of all but one (G2): that one overlaps nothing.
    [[nodiscard]] Time time_of_tiles() const {
        const double shown = attribute(TileAttribute::overlaps) != 0 ? p_.later_end : 1.0;
        return cut_.waves * cut_.steps * step() +
               (cut_.waves - 1.0) * shown * cycles(p_.end, TileAttribute::end);
    }

    /// Share of data that is not found again after so many bytes (G3).
    [[nodiscard]] double found_no_more(double bytes) const {
        const double capacity = call_.machine.l2.size.base() * p_.kept;
        if (call_.execution.l2 != L2State::warm || capacity <= 0.0) return 1.0;
        if (call_.execution.launch == LaunchMode::kernel) {
            return 1.0 - call_.machine.l2.found(bytes * units::B);
        }
        return 1.0 / (1.0 + std::pow(capacity / std::max(bytes, 1.0), p_.steepness));
    }

    /// Copies of the weights over which the measured calls of a graph rotated, and whether over copies of
    /// the input and the result, too.
    [[nodiscard]] double copies() const {
        const bool rotates = call_.execution.launch != LaunchMode::kernel;
        return rotates ? real(whole(TileAttribute::copies)) : 1.0;
    }
    [[nodiscard]] bool all_rotate() const { return attribute(TileAttribute::rotates) != 0; }

    /// Bytes that pass before the same input and result are used again.
    [[nodiscard]] double bytes_between_calls() const {
        const double once = sides_.a + sides_.b + sides_.c;
        return all_rotate() ? copies() * once : once;
    }

    /// Bytes that are read once from DRAM.
    [[nodiscard]] double dram_reads() const {
        const double weights =
            all_rotate() ? bytes_between_calls() : copies() * sides_.b + sides_.a + sides_.c;
        return sides_.b * found_no_more(weights) + sides_.a * found_no_more(bytes_between_calls());
    }

    /// Bytes of the operands that the tiles of one wave read, in the order along the shorter side.
    [[nodiscard]] double wave_bytes() const {
        double rows = 0.0;
        double columns = 0.0;
        if (cut_.rows <= cut_.columns) {
            rows = std::min(cut_.rows, cut_.blocks);
            columns = std::min(cut_.columns, std::max(1.0, cut_.blocks / cut_.rows));
        } else {
            columns = std::min(cut_.columns, cut_.blocks);
            rows = std::min(cut_.rows, std::max(1.0, cut_.blocks / cut_.columns));
        }
        return rows * real(cut_.tile.m) * sides_.row + columns * real(cut_.tile.n) * sides_.column;
    }

    /// Bytes between the L2 and the multiprocessors; a cluster's shared loads count once (G4).
    [[nodiscard]] double l2_bytes() const {
        const double of_tile = real(cut_.tile.m) / cut_.cluster_columns * sides_.row +
                               real(cut_.tile.n) / cut_.cluster_rows * sides_.column;
        return cut_.tiles * of_tile + sides_.c;
    }

    /// Bytes that blocks read from DRAM again because a wave's exceed the L2 (G4).
    [[nodiscard]] double reread() const {
        constexpr double steepness = 3.0;
        const double again = std::max(0.0, l2_bytes() - sides_.a - sides_.b - sides_.c);
        const double capacity = call_.machine.l2.size.base();
        if (p_.reread <= 0.0 || again <= 0.0) return 0.0;
        return p_.reread * again / (1.0 + std::pow(capacity / wave_bytes(), steepness));
    }

    /// Tiles read their operands from the L2.
    [[nodiscard]] Time time_of_l2() const {
        if (p_.l2 <= BytesPerCycle{}) return {};
        const Bandwidth rate = p_.l2 * call_.machine.tensor_clock * real(call_.machine.sm_count);
        return l2_bytes() * units::B / rate;
    }

    /// Filling what tiles load beyond the edges of the operands (G5).
    [[nodiscard]] Time time_of_edges() const {
        if (p_.edge <= BytesPerCycle{}) return {};
        const double rows = cut_.rows * real(cut_.tile.m) - real(op_.m);
        const double columns = cut_.columns * real(cut_.tile.n) - real(op_.n);
        const double bytes = rows * sides_.row * cut_.columns / cut_.cluster_columns +
                             columns * sides_.column * cut_.rows / cut_.cluster_rows;
        const Bandwidth rate = p_.edge * call_.machine.tensor_clock * real(call_.machine.sm_count);
        return bytes * units::B / rate;
    }

    [[nodiscard]] Time time_of_power() const {
        const auto peak = call_.machine.tensor_peak(op_.type);
        if (p_.sustained <= 0.0 || !peak) return {};
        return call_.work.flop() / (*peak * p_.sustained);
    }

    /// An eager call; one whose rows are no multiple lays the scales of its input out anew (G7).
    [[nodiscard]] Time time_of_host() const {
        const bool even = op_.m % whole(TileAttribute::host_rows) == 0;
        return even || p_.host <= Time{} ? p_.host : p_.host + p_.host_odd;
    }

    /// The pass over the input before the product (G6).
    [[nodiscard]] Time time_of_quantising() const {
        if (attribute(TileAttribute::quantises) == 0) return {};
        const Frequency clock = call_.machine.tensor_clock;
        const double at_once = real(call_.machine.sm_count * whole(TileAttribute::quantise_rows));
        const double rounds = std::max(1.0, real(op_.m) / at_once);
        constexpr Overlap longer{6.0};
        const Time row = combined({p_.quantise_row / clock,
                                   (p_.quantise_start + real(op_.k) * p_.quantise_element) / clock},
                                  longer);
        Time bytes{};
        if (p_.quantise_bytes > 0.0) {
            constexpr double input = 2.0;  // bytes of an element before
            const double moved = real(op_.m) * real(op_.k) * input + sides_.a;
            bytes = moved * units::B / (call_.machine.dram_bandwidth * p_.quantise_bytes);
        }
        return p_.quantise + combined({rounds * row, bytes}, Overlap{4.0});
    }

    [[nodiscard]] Tiling tiling() const {
        const double launched = cut_.rows * real(cut_.tile.m) * cut_.columns * real(cut_.tile.n);
        const double all = cut_.tiles * cut_.split;
        const double waves = std::ceil(all / cut_.blocks);
        return {.tile = cut_.tile,
                .tiles = static_cast<std::int64_t>(cut_.tiles),
                .split = static_cast<std::int32_t>(cut_.split),
                .blocks_per_sm = static_cast<std::int32_t>(whole(TileAttribute::blocks)),
                .waves = static_cast<std::int64_t>(waves),
                .tile_efficiency = real(op_.m) * real(op_.n) / launched,
                .wave_efficiency = all / (waves * cut_.blocks)};
    }

    void add_terms(LawTime& t, const Parts& parts, Time ends) const {
        const auto add = [&t](Resource resource, Time time, double amount) {
            if (time > Time{}) t.terms.push_back({resource, time, amount});
        };
        add(Resource::tensor, std::max(parts.tiles, parts.power), call_.work.flop().base());
        add(Resource::dram, parts.dram, (t.dram_read + t.dram_write).base());
        add(Resource::l2, std::max(parts.l2, parts.edges), l2_bytes());
        add(Resource::quantise, t.quantise, 0.0);
        add(Resource::latency, ends, 0.0);
    }

    const LawCall& call_;
    const Matmul& op_;
    TiledProduct p_;
    Cut cut_;
    Sides sides_;
};

}  // namespace

LawTime tiled_product(const LawCall& call) {
    return TiledCall(call).result();
}

}  // namespace ridge::model
