// What a compiler (torch.compile, Inductor) makes of a program: elementwise calls are merged into
// the kernels around them, so only products, attention, and one kernel for each chain between them
// remain. The same holds for their gradients.
#include "model/compiled_product.h"
#include "programs/software/recorder.h"

namespace ridge::programs {

using model::DataType;

namespace {
constexpr std::int64_t aligned = 8;  // elements in 16 bytes
}

Buffer Recorder::fused(Math math, Buffer x, int inputs, std::string_view name) {
    Buffer out = allocate(x.elements(), x.type(), name);
    elementwise(math, x.elements(), inputs, Reading::vectors, x.type(), x.type(), name);
    if (TapeEntry* const entry = note(Step::unary, out, name, {&x})) {
        entry->math = Math::silu;
        entry->saved = {x};
    }
    return out;
}

Buffer Recorder::fused_norm(Buffer x, std::int64_t columns, std::string_view name) {
    const std::int64_t rows = x.elements() / columns;
    Buffer out = allocate(x.elements(), x.type(), name);
    rows_kernel(KernelKind::rms_norm, rows, columns, x.type(), name);
    return out;
}

Buffer Recorder::merged(Math math, std::initializer_list<const Buffer*> inputs, Reading reading,
                        std::string_view name) {
    const Buffer& first = **inputs.begin();
    Buffer out = allocate(first.elements(), first.type(), name);
    if (!name.empty()) {
        elementwise(math, first.elements(), static_cast<int>(inputs.size()), reading, first.type(),
                    first.type(), name);
    }
    if (TapeEntry* const entry = note(Step::merged, out, name, inputs)) {
        entry->sizes[0] = static_cast<std::int64_t>(inputs.size());
        entry->transposed = reading == Reading::indexed;
        for (const Buffer* input : inputs) entry->saved.push_back(*input);
    }
    return out;
}

/// Reads the gradient and the inputs; writes a gradient for each input.
void Recorder::backward_merged(TapeEntry& entry, Buffer gradient) {
    const std::int64_t elements = gradient.elements();
    const auto inputs = static_cast<std::size_t>(entry.sizes[0]);
    elementwise(Math::copy, elements, static_cast<int>(2 * inputs),
                entry.transposed ? Reading::indexed : Reading::vectors, entry.type, entry.type,
                entry.name.empty() ? "rotary" : entry.name);
    entry.saved.clear();
    gradient.reset();
    for (std::size_t i = 0; i < inputs; ++i) {
        accumulate(entry.inputs[i], allocate(elements, entry.type, entry.name));
    }
}

Buffer Recorder::merged_norm(Buffer x, const Buffer& weight, const Buffer& bias,
                             std::int64_t columns, int tensors, std::string_view name) {
    const std::int64_t rows = x.elements() / columns;
    Buffer out = allocate(x.elements(), x.type(), name);
    if (tensors > 0) {
        launch({.kind = KernelKind::rms_norm,
                .in = x.type(),
                .out = x.type(),
                .inputs = static_cast<std::int8_t>(tensors),
                .a = rows,
                .b = columns,
                .name = name});
    }
    if (TapeEntry* const entry = note(Step::merged_norm, out, name, {&x, &weight, &bias})) {
        entry->sizes = {rows, columns, tensors, 0};
        entry->saved = {x};
    }
    return out;
}

/// The gradient of the norm's input, with that of the residual; partial sums over rows for the
/// weights; and the sums of these.
void Recorder::backward_merged_norm(TapeEntry& entry, Buffer gradient) {
    const std::int64_t rows = entry.sizes[0];
    const std::int64_t columns = entry.sizes[1];
    launch({.kind = KernelKind::rms_norm,
            .in = entry.type,
            .out = entry.type,
            .inputs = 4,
            .a = rows,
            .b = columns,
            .name = entry.name});
    rows_kernel(KernelKind::column_sum, rows, columns, DataType::fp32, entry.name);
    for (std::size_t i = 1; i < 3; ++i) {
        if (entry.inputs[i] < 0) continue;
        small(entry.name, columns * 64, time_cost("least.sum_of_parts_by_blocks"));
        accumulate(entry.inputs[i], allocate(columns, entry.type, "gradient of a norm"));
    }
    entry.saved.clear();
    gradient.reset();
    accumulate(entry.inputs[0], allocate(rows * columns, entry.type, entry.name));
}

void Recorder::compiled_copy(std::int64_t elements, DataType in, DataType out, Reading reading,
                             std::string_view name) {
    elementwise(Math::copy, elements, 1, reading, in, out, name);
}

/// Columns of a compiled product: a count that is not a multiple of 8 is padded by copies of the
/// operands if the product takes longer than the copies (pad_mm).
std::int64_t Recorder::padded(std::int64_t outputs, std::int64_t rows, std::int64_t inputs) const {
    if (!options_.fused || outputs % aligned == 0) return outputs;
    if (!model::is_worth_padding(rows, outputs, inputs)) return outputs;
    return ceil_divide(outputs, aligned) * aligned;
}

/// Gradients of the looked-up rows are added to a table in fp32, which is then converted.
void Recorder::backward_compiled_embedding(TapeEntry& entry, Buffer gradient) {
    const std::int64_t elements = entry.sizes[2] * entry.sizes[1];
    Buffer wide = allocate(elements, DataType::fp32, "gradient of the embedding in fp32");
    elementwise(Math::fill, elements, 0, Reading::vectors, DataType::fp32, DataType::fp32,
                "gradient of the embedding");
    gradient.reset();
    Buffer table = allocate(elements, entry.type, "gradient of the embedding");
    compiled_copy(elements, DataType::fp32, entry.type, Reading::vectors,
                  "gradient of the embedding");
    wide.reset();
    accumulate(entry.inputs[0], std::move(table));
}

Buffer Recorder::compiled_log_softmax(const Buffer& logits, std::int64_t rows,
                                      std::int64_t classes) {
    rows_kernel(KernelKind::log_softmax, rows, ceil_divide(classes, aligned) * aligned,
                DataType::bf16, "log-softmax");
    return logits;
}

/// The other results of the caller, logits and cache, have zero gradients.
void Recorder::backward_compiled_loss(TapeEntry& entry, Buffer gradient) {
    const std::int64_t rows = entry.sizes[0];
    const std::int64_t classes = entry.sizes[1];
    small("gradient of the loss", 4);
    const Buffer zeros = allocate(rows * classes, DataType::bf16, "gradient of the logits: zeros");
    elementwise(Math::fill, rows * classes, 0, Reading::vectors, DataType::bf16, DataType::bf16,
                "gradient of the logits: zeros");
    for (std::int64_t i = 0; i < 2 * options_.layers; ++i) small("gradient of the cache: zeros");
    gradient.reset();
    Buffer out = allocate(rows * classes, DataType::bf16, "gradient of the logits");
    launch({.kind = KernelKind::log_softmax,
            .in = DataType::bf16,
            .out = DataType::bf16,
            .inputs = 2,
            .a = rows,
            .b = ceil_divide(classes, aligned) * aligned,
            .name = "gradient of the logits"});
    entry.saved.clear();
    accumulate(entry.inputs[0], std::move(out));
}

}  // namespace ridge::programs
