// PyTorch's math backend: operators of eager PyTorch in fp32 (eq. V30 to V32 of docs/vram.md).
//
// 16-bit inputs are cast to fp32. q and the transposed k are scaled before the product, and k and v
// are repeated for grouped heads. A product copies an operand whose batch and heads cannot be
// merged into one dimension. Scores and probabilities are fp32.
#include <optional>

#include "model/footprint/attention_memory.h"
#include "model/footprint/attention_plans.h"
#include "model/footprint/attention_sizes.h"

namespace ridge::model {
namespace {

using Id = MemoryPlan::Id;
using Tensor = std::optional<Id>;  // absent: it is another tensor or was never made

class MathPlan {
  public:
    MathPlan(MemoryPlan& plan, const AttentionCall& call, Autograd autograd)
        : plan_(plan),
          call_(call),
          bytes_(call),
          autograd_(autograd),
          casts_(bytes_.element == 2),
          grouped_(is_grouped(call.attention)) {}

    void inference() {
        make_operands();
        multiply();
        drop(k_copy_);
        drop(q_copy_);
        drop(k_scaled_);
        weigh();
        drop(dropout_mask_);
        if (dropped_) {
            drop(probabilities_);
            probabilities_.swap(dropped_);
        }
        finish();
        drop(v_copy_);
        cast_output();
        if (casts_) drop(probabilities_);
        drop(v_repeated_);
        drop(k_repeated_);
        drop(q_scaled_);
        release_inputs();
        drop(out_);
    }

    /// Leaves the tensors that autograd saves.
    void forward() {
        make_operands();
        multiply();
        if (k_copy_) drop(k_scaled_);
        weigh();
        finish();
        cast_output();
        drop(k_repeated_);
        if (q_copy_) drop(q_scaled_);
        release_inputs();
    }

    void backward() {
        Tensor grad;
        if (casts_) grad = take("fp32 grad_out", 4 * bytes_.query);
        Tensor dv = take("fp32 dv", 4 * bytes_.expanded);
        Tensor d_probabilities = take("d probabilities", 4 * bytes_.scores);
        drop(grad);
        drop(v_copy_ ? v_copy_ : v_repeated_ ? v_repeated_ : v_);
        if (dropped_) {
            drop(dropped_);
            Tensor undropped = take("d probabilities, undropped", 4 * bytes_.scores);
            drop(d_probabilities);
            drop(dropout_mask_);
            d_probabilities.swap(undropped);
        }
        Tensor d_scores = take("d scores", 4 * bytes_.scores);
        Tensor product = take("gradient x probabilities", 4 * bytes_.scores);
        drop(product);
        drop(d_probabilities);
        drop(probabilities_);
        backward_of_operands(d_scores, dv);
    }

  private:
    Tensor take(std::string_view name, std::int64_t bytes) { return plan_.allocate(name, bytes); }
    void drop(Tensor& tensor) {
        if (tensor) plan_.release(*tensor);
        tensor.reset();
    }

    void make_operands() {
        if (call_.mask == MaskKind::boolean) {
            mask_ = convert_mask(plan_, bytes_.mask, bytes_.element);
        }
        if (casts_) {
            q_ = take("fp32 q", 4 * bytes_.query);
            k_ = take("fp32 k", 4 * bytes_.key);
            v_ = take("fp32 v", 4 * bytes_.key);
        }
        q_scaled_ = take("scaled q", 4 * bytes_.query);
        if (call_.attention.causal) make_causal_mask();
        if (grouped_) {
            k_repeated_ = take("k of every head", 4 * bytes_.expanded);
            v_repeated_ = take("v of every head", 4 * bytes_.expanded);
        }
        k_scaled_ = take("scaled k", 4 * bytes_.expanded);
    }

    void make_causal_mask() {
        const std::int64_t elements = call_.attention.seq_q * call_.attention.seq_kv;
        Tensor ones = take("ones", elements);
        Tensor triangle = take("triangle", elements);
        drop(ones);
        causal_mask_ = convert_mask(plan_, elements, 4);
        drop(triangle);
    }

