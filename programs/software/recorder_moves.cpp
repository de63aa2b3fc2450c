// Movements of rows.
#include <string_view>

#include "programs/graph/eager_kernels.h"
#include "programs/software/recorder.h"

namespace ridge::programs {

using model::DataType;

Buffer Recorder::repeated(Buffer x, std::int64_t times, std::string_view name) {
    Buffer out = allocate(x.elements() * times, x.type(), name);
    pointwise(Math::copy, out.elements(), 1, Reading::indexed, x.type(), x.type(), name);
    if (TapeEntry* const entry = note(Step::broadcast, out, name, {&x})) {
        entry->math = Math::add;
        entry->inputs = {-1, x.id_, -1, -1};
        entry->sizes = {out.elements(), x.elements(), 0, 0};
        entry->transposed = true;
    }
    return out;
}

Buffer Recorder::gather_rows(const Buffer& x, std::int64_t rows, std::int64_t columns,
                             std::int64_t table_rows, std::string_view name) {
    Buffer out = allocate(rows * columns, x.type(), name);
    if (columns == 1) {
        small(name, rows * 12);
    } else {
        launch({.kind = KernelKind::gather,
                .reading = Reading::indexed,
                .in = x.type(),
                .out = x.type(),
                .a = rows,
                .b = columns,
                .c = table_rows,
                .name = name});
    }
    if (TapeEntry* const entry = note(Step::gather, out, name, {&x})) {
        entry->sizes = {rows, columns, table_rows, 0};
    }
    return out;
}

Buffer Recorder::in_place(Math math, Buffer x, std::string_view name) {
    pointwise(math, x.elements(), 1, Reading::indexed, x.type(), x.type(), name);
    if (!records(x)) return x;
    Buffer changed(this, new_value(x.elements(), value(x).type, value(x).storage, true), x.dense());
    if (TapeEntry* const entry = note(Step::unary, changed, name, {&x})) entry->math = math;
    return changed;
}

Buffer Recorder::picked(const Buffer& x, std::int64_t few, std::string_view name) {
    Buffer out = allocate(few, x.type(), name);
    if (TapeEntry* const entry = note(Step::picked, out, name, {&x})) {
        entry->sizes = {x.elements(), few, 0, 0};
    }
    return out;
}

Buffer Recorder::with_gradient_of(Buffer x, std::int64_t bytes, std::string_view name) {
    if (!records(x)) return x;
    Buffer seen(this, new_value(x.elements(), value(x).type, value(x).storage, true), x.dense());
    if (TapeEntry* const entry = note(Step::same, seen, name, {&x})) entry->sizes[0] = bytes;
    return seen;
}

Buffer Recorder::assembled(const Buffer& own, const Buffer& shared, std::int64_t heads,
                           std::string_view name) {
    const std::int64_t repeated = shared.elements() * heads;
    Buffer out = allocate(own.elements() + repeated, own.type(), name);
    copy_elements(own.elements(), own.type(), "k: copy");
    copy_elements(repeated, own.type(), "k: copy rotary");
    if (TapeEntry* const entry = note(Step::assembled, out, name, {&own, &shared})) {
        entry->sizes = {own.elements(), repeated, shared.elements(), 0};
    }
    return out;
}

Buffer Recorder::normalised(Buffer x, std::string_view name) {
    small(name, x.elements() * 8);  // the sum
    small(name, x.elements() * 8);
    Buffer out = allocate(x.elements(), x.type(), name);
    if (TapeEntry* const entry = note(Step::normalised, out, name, {&x})) {
        entry->sizes = {x.elements(), 0, 0, 0};
        entry->saved = {x};
    }
    return out;
}

Buffer Recorder::weighted(const Buffer& x, const Buffer& weights, std::string_view name) {
    return broadcast(Math::multiply, x, weights, name, true);
}

Buffer Recorder::sum_of_rows(Buffer x, std::int64_t rows, std::int64_t group, std::int64_t columns,
                             std::string_view name) {
    Buffer out = allocate(rows * columns, x.type(), name);
    rows_kernel(KernelKind::column_sum, group, rows * columns, x.type(), name);
    if (TapeEntry* const entry = note(Step::mean, out, name, {&x})) {
        entry->sizes = {rows * group, columns, 0, 0};
    }
    return out;
}

void Recorder::sort(std::int64_t elements, std::string_view name) {
    for (const SmallKernel& kernel : sort_kernels(elements)) {
        for (std::int64_t i = 0; i < kernel.count; ++i) small(name, kernel.bytes, kernel.least);
    }
}

Buffer Recorder::transposed(const Buffer& x, std::int64_t rows, std::int64_t columns,
                            std::string_view name) {
    const std::int64_t batch = ceil_divide(x.elements(), rows * columns);
    Buffer out = allocate(x.elements(), x.type(), name);
    launch({.kind = KernelKind::transpose,
            .in = x.type(),
            .out = x.type(),
            .a = rows,
            .b = columns,
            .d = batch,
            .name = name});
    return out;
}

Buffer Recorder::patches(const Buffer& x, const Linear& layer, std::string_view name) {
    const std::int64_t rows = x.elements() / layer.inputs;
    Buffer out = allocate(rows * layer.outputs, x.type(), name);
    product(ProductForm::patches, rows, layer.outputs, layer.inputs, x.type(),
            static_cast<bool>(layer.bias), name);
    return out;
}

void Recorder::batched(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                       DataType type, std::string_view name, ProductForm form) {
    launch({.kind = KernelKind::product,
            .in = type,
            .out = type,
            .form = form,
            .a = m,
            .b = n,
            .c = k,
            .d = batch,
            .name = name});
}

void Recorder::copy_elements(std::int64_t elements, DataType type, std::string_view name) {
    pointwise(Math::copy, elements, 1, Reading::indexed, type, type, name);
}

Buffer Recorder::kept_result() {
    return reused_ == nullptr ? Buffer() : std::move((*reused_)[next_reused_++]);
}

void Recorder::keep(const Buffer& result) {
    if (kept_ != nullptr) kept_->push_back(result);
}

}  // namespace ridge::programs
