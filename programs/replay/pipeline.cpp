#include "programs/replay/pipeline.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "hardware/error.h"

namespace ridge::programs {
namespace {

constexpr std::array<std::string_view, 4> schedule_names{"gpipe", "1f1b", "interleaved",
                                                         "zero-bubble"};

bool has_parts(Schedule schedule) {
    return schedule == Schedule::interleaved || schedule == Schedule::zero_bubble;
}

std::vector<Block> gpipe_blocks(const PipelineShape& shape, std::int64_t rank) {
    std::vector<Block> blocks;
    for (const BlockKind kind : {BlockKind::forward, BlockKind::backward}) {
        for (std::int64_t micro = 0; micro < shape.micro_batches; ++micro) {
            blocks.push_back({.kind = kind, .stage = rank, .micro = micro});
        }
    }
    return blocks;
}

std::vector<Block> one_f_one_b_blocks(const PipelineShape& shape, std::int64_t rank) {
    std::vector<Block> blocks;
    const std::int64_t warmup = std::min(shape.micro_batches, shape.ranks - rank);
    std::int64_t forward = 0;
    for (; forward < warmup; ++forward) blocks.push_back({.stage = rank, .micro = forward});
    for (std::int64_t backward = 0; backward < shape.micro_batches; ++backward) {
        blocks.push_back({.kind = BlockKind::backward, .stage = rank, .micro = backward});
        if (forward == shape.micro_batches) continue;
        blocks.push_back({.stage = rank, .micro = forward++});
    }
    return blocks;
}

/// Interleaved 1F1B, with or without zero bubble: torch.distributed.pipelining, _get_1f1b_rank_ops.
class InterleavedBlocks {
  public:
    InterleavedBlocks(const PipelineShape& shape, std::int64_t rank)
        : shape_(shape),
          rank_(rank),
          per_round_(shape.micro_batches /
                     std::max<std::int64_t>(1, shape.micro_batches / shape.ranks)),
          split_(shape.schedule == Schedule::zero_bubble) {}

    std::vector<Block> make() {
        const std::int64_t all = shape_.parts * shape_.micro_batches;
        const std::int64_t steps = split_ ? 1 : 2;
        warmup_ =
            std::min(all, (shape_.parts - 1) * per_round_ + steps * (shape_.ranks - 1 - rank_));
        for (std::int64_t op = 0; op < all + warmup_; ++op) {
            if (op < all) add(BlockKind::forward, forward_stage(op));
            if (op < warmup_) continue;
            add(BlockKind::backward, backward_stage(op));
            if (split_ && op - warmup_ >= rank_) add_weights();
        }
        while (split_ && weights_ < all) add_weights();
        return std::move(blocks_);
    }

  private:
    [[nodiscard]] std::int64_t forward_stage(std::int64_t op) const {
        return op / per_round_ % shape_.parts * shape_.ranks + rank_;
    }
    [[nodiscard]] std::int64_t backward_stage(std::int64_t op) const {
        const std::int64_t part = shape_.parts - 1 - (op - warmup_) / per_round_ % shape_.parts;
        return part * shape_.ranks + rank_;
    }
    void add(BlockKind kind, std::int64_t stage) {
        blocks_.push_back({.kind = kind, .stage = stage, .micro = next_[{kind, stage}]++});
    }
    void add_weights() { add(BlockKind::weights, backward_stage(warmup_ + weights_++)); }

    const PipelineShape& shape_;
    std::int64_t rank_;
    std::int64_t per_round_;
    bool split_;
    std::int64_t warmup_ = 0;
    std::int64_t weights_ = 0;
    std::map<std::pair<BlockKind, std::int64_t>, std::int64_t> next_{};
    std::vector<Block> blocks_{};
};

std::vector<Block> blocks_of(const PipelineShape& shape, std::int64_t rank) {
    switch (shape.schedule) {
        case Schedule::gpipe:
            return gpipe_blocks(shape, rank);
        case Schedule::one_f_one_b:
            return one_f_one_b_blocks(shape, rank);
        default:
            return InterleavedBlocks(shape, rank).make();
    }
}

/// Runs the lists of all ranks beside each other.
class PipelineReplay {
  public:
    PipelineReplay(std::span<const StageTimes> stages, const PipelineShape& shape)
        : stages_(stages), shape_(shape) {
        const auto ranks = static_cast<std::size_t>(shape.ranks);
        run_.busy.resize(ranks);
        run_.host.resize(ranks);
        next_.resize(ranks);
        free_.resize(ranks);
        for (std::int64_t rank = 0; rank < shape.ranks; ++rank) {
            run_.ranks.push_back(blocks_of(shape, rank));
            run_.in_flight.push_back(most_in_flight(run_.ranks.back()));
        }
    }

