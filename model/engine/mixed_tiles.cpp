#include "model/engine/mixed_tiles.h"

#include <algorithm>

#include "hardware/checked.h"
#include "model/core/real.h"
#include "model/machine/mixed_tile_parameters.h"
#include "model/roof/overlap.h"
#include "model/sparse/mixed.h"

namespace ridge::model {
namespace {

/// Tiles of one head and the blocks of keys that they walk over.
struct Walk {
    double tiles = 0.0;
    double blocks = 0.0;
    double decode_blocks = 0.0;
    double longest = 0.0;
};

Walk walk_of(const MixedAttention& op, std::int64_t rows, std::int64_t keys) {
    Walk walk;
    const std::int64_t tiles = ceil_divide(op.seq_q, rows);
    const std::int64_t cached = op.seq_kv - op.seq_q;
    for (std::int64_t i = 0; i < tiles; ++i) {
        const std::int64_t seen = cached + std::min(op.seq_q, (i + 1) * rows);
        walk.blocks += real(ceil_divide(seen, keys));
    }
    const double each = real(ceil_divide(op.decode_kv, keys));
    walk.tiles = real(tiles) + real(op.decodes);
    walk.decode_blocks = real(op.decodes) * each;
    walk.longest = std::max(each, real(ceil_divide(op.seq_kv, keys)));
    return walk;
}

struct MixedDram {
    Bytes read;
    Bytes write;
};

/// Caches once, and again for each further head of a group where the L2 does not hold those of one head of
/// all sequences, which pass before the next head begins.
MixedDram dram_bytes(const MixedAttention& op, const MixedTiles& p, const LawCall& call) {
    const MixedBytes bytes = mixed_bytes(op);
    const auto lost = [&](double passed) {
        if (call.execution.l2 != L2State::warm) return 1.0;
        return 1.0 - call.machine.l2.found(passed * p.held * units::B);
    };
    const double further = real(op.heads) / real(op.kv_heads) - 1.0;
    const double again =
        bytes.keys * further * std::min(p.again, 1.0) *
        (1.0 - call.machine.l2.found(bytes.keys / real(op.kv_heads) * p.held * units::B));
    return {.read = (bytes.keys * lost(2.0 * bytes.keys) + again + bytes.queries) * units::B,
            .write = bytes.queries * units::B};
}

}  // namespace

LawTime mixed_tiles(const LawCall& call) {
    constexpr double usual_width = 128.0;  // elements of a head for which the clocks hold
    constexpr Overlap beside{4.0};
    const auto& op = std::get<MixedAttention>(call.operation);
    const auto p = set_of_values(mixed_tiles_table(), call.kernel.values);
    const auto attribute = [&call](MixedAttribute which) {
        return std::max<std::int64_t>(1, call.attributes[static_cast<std::size_t>(which)]);
    };
    const Walk walk = walk_of(op, attribute(MixedAttribute::rows), attribute(MixedAttribute::keys));
    const double width = real(op.head_dim) / usual_width;
    const double shared = real(op.heads) / real(call.machine.sm_count);
    const Frequency clock = call.machine.tensor_clock;
    const Time busy = shared *
                      (width * (walk.blocks * p.block + walk.decode_blocks * p.decode_block) +
                       walk.tiles * p.tile) /
                      clock;
    const Time longest = walk.longest * width * p.alone / clock;
    const Time computing = combined({busy, longest}, Overlap{p.overlap});
    const MixedDram moved = dram_bytes(op, p, call);
    const Time dram = (moved.read + moved.write) / (call.machine.dram_bandwidth * p.dram);
    LawTime t;
    t.kernels = p.start + combined({computing, dram}, beside);
    t.terms.push_back({Resource::launch, p.start, 0.0});
    t.terms.push_back({Resource::tensor, computing, call.work.tensor.base()});
    t.terms.push_back({Resource::dram, dram, (moved.read + moved.write).base()});
    t.dram_read = moved.read;
    t.dram_write = moved.write;
    t.l2 = call.work.compulsory();
    t.executed = call.work.tensor;
    return t;
}

}  // namespace ridge::model
