// Plans by implementation, and the figures of a plan after it ran through the allocator.
#include "model/footprint/attention_memory.h"

#include <algorithm>
#include <array>
#include <string>

#include "hardware/checked.h"
#include "hardware/error.h"
#include "model/footprint/attention_plans.h"
#include "model/footprint/attention_refusal.h"
#include "model/footprint/attention_sizes.h"
#include "model/machine/features.h"

namespace ridge::model {
namespace {

constexpr std::array software_names{
    std::string_view{"standard"},    std::string_view{"flash1"},
    std::string_view{"flash2"},      std::string_view{"flash3"},
    std::string_view{"torch-flash"}, std::string_view{"torch-efficient"},
    std::string_view{"torch-cudnn"}, std::string_view{"torch-math"}};
constexpr std::array layout_names{std::string_view{"bhnd"}, std::string_view{"bnhd"}};
constexpr std::array mask_names{std::string_view{"none"}, std::string_view{"additive"},
                                std::string_view{"boolean"}};
constexpr std::array mask_shape_names{std::string_view{"matrix"}, std::string_view{"batch"},
                                      std::string_view{"full"}};

template <class Enum, std::size_t count>
Enum parse_name(const std::array<std::string_view, count>& names, std::string_view text,
                const char* field) {
    std::string known;
    for (std::size_t i = 0; i < count; ++i) {
        if (names[i] == text) return static_cast<Enum>(i);
        known += (i == 0 ? "" : i + 1 == count ? " or " : ", ") + std::string(names[i]);
    }
    throw InputError(std::string(field) + " must be " + known + ", got '" + std::string(text) +
                     "'");
}

void plan_inputs(MemoryPlan& plan, const AttentionCall& call) {
    const AttentionBytes bytes(call);
    plan.begin(memory_phase::inputs);
    (void)plan.allocate("q", bytes.query * bytes.element);
    (void)plan.allocate("k", bytes.key * bytes.element);
    (void)plan.allocate("v", bytes.key * bytes.element);
    if (bytes.mask > 0) (void)plan.allocate("mask", bytes.mask_bytes);
}

}  // namespace

AttentionBytes::AttentionBytes(const AttentionCall& call) {
    const Attention& op = call.attention;
    element = size_of(op.type);
    rows = checked_product({{"batch", op.batch}, {"heads", op.heads}, {"seq_q", op.seq_q}});
    query = checked_product({{"rows", rows}, {"head_dim", op.head_dim}});
    const std::int64_t tokens =
        checked_product({{"batch", op.batch}, {"seq_kv", op.seq_kv}, {"head_dim", op.head_dim}});
    key = checked_product({{"tokens", tokens}, {"kv_heads", op.kv_heads}});
    expanded = checked_product({{"tokens", tokens}, {"heads", op.heads}});
    // The largest tensors take 8 bytes per element.
    scores = checked_product({{"rows", rows}, {"seq_kv", op.seq_kv}, {"bytes", 8}}) / 8;
    mask = 0;
    if (call.mask != MaskKind::none) {
        const std::int64_t copies = call.mask_shape == MaskShape::matrix  ? 1
                                    : call.mask_shape == MaskShape::batch ? op.batch
                                                                          : op.batch * op.heads;
        mask = copies * op.seq_q * op.seq_kv;
    }
    mask_bytes = call.mask == MaskKind::boolean ? mask : mask * element;
}

MemoryPlan::Id convert_mask(MemoryPlan& plan, std::int64_t elements, std::int64_t element) {
    const MemoryPlan::Id zero = plan.allocate("zero", element);
    const MemoryPlan::Id infinity = plan.allocate("-infinity", element);
    const MemoryPlan::Id mask = plan.allocate("additive mask", elements * element);
    plan.release(infinity);
    plan.release(zero);
    return mask;
}

AttentionPlan attention_plan(const AttentionCall& call) {
    if (const auto reason = attention_refusal(call)) return NotModelled{*reason};
    MemoryPlan plan;
    plan_inputs(plan, call);
    switch (call.software) {
        case AttentionSoftware::torch_flash:
            plan_torch_flash(plan, call);
            break;
        case AttentionSoftware::torch_efficient:
            plan_torch_efficient(plan, call);
            break;
        case AttentionSoftware::torch_cudnn:
            plan_torch_cudnn(plan, call);
            break;
        case AttentionSoftware::torch_math:
            plan_torch_math(plan, call);
            break;
        default:
            plan_published(plan, call);
            break;
    }
    return plan;
}

AttentionMemory attention_memory(const MemoryTimeline& timeline) {
    const PhaseMemory& inputs = timeline.phase(memory_phase::inputs);
    const PhaseMemory& inference = timeline.phase(memory_phase::inference);
    const PhaseMemory& forward = timeline.phase(memory_phase::forward);
    const PhaseMemory& backward = timeline.phase(memory_phase::backward);
    return {.inputs = inputs.after.allocated,
            .inference_peak = inference.peak.allocated,
            .forward_peak = forward.peak.allocated,
            .forward_saved = forward.after.allocated,
            .backward_peak = backward.peak.allocated,
            .backward_after = backward.after.allocated,
            .reserved_inference = inference.peak.reserved,
            .reserved_forward = forward.peak.reserved,
            .reserved_backward = backward.peak.reserved,
            .total_training = std::max(forward.start_allocated + forward.peak.allocated,
                                       backward.start_allocated + backward.peak.allocated)};
}

std::variant<AttentionMemory, NotModelled> attention_memory(const AttentionCall& call,
                                                            AllocatorOptions options) {
    const AttentionPlan outcome = attention_plan(call);
    if (const auto* refused = std::get_if<NotModelled>(&outcome)) return *refused;
    return attention_memory(replay(std::get<MemoryPlan>(outcome), options));
}

LibraryWorkspace library_workspace(const AttentionCall& call, bool training,
                                   std::int32_t compute_capability) {
    const bool multiplies = call.software == AttentionSoftware::torch_math ||
                            call.software == AttentionSoftware::standard;
    if (!multiplies) return {};
    // eq. V14: 32 MiB from sm_90 on, 2 x 4 MiB and 8 x 16 KiB on older GPUs.
    constexpr std::int64_t large = 4096 * 8 * 1024;
    constexpr std::int64_t small = 4096 * 1024 * 2 + 16 * 1024 * 8;
    return {.cublas_per_thread = features_of(compute_capability).large_workspace ? large : small,
            .threads = training ? 2 : 1};
}

std::string_view name_of(AttentionSoftware software) {
    return software_names[static_cast<std::size_t>(software)];
}
std::string_view name_of(TensorLayout layout) {
    return layout_names[static_cast<std::size_t>(layout)];
}
std::string_view name_of(MaskKind mask) {
    return mask_names[static_cast<std::size_t>(mask)];
}
std::string_view name_of(MaskShape shape) {
    return mask_shape_names[static_cast<std::size_t>(shape)];
}

AttentionSoftware parse_attention_software(std::string_view text) {
    return parse_name<AttentionSoftware>(software_names, text, "impl");
}
TensorLayout parse_tensor_layout(std::string_view text) {
    return parse_name<TensorLayout>(layout_names, text, "layout");
}
MaskKind parse_mask_kind(std::string_view text) {
    return parse_name<MaskKind>(mask_names, text, "mask");
}
MaskShape parse_mask_shape(std::string_view text) {
    return parse_name<MaskShape>(mask_shape_names, text, "mask_shape");
}

}  // namespace ridge::model
