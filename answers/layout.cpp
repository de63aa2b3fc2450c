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
    for (const Checkpoint checkpoint :
         {Checkpoint::none, Checkpoint::selective, Checkpoint::full}) {
        if (!allowed(choice.checkpoint, checkpoint)) continue;
        for (const std::int64_t zero : {3, 2, 1, 0}) {
            if (zero > 0 && layout.copies == 1) continue;
            if (!allowed(choice.zero, zero) && layout.copies > 1) continue;
            layout.checkpoint = checkpoint;
            layout.zero = zero;
            layouts.push_back(layout);
        }
    }
}

}  // namespace

std::vector<Layout> layouts_of(const Architecture& architecture, std::int64_t gpus, Use use,
                               const LayoutChoice& choice) {
    std::vector<Layout> layouts;
    for (std::int64_t tp = 1; tp <= gpus; ++tp) {
        if (gpus % tp != 0 || !allowed(choice.tensor_parallel, tp)) continue;
        if (use == Use::adapters && tp > 1) continue;
        for (std::int64_t ep = 1; ep <= gpus / tp; ++ep) {
            if (gpus / tp % ep != 0 || !allowed(choice.expert_parallel, ep)) continue;
            if (use != Use::serving && ep > 1) continue;
            if (!possible(architecture, tp, ep)) continue;
            const Layout layout{
                .tensor_parallel = tp, .expert_parallel = ep, .copies = gpus / tp / ep};
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
