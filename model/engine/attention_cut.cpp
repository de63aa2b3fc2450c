// The rules by which kernels divide keys are those of their sources: FlashAttention 2 and 3
// (num_splits_heuristic, flash_prepare_scheduler), FlashInfer (scheduler.cuh), TensorRT-LLM's XQA
// (multi-block mode), vLLM's and SGLang's Triton kernels.
#include "model/engine/attention_cut.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/attention/blocks.h"
#include "model/core/real.h"

namespace ridge::model {
namespace {

/// Parts of the keys of a tile: those that have keys, and those that are launched.
struct Parts {
    std::int64_t with_keys = 1;
    std::int64_t launched = 1;
};

class AttentionCutter {
  public:
    AttentionCutter(const Attention& op, const LawAttributes& attributes, std::int64_t sms)
        : op_(op), attributes_(attributes), sms_(sms) {
        // A window over one query ends at it, as under a causal mask.
        if (op_.seq_q == 1) op_.causal = true;
    }

    [[nodiscard]] WalkCut cut() const {
        const AttentionGrid grid = grid_of(op_);
        const std::int64_t along = ceil_divide(op_.seq_q * grid.pack, grid.blocks.q);
        const std::int64_t groups = op_.batch * (op_.heads / grid.pack);
        const std::int64_t longest = longest_of(op_, grid);
        const Parts parts = parts_of(groups * along, longest, grid);
        const ScoreCounts scores = count_scores(op_, grid);
        WalkCut c;
        c.rows = real(grid.blocks.q);
        c.keys = real(grid.blocks.kv);
        c.width = real(attribute(WalkAttribute::width) > 0 ? attribute(WalkAttribute::width)
                                                           : op_.head_dim);
        c.filled = real(std::min(op_.seq_q * grid.pack, grid.blocks.q));
        c.tiles = real(groups * along);
        c.blocks = real(groups) * scores.visits;
        c.longest = real(ceil_divide(longest, parts.with_keys));
        if (op_.window > 0) {
            Attention whole = op_;
            whole.window = 0;
            c.skipped = real(groups) * (count_scores(whole, grid).visits - scores.visits);
            c.longest_skipped = real(longest_of(whole, grid) - longest);
            const bool hides = op_.window < op_.seq_kv;
            c.cut_by_window =
                hides ? real(1 + ceil_divide(grid.blocks.q, grid.pack * grid.blocks.kv)) : 0.0;
        }
        c.parts = real(parts.with_keys);
        c.idle = real(groups * along * (parts.launched - parts.with_keys));
        c.readers = real(ceil_divide(op_.heads, grid.pack * op_.kv_heads));
        c.triangle = op_.causal && op_.seq_q > 1 && real(longest) + c.longest_skipped > 1.0;
        c.combines = parts.launched > 1 || attribute(WalkAttribute::combines) != 0;
        if (attribute(WalkAttribute::folds) != 0 && grid.pack > 1) {
            c.folds = op_.batch > 1 && op_.kv_heads > 1 ? 3 : 1;
        }
        return c;
    }

  private:
    [[nodiscard]] std::int64_t attribute(WalkAttribute which) const {
        return attributes_[static_cast<std::size_t>(which)];
    }
    /// At least 1.
    [[nodiscard]] std::int64_t whole(WalkAttribute which) const {
        return std::max<std::int64_t>(attribute(which), 1);
    }

    [[nodiscard]] AttentionGrid grid_of(const Attention& op) const {
        AttentionGrid grid;
        grid.blocks = {.q = whole(WalkAttribute::rows), .kv = whole(WalkAttribute::keys)};
        grid.pack = op.heads % whole(WalkAttribute::pack) == 0 ? whole(WalkAttribute::pack) : 1;
        return grid;
    }

    /// Blocks of keys that the longest tile visits. Under a window, tiles repeat after a few.
    [[nodiscard]] static std::int64_t longest_of(const Attention& op, const AttentionGrid& grid) {
        constexpr std::int64_t enough = 64;
        const std::int64_t rows = op.seq_q * grid.pack;
        const std::int64_t tiles = ceil_divide(rows, grid.blocks.q);
        const std::int64_t offset = op.seq_kv - op.seq_q;
        std::int64_t longest = 1;
        for (std::int64_t back = 0; back < std::min(tiles, enough); ++back) {
            const std::int64_t tile = tiles - 1 - back;
            const std::int64_t last = std::min((tile + 1) * grid.blocks.q, rows) - 1;
            const std::int64_t end =
                op.causal ? std::min(op.seq_kv, last / grid.pack + offset + 1) : op.seq_kv;
            const std::int64_t first = tile * grid.blocks.q / grid.pack + offset - op.window + 1;
            const std::int64_t begin = op.window > 0 ? std::max<std::int64_t>(first, 0) : 0;
            longest = std::max(longest, ceil_divide(end, grid.blocks.kv) - begin / grid.blocks.kv);
            if (op.window == 0) break;
        }
        return longest;
    }

