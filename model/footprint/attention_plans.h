// The plans of each implementation. attention_plan() calls them after it has made the phase
// `inputs`.
//
// Each plan adds the phases inference, forward, grad_out and backward (`plan_phases`). The
// implementation must accept the call (attention_refusal.h).
#pragma once

#include "model/allocator/memory_plan.h"
#include "model/footprint/attention_call.h"
#include "model/footprint/attention_memory.h"
#include "model/footprint/attention_sizes.h"

namespace ridge::model {

void plan_published(MemoryPlan& plan, const AttentionCall& call);        // eq. V20 to V22
void plan_torch_flash(MemoryPlan& plan, const AttentionCall& call);      // eq. V24, V25
void plan_torch_efficient(MemoryPlan& plan, const AttentionCall& call);  // eq. V26, V27
void plan_torch_cudnn(MemoryPlan& plan, const AttentionCall& call);      // eq. V28, V29
void plan_torch_math(MemoryPlan& plan, const AttentionCall& call);       // eq. V30 to V32

/// Adds a call without autograd, then one with autograd and its backward pass. The cache is emptied
/// before each, and the gradient of the result is made in between. `backward` receives what
/// `forward` returned.
template <class Inference, class Forward, class Backward>
void plan_phases(MemoryPlan& plan, const AttentionBytes& bytes, const Inference& inference,
                 const Forward& forward, const Backward& backward) {
    plan.begin(memory_phase::inference, CacheBefore::emptied);
    inference();
    plan.begin(memory_phase::forward, CacheBefore::emptied);
    auto kept = forward();
    plan.begin(memory_phase::grad_output);
    (void)plan.allocate("grad_out", bytes.query * bytes.element);
    plan.begin(memory_phase::backward, CacheBefore::emptied);
    backward(kept);
}

}  // namespace ridge::model
