#include "answers/layout.h"

#include <algorithm>
#include <string_view>

#include "hardware/error.h"
#include "programs/model_step.h"

namespace ridge::answers {
namespace {

using programs::Architecture;
using programs::Checkpoint;

template <typename Value>
bool allowed(const std::vector<Value>& values, Value value) {
    return values.empty() || std::find(values.begin(), values.end(), value) != values.end();
}

/// Whether a step can be made with these degrees: they divide heads and experts.
bool possible(const Architecture& architecture, std::int64_t tp, std::int64_t ep) {
    programs::Request request;
    request.seq = 1;
    request.tensor_parallel = tp;
    request.expert_parallel = ep;
    try {
        validate(architecture, request);
    } catch (const InputError&) {
        return false;
    }
    return true;
}

void add_training(std::vector<Layout>& layouts, Layout layout, const LayoutChoice& choice) {
    const bool staged = layout.pipeline > 1;
    const std::int64_t sharers = layout.copies * layout.context_parallel;
    for (const Checkpoint checkpoint :
         {Checkpoint::none, Checkpoint::selective, Checkpoint::full}) {
        if (!allowed(choice.checkpoint, checkpoint)) continue;
        // A pipeline is searched more coarsely: it has micro-batches to choose as well.
        if (staged && checkpoint == Checkpoint::selective && choice.checkpoint.empty()) continue;
        for (const std::int64_t zero : {3, 2, 1, 0}) {
            if (zero > 0 && sharers == 1) continue;
            if (!allowed(choice.zero, zero) && sharers > 1) continue;
            // Stages 2 and 3 would gather weights and gradients again for every micro-batch.
            if (staged && zero > 1) continue;
            if (staged && zero == 0 && sharers > 1 && choice.zero.empty()) continue;
            layout.checkpoint = checkpoint;
            layout.zero = zero;
            layouts.push_back(layout);
        }
    }
}

/// How one kind of parallelism may divide the GPUs that are left.
std::vector<std::int64_t> degrees(std::int64_t gpus, const std::vector<std::int64_t>& choice) {
    std::vector<std::int64_t> found;
    for (std::int64_t each = 1; each <= gpus; ++each) {
        if (gpus % each == 0 && allowed(choice, each)) found.push_back(each);
    }
    return found;
}

/// Adds what is left to decide: stages, shares of a sequence, copies.
void add_rest(std::vector<Layout>& layouts, const Architecture& architecture, std::int64_t gpus,
              Layout layout, Use use, const LayoutChoice& choice, std::int64_t seq) {
    for (const std::int64_t stages : degrees(gpus, choice.pipeline)) {
        if (stages > 1 && (use == Use::adapters || stages > architecture.layers())) continue;
        for (const std::int64_t shares : degrees(gpus / stages, choice.context_parallel)) {
            if (shares > 1 && (use != Use::training || seq % shares != 0)) continue;
            const bool unasked = choice.context_parallel.empty();
            if (shares > 1 && unasked && (seq / shares < least_share || stages > 1)) continue;
            layout.pipeline = stages;
            layout.context_parallel = shares;
            layout.copies = gpus / stages / shares;
            if (!allowed(choice.copies, layout.copies)) continue;
            if (use == Use::serving) {
                layouts.push_back(layout);
            } else if (use == Use::training) {
                add_training(layouts, layout, choice);
            } else {
                add_training(layouts, layout, {.zero = {0}, .checkpoint = choice.checkpoint});
            }
        }
    }
}

}  // namespace

std::vector<Layout> layouts_of(const Architecture& architecture, std::int64_t gpus, Use use,
                               const LayoutChoice& choice, std::int64_t seq) {
    std::vector<Layout> layouts;
    for (const std::int64_t tp : degrees(gpus, choice.tensor_parallel)) {
        if (use == Use::adapters && tp > 1) continue;
        for (const std::int64_t ep : degrees(gpus / tp, choice.expert_parallel)) {
            if (use != Use::serving && ep > 1) continue;
            if (!possible(architecture, tp, ep)) continue;
            const Layout layout{.tensor_parallel = tp, .expert_parallel = ep};
            add_rest(layouts, architecture, gpus / tp / ep, layout, use, choice, seq);
        }
    }
    return layouts;
}

std::string text_of(const Layout& layout) {
    std::string text;
    const auto add = [&text](const std::string& part) {
        text += (text.empty() ? "" : ", ") + part;
    };
    const auto degree = [&add](const char* name, std::int64_t value) {
        if (value > 1) add(std::string(name) + " " + std::to_string(value));
    };
    degree("tp", layout.tensor_parallel);
    degree("ep", layout.expert_parallel);
    degree("pp", layout.pipeline);
    degree("cp", layout.context_parallel);
    degree("dp", layout.copies);
    if (layout.zero > 0) add("ZeRO " + std::to_string(layout.zero));
    if (layout.checkpoint != Checkpoint::none) {
        add(std::string(name_of(layout.checkpoint)) + " checkpoints");
    }
    return text.empty() ? "one GPU" : text;
}

std::string_view name_of(Checkpoint checkpoint) {
    switch (checkpoint) {
        case Checkpoint::none:
            return "none";
        case Checkpoint::selective:
            return "selective";
        case Checkpoint::full:
            break;
    }
    return "full";
}

}  // namespace ridge::answers