    [[nodiscard]] Parts even(std::int64_t parts) const { return {parts, parts}; }

    [[nodiscard]] Parts parts_of(std::int64_t tiles, std::int64_t longest,
                                 const AttentionGrid& grid) const {
        const std::int64_t seen = op_.window > 0 ? std::min(op_.seq_kv, op_.window) : op_.seq_kv;
        const std::int64_t least = whole(WalkAttribute::part);
        switch (static_cast<SplitMethod>(attribute(WalkAttribute::split))) {
            case SplitMethod::whole:
                return {};
            case SplitMethod::fill:
                return even(filling(tiles, ceil_divide(seen, least)));
            case SplitMethod::history:
                return even(filling(tiles, op_.seq_kv / least));
            case SplitMethod::flash2:
                return even(flash2(tiles, grid));
            case SplitMethod::flash3:
                return even(flash3(tiles, longest));
            case SplitMethod::chunks:
                return even(chunks(tiles, grid));
            case SplitMethod::fixed:
                return fixed(grid);
            case SplitMethod::lengths:
                return even(lengths(seen));
        }
        return {};
    }

    [[nodiscard]] std::int64_t filling(std::int64_t tiles, std::int64_t most) const {
        const std::int64_t filling = whole(WalkAttribute::waves) * sms_ / tiles;
        return std::clamp<std::int64_t>(filling, 1, std::max<std::int64_t>(most, 1));
    }

    [[nodiscard]] std::int64_t flash2(std::int64_t tiles, const AttentionGrid& grid) const {
        if (grid.pack == 1) return 1;
        return good_splits(tiles, 2 * sms_, ceil_divide(op_.seq_kv, grid.blocks.kv),
                           {.distinct = true});
    }

    [[nodiscard]] std::int64_t flash3(std::int64_t tiles, std::int64_t longest) const {
        constexpr std::int64_t static_batch = 992;
        constexpr std::int64_t most_in_decoding = 32;
        constexpr SplitRule strict{.enough = 0.95, .short_parts = 0.85};
        constexpr double margin = 1.1;
        std::int64_t bound = op_.batch > static_batch ? 1 : most_in_decoding;
        if (op_.seq_q > 1) bound = longest > 4 ? good_splits(tiles, sms_, longest, strict) : 1;
        if (bound == 1) return 1;
        const double share = margin * real(tiles * longest);
        const double per_sm = std::ceil(share / real(sms_));
        const auto parts = static_cast<std::int64_t>(std::ceil(real(longest) / per_sm));
        return std::clamp<std::int64_t>(parts, 1, bound);
    }

    [[nodiscard]] std::int64_t chunks(std::int64_t tiles, const AttentionGrid& grid) const {
        const std::int64_t budget =
            whole(WalkAttribute::waves) * sms_ / op_.kv_heads * op_.kv_heads;
        if (tiles >= budget) return 1;
        const std::int64_t keys =
            op_.window > 0 ? std::min(op_.seq_kv, op_.window + grid.blocks.q) : op_.seq_kv;
        const std::int64_t most = ceil_divide(keys, whole(WalkAttribute::part));
        const std::int64_t parts = std::clamp<std::int64_t>(budget / tiles, 1, most);
        return ceil_divide(keys, ceil_divide(keys, parts));
    }

    [[nodiscard]] Parts fixed(const AttentionGrid& grid) const {
        const std::int64_t launched = whole(WalkAttribute::parts);
        const std::int64_t blocks = ceil_divide(op_.seq_kv, grid.blocks.kv);
        return {ceil_divide(blocks, ceil_divide(blocks, launched)), launched};
    }

    [[nodiscard]] std::int64_t lengths(std::int64_t seen) const {
        constexpr std::int64_t heads_of_tile = 16;
        constexpr double block = 64.0;
        constexpr std::int64_t rounding = 32;
        const std::int64_t group = op_.heads / op_.kv_heads;
        const double doublings = std::log2(std::max(real(op_.seq_kv) / block, 1.0));
        const auto cores = static_cast<std::int64_t>(real(sms_) * std::max(doublings, 1.0));
        const std::int64_t tiles =
            group == 1 ? op_.batch * op_.heads
                       : op_.batch * ceil_divide(op_.heads, std::min(heads_of_tile, group));
        const std::int64_t most = std::min(std::max<std::int64_t>(ceil_divide(cores, tiles), 1),
                                           whole(WalkAttribute::parts));
        const std::int64_t parts = ceil_divide(op_.seq_kv, ceil_divide(op_.seq_kv, most));
        const std::int64_t keys = ceil_divide(ceil_divide(seen, parts), rounding) * rounding;
        return ceil_divide(seen, keys);
    }

    Attention op_;
    const LawAttributes& attributes_;
    std::int64_t sms_;
};

}  // namespace

WalkCut cut_attention(const Attention& op, const LawAttributes& attributes, std::int64_t sms) {
    return AttentionCutter(op, attributes, sms).cut();
}

}  // namespace ridge::model