    /// Whether a product has to copy an operand of `seq` rows because batch and heads do not merge.
    [[nodiscard]] bool copied(std::int64_t seq) const {
        return is_transposed(call_.attention, call_.layout, seq) && call_.attention.batch > 1;
    }

    void multiply() {
        if (copied(call_.attention.seq_q)) q_copy_ = take("scaled q, copied", 4 * bytes_.query);
        if (!grouped_ && copied(call_.attention.seq_kv)) {
            k_copy_ = take("scaled k, copied", 4 * bytes_.expanded);
        }
        scores_ = take("scores", 4 * bytes_.scores);
    }

    /// Softmax that gives zeros for rows without any key, and dropout.
    void weigh() {
        probabilities_ = take("probabilities", 4 * bytes_.scores);
        Tensor masked = take("masked", bytes_.scores);
        Tensor masked_rows = take("masked rows", bytes_.rows);
        plan_.touch("zero", 4);
        drop(masked_rows);
        drop(masked);
        drop(scores_);
        if (call_.dropout > 0.0) {
            dropout_mask_ = take("dropout mask", bytes_.scores);
            dropped_ = take("dropped probabilities", 4 * bytes_.scores);
        }
    }

    void finish() {
        if (casts_) weights_ = take("weights in q's type", bytes_.element * bytes_.scores);
        if (!grouped_ && copied(call_.attention.seq_kv)) {
            v_copy_ = take("v, copied", 4 * bytes_.expanded);
        }
        out_ = take(casts_ ? "fp32 out" : "out", 4 * bytes_.query);
    }

    void cast_output() {
        if (!casts_) return;
        Tensor out = take("out", bytes_.element * bytes_.query);
        drop(out_);
        out_.swap(out);
    }

    /// Releases the casts of the inputs, the mask and the weights that the operator also returns.
    void release_inputs() {
        drop(causal_mask_);
        const bool saves_v = autograd_ == Autograd::on && !grouped_ && !v_copy_;
        if (!saves_v) drop(v_);
        drop(k_);
        drop(q_);
        drop(weights_);
        if (autograd_ == Autograd::off) drop(probabilities_);
        drop(mask_);
    }

    void backward_of_operands(Tensor& d_scores, Tensor& dv) {
        Tensor dk = take("fp32 dk, scaled", 4 * bytes_.expanded);
        Tensor dq = take("fp32 dq, scaled", 4 * bytes_.query);
        drop(d_scores);
        drop(k_copy_ ? k_copy_ : k_scaled_);
        drop(q_copy_ ? q_copy_ : q_scaled_);
        exchange(dk, "fp32 dk", 4 * bytes_.expanded);
        if (grouped_) {
            exchange(dv, "dv, summed over groups", 4 * bytes_.key);
            exchange(dk, "dk, summed over groups", 4 * bytes_.key);
        }
        exchange(dq, "fp32 dq", 4 * bytes_.query);
        if (!casts_) return;
        exchange(dv, "dv", bytes_.element * bytes_.key);
        exchange(dk, "dk", bytes_.element * bytes_.key);
        exchange(dq, "dq", bytes_.element * bytes_.query);
    }

    void exchange(Tensor& tensor, std::string_view name, std::int64_t bytes) {
        Tensor made = take(name, bytes);
        drop(tensor);
        tensor.swap(made);
    }

    MemoryPlan& plan_;
    const AttentionCall& call_;
    AttentionBytes bytes_;
    Autograd autograd_;
    bool casts_;
    bool grouped_;
    Tensor mask_, causal_mask_, q_, k_, v_, q_scaled_, k_scaled_, k_repeated_, v_repeated_, q_copy_,
        k_copy_;
    Tensor v_copy_, scores_, probabilities_, dropout_mask_, dropped_, weights_, out_;
};

}  // namespace

void plan_torch_math(MemoryPlan& plan, const AttentionCall& call) {
    const auto forward = [&] {
        MathPlan training(plan, call, Autograd::on);
        training.forward();
        return training;
    };
    plan_phases(
        plan, AttentionBytes(call), [&] { MathPlan(plan, call, Autograd::off).inference(); },
        forward, [](MathPlan& training) { training.backward(); });
}

}  // namespace ridge::model
