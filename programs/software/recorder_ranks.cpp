// The part of the recorder that several GPUs need: collectives, what waits for them, and the reduction of
// gradients.
#include <utility>

#include "programs/software/recorder.h"

namespace ridge::programs {

using model::DataType;

void Recorder::order(std::int32_t kernel, bool own_stream) {
    if (!options_.training) return;
    const auto index = static_cast<std::int32_t>(order_.size());
    Ordered launch{.kernel = kernel, .layer = layer_};
    if (own_stream) {
        launch.after = gate_ == ungated ? last_kernel_ : gate_;
        last_collective_ = index;
    } else {
        launch.after = std::exchange(awaited_, -1);
        last_kernel_ = index;
    }
    order_.push_back(launch);
}

void Recorder::collective(model::CollectiveKind kind, std::int64_t bytes, std::int64_t gpus,
                          std::string_view name, Stream stream) {
    if (gpus < 2 || bytes == 0 || reused_ != nullptr) return;
    const Module before = std::exchange(module_, Module::communication);
    launch({.kind = KernelKind::collective,
            .a = bytes,
            .b = gpus,
            .c = static_cast<std::int64_t>(kind),
            .d = stream == Stream::own ? 0 : 1,
            .name = name});
    module_ = before;
}

Buffer Recorder::enter_shards(Buffer x, std::int64_t gpus, std::string_view name) {
    if (gpus < 2 || !records(x)) return x;
    Buffer view(this, new_value(x.elements(), value(x).type, value(x).storage, true), x.dense());
    if (TapeEntry* const entry = note(Step::enter_shards, view, name, {&x})) {
        entry->sizes[0] = gpus;
    }
    return view;
}

Buffer Recorder::all_gathered(Buffer x, std::int64_t gpus, std::string_view name) {
    if (gpus < 2) return x;
    Buffer out = allocate(x.elements() * gpus, x.type(), name);
    collective(model::CollectiveKind::all_gather, out.elements() * model::size_of(x.type()), gpus,
               name);
    // Each GPU takes its part of the gradient.
    if (TapeEntry* const entry = note(Step::cat, out, name, {&x})) {
        entry->sizes = {x.elements(), out.elements() - x.elements(), 0, 0};
    }
    return out;
}

/// Gradients of GPUs that each have their own data are summed: in buckets, into which each is copied,
/// or, if ZeRO distributes them, those of a layer together, of which this GPU keeps its part. A weight
/// that is used twice is sent once.
Buffer Recorder::reduced(Buffer gradient, bool again) {
    if (options_.data_parallel < 2) return gradient;
    const bool of_layer = options_.zero < 2 || (layer_ >= 0 && layer_ < options_.layers);
    if (!again) {
        (of_layer ? unreduced_bytes_ : unreduced_rest_) +=
            gradient.elements() * model::size_of(gradient.type());
    }
    if (options_.zero < 2) {
        if (again) return gradient;
        elementwise(Math::multiply_scalar, gradient.elements(), 1, Reading::vectors,
                    gradient.type(), gradient.type(), "gradients: into buckets");
        if (unreduced_bytes_ >= (reduces_ ? options_.bucket : options_.first_bucket)) {
            reduce_bucket();
        }
        return gradient;
    }
    return allocate(ceil_divide(gradient.elements(), options_.data_parallel), gradient.type(),
                    "part of a gradient");
}

void Recorder::copied(std::int64_t bytes, std::string_view name) {
    constexpr DataType moved = DataType::bf16;
    const Module before = std::exchange(module_, Module::other);
    elementwise(Math::copy, bytes / model::size_of(moved), 1, Reading::vectors, moved, moved, name);
    module_ = before;
}

void Recorder::reduce_bucket() {
    const std::int64_t bytes = std::exchange(unreduced_bytes_, 0);
    if (bytes == 0) return;
    collective(model::CollectiveKind::all_reduce, bytes, options_.data_parallel,
               "gradients: all_reduce", Stream::own);
    reduces_ = true;
}

/// The gradients of a layer are copied together, once the scatter before has ended, and reduced.
void Recorder::reduce_layer() {
    if (options_.zero < 2 || unreduced_bytes_ == 0) return;
    const std::int64_t bytes = std::exchange(unreduced_bytes_, 0);
    const std::int32_t gate = std::exchange(gate_, ungated);
    awaited_ = last_reduced_;
    copied(bytes, "gradients: together");
    collective(model::CollectiveKind::reduce_scatter, bytes, options_.data_parallel,
               "gradients: reduce_scatter", Stream::own);
    last_reduced_ = last_collective_;
    gate_ = gate;
}

}  // namespace ridge::programs
