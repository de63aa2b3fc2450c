// The plans of each implementation, called by attention_plan(), which has made the phase `inputs`.
//
// Each adds the phases inference, forward, grad_out and backward. The implementation accepts the
// call (attention_refusal.h).
#pragma once

#include "model/allocator/memory_plan.h"
#include "model/footprint/attention_call.h"

namespace ridge::model {

void plan_published(MemoryPlan& plan, const AttentionCall& call);        // eq. V20 to V22
void plan_torch_flash(MemoryPlan& plan, const AttentionCall& call);      // eq. V24, V25
void plan_torch_efficient(MemoryPlan& plan, const AttentionCall& call);  // eq. V26, V27
void plan_torch_cudnn(MemoryPlan& plan, const AttentionCall& call);      // eq. V28, V29
void plan_torch_math(MemoryPlan& plan, const AttentionCall& call);       // eq. V30 to V32

}  // namespace ridge::model
