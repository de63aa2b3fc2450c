// PyTorch's memory-efficient backend, CUTLASS kernels (eq. V26 and V27 of docs/vram.md).
#include <algorithm>
#include <optional>

#include "hardware/checked.h"
#include "model/bundled/launch_grid.h"
#include "model/footprint/attention_memory.h"
#include "model/footprint/attention_plans.h"
#include "model/footprint/attention_sizes.h"

namespace ridge::model {
namespace {

using bundled::rounded_up;

constexpr std::int64_t mask_alignment = 8;  // elements to which rows of a mask are padded

/// The block of queries and keys of the backward kernel for a head dimension.
struct BackwardBlocks {
    std::int64_t queries;
    std::int64_t keys;
    bool accumulates_keys;  ///< dk and dv do not stay in registers: fp32 copies in the workspace
};

BackwardBlocks backward_blocks(std::int64_t element, std::int64_t head_dim) {
    if (head_dim <= 64) return {.queries = 64, .keys = 64, .accumulates_keys = false};
    if (element == 4) return {.queries = 128, .keys = 64, .accumulates_keys = false};
    if (head_dim <= 128) return {.queries = 128, .keys = 128, .accumulates_keys = false};
    return {.queries = 128, .keys = 64, .accumulates_keys = true};
}

/// Workspace of the backward pass: dq tiles with a lock of 16 bytes each, and dk and dv of every
/// split. (eq. V27)
std::int64_t backward_workspace(const Attention& op, std::int64_t element) {
    const BackwardBlocks block = backward_blocks(element, op.head_dim);
    const std::int64_t heads = op.batch * op.heads;
    const std::int64_t tile = 16 + 4 * block.queries * block.keys;
    std::int64_t bytes =
        ceil_divide(op.seq_q, block.queries) * ceil_divide(op.head_dim, block.keys) * tile;
    if (block.accumulates_keys) {
        std::int64_t splits = ceil_divide(op.seq_kv, block.keys);
        if (heads >= 256 && op.seq_kv <= 2 * block.keys) splits = 1;
        splits = std::max<std::int64_t>(1, std::min(splits, 200 / heads));
        bytes += 2 * 4 * splits * block.keys * rounded_up(op.head_dim, block.queries);
    }
    return heads * bytes;
}

struct EfficientForward {
    std::optional<MemoryPlan::Id> mask;
    std::optional<MemoryPlan::Id> logsumexp;
    MemoryPlan::Id out = 0;
};

/// A boolean mask becomes one of q's type; rows that are not multiples of 8 are padded.
std::optional<MemoryPlan::Id> plan_mask(MemoryPlan& plan, const AttentionCall& call,
                                        const AttentionBytes& bytes) {
    if (call.mask == MaskKind::none) return {};
    std::optional<MemoryPlan::Id> mask;
    if (call.mask == MaskKind::boolean) mask = convert_mask(plan, bytes.mask, bytes.element);
    const std::int64_t keys = call.attention.seq_kv;
    if (keys % mask_alignment != 0) {
        const std::int64_t padded = bytes.mask / keys * rounded_up(keys, mask_alignment);
        const MemoryPlan::Id id = plan.allocate("padded mask", padded * bytes.element);
        if (mask) plan.release(*mask);
        mask = id;
    }
    return mask;
}

EfficientForward plan_efficient_forward(MemoryPlan& plan, const AttentionCall& call,
                                        const AttentionBytes& bytes, Autograd autograd) {
    const Attention& op = call.attention;
    EfficientForward forward;
    forward.mask = plan_mask(plan, call, bytes);
    forward.out = plan.allocate("out", bytes.query * bytes.element);
    if (autograd == Autograd::on) {
        forward.logsumexp =
            plan.allocate("logsumexp", 4 * op.batch * op.heads * rounded_up(op.seq_q, 32));
    }
    if (bytes.element == 2 && op.head_dim > 128) plan.touch("fp32 out", 4 * bytes.query);
    return forward;
}

void plan_backward(MemoryPlan& plan, const AttentionCall& call, const AttentionBytes& bytes,
                   const EfficientForward& forward) {
    const Attention& op = call.attention;
    (void)plan.allocate("dq", bytes.query * bytes.element);
    (void)plan.allocate("dk", bytes.key * bytes.element);
    (void)plan.allocate("dv", bytes.key * bytes.element);
    MemoryPlan::Id delta = 0;
    if (bytes.element == 2) {
        delta = plan.allocate("row sums", bytes.statistics());
    } else {
        // grad_out x out, summed over head_dim, then heads before queries.
        const MemoryPlan::Id product = plan.allocate("grad_out x out", 4 * bytes.query);
        delta = plan.allocate("row sums", bytes.statistics());
        if (op.heads > 1 && op.seq_q > 1) {
            const MemoryPlan::Id transposed =
                plan.allocate("row sums, transposed", bytes.statistics());
            plan.release(delta);
            delta = transposed;
        }
        plan.release(product);
    }
    const MemoryPlan::Id workspace =
        plan.allocate("workspace", backward_workspace(op, bytes.element));
    plan.release(delta);
    plan.release(workspace);
    if (forward.mask) plan.release(*forward.mask);
    plan.release(*forward.logsumexp);
}

}  // namespace

void plan_torch_efficient(MemoryPlan& plan, const AttentionCall& call) {
    const AttentionBytes bytes(call);
    const auto inference = [&] {
        const EfficientForward made = plan_efficient_forward(plan, call, bytes, Autograd::off);
        if (made.mask) plan.release(*made.mask);
        plan.release(made.out);
    };
    plan_phases(
        plan, bytes, inference,
        [&] { return plan_efficient_forward(plan, call, bytes, Autograd::on); },
        [&](const EfficientForward& kept) { plan_backward(plan, call, bytes, kept); });
}

}  // namespace ridge::model
