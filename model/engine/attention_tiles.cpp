#include "model/engine/attention_tiles.h"

#include <algorithm>
#include <cmath>

#include "model/core/real.h"
#include "model/engine/attention_walk.h"
#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

/// One block: loads beside products and softmax. (G10)
Time block_of(const Walk& walk, const AttentionTiles& fitted) {
    constexpr Overlap beside{4.0};
    const Time computed = walk.wideness() * (walk.products() + walk.clocks(fitted.walk.block));
    const Time block = combined({computed, walk.loads()}, beside);
    return walk.op().window > 0 ? fitted.window_block * block : block;
}

/// The busiest multiprocessor. (G11)
Time span_of(const Walk& walk, const AttentionTiles& fitted) {
    constexpr double rows = 64.0;
    const WalkCut& cut = walk.cut();
    const Time block = block_of(walk, fitted);
    const Time skipped = walk.clocks(fitted.walk.skip);
    const Time tile = walk.tile(rows);
    const double more = fitted.edge_block - 1.0;
    const double all = cut.blocks + more * std::min(cut.blocks, cut.tiles * cut.cut_by_window);
    const double one = cut.longest + more * std::min(cut.longest, cut.cut_by_window);
    const Time average = (all * block + cut.skipped * skipped + walk.pieces() * tile) / walk.sms();
    const Time longest = one * block + cut.longest_skipped * skipped + tile;
    const double waves = walk.pieces() / walk.sms();
    Time after{};
    if (waves > 1.0) {
        const bool uneven = cut.triangle && (walk.op().window == 0 || skipped > Time{});
        after = uneven ? fitted.tail * longest
                       : fitted.walk.last_wave * (std::ceil(waves) - waves) * longest;
    }
    const Time span = std::max(fitted.lone * longest, average + after);
    return span + fitted.droop * (span / (span + walk.machine().laws.half_droop)) * span;
}

/// K and V from DRAM: once, or again for each tile if those of one head run far apart. (G12)
Bytes cache_from_dram(const Walk& walk, const AttentionTiles& fitted, bool apart) {
    if (!apart || fitted.reread <= 0.0) return walk.missing() * walk.bytes().cache;
    const WalkCut& cut = walk.cut();
    const double cached = real(size_of(cache_type_of(walk.op())));
    const Bytes visited =
        2.0 * cut.blocks * cut.keys * real(walk.op().head_dim) * cached * units::B;
    return fitted.reread * walk.missing(walk.bytes().cache) * visited;
}

}  // namespace

LawTime attention_tiles(const LawCall& call) {
    const auto fitted = set_of_values(attention_tiles_table(), call.kernel.values);
    const Walk walk(call, fitted.walk);
    const auto apart = static_cast<std::size_t>(WalkAttribute::apart);
    const Bytes read = walk.missing() * walk.bytes().query +
                       cache_from_dram(walk, fitted, call.attributes[apart] != 0);
    const Bytes moved = read + walk.missing() * walk.bytes().query;
    const Time dram = moved / (call.machine.dram_bandwidth * fitted.walk.dram);
    Time others = walk.fixed() + walk.writing(walk.bytes().added) + walk.combining();
    const std::int64_t d = walk.op().head_dim;
    if (d > 64 && d != 128 && d <= 192 && fitted.pad_copy > 0.0) {
        others += fitted.pad_copy * walk.copying(walk.bytes().query + walk.bytes().cache);
    }
    return walk.result(span_of(walk, fitted), dram, others, read);
}

}  // namespace ridge::model
