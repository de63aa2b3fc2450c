#include "model/engine/expert_block.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "model/core/real.h"
#include "model/machine/expert_block_parameters.h"
#include "model/moe/load.h"
#include "model/moe/work.h"

namespace ridge::model {
namespace {

constexpr double narrow = 2.0;  ///< bytes of an element outside the experts

/// Rows and columns of a tile of a grouped product.
struct GroupedTile {
    std::int64_t rows;
    std::int64_t columns;
};

/// What a tuner chooses from.
constexpr std::array<GroupedTile, 5> tuned_tiles{
    {{16, 64}, {32, 64}, {64, 128}, {128, 128}, {256, 128}}};

/// One of the two grouped products.
struct GroupedProduct {
    double columns;
    double depth;
    double read;     ///< bytes of rows
    double written;  ///< bytes of rows
};

struct ProductTime {
    Time time;
    Time tiles;
    Time dram;
    GroupedTile tile{};
    double count = 0.0;  ///< of tiles
};

class BlockCall {
  public:
    explicit BlockCall(const LawCall& call)
        : call_(call),
          op_(std::get<Moe>(call.operation)),
          p_(set_of_values(expert_block_table(), call.kernel.values)),
          load_(expert_loads(op_)),
          sms_(real(call.machine.sm_count)),
          clock_(call.machine.boost_clock) {
        const double foreign = real(op_.tokens) * real(op_.topk) - load_.pairs;
        foreign_ = std::max(0.0, foreign);
        treated_ = load_.pairs + p_.foreign * foreign_;
        inner_ = real(op_.intermediate / op_.tp);
        width_ = widening_of(op_) * inner_;
        tokens_ = real(op_.tokens) * real(op_.hidden);
    }

    [[nodiscard]] LawTime result() const {
        const ProductTime up = product({.columns = width_,
                                        .depth = real(op_.hidden),
                                        .read = operand(real(op_.tokens), real(op_.hidden)),
                                        .written = treated_ * width_ * narrow});
        const ProductTime down = product({.columns = real(op_.hidden),
                                          .depth = inner_,
                                          .read = operand(load_.pairs, inner_),
                                          .written = treated_ * real(op_.hidden) * narrow});
        const Time between = rows_between();
        const Time routing = time_of_routing();
        LawTime t;
        t.kernels = routing + up.time + down.time + between;
        t.terms.push_back({Resource::tensor, up.tiles + down.tiles, call_.work.tensor.base()});
        t.terms.push_back({Resource::dram, up.dram + down.dram, 0.0});
        t.terms.push_back({Resource::l2, between, 0.0});
        t.terms.push_back({Resource::launch, routing, 0.0});
        t.dram_read = missed_weights() * weights() * units::B;
        t.dram_write = call_.work.dram_write;
        t.l2 = call_.work.l2;
        t.executed = 2.0 *
                     (up.count * real(up.tile.rows * up.tile.columns) * real(op_.hidden) +
                      down.count * real(down.tile.rows * down.tile.columns) * inner_) *
                     units::FLOP;
        t.launches = call_.work.kernels;
        t.tiling = tiling(up);
        return t;
    }

  private:
    [[nodiscard]] std::int64_t attribute(ExpertAttribute which) const {
        return call_.attributes[static_cast<std::size_t>(which)];
    }

    /// Bytes of rows of the experts' type, without the rounding of whole scales.
    [[nodiscard]] double operand(double rows, double columns) const {
        return operand_bytes(op_.type, rows, columns);
    }

    [[nodiscard]] double weights() const {
        const bool unpacked = attribute(ExpertAttribute::unpacked) != 0;
        const DataType type = unpacked ? op_.type : weight_type_of(op_);
        return load_.active * (operand_bytes(type, width_, real(op_.hidden), Operand::weights) +
                               operand_bytes(type, real(op_.hidden), inner_, Operand::weights));
    }

    /// Bytes of one weight.
    [[nodiscard]] double weight() const {
        return weights() / (load_.active * (width_ + inner_) * real(op_.hidden));
    }

    [[nodiscard]] double missed(double bytes) const {
        return 1.0 - call_.machine.l2.found(bytes * p_.held * units::B);
    }

    /// Share of the weights that the L2 has lost since the last call. (G41)
    [[nodiscard]] double missed_weights() const {
        if (call_.execution.l2 != L2State::warm) return 1.0;
        const double rows =
            treated_ * (width_ * narrow + real(op_.hidden) * narrow) + operand(treated_, inner_);
        return missed(weights() + rows + 2.0 * narrow * tokens_);
    }