    PipelineRun run() {
        bool moved = true;
        while (moved) {
            moved = false;
            for (std::size_t rank = 0; rank < run_.ranks.size(); ++rank) {
                while (place_next(rank)) moved = true;
            }
        }
        Time idle{};
        for (std::size_t rank = 0; rank < run_.ranks.size(); ++rank) {
            RIDGE_CONTRACT(next_[rank] == run_.ranks[rank].size());
            run_.time = std::max(run_.time, free_[rank]);
        }
        for (const Time& busy : run_.busy) idle += run_.time - busy;
        run_.bubble = idle / (static_cast<double>(shape_.ranks) * run_.time);
        return std::move(run_);
    }

  private:
    [[nodiscard]] BlockTime time_of(const Block& block) const {
        const StageTimes& stage = stages_[static_cast<std::size_t>(block.stage)];
        if (block.kind == BlockKind::forward) return stage.forward;
        if (block.kind == BlockKind::weights) return stage.weights;
        if (shape_.schedule != Schedule::zero_bubble) return stage.backward;
        return {.gpu = stage.backward.gpu - stage.weights.gpu,
                .host = stage.backward.host - stage.weights.host};
    }

    /// When the input of a block is there; empty while its neighbour has not made it.
    [[nodiscard]] std::optional<Time> input_of(const Block& block) const {
        const auto last = static_cast<std::int64_t>(stages_.size()) - 1;
        if (block.kind == BlockKind::weights) return Time{};
        const bool forward = block.kind == BlockKind::forward;
        if (forward && block.stage == 0) return Time{};
        if (!forward && block.stage == last) {
            return ended(BlockKind::forward, block.stage, block.micro, Time{});
        }
        return ended(block.kind, block.stage + (forward ? -1 : 1), block.micro, shape_.send);
    }

    [[nodiscard]] std::optional<Time> ended(BlockKind kind, std::int64_t stage, std::int64_t micro,
                                            Time sent) const {
        const auto found = ends_.find({kind, stage, micro});
        if (found == ends_.end()) return std::nullopt;
        return found->second + sent;
    }

    bool place_next(std::size_t rank) {
        if (next_[rank] == run_.ranks[rank].size()) return false;
        Block& block = run_.ranks[rank][next_[rank]];
        const std::optional<Time> input = input_of(block);
        if (!input) return false;
        const BlockTime time = time_of(block);
        const Time begun = run_.host[rank];
        run_.host[rank] += time.host;
        block.from = std::max({free_[rank], *input, begun});
        block.to = std::max(block.from + time.gpu, run_.host[rank]);
        free_[rank] = block.to;
        run_.busy[rank] += block.to - block.from;
        ends_[{block.kind, block.stage, block.micro}] = block.to;
        ++next_[rank];
        return true;
    }

    /// Activations live from a forward block to the last block of its backward pass.
    [[nodiscard]] std::int64_t most_in_flight(const std::vector<Block>& blocks) const {
        const BlockKind last =
            shape_.schedule == Schedule::zero_bubble ? BlockKind::weights : BlockKind::backward;
        std::int64_t held = 0;
        std::int64_t most = 0;
        for (const Block& block : blocks) {
            if (block.kind == BlockKind::forward) most = std::max(most, ++held);
            if (block.kind == last) --held;
        }
        return most;
    }

    std::span<const StageTimes> stages_;
    const PipelineShape& shape_;
    std::vector<std::size_t> next_{};
    std::vector<Time> free_{};
    std::map<std::tuple<BlockKind, std::int64_t, std::int64_t>, Time> ends_{};
    PipelineRun run_{};
};

}  // namespace

std::string_view name_of(Schedule schedule) {
    return schedule_names[static_cast<std::size_t>(schedule)];
}

Schedule find_schedule(std::string_view name) {
    const auto found = std::find(schedule_names.begin(), schedule_names.end(), name);
    if (found == schedule_names.end()) {
        throw InputError("schedule '" + std::string(name) + "' is not known", {},
                         "one of gpipe, 1f1b, interleaved, zero-bubble");
    }
    return static_cast<Schedule>(found - schedule_names.begin());
}

PipelineRun run_pipeline(std::span<const StageTimes> stages, const PipelineShape& shape) {
    RIDGE_CONTRACT(static_cast<std::int64_t>(stages.size()) == shape.ranks * shape.parts);
    RIDGE_CONTRACT(shape.parts == 1 || has_parts(shape.schedule));
    const std::int64_t rounds = std::max<std::int64_t>(1, shape.micro_batches / shape.ranks);
    if (has_parts(shape.schedule) && shape.micro_batches % rounds != 0) {
        throw InputError("micro-batches must be a multiple of the " + std::to_string(rounds) +
                         " rounds of the schedule");
    }
    return PipelineReplay(stages, shape).run();
}

}  // namespace ridge::programs
