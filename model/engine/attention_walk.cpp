#include "model/engine/attention_walk.h"

#include <algorithm>
#include <cmath>

#include "model/core/real.h"
#include "model/engine/attention_cut.h"
#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

WalkBytes bytes_of(const Attention& op, const WalkCut& cut) {
    constexpr double element = 2.0;  // queries, results and new keys come in 16 bits
    const double head = real(op.head_dim);
    const double cached = real(size_of(cache_type_of(op)));
    const double seen = op.seq_q == 1
                            ? std::min(real(op.seq_kv), cut.longest * cut.parts * cut.keys)
                            : real(op.seq_kv);
    const double tokens = real(op.batch * op.seq_q);
    const double added = op.kv_write ? 2.0 * tokens * real(op.kv_heads) * head : 0.0;
    return {.query = tokens * real(op.heads) * head * element * units::B,
            .cache = 2.0 * real(op.batch * op.kv_heads) * seen * head * cached * units::B,
            .added = added * (element + cached) * units::B};
}

}  // namespace

Walk::Walk(const LawCall& call, const AttentionWalk& fitted)
    : call_(call),
      fitted_(fitted),
      op_(std::get<Attention>(call.operation)),
      real_sms_(real(call.machine.sm_count)),
      cut_(cut_attention(op_, call.attributes, call.machine.sm_count)),
      bytes_(bytes_of(op_, cut_)),
      missing_(missing(2.0 * bytes_.query + bytes_.cache + bytes_.added)) {}

Time Walk::clocks(Cycles cycles) const {
    return cycles / call_.machine.boost_clock;
}

Bandwidth Walk::rate(BytesPerCycle per_clock) const {
    return per_clock * call_.machine.boost_clock * real_sms_;
}

double Walk::missing(Bytes distance) const {
    if (call_.execution.l2 != L2State::warm) return 1.0;
    return 1.0 - call_.machine.l2.found(distance);
}

Time Walk::products() const {
    const auto peak = call_.machine.tensor_peak(op_.type);
    if (!peak || fitted_.matmul <= 0.0) return {};
    const Flop flop = 4.0 * cut_.rows * cut_.keys * cut_.width * units::FLOP;
    return fitted_.matmul * (flop / (*peak / real_sms_));
}

Time Walk::loads() const {
    if (fitted_.load <= BytesPerCycle{}) return {};
    const double cached = real(size_of(cache_type_of(op_)));
    const double keys = std::min(cut_.keys, real(op_.seq_kv));
    const Bytes moved = 2.0 * keys * real(op_.head_dim) * cached * units::B;
    return moved / (fitted_.load * call_.machine.boost_clock);
}

double Walk::wideness() const {
    const std::int64_t d = op_.head_dim;
    if (d > 256) return fitted_.widest;
    if (d > 192) return fitted_.wider;
    if (d > 128) return fitted_.wide;
    if (d <= 64) return fitted_.narrow;
    return d % 16 != 0 ? fitted_.odd : 1.0;
}

Time Walk::tile(double full_rows) const {
    constexpr double columns = 64.0;
    return clocks(wideness() * (fitted_.tile + cut_.filled / full_rows * fitted_.tile_rows) +
                  real(op_.head_dim) / columns * fitted_.tile_columns);
}

Time Walk::fixed() const {
    constexpr double sequences = 32.0;
    const std::int64_t d = op_.head_dim;
    const bool padded = (d > 64 && d < 128) || (d > 128 && d <= 192);
    return fitted_.start + (padded ? fitted_.pad : Time{}) +
           real(op_.batch) / sequences * fitted_.scan;
}

Time Walk::copying(Bytes moved) const {
    if (fitted_.write_load <= BytesPerCycle{}) return {};
    const Bandwidth near = rate(fitted_.write_load);
    const Bandwidth far = std::min(near, call_.machine.dram_bandwidth * fitted_.dram);
    return (1.0 - missing_) * (moved / near) + missing_ * (moved / far);
}

Time Walk::writing(Bytes moved) const {
    if (!op_.kv_write) return {};
    constexpr double most_threads = 512.0;  // of the thread block of one token
    constexpr double resident = 2048.0;
    const double threads = std::min(most_threads, real(op_.kv_heads * op_.head_dim));
    const double waves = real(op_.batch * op_.seq_q) / real_sms_ * threads / resident;
    return waves * clocks(fitted_.write_wave) + copying(moved + fitted_.write_query * bytes_.query);
}

Time Walk::combining() const {
    if (!cut_.combines) return {};
    const Time time = fitted_.combine + std::sqrt(cut_.parts) * fitted_.combine_part;
    if (fitted_.combine_load <= BytesPerCycle{}) return time;
    constexpr double wider = 2.0;  // partial results in 32 bits
    return time + wider * cut_.parts * bytes_.query / rate(fitted_.combine_load);
}

LawTime Walk::result(Time span, Time dram, Time others, Bytes dram_read) const {
    LawTime t;
    t.kernels = combined({span, dram}, pipes) + others;
    t.dram_read = dram_read;
    t.dram_write = missing_ * (bytes_.query + 0.5 * bytes_.added);
    t.l2 = cut_.tiles * cut_.filled * real(op_.head_dim) * 2.0 * units::B;
    t.executed = 4.0 * cut_.blocks * cut_.rows * cut_.keys * cut_.width * units::FLOP;
    t.launches = 1 + (op_.kv_write ? 1 : 0) + (cut_.combines ? 1 : 0) + cut_.folds;
    const double waves = std::max(1.0, std::ceil(pieces() / real_sms_));
    t.tiling = {.tile = {.m = static_cast<std::int32_t>(cut_.rows),
                         .n = static_cast<std::int32_t>(cut_.keys),
                         .k = static_cast<std::int32_t>(op_.head_dim)},
                .tiles = static_cast<std::int64_t>(cut_.tiles),
                .split = static_cast<std::int32_t>(cut_.parts),
                .blocks_per_sm = 1,
                .waves = static_cast<std::int64_t>(waves),
                .tile_efficiency = cut_.filled / cut_.rows,
                .wave_efficiency = pieces() / (waves * real_sms_)};
    const auto add = [&t](Resource resource, Time time, double amount) {
        if (time > Time{}) t.terms.push_back({resource, time, amount});
    };
    add(Resource::tensor, span, t.executed.base());
    add(Resource::dram, dram, (t.dram_read + t.dram_write).base());
    add(Resource::launch, others, 0.0);
    return t;
}

}  // namespace ridge::model
