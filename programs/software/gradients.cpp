// The backward half of the recorder: the kernels of PyTorch's gradients (derivatives.yaml).
#include <algorithm>
#include <utility>

#include "programs/graph/eager_kernels.h"
#include "programs/software/recorder.h"

namespace ridge::programs {

using model::DataType;

void Recorder::accumulate(std::int32_t id, Buffer gradient) {
    if (id < 0 || !gradient) return;
    if (gradients_.size() < values_.size()) gradients_.resize(values_.size());
    Buffer& there = gradients_[static_cast<std::size_t>(id)];
    if (values_[static_cast<std::size_t>(id)].leaf) {
        gradient = reduced(std::move(gradient), static_cast<bool>(there));
    }
    // A sum in fp32 is converted back to the type of the tensor that it is the gradient of.
    gradient =
        cast(std::move(gradient), values_[static_cast<std::size_t>(id)].type, "gradient: back");
    const bool leaf = values_[static_cast<std::size_t>(id)].leaf;
    if (leaf) mark(gradient, Purpose::gradient);
    if (!there) {
        there = std::move(gradient);
        return;
    }
    // A weight that is used twice (tied to the embedding) needs a third tensor for the sum.
    Buffer sum;
    if (leaf && !options_.fused) {
        sum = allocate(gradient.elements(), gradient.type(), "sum of gradients");
    }
    pointwise(Math::add, gradient.elements(), 2,
              there.dense() && gradient.dense() ? Reading::vectors : Reading::indexed,
              gradient.type(), gradient.type(), "sum of gradients");
    if (sum) there = std::move(sum);
}

Buffer Recorder::take_gradient(std::int32_t id) {
    if (static_cast<std::size_t>(id) >= gradients_.size()) return {};
    return std::move(gradients_[static_cast<std::size_t>(id)]);
}

void Recorder::backward(Buffer loss) {
    pass_ = Pass::backward;
    taping_ = false;
    gradients_.resize(values_.size());
    accumulate(loss.id_, made(Math::fill, 1, loss.type(), "gradient of the loss"));
    loss.reset();
    while (!tape_.empty()) {
        TapeEntry entry = std::move(tape_.back());
        tape_.pop_back();
        if (entry.layer != layer_) reduce_layer();
        if (entry.layer != layer_ && begin_layer_) begin_layer_(entry.layer);
        module_ = entry.module;
        layer_ = entry.layer;
        run_backward(entry);
    }
    reduce_layer();
    unreduced_bytes_ += std::exchange(unreduced_rest_, 0);
    reduce_layer();
    reduce_bucket();
    await_collective();
}

Buffer Recorder::checkpointed(const Buffer& x, Recompute what, std::function<Buffer(Buffer)> part) {
    std::vector<Buffer> kept{x};
    taping_ = false;
    kept_ = what == Recompute::between ? &kept : nullptr;
    Buffer out = part(x);
    kept_ = nullptr;
    taping_ = true;
    if (TapeEntry* const entry = note(Step::checkpoint, out, "checkpoint", {&x})) {
        entry->transposed = what == Recompute::between;
        entry->saved = std::move(kept);
        entry->part = std::move(part);
    }
    return out;
}

/// Runs the part again, now with its steps on top of the tape; their gradients come next.
void Recorder::run_again(TapeEntry& entry, Buffer gradient) {
    taping_ = true;
    next_reused_ = 1;
    reused_ = entry.transposed ? &entry.saved : nullptr;
    const Buffer out = entry.part(std::move(entry.saved[0]));
    reused_ = nullptr;
    taping_ = false;
    accumulate(out.id_, std::move(gradient));
}

void Recorder::run_backward(TapeEntry& entry) {
    if (entry.step == Step::split) {
        std::vector<Buffer> parts;
        std::int64_t largest = 0;
        for (const std::int32_t id : entry.outputs) {
            parts.push_back(take_gradient(id));
            if (parts.back()) largest = std::max(largest, parts.back().elements());
        }
        Buffer joined = allocate(entry.sizes[0], entry.type, entry.name);
        if (!options_.fused) {
            launch({.kind = KernelKind::cat,
                    .in = entry.type,
                    .out = entry.type,
                    .a = entry.sizes[0],
                    .b = largest,
                    .c = largest,
                    .name = entry.name});
        } else if (entry.module == Module::attention) {  // exchanges heads and tokens
            compiled_copy(entry.sizes[0], entry.type, entry.type, Reading::indexed, entry.name);
        }
        accumulate(entry.inputs[0], entry.transposed ? joined.apart() : std::move(joined));
        return;
    }
    Buffer gradient = take_gradient(entry.output);
    if (!gradient) return;
    switch (entry.step) {
        case Step::unary:
            return backward_unary(entry, std::move(gradient));
        case Step::binary:
            return backward_binary(entry, std::move(gradient));
        case Step::broadcast:
            return backward_broadcast(entry, std::move(gradient));
        case Step::cast:
            return accumulate(entry.inputs[0], cast(std::move(gradient), entry.type, entry.name));
        case Step::dropout:
            return accumulate(entry.inputs[0], binary(Math::masked_fill, std::move(gradient),
                                                      std::move(entry.saved[0]), entry.name));
        case Step::heads:
            return accumulate(entry.inputs[0], entry.transposed
                                                   ? contiguous(std::move(gradient), entry.name)
                                                   : gradient.together());
        case Step::mean:
        case Step::layer_norm:
        case Step::softmax:
            return backward_rows(entry, std::move(gradient));
        case Step::cat:
            for (std::size_t i = 0; i < 2; ++i) {
                if (entry.inputs[i] < 0) continue;
                accumulate(entry.inputs[i], slice(gradient, entry.sizes[i], entry.name));
            }
            return;
        case Step::slice: {
            if (options_.fused && gradients_[static_cast<std::size_t>(entry.inputs[0])]) return;
            if (options_.fused && entry.module == Module::attention) {
                compiled_copy(entry.sizes[0], entry.type, entry.type, Reading::indexed, entry.name);
            }
            Buffer whole = made(Math::fill, entry.sizes[0], entry.type, entry.name);
            pointwise(Math::copy, gradient.elements(), 1, Reading::indexed, entry.type, entry.type,
                      entry.name);
            return accumulate(entry.inputs[0], entry.transposed ? whole.apart() : std::move(whole));
        }
        case Step::embedding:
            return backward_embedding(entry, std::move(gradient));
        case Step::linear:
            return backward_linear(entry, std::move(gradient));
        case Step::attention:
            return backward_attention(entry, std::move(gradient));
        case Step::grouped:
            return backward_grouped(entry, std::move(gradient));
        case Step::gather:
            return backward_gather(entry, std::move(gradient));
        case Step::same:
            small(entry.name, entry.sizes[0]);
            return accumulate(entry.inputs[0], std::move(gradient));
        case Step::assembled:
            return backward_assembled(entry, std::move(gradient));
        case Step::merged:
            return backward_merged(entry, std::move(gradient));
        case Step::merged_norm:
            return backward_merged_norm(entry, std::move(gradient));
        case Step::picked:
        case Step::normalised:
            return backward_picked(entry, std::move(gradient));
        case Step::enter_shards:
            collective(model::CollectiveKind::all_reduce,
                       gradient.elements() * model::size_of(gradient.type()), entry.sizes[0],
                       "all_reduce");
            return accumulate(entry.inputs[0], std::move(gradient));
        case Step::checkpoint:
            return run_again(entry, std::move(gradient));
        case Step::cross_entropy:
            return backward_loss(entry, std::move(gradient));
        case Step::split:
            return;
    }
}

void Recorder::backward_unary(TapeEntry& entry, Buffer gradient) {
    Buffer kept = entry.saved.empty() ? Buffer() : std::move(entry.saved[0]);
    entry.saved.clear();
    const auto apply = [&](Math math) {
        Buffer out = binary(math, std::move(gradient), std::move(kept), entry.name);
        accumulate(entry.inputs[0], std::move(out));
    };
    switch (entry.math) {
        case Math::multiply_scalar:
        case Math::divide_scalar:
            return accumulate(entry.inputs[0],
                              unary(Math::multiply_scalar, std::move(gradient), entry.name));
        case Math::negate:
            return accumulate(entry.inputs[0],
                              unary(Math::negate, std::move(gradient), entry.name));
        case Math::square:
        case Math::cube: {
            // The lower power: the driver copies x^1 without a kernel.
            Buffer slope = entry.math == Math::square
                               ? allocate(kept.elements(), kept.type(), entry.name)
                               : unary(Math::square, kept, entry.name);
            slope = unary(Math::multiply_scalar, std::move(slope), entry.name);
            return accumulate(entry.inputs[0], binary(Math::multiply, std::move(gradient),
                                                      std::move(slope), entry.name));
        }
        case Math::reciprocal_root: {
            Buffer power = unary(Math::cube, std::move(kept), entry.name);
            Buffer half = unary(Math::multiply_scalar, std::move(gradient), entry.name);
            return accumulate(entry.inputs[0], binary(Math::multiply, std::move(half),
                                                      std::move(power), entry.name));
        }
        case Math::silu:
            return apply(Math::silu_backward);
        case Math::gelu:
            return apply(Math::gelu_backward);
        case Math::gelu_tanh:
            return apply(Math::gelu_tanh_backward);
        case Math::tanh:
            return apply(Math::tanh_backward);
        case Math::sigmoid:
            return apply(Math::sigmoid_backward);
        case Math::masked_fill:
            return accumulate(entry.inputs[0],
                              unary(Math::masked_fill, std::move(gradient), entry.name));
        case Math::relu:
            return apply(Math::relu_backward);
        default:  // sums: the gradient passes through
            return accumulate(entry.inputs[0], std::move(gradient));
    }
}

void Recorder::backward_binary(TapeEntry& entry, Buffer gradient) {
    if (entry.math == Math::add) {
        accumulate(entry.inputs[0], gradient);
        return accumulate(entry.inputs[1], std::move(gradient));
    }
    if (entry.math == Math::subtract) {
        accumulate(entry.inputs[0], gradient);
        return accumulate(entry.inputs[1], unary(Math::negate, std::move(gradient), entry.name));
    }
    Buffer first;
    Buffer second;
    if (entry.inputs[0] >= 0) first = binary(Math::multiply, gradient, entry.saved[1], entry.name);
    if (entry.inputs[1] >= 0) second = binary(Math::multiply, gradient, entry.saved[0], entry.name);
    entry.saved.clear();
    gradient.reset();
    accumulate(entry.inputs[0], std::move(first));
    accumulate(entry.inputs[1], std::move(second));
}

void Recorder::backward_broadcast(TapeEntry& entry, Buffer gradient) {
    const std::int64_t all = entry.sizes[0];
    const std::int64_t few = entry.sizes[1];
    const bool multiplies = entry.math == Math::multiply;
    Buffer first = gradient;
    if (multiplies && entry.inputs[0] >= 0) {
        first = broadcast(Math::multiply, gradient, entry.saved[1], entry.name, entry.transposed);
    }
    Buffer second;
    if (entry.inputs[1] >= 0) {
        Buffer each =
            multiplies ? binary(Math::multiply, gradient, entry.saved[0], entry.name) : gradient;
        second = allocate(few, each.type(), entry.name);
        // Rows share a weight; the columns of a row share the factor of the row.
        const bool along_rows = entry.transposed;
        constexpr std::int64_t most_parts = 64;  // more are rows that are added up
        if (options_.fused && all / few <= most_parts) {
            elementwise(Math::copy, few, static_cast<int>(all / few), Reading::vectors, each.type(),
                        each.type(), entry.name);
        } else
            rows_kernel(along_rows ? KernelKind::row_sum : KernelKind::column_sum,
                        along_rows ? few : all / few, along_rows ? all / few : few, each.type(),
                        entry.name);
    }
    entry.saved.clear();
    gradient.reset();
    if (entry.inputs[0] >= 0) accumulate(entry.inputs[0], std::move(first));
    accumulate(entry.inputs[1], std::move(second));
}

void Recorder::backward_rows(TapeEntry& entry, Buffer gradient) {
    const std::int64_t rows = entry.sizes[0];
    const std::int64_t columns = entry.sizes[1];
    Buffer out = allocate(rows * columns, entry.type, entry.name);
    switch (entry.step) {
        case Step::mean:
            pointwise(Math::divide_scalar, rows * columns, 1, Reading::indexed, entry.type,
                      entry.type, entry.name);
            break;
        case Step::softmax:
            small(entry.name, rows * columns * 12);  // the product with the gradient runs first
            pointwise(Math::multiply, rows * columns, 2, Reading::vectors, entry.type, entry.type,
                      entry.name);
            break;
        default: {
            rows_kernel(KernelKind::layer_norm, rows, columns, entry.type, entry.name);
            Buffer weight = allocate(columns, entry.type, "gradient of a norm");
            Buffer bias = allocate(columns, entry.type, "gradient of a norm");
            rows_kernel(KernelKind::column_sum, rows, columns, entry.type, entry.name);
            accumulate(entry.inputs[1], std::move(weight));
            accumulate(entry.inputs[2], std::move(bias));
        }
    }
    entry.saved.clear();
    gradient.reset();
    accumulate(entry.inputs[0], std::move(out));
}

void Recorder::backward_linear(TapeEntry& entry, Buffer gradient) {
    const std::int64_t rows = entry.sizes[0];
    const std::int64_t outputs = entry.sizes[1];
    const std::int64_t inputs = entry.sizes[2];
    gradient = contiguous(std::move(gradient), entry.name);
    const std::int64_t columns = padded(outputs, rows, inputs);
    const auto pad = [&](std::int64_t elements) {
        compiled_copy(elements, entry.type, entry.type, Reading::vectors, entry.name);
    };
    const auto of_input = [&] {
        if (entry.inputs[0] < 0) return Buffer();
        if (columns != outputs) pad(outputs * inputs);
        product(ProductForm::input_gradient, rows, inputs, columns, entry.type, false, entry.name);
        return allocate(rows * inputs, entry.type, entry.name);
    };
    const auto of_weight = [&] {
        if (entry.inputs[1] < 0) return Buffer();
        if (columns != outputs) pad(rows * outputs);
        product(ProductForm::weight_gradient, columns, inputs, rows, entry.type, false, entry.name);
        return allocate(outputs * inputs, entry.type, "gradient of a weight");
    };
    // With a bias (addmm) the gradient of the input comes first, without one (mm) the gradient of
    // the weight.
    Buffer input;
    Buffer weight;
    if (entry.inputs[2] >= 0) {
        input = of_input();
        weight = of_weight();
        rows_kernel(KernelKind::column_sum, rows, outputs, entry.type, entry.name);
        if (options_.fused)
            small(entry.name, outputs * 64, time_cost("least.sum_of_parts_by_blocks"));
        accumulate(entry.inputs[2], allocate(outputs, entry.type, "gradient of a bias"));
    } else {
        weight = of_weight();
        input = of_input();
    }
    entry.saved.clear();
    gradient.reset();
    accumulate(entry.inputs[1], std::move(weight));
    accumulate(entry.inputs[0], std::move(input));
}

void Recorder::backward_attention(TapeEntry& entry, Buffer gradient) {
    AttentionShape shape = attentions_[static_cast<std::size_t>(entry.attention)];
    shape.backward = true;
    std::int32_t index = 0;
    const auto known = std::find(attentions_.begin(), attentions_.end(), shape);
    index = static_cast<std::int32_t>(known - attentions_.begin());
    if (known == attentions_.end()) attentions_.push_back(shape);
    Buffer q = allocate(entry.sizes[0], entry.type, entry.name);
    Buffer k = allocate(entry.sizes[1], entry.type, entry.name);
    Buffer v = allocate(entry.sizes[2], entry.type, entry.name);
    // cuDNN: the row sums of dO x O, the gradients with dQ in fp32, then the conversion of dQ; with
    // grouped heads, dK and dV are summed over each group.
    const Buffer wide = allocate(entry.sizes[0], DataType::fp32, "dQ in fp32");
    launch({.kind = KernelKind::attention,
            .in = entry.type,
            .out = entry.type,
            .launches = static_cast<std::int16_t>(shape.heads == shape.kv_heads ? 3 : 5),
            .attention = index,
            .name = entry.name});
    entry.saved.clear();
    gradient.reset();
    accumulate(entry.inputs[0], std::move(q));
    accumulate(entry.inputs[1], entry.transposed ? k.apart() : std::move(k));
    accumulate(entry.inputs[2], entry.transposed ? v.apart() : std::move(v));
}

void Recorder::backward_grouped(TapeEntry& entry, Buffer gradient) {
    // Not a structured binding, because clang 14 cannot capture those in a lambda.
    const std::int64_t rows = entry.sizes[0];
    const std::int64_t n = entry.sizes[1];
    const std::int64_t k = entry.sizes[2];
    const std::int64_t experts = entry.sizes[3];
    Buffer input;
    const auto launch_product = [&](std::int64_t outputs, std::int64_t inner) {
        small("experts: addresses of the products", grouped_addresses(experts));
        launch({.kind = KernelKind::experts,
                .in = entry.type,
                .out = entry.type,
                .a = rows,
                .b = outputs,
                .c = inner,
                .d = experts,
                .name = entry.name});
    };
    Buffer weight = allocate(experts * n * k, entry.type, "gradient of experts");
    launch_product(n, k);
    if (entry.inputs[0] >= 0) {
        input = allocate(rows * k, entry.type, entry.name);
        launch_product(k, n);
    }
    entry.saved.clear();
    gradient.reset();
    accumulate(entry.inputs[1], std::move(weight));
    accumulate(entry.inputs[0], std::move(input));
}

void Recorder::backward_embedding(TapeEntry& entry, Buffer gradient) {
    if (options_.fused) return backward_compiled_embedding(entry, std::move(gradient));
    const auto [rows, columns, table_rows, unused] = entry.sizes;
    Buffer table = made(Math::fill, table_rows * columns, entry.type, "gradient of the embedding");
    StepKernel kernel{.kind = KernelKind::table_sums,
                      .in = entry.type,
                      .out = entry.type,
                      .a = rows,
                      .b = columns,
                      .c = table_rows,
                      .name = "gradient of the embedding"};
    if (rows > most_unsorted_indices) {  // and cut into segments of one token each
        StepKernel sort = kernel;
        sort.kind = KernelKind::table_sort;
        sort.launches = 18;
        sort.name = "gradient of the embedding: sort";
        launch(sort);
    }
    launch(kernel);
    gradient.reset();
    accumulate(entry.inputs[0], std::move(table));
}

void Recorder::backward_loss(TapeEntry& entry, Buffer gradient) {
    if (options_.fused) return backward_compiled_loss(entry, std::move(gradient));
    const std::int64_t rows = entry.sizes[0];
    const std::int64_t classes = entry.sizes[1];
    Buffer picks = made(Math::fill, rows * classes, entry.type, "gradient of the picks");
    small("gradient of the picks", rows * 12);
    gradient.reset();
    Buffer out = allocate(rows * classes, entry.type, "gradient of the logits");
    rows_kernel(KernelKind::log_softmax, rows, classes, entry.type, "gradient of the logits");
    picks.reset();
    entry.saved.clear();
    accumulate(entry.inputs[0], std::move(out));
}

}  // namespace ridge::programs
