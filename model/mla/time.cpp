#include "model/mla/time.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/core/real.h"
#include "model/mla/work.h"
#include "model/roof/overlap.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

constexpr std::int64_t key_block = 64;       ///< keys of a step of decoding
constexpr std::int64_t prefill_block = 128;  ///< queries and keys of a block of prefill

/// Share of the bytes of a call that the L2 has lost since the previous call. (N4)
double missing(const Machine& machine, Bytes working_set, L2State state) {
    return state == L2State::warm ? 1.0 - machine.l2.found(working_set) : 1.0;
}

/// FLOP per second of one multiprocessor.
double rate_of(const Mla& op, const Machine& machine) {
    return machine.tensor_peak(multiplied_type(op)).value_or(FlopRate{}).base() /
           real(machine.sm_count);
}

/// Tiles of heads over one sequence, and the split of their keys.
struct DecodeGrid {
    std::int64_t heads = 1;   ///< of a tile
    std::int64_t passes = 1;  ///< tiles of one sequence
    std::int64_t tiles = 1;
    std::int64_t steps = 1;  ///< along the keys
    std::int64_t splits = 1;
};

DecodeGrid grid_of(const Mla& op, const Machine& machine) {
    DecodeGrid grid;
    grid.heads = decode_tile_heads(op, machine);
    grid.passes = ceil_divide(op.heads * op.seq_q, grid.heads);
    grid.tiles = op.batch * grid.passes;
    grid.steps = ceil_divide(op.seq_kv, key_block);
    const std::int64_t most = std::max<std::int64_t>(1, grid.steps / 2);
    grid.splits = std::clamp<std::int64_t>(machine.sm_count / grid.tiles, 1, most);
    return grid;
}

/// Key blocks of all causal tiles of one head: sum over tiles of ceil(end / block).
double visited_blocks(const Mla& op) {
    const std::int64_t queries = ceil_divide(op.seq_q, prefill_block);
    const std::int64_t before = op.seq_kv - op.seq_q;
    const double whole = real(queries - 1);
    // Full tiles end at before + (i + 1) blocks; the last one at the last key.
    const double offset = real(before) / real(prefill_block);
    return whole * std::ceil(offset) + whole * (whole + 1.0) / 2.0 +
           real(ceil_divide(op.seq_kv, prefill_block));
}

}  // namespace

DataType multiplied_type(const Mla& op) {
    return op.phase == MlaPhase::decode ? cache_type_of(op) : op.type;
}

std::int64_t decode_tile_heads(const Mla& op, const Machine& machine) {
    if (machine.family != Family::blackwell) return 64;
    return op.heads < 64 ? 16 : 128;
}

MlaTime mla_decode_time(const Mla& op, const MlaDecodeParameters& fitted,
                        const Execution& execution, const Machine& machine) {
    const MlaShape shape = mla_shape(op);
    const DecodeGrid grid = grid_of(op, machine);
    const double sms = real(machine.sm_count);
    const bool narrow = grid.heads < 64 && fitted.narrow_fraction > 0.0;
    const double fraction = narrow ? fitted.narrow_fraction : fitted.tensor_fraction;
    const double step_flop = 2.0 * real(grid.heads * key_block) * (shape.key_dim + shape.value_dim);
    const Time step = Time::from_base(step_flop / (rate_of(op, machine) * fraction));
    const double alone = real(ceil_divide(grid.steps, grid.splits));
    const double shared = real(grid.tiles * grid.steps) / sms;
    const double steps = grid.splits > 1 ? alone : std::max(alone, shared);

    const double latents = real(op.batch * op.seq_kv) * shape.key_dim;
    const Bytes cache = Bytes::from_base(latents * real(size_of(cache_type_of(op))));
    const Bytes queries =
        Bytes::from_base(real(op.batch * op.heads * op.seq_q) * (shape.key_dim + shape.value_dim) *
                         real(size_of(op.type)));
    const double miss = missing(machine, cache + queries, execution.l2);
    const double again = 1.0 + fitted.repeats * real(grid.passes - 1);

    MlaTime time;
    time.tensor = steps * step;
    time.tiles = std::max(1.0, real(grid.tiles) / sms) * fitted.tile;
    time.dram_bytes = miss * again * cache;
    time.dram = time.dram_bytes / (machine.dram_bandwidth * fitted.dram_fraction) +
                miss * fitted.dram_start;
    time.queries = fitted.query_passes * (queries / machine.dram_bandwidth);
    time.dram_bytes += miss * queries;
    time.launch = fitted.start + library_gaps(machine, execution.launch, 2);
    const Time main = combined({time.tensor + time.tiles, time.dram}, pipes);
    time.total = time.launch + time.queries + main;
    if (grid.splits > 1) {
        const Time combine = fitted.combine + real(grid.splits) * fitted.combine_split;
        time.tiles += combine;
        time.total += combine;
    }
    time.executed_tensor = Flop::from_base(real(grid.tiles * grid.steps) * step_flop);
    time.waves = real(grid.tiles * grid.splits) / sms;
    time.tile = {static_cast<std::int32_t>(grid.heads), static_cast<std::int32_t>(key_block), 0};
    time.tiles_count = grid.tiles;
    time.split = static_cast<std::int32_t>(grid.splits);
    return time;
}

MlaTime mla_prefill_time(const Mla& op, const MlaPrefillParameters& fitted,
                         const Execution& execution, const Machine& machine) {
    const MlaShape shape = mla_shape(op);
    const double sms = real(machine.sm_count);
    const double block_flop =
        2.0 * real(prefill_block * prefill_block) * (shape.key_dim + shape.value_dim);
    const Time block =
        Time::from_base(block_flop / (rate_of(op, machine) * fitted.tensor_fraction));
    const double heads = real(op.batch * op.heads);
    const double pieces = heads * real(ceil_divide(op.seq_q, prefill_block));
    const double blocks = heads * visited_blocks(op);
    const double waves = pieces / sms;
    const double longest_row = real(ceil_divide(op.seq_kv, prefill_block));

    const Time average = (blocks * block + pieces * fitted.tile) / sms;
    const double lone = waves <= 1.0 ? fitted.lone_block_factor : 1.0;
    const Time longest = longest_row * lone * block + fitted.tile;
    const Time idle = (std::ceil(waves) - waves) * (block + fitted.tile);
    Time span = std::max(longest, average + idle);
    if (waves > 1.0) span = std::max(span, average + fitted.tail * longest);

    // The rotation reads and writes queries and keys; the cache takes the new latents.
    const MlaCacheWrite cache = mla_cache_write(op);
    const Bytes rotated = Bytes::from_base(4.0 * real(op.batch * op.seq_q * op.heads) *
                                           shape.key_dim * real(size_of(op.type))) +
                          cache.read + cache.written;
    const Work work = mla_work(op);
    const double miss = missing(machine, work.compulsory(), execution.l2);

    MlaTime time;
    time.tensor = blocks / sms * block;
    time.tiles = span - time.tensor;
    time.queries = fitted.rotate_passes * (rotated / machine.dram_bandwidth);
    time.dram_bytes = miss * (work.compulsory() + rotated);
    time.launch = fitted.start + library_gaps(machine, execution.launch, 2);
    time.total = time.launch + time.queries + span;
    time.executed_tensor = Flop::from_base(blocks * block_flop);
    time.waves = waves;
    time.tile = {static_cast<std::int32_t>(prefill_block), static_cast<std::int32_t>(prefill_block),
                 0};
    time.tiles_count = static_cast<std::int64_t>(pieces);
    return time;
}

}  // namespace ridge::model
