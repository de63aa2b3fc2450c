// Compares plans with a limit (eq. V14, V15 of docs/vram.md).
#include "model/footprint/memory_fit.h"

#include <algorithm>
#include <array>
#include <vector>

namespace ridge::model {
namespace {

constexpr std::int64_t most_size = std::int64_t{1} << 40;
constexpr std::int64_t tried_beyond = 256;  // sizes above the boundary

enum class Answer : std::uint8_t { fits, too_large, refused };

bool is_wanted(std::string_view phase, MemoryPasses passes) {
    if (phase == memory_phase::inputs) return true;
    switch (passes) {
        case MemoryPasses::inference:
            return phase == memory_phase::inference;
        case MemoryPasses::forward:
            return phase == memory_phase::forward;
        case MemoryPasses::training:
            return phase != memory_phase::inference;
    }
    return false;
}

/// Whether the bytes can be counted at all: doubles far below the limit of 64 bits.
bool is_countable(const AttentionCall& call) {
    const Attention& op = call.attention;
    const double scores = static_cast<double>(op.batch) * static_cast<double>(op.heads) *
                          static_cast<double>(op.seq_q) * static_cast<double>(op.seq_kv);
    const double tensors = static_cast<double>(op.batch) * static_cast<double>(op.heads) *
                           static_cast<double>(op.seq_q + op.seq_kv) *
                           static_cast<double>(op.head_dim + 64);
    return scores < 1e15 && tensors < 1e15;
}

Answer answer_for(const AttentionCall& call, MemoryPasses passes, const AllocatorOptions& options) {
    // Kernels without a score matrix can still be asked about very long sequences.
    if (!is_countable(call)) return Answer::too_large;
    const AttentionPlan plan = attention_plan(call);
    if (std::holds_alternative<NotModelled>(plan)) return Answer::refused;
    const MemoryTimeline timeline = replay(plan_of(std::get<MemoryPlan>(plan), passes), options);
    return timeline.fits ? Answer::fits : Answer::too_large;
}

}  // namespace

MemoryPlan plan_of(const MemoryPlan& all, MemoryPasses passes) {
    MemoryPlan plan;
    std::vector<MemoryPlan::Id> ids(all.allocations().size(), 0);
    for (const MemoryPlan::Phase& phase : all.phases()) {
        if (!is_wanted(phase.name, passes)) continue;
        plan.begin(phase.name, phase.cache);
        for (std::size_t i = phase.first; i < phase.last; ++i) {
            const MemoryPlan::Step& step = all.steps()[i];
            const MemoryPlan::Allocation& allocation = all.allocations()[step.allocation];
            if (step.takes) {
                ids[step.allocation] = plan.allocate(allocation.name, allocation.bytes);
            } else {
                plan.release(ids[step.allocation]);
            }
        }
    }
    return plan;
}

AttentionCall resized(const AttentionCall& call, FitDimension dimension, std::int64_t size) {
    AttentionCall sized = call;
    switch (dimension) {
        case FitDimension::seq:
            sized.attention.seq_q = size;
            sized.attention.seq_kv = size;
            break;
        case FitDimension::seq_kv:
            sized.attention.seq_kv = size;
            break;
        case FitDimension::batch:
            sized.attention.batch = size;
            break;
        case FitDimension::heads:
            sized.attention.kv_heads = size;
            sized.attention.heads = size * (call.attention.heads / call.attention.kv_heads);
            break;
    }
    return sized;
}

Largest largest_that_fits(const AttentionCall& call, FitDimension dimension, MemoryPasses passes,
                          const AllocatorOptions& options) {
    const auto answer = [&](std::int64_t size) {
        return answer_for(resized(call, dimension, size), passes, options);
    };
    // A backend may refuse only the smallest sizes (cuDNN does not take a single key).
    std::int64_t smallest = 1;
    while (smallest < 8 && answer(smallest) == Answer::refused) ++smallest;
    if (answer(smallest) == Answer::refused) {
        const AttentionPlan plan = attention_plan(resized(call, dimension, smallest));
        return {.refused = std::get<NotModelled>(plan).reason};
    }
    if (answer(smallest) != Answer::fits) return {};
    std::int64_t fits = smallest;
    std::int64_t beyond = 2 * smallest;
    while (beyond < most_size && answer(beyond) == Answer::fits) {
        fits = beyond;
        beyond *= 2;
    }
    if (beyond >= most_size) return {.size = fits, .refused = {}, .unbounded = true};
    while (beyond - fits > 1) {
        const std::int64_t middle = fits + (beyond - fits) / 2;
        (answer(middle) == Answer::fits ? fits : beyond) = middle;
    }
    for (std::int64_t size = fits + 1; size <= fits + tried_beyond; ++size) {
        if (answer(size) == Answer::fits) fits = size;
    }
    const std::int64_t group =
        dimension == FitDimension::heads ? call.attention.heads / call.attention.kv_heads : 1;
    return {.size = fits * group, .refused = {}};
}

UsableMemory usable_memory(const hardware::Description& gpu) {
    constexpr std::int64_t unit = 2 << 20;  // of cudaMalloc
    const auto measured = gpu.quantity<Bytes>("dram.usable");
    const Bytes estimate = gpu.value("model.laws.usable").value_or(1.0) *
                           gpu.quantity<Bytes>("dram.capacity").value_or(Bytes{});
    constexpr double most = 0x1p62;  // more than any counts of bytes here
    const double bytes = std::clamp(measured.value_or(estimate).base(), 0.0, most);
    return {.bytes = static_cast<std::int64_t>(bytes) / unit * unit,
            .measured = measured.has_value()};
}

std::string_view name_of(MemoryPasses passes) {
    constexpr std::array names{std::string_view{"inference"}, std::string_view{"forward"},
                               std::string_view{"training"}};
    return names[static_cast<std::size_t>(passes)];
}

std::string_view name_of(FitDimension dimension) {
    constexpr std::array names{std::string_view{"seq"}, std::string_view{"seq_kv"},
                               std::string_view{"batch"}, std::string_view{"heads"}};
    return names[static_cast<std::size_t>(dimension)];
}

}  // namespace ridge::model
