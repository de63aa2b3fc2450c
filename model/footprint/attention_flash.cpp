// PyTorch's flash backend, FlashAttention-2 in aten (eq. V24 and V25 of docs/vram.md).
#include <algorithm>
#include <vector>

#include "hardware/checked.h"
#include "model/bundled/launch_grid.h"
#include "model/footprint/attention_memory.h"
#include "model/footprint/attention_plans.h"
#include "model/footprint/attention_sizes.h"

namespace ridge::model {
namespace {

using bundled::rounded_up;

/// Number of parts into which the keys are cut: the smallest that reaches 85 % of the best fill of
/// the multiprocessors' block slots (num_splits_heuristic of flash_api.cpp).
std::int64_t key_splits(std::int64_t blocks, std::int64_t slots, std::int64_t key_blocks) {
    if (static_cast<float>(blocks) >= 0.8F * static_cast<float>(slots)) return 1;
    const std::int64_t most = std::min({std::int64_t{128}, slots, key_blocks});
    const auto distinct = [&](std::int64_t splits) {
        return splits == 1 ||
               ceil_divide(key_blocks, splits) != ceil_divide(key_blocks, splits - 1);
    };
    const auto filling = [&](std::int64_t splits) {
        const float waves = static_cast<float>(blocks * splits) / static_cast<float>(slots);
        return waves / static_cast<float>(ceil_divide(blocks * splits, slots));
    };
    float best = 0.0F;
    for (std::int64_t splits = 1; splits <= most; ++splits) {
        if (distinct(splits)) best = std::max(best, filling(splits));
    }
    for (std::int64_t splits = 1; splits <= most; ++splits) {
        if (distinct(splits) &&
            static_cast<double>(filling(splits)) >= 0.85 * static_cast<double>(best)) {
            return splits;
        }
    }
    return 1;
}

struct FlashSizes {
    explicit FlashSizes(const AttentionCall& call) {
        const Attention& op = call.attention;
        const std::int64_t dim = rounded_up(op.head_dim, 8);
        rounded_dim = rounded_up(dim, dim <= 128 ? 32 : 64);
        padded = dim != op.head_dim;
        const std::int64_t heads = op.batch * op.heads;
        rows = heads * op.seq_q;
        query = 2 * rows * dim;
        key = 2 * op.batch * op.kv_heads * op.seq_kv * dim;
        expanded = 2 * heads * op.seq_kv * dim;
        padded_rows = heads * rounded_up(op.seq_q, 128);
        splits = splits_of(call, dim);
        // The layout of q is kept unless padding copies it; the kernel expects heads innermost.
        copies =
            (padded || call.layout == TensorLayout::heads_first) && op.heads > 1 && op.seq_q > 1;
    }

    std::int64_t rounded_dim, rows, query, key, expanded, padded_rows, splits;
    bool padded, copies;

