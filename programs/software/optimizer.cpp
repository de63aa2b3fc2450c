// The optimizer step: torch.optim.AdamW with its default foreach kernels.
#include <algorithm>
#include <array>

#include "hardware/checked.h"
#include "programs/software/model_run.h"

namespace ridge::programs {
namespace {

/// Number of multi_tensor_apply launches for tensors of these sizes: a launch takes up to 320
/// chunks of 65536 elements, and as many tensors as its arguments hold
/// (ATen/native/cuda/MultiTensorApply.cuh).
std::int64_t launches(const std::vector<std::int64_t>& sizes, std::int64_t most_tensors) {
    constexpr std::int64_t chunk = 65536;
    constexpr std::int64_t most_chunks = 320;
    std::int64_t count = 0;
    std::int64_t tensors = 0;
    std::int64_t chunks = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        ++tensors;
        std::int64_t left = ceil_divide(sizes[i], chunk);
        while (left > 0) {
            const std::int64_t taken = std::min(left, most_chunks - chunks);
            left -= taken;
            chunks += taken;
            const bool tensors_full = tensors == most_tensors && left == 0;
            const bool last = i + 1 == sizes.size() && left == 0;
            if (!tensors_full && chunks < most_chunks && !last) continue;
            ++count;
            chunks = 0;
            // A tensor that is not finished continues in the next launch.
            tensors = left == 0 ? 0 : 1;
        }
    }
    return count;
}

struct Foreach {
    const char* name;
    std::int8_t tensors;        ///< read and written
    std::int64_t most_tensors;  ///< per launch
    bool makes = false;         ///< a list of new tensors, which live until the step ends
};

// _multi_tensor_adamw of torch 2.11; the limit on tensors depends on how many lists a kernel takes.
constexpr std::array<Foreach, 8> adamw{{{"adamw: weight decay", 2, 110},
                                        {"adamw: lerp", 3, 64},
                                        {"adamw: beta", 2, 110},
                                        {"adamw: addcmul", 3, 48},
                                        {"adamw: sqrt", 2, 64, true},
                                        {"adamw: bias", 2, 96},
                                        {"adamw: eps", 2, 110},
                                        {"adamw: addcdiv", 4, 48}}};

}  // namespace

void ModelRun::update() {
    if (request_.optimizer == Optimizer::none) return;
    run_.begin(model_phase::update);
    run_.purpose(Purpose::optimizer);
    run_.update_pass();
    run_.enter(Module::optimizer, -1);
    const model::DataType type = stored_type();
    std::vector<std::int64_t> sizes;
    std::int64_t elements = 0;
    for (const Buffer& parameter : run_.parameters()) {
        sizes.push_back(own_part(parameter.elements()));
        elements += sizes.back();
    }
    gathered_.reset();
    gathered_rest_.reset();
    std::vector<Buffer> roots;
    for (const Foreach& each : adamw) {
        if (each.makes) {
            for (const std::int64_t size : sizes) {
                roots.push_back(run_.allocate(size, type, "roots of the second moments"));
            }
        }
        const std::int64_t count = launches(sizes, each.most_tensors);
        run_.launch({.kind = KernelKind::optimizer,
                     .in = type,
                     .out = type,
                     .inputs = each.tensors,
                     .launches = static_cast<std::int16_t>(count),
                     .a = elements,
                     .name = each.name});
    }
    // Each GPU sends the weights that it has updated; with ZeRO 2 and 3 that is the next step's gather.
    if (request_.zero != 1) return;
    for (const Buffer& parameter : run_.parameters()) {
        run_.collective(model::CollectiveKind::broadcast,
                        parameter.elements() * model::size_of(type), request_.data_parallel,
                        "weights: broadcast", Stream::own);
    }
    run_.await_collective();
}

}  // namespace ridge::programs
