#include "model/engine/attention_parts.h"

#include <algorithm>
#include <cmath>

#include "model/core/real.h"
#include "model/engine/attention_walk.h"
#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

/// A part that goes through the lengths of all sequences to find its own. (G13)
Time search_of(const Walk& walk, const AttentionParts& fitted) {
    constexpr double sequences = 32.0;
    return real(walk.op().batch) / sequences * walk.clocks(fitted.search);
}

/// A combining kernel whose grid holds all queries once for every sequence: most of its blocks find no row. (G14)
Time idle_combining(const Walk& walk, const AttentionParts& fitted) {
    if (!walk.cut().combines) return {};
    constexpr double rows = 8.0;
    const double batch = real(walk.op().batch);
    const double blocks = batch * std::ceil(batch * real(walk.op().heads) / rows);
    return blocks / walk.sms() * walk.clocks(fitted.combine_block);
}

/// Parts, in the waves that fit side by side. (G13)
Time span_of_parts(const Walk& walk, const AttentionParts& fitted, double pack) {
    constexpr double rows = 16.0;
    const WalkCut& cut = walk.cut();
    const double waiting = 1.0 + walk.missing() * fitted.cold;
    Time block = walk.wideness() *
                 (walk.clocks(fitted.walk.block) + waiting * walk.loads() + walk.products());
    if (pack <= 1.0) block = fitted.single * block;
    const Time skipped = cut.longest_skipped / cut.parts * walk.clocks(fitted.walk.skip);
    const Time search = search_of(walk, fitted);
    const Time longest = cut.longest * block + skipped + walk.tile(rows) + search;
    const double at_once =
        fitted.shared * std::pow(128.0 / real(walk.op().head_dim), fitted.crowding);
    const double even = walk.pieces() / (walk.sms() * at_once);
    const double waves = even > 1.0 ? even + fitted.walk.last_wave * (std::ceil(even) - even) : 1.0;
    return waves * longest + cut.idle / walk.sms() * (walk.clocks(fitted.idle_part) + search);
}

}  // namespace

LawTime attention_parts(const LawCall& call) {
    const auto fitted = set_of_values(attention_parts_table(), call.kernel.values);
    const Walk walk(call, fitted.walk);
    const auto pack = static_cast<std::size_t>(WalkAttribute::pack);
    const Time parts = span_of_parts(walk, fitted, real(call.attributes[pack]));
    Time near{};
    if (fitted.l2 > BytesPerCycle{}) {
        near = walk.cut().readers * walk.bytes().cache / walk.rate(fitted.l2);
    }
    const Time span = combined({parts, near}, pipes);
    const Bytes read = walk.missing() * (walk.bytes().query + walk.bytes().cache);
    const Bytes moved = read + walk.missing() * walk.bytes().query;
    const Time dram = moved / (call.machine.dram_bandwidth * fitted.walk.dram);
    const Time others = walk.fixed() + walk.writing(Bytes{}) + walk.combining() +
                        real(walk.cut().folds) * fitted.fold + walk.missing() * fitted.dram_start +
                        idle_combining(walk, fitted);
    return walk.result(span, dram, others, read);
}

}  // namespace ridge::model