  private:
    /// One query of grouped heads runs as one head with as many queries.
    static std::int64_t splits_of(const AttentionCall& call, std::int64_t dim) {
        if (call.dropout > 0.0) return 1;
        const Attention& op = call.attention;
        const bool swapped = op.seq_q == 1 && is_grouped(op);
        const std::int64_t heads = swapped ? op.kv_heads : op.heads;
        const std::int64_t queries = swapped ? op.heads / op.kv_heads : op.seq_q;
        const std::int64_t keys_per_block = dim <= 64 ? 256 : dim <= 128 ? 128 : 64;
        return key_splits(op.batch * heads * ceil_divide(queries, 64), 2 * call.multiprocessors,
                          ceil_divide(op.seq_kv, keys_per_block));
    }
};

/// The tensors that the forward pass leaves.
struct FlashForward {
    std::vector<MemoryPlan::Id> padded;
    std::vector<MemoryPlan::Id> saved;
    MemoryPlan::Id out = 0;
};

FlashForward plan_flash_forward(MemoryPlan& plan, const AttentionCall& call,
                                const FlashSizes& sizes) {
    FlashForward forward;
    if (sizes.padded) {
        forward.padded = {plan.allocate("padded q", sizes.query),
                          plan.allocate("padded k", sizes.key),
                          plan.allocate("padded v", sizes.key)};
    }
    forward.out = plan.allocate("out", sizes.query);
    forward.saved.push_back(plan.allocate("logsumexp", 4 * sizes.rows));
    std::vector<MemoryPlan::Id> accumulators;
    if (sizes.splits > 1) {
        accumulators = {
            plan.allocate("logsumexp of splits", 4 * sizes.splits * sizes.rows),
            plan.allocate("out of splits", 4 * sizes.splits * sizes.rows * sizes.rounded_dim)};
    }
    const MemoryPlan::Id state = plan.allocate("random state", 16);
    const MemoryPlan::Id unused = plan.allocate("unused scalar", 8);
    if (call.dropout > 0.0) {
        forward.saved.push_back(plan.allocate("random state", 16));
        plan.release(state);
    } else {
        forward.saved.push_back(state);
    }
    forward.saved.push_back(unused);
    for (const MemoryPlan::Id id : accumulators) plan.release(id);
    return forward;
}

void release_all(MemoryPlan& plan, const std::vector<MemoryPlan::Id>& ids) {
    for (const MemoryPlan::Id id : ids) plan.release(id);
}

void plan_backward(MemoryPlan& plan, const AttentionCall& call, const FlashSizes& sizes,
                   const FlashForward& forward, const AttentionBytes& bytes) {
    std::vector<MemoryPlan::Id> copies;
    if (sizes.padded) copies.push_back(plan.allocate("padded grad_out", sizes.query));
    if (sizes.copies) {
        copies.push_back(plan.allocate("grad_out, contiguous", sizes.query));
        copies.push_back(plan.allocate("out, contiguous", sizes.query));
    }
    const MemoryPlan::Id dq = plan.allocate("dq", sizes.query);
    const MemoryPlan::Id dk = plan.allocate("dk", sizes.key);
    const MemoryPlan::Id dv = plan.allocate("dv", sizes.key);
    const MemoryPlan::Id sums = plan.allocate("row sums", 4 * sizes.padded_rows);
    const MemoryPlan::Id accumulator =
        plan.allocate("fp32 dq", 4 * sizes.padded_rows * sizes.rounded_dim);
    if (is_grouped(call.attention)) {
        const MemoryPlan::Id expanded_dk = plan.allocate("dk of every head", sizes.expanded);
        plan.release(plan.allocate("dv of every head", sizes.expanded));
        plan.release(expanded_dk);
    }
    plan.release(accumulator);
    plan.release(sums);
    release_all(plan, copies);
    if (sizes.padded) release_all(plan, {forward.padded[1], forward.padded[0], forward.padded[2]});
    release_all(plan, forward.saved);
    if (!sizes.padded) return;
    // Autograd removes the padding again, in reverse order.
    (void)plan.allocate("dv, cut", bytes.element * bytes.key);
    plan.release(dv);
    (void)plan.allocate("dk, cut", bytes.element * bytes.key);
    plan.release(dk);
    (void)plan.allocate("dq, cut", bytes.element * bytes.query);
    plan.release(dq);
}

}  // namespace

void plan_torch_flash(MemoryPlan& plan, const AttentionCall& call) {
    const FlashSizes sizes(call);
    const AttentionBytes bytes(call);
    const auto inference = [&] {
        const FlashForward made = plan_flash_forward(plan, call, sizes);
        release_all(plan, made.saved);
        release_all(plan, {made.padded.rbegin(), made.padded.rend()});
        plan.release(made.out);
    };
    plan_phases(
        plan, bytes, inference, [&] { return plan_flash_forward(plan, call, sizes); },
        [&](const FlashForward& kept) { plan_backward(plan, call, sizes, kept, bytes); });
}

}  // namespace ridge::model