    /// Time of a grouped product cut into such tiles. (G42)
    [[nodiscard]] ProductTime product_by(const GroupedProduct& product,
                                         const GroupedTile& tile) const {
        const double across = std::ceil(product.columns / real(tile.columns));
        const double count = load_.tiles(real(tile.rows)) * across;
        const double even = count / (sms_ * p_.blocks);
        const double waves = even < 1.0 ? 1.0 : even + p_.whole_waves * (std::ceil(even) - even);
        const double element = operand(1.0, real(op_.hidden)) / real(op_.hidden);
        const double loaded = real(tile.rows) * element + real(tile.columns) * weight();
        const Time loads = loaded * p_.blocks * units::B / (p_.load * clock_);
        const Time multiplies = 2.0 * real(tile.rows) * real(tile.columns) * p_.blocks * sms_ *
                                units::FLOP / (peak() * p_.tensor);
        const Time each =
            p_.tile / clock_ + product.depth * (p_.depth / clock_ + std::max(loads, multiplies));
        const double others =
            std::min(foreign_, real(op_.experts) - load_.experts) + foreign_ / real(tile.rows);
        const Time skipped = others * across / sms_ * p_.skip / clock_;
        const double rows = product.read + product.written;
        const double bytes =
            load_.active * product.columns * product.depth * weight() * missed_weights() +
            rows * missed(rows);
        ProductTime t{.time = {},
                      .tiles = waves * each + skipped,
                      .dram = bytes * units::B / (call_.machine.dram_bandwidth * p_.dram),
                      .tile = tile,
                      .count = count};
        t.time = std::max(t.tiles, t.dram) + p_.overlap * std::min(t.tiles, t.dram);
        return t;
    }

    [[nodiscard]] ProductTime product(const GroupedProduct& asked) const {
        if (attribute(ExpertAttribute::rows) > 0) {
            return product_by(asked, {.rows = attribute(ExpertAttribute::rows),
                                      .columns = attribute(ExpertAttribute::columns)});
        }
        ProductTime best = product_by(asked, tuned_tiles[0]);
        for (std::size_t i = 1; i < tuned_tiles.size(); ++i) {
            const ProductTime other = product_by(asked, tuned_tiles[i]);
            if (other.time < best.time) best = other;
        }
        return best;
    }

    [[nodiscard]] FlopRate peak() const {
        return call_.machine.tensor_peak(op_.type).value_or(
            call_.machine.tensor_peak(DataType::bf16).value_or(FlopRate{}));
    }

    [[nodiscard]] Time streamed(double bytes) const {
        return bytes * missed(bytes) * units::B / (call_.machine.dram_bandwidth * p_.rows_dram) +
               bytes * units::B / (p_.rows * clock_ * sms_);
    }

    /// The gate and the weighted sum. (G43)
    [[nodiscard]] Time rows_between() const {
        const double gate = treated_ * width_ * narrow + operand(treated_, inner_);
        const double sum = treated_ * real(op_.hidden) * narrow + tokens_ * narrow;
        return streamed(gate) + streamed(sum) +
               2.0 * narrow * tokens_ * units::B / (p_.tokens * clock_ * sms_);
    }

    /// Fixed times, scoring and sorting. (G44)
    [[nodiscard]] Time time_of_routing() const {
        constexpr std::int64_t sorted_by_one = 256;
        const Time sorting = op_.tokens > sorted_by_one ? p_.sort : Time{};
        const Cycles scores = real(op_.tokens) * real(op_.experts) * p_.route;
        const Cycles places = real(op_.tokens) * real(op_.topk) * p_.pair;
        return p_.start + sorting + load_.active * p_.expert + (scores + places) / clock_ / sms_;
    }

    [[nodiscard]] Tiling tiling(const ProductTime& up) const {
        const double waves = std::ceil(up.count / (sms_ * p_.blocks));
        return {.tile = {.m = static_cast<std::int32_t>(up.tile.rows),
                         .n = static_cast<std::int32_t>(up.tile.columns),
                         .k = 0},
                .tiles = static_cast<std::int64_t>(up.count),
                .split = 1,
                .blocks_per_sm = 1,
                .waves = static_cast<std::int64_t>(waves),
                .tile_efficiency = std::min(
                    1.0, load_.pairs * width_ / (up.count * real(up.tile.rows * up.tile.columns))),
                .wave_efficiency = std::min(1.0, up.count / (waves * sms_))};
    }

    const LawCall& call_;
    const Moe& op_;
    ExpertBlock p_;
    ExpertLoads load_;
    double sms_;
    Frequency clock_;
    double foreign_ = 0.0;  ///< pairs of other GPUs' experts
    double treated_ = 0.0;  ///< pairs that the kernels between the products treat
    double inner_ = 0.0;
    double width_ = 0.0;
    double tokens_ = 0.0;  ///< elements of all tokens
};

}  // namespace

LawTime expert_block(const LawCall& call) {
    return BlockCall(call).result();
}

}  // namespace ridge::model
