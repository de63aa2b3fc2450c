// Standard attention and the kernels of the FlashAttention papers (eq. V20 to V22 of docs/vram.md).
// The sums are those of eq. V1 to V3; the lifetimes of the tensors within a pass are assumptions of
// ridge.
#include <optional>
#include <vector>

#include "model/attention/blocks.h"
#include "model/bundled/launch_grid.h"
#include "model/footprint/attention_memory.h"
#include "model/footprint/attention_plans.h"
#include "model/footprint/attention_sizes.h"

namespace ridge::model {
namespace {

using bundled::rounded_up;

using Id = MemoryPlan::Id;

void release_all(MemoryPlan& plan, std::vector<Id>& ids) {
    for (const Id id : ids) plan.release(id);
    ids.clear();
}

/// The passes of one implementation. Each adds its tensors and gives back those that it does not
/// keep.
class PublishedPlan {
  public:
    PublishedPlan(MemoryPlan& plan, const AttentionCall& call)
        : plan_(plan), call_(call), bytes_(call) {}

    void inference() {
        forward_tensors();
        const Id out = plan_.allocate("out", bytes_.query * bytes_.element);
        release_all(plan_, scratch_);
        release_all(plan_, saved_);
        plan_.release(out);
    }

    void forward() {
        forward_tensors();
        (void)plan_.allocate("out", bytes_.query * bytes_.element);
        release_all(plan_, scratch_);
    }

    void backward() {
        backward_tensors();
        (void)plan_.allocate("dq", bytes_.query * bytes_.element);
        (void)plan_.allocate("dk", bytes_.key * bytes_.element);
        (void)plan_.allocate("dv", bytes_.key * bytes_.element);
        release_all(plan_, scratch_);
        release_all(plan_, saved_);
    }

  private:
    void save(std::string_view name, std::int64_t bytes) {
        saved_.push_back(plan_.allocate(name, bytes));
    }
    void scratch(std::string_view name, std::int64_t bytes) {
        scratch_.push_back(plan_.allocate(name, bytes));
    }

    [[nodiscard]] bool accumulates() const {
        const Attention& op = call_.attention;
        return op.seq_kv > attention_blocks(op, Implementation::flash1, {}).kv;
    }

    void forward_tensors() {
        const std::int64_t matrix = bytes_.scores * bytes_.element;
        if (call_.software == AttentionSoftware::standard) {
            save("scores", matrix);
            save("probabilities", matrix);
            if (call_.dropout > 0.0) {
                save("dropout mask", bytes_.scores);
                save("dropped probabilities", matrix);
            }
            return;
        }
        save("logsumexp", bytes_.statistics());
        if (call_.dropout > 0.0) save("random state", 16);
        if (call_.software != AttentionSoftware::flash1) return;
        if (is_grouped(call_.attention)) {
            scratch("k, v of every head", 2 * bytes_.expanded * bytes_.element);
        }
        if (accumulates()) scratch("fp32 out", 4 * bytes_.query);
    }

    void backward_tensors() {
        const std::int64_t tensor = bytes_.query * bytes_.element;
        switch (call_.software) {
            case AttentionSoftware::standard:
                scratch("layout copies", 2 * tensor);
                scratch("d probabilities", bytes_.scores * bytes_.element);
                scratch("d scores", bytes_.scores * bytes_.element);
                return;
            case AttentionSoftware::flash1:
                scratch("layout copies", 3 * tensor);
                scratch("row sums", bytes_.statistics());
                if (accumulates()) scratch("fp32 dq", 4 * bytes_.query);
                if (is_grouped(call_.attention)) {
                    scratch("k, v of every head", 2 * bytes_.expanded * bytes_.element);
                    scratch("dk, dv of every head", 2 * bytes_.expanded * bytes_.element);
                }
                return;
            default:
                flash_scratch(call_.software == AttentionSoftware::flash3);
        }
    }

    void flash_scratch(bool is_flash3) {
        const Attention& op = call_.attention;
        const std::int64_t dim = rounded_up(op.head_dim, op.head_dim <= 128 ? 32 : 64);
        const std::int64_t rows = op.batch * op.heads * rounded_up(op.seq_q, 128);
        scratch("row sums", 4 * rows);
        scratch("fp32 dq", 4 * rows * dim);
        if (is_flash3) scratch("logsumexp in base 2", 4 * rows);
        if (!is_grouped(op)) return;
        if (is_flash3) {
            const std::int64_t keys = op.batch * op.kv_heads * rounded_up(op.seq_kv, 128);
            scratch("fp32 dk, dv", 8 * keys * dim);
        } else {
            scratch("dk, dv of every head", 2 * bytes_.expanded * bytes_.element);
        }
    }

    MemoryPlan& plan_;
    const AttentionCall& call_;
    AttentionBytes bytes_;
    std::vector<Id> saved_;
    std::vector<Id> scratch_;
};

}  // namespace

void plan_published(MemoryPlan& plan, const AttentionCall& call) {
    const auto forward = [&] {
        PublishedPlan training(plan, call);
        training.forward();
        return training;
    };
    plan_phases(
        plan, AttentionBytes(call), [&] { PublishedPlan(plan, call).inference(); }, forward,
        [](PublishedPlan& training) { training.backward(); });
}

}  // namespace ridge::model
