// Fused kernels and movements of rows.
#include <string_view>

#include "programs/software/recorder.h"

namespace ridge::programs {

using model::DataType;

Buffer Recorder::fused(Math math, Buffer x, int inputs, std::string_view name) {
    Buffer out = allocate(x.elements(), x.type(), name);
    pointwise(math, x.elements(), inputs, Reading::vectors, x.type(), x.type(), name);
    if (records(x)) {
        TapeEntry& entry = note(Step::unary, out, name);
        entry.math = Math::silu;
        entry.inputs[0] = x.id_;
        entry.saved = {x};
    }
    return out;
}

Buffer Recorder::fused_norm(Buffer x, std::int64_t columns, std::string_view name) {
    const std::int64_t rows = x.elements() / columns;
    Buffer out = allocate(x.elements(), x.type(), name);
    rows_kernel(KernelKind::rms_norm, rows, columns, x.type(), name);
    if (records(x)) {
        TapeEntry& entry = note(Step::mean, out, name);
        entry.inputs[0] = x.id_;
        entry.sizes = {rows, columns, 0, 0};
        entry.type = x.type();
        entry.saved = {x};
    }
    return out;
}

Buffer Recorder::repeated(Buffer x, std::int64_t times, std::string_view name) {
    Buffer out = allocate(x.elements() * times, x.type(), name);
    pointwise(Math::copy, out.elements(), 1, Reading::indexed, x.type(), x.type(), name);
    if (records(x)) {
        TapeEntry& entry = note(Step::broadcast, out, name);
        entry.math = Math::add;
        entry.type = x.type();
        entry.inputs = {-1, x.id_, -1, -1};
        entry.sizes = {out.elements(), x.elements(), 0, 0};
        entry.transposed = true;
    }
    return out;
}

Buffer Recorder::gather_rows(const Buffer& x, std::int64_t rows, std::int64_t columns,
                             std::int64_t table_rows, std::string_view name) {
    Buffer out = allocate(rows * columns, x.type(), name);
    launch({.kind = KernelKind::gather,
            .reading = Reading::indexed,
            .in = x.type(),
            .out = x.type(),
            .a = rows,
            .b = columns,
            .c = table_rows,
            .name = name});
    if (records(x)) {
        TapeEntry& entry = note(Step::gather, out, name);
        entry.inputs[0] = x.id_;
        entry.sizes = {rows, columns, table_rows, 0};
        entry.type = x.type();
    }
    return out;
}

Buffer Recorder::in_place(Math math, Buffer x, std::string_view name) {
    pointwise(math, x.elements(), 1, Reading::indexed, x.type(), x.type(), name);
    return x;
}

Buffer Recorder::weighted(const Buffer& x, const Buffer& weights, std::string_view name) {
    return broadcast(Math::multiply, x, weights, name, true);
}

Buffer Recorder::sum_of_rows(Buffer x, std::int64_t rows, std::int64_t group, std::int64_t columns,
                             std::string_view name) {
    Buffer out = allocate(rows * columns, x.type(), name);
    rows_kernel(KernelKind::column_sum, group, rows * columns, x.type(), name);
    if (records(x)) {
        TapeEntry& entry = note(Step::mean, out, name);
        entry.inputs[0] = x.id_;
        entry.sizes = {rows * group, columns, 0, 0};
        entry.type = x.type();
    }
    return out;
}

void Recorder::sort(std::int64_t elements, std::string_view name) {
    // Up to 4096 keys one block sorts, beside their numbers; more take a radix sort: numbers,
    // histogram, offsets, a pass for each of the eight bytes of a key.
    if (elements <= 4096) {
        small(name, elements * 16);
        return small(name, elements * 32, 3.5F);
    }
    for (int kernel = 0; kernel < 3; ++kernel) small(name, elements * 16, 1.9F);
    for (int byte = 0; byte < 8; ++byte) small(name, elements * 32, 6.0F);
}

void Recorder::batched(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k,
                       DataType type, std::string_view name) {
    launch({.kind = KernelKind::product,
            .in = type,
            .out = type,
            .form = ProductForm::plain,
            .a = m,
            .b = n,
            .c = k,
            .d = batch,
            .name = name});
}

void Recorder::copy_elements(std::int64_t elements, DataType type, std::string_view name) {
    pointwise(Math::copy, elements, 1, Reading::indexed, type, type, name);
}

}  // namespace ridge::programs
