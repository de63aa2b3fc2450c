// PyTorch's cuDNN backend (eq. V28 and V29 of docs/vram.md). cuDNN chooses its workspaces; these
// were read off traces of cuDNN 9.19 on an H200 and an H100.
#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "hardware/checked.h"
#include "model/footprint/attention_memory.h"
#include "model/footprint/attention_plans.h"
#include "model/footprint/attention_sizes.h"

namespace ridge::model {
namespace {

constexpr std::int64_t alignment = 128;  // of the buffers in a workspace
constexpr std::int64_t header = 256;

std::int64_t aligned(std::int64_t bytes) {
    return ceil_divide(bytes, alignment) * alignment;
}

/// Number of parts into which the keys of one query are cut: a power of two from 4 to 64, the
/// largest for which the parts fill the multiprocessors at most twice and hold at least 128 keys; 1
/// means they are not cut.
std::int64_t decode_splits(const AttentionCall& call) {
    const Attention& op = call.attention;
    if (op.seq_q != 1 || op.causal) return 1;
    const std::int64_t most =
        std::min({std::int64_t{64}, 2 * call.multiprocessors / (op.batch * op.kv_heads),
                  (op.seq_kv - 1) / 128});
    if (most < 4) return 1;
    return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(most)));
}

/// Workspace of the forward pass. (eq. V28)
std::int64_t forward_workspace(const AttentionCall& call, const AttentionBytes& bytes) {
    if (call.attention.seq_q > 1) return header;
    const std::int64_t splits = decode_splits(call);
    if (splits == 1) return 0;
    return aligned(4 * splits * bytes.query) + 2 * aligned(4 * splits * bytes.rows) + alignment;
}

/// Workspace of the backward pass: dq in fp32 and row sums, and dk and dv of every head if heads
/// are grouped. (eq. V29)
std::int64_t backward_workspace(const AttentionCall& call, const AttentionBytes& bytes) {
    std::int64_t workspace = 4 * bytes.query + bytes.statistics() + header;
    if (is_grouped(call.attention)) workspace += 2 * aligned(2 * bytes.expanded);
    return workspace;
}

struct CudnnForward {
    std::optional<MemoryPlan::Id> mask;
    std::optional<MemoryPlan::Id> logsumexp;
    std::vector<MemoryPlan::Id> random;  ///< seed and offset
    MemoryPlan::Id out = 0;
};

CudnnForward plan_cudnn_forward(MemoryPlan& plan, const AttentionCall& call,
                                const AttentionBytes& bytes, Autograd autograd) {
    CudnnForward forward;
    if (call.mask == MaskKind::boolean) {
        forward.mask = convert_mask(plan, bytes.mask, bytes.element);
    }
    forward.random = {plan.allocate("seed", 8), plan.allocate("offset", 8)};
    forward.out = plan.allocate("out", bytes.query * bytes.element);
    if (autograd == Autograd::on)
        forward.logsumexp = plan.allocate("logsumexp", bytes.statistics());
    if (const std::int64_t workspace = forward_workspace(call, bytes); workspace > 0) {
        plan.touch("workspace", workspace);
    }
    return forward;
}

}  // namespace

void plan_torch_cudnn(MemoryPlan& plan, const AttentionCall& call) {
    const AttentionBytes bytes(call);
    const auto inference = [&] {
        const CudnnForward made = plan_cudnn_forward(plan, call, bytes, Autograd::off);
        for (const MemoryPlan::Id id : made.random) plan.release(id);
        if (made.mask) plan.release(*made.mask);
        plan.release(made.out);
    };
    const auto forward = [&] { return plan_cudnn_forward(plan, call, bytes, Autograd::on); };
    const auto backward = [&](const CudnnForward& kept) {
        (void)plan.allocate("dq", bytes.query * bytes.element);
        (void)plan.allocate("dk", bytes.key * bytes.element);
        (void)plan.allocate("dv", bytes.key * bytes.element);
        plan.touch("workspace", backward_workspace(call, bytes));
        if (kept.mask) plan.release(*kept.mask);
        plan.release(*kept.logsumexp);
        for (const MemoryPlan::Id id : kept.random) plan.release(id);
    };
    plan_phases(plan, bytes, inference, forward, backward);
}

}  // namespace ridge::model
