#include "programs/software/recorder.h"

#include <algorithm>
#include <string_view>

#include "hardware/error.h"
#include "programs/graph/eager_kernels.h"

namespace ridge::programs {
namespace {

using model::DataType;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash ^= word + 0x9E3779B97F4A7C15ULL + (hash << 6U) + (hash >> 2U);
    return hash * 0xFF51AFD7ED558CCDULL;
}

DataType wider(DataType a, DataType b) {
    return model::size_of(b) > model::size_of(a) ? b : a;
}

std::uint64_t hash_of(const StepKernel& k) {
    const auto word = [](auto value) { return static_cast<std::uint64_t>(value); };
    std::uint64_t hash = word(k.kind) | word(k.math) << 8U | word(k.reading) << 16U |
                         word(k.in) << 24U | word(k.out) << 32U | word(k.form) << 40U |
                         word(k.module) << 48U | word(k.pass) << 56U;
    for (const std::int64_t size : {k.a, k.b, k.c, k.d}) hash = mix(hash, word(size));
    std::uint64_t name = k.name.size();
    for (const char c : k.name) name = name * 131 + static_cast<unsigned char>(c);
    return mix(hash, name);
}

}  // namespace

Buffer::Buffer(const Buffer& other) : owner_(other.owner_), id_(other.id_), dense_(other.dense_) {
    if (owner_ != nullptr) owner_->retain(id_);
}

void Buffer::reset() {
    if (owner_ != nullptr) owner_->release(id_);
    owner_ = nullptr;
}

std::int64_t Buffer::elements() const {
    return owner_->value(*this).elements;
}
DataType Buffer::type() const {
    return owner_->value(*this).type;
}

Buffer Buffer::apart() const {
    Buffer view = *this;
    view.dense_ = false;
    return view;
}
Buffer Buffer::together() const {
    Buffer view = *this;
    view.dense_ = true;
    return view;
}

std::int32_t Recorder::new_value(std::int64_t elements, DataType type, std::int32_t storage,
                                 bool gradient) {
    const Value fresh{.elements = elements,
                      .type = type,
                      .storage = storage,
                      .references = 1,
                      .gradient = gradient};
    ++storages_[static_cast<std::size_t>(storage)].references;
    if (!free_values_.empty()) {
        const std::int32_t id = free_values_.back();
        free_values_.pop_back();
        values_[static_cast<std::size_t>(id)] = fresh;
        return id;
    }
    values_.push_back(fresh);
    return static_cast<std::int32_t>(values_.size()) - 1;
}

void Recorder::release(std::int32_t id) {
    Value& value = values_[static_cast<std::size_t>(id)];
    if (--value.references > 0) return;
    Storage& storage = storages_[static_cast<std::size_t>(value.storage)];
    if (--storage.references == 0 && storage.allocated) plan_.release(storage.block);
    // The tape refers to values by number; without a tape, numbers can be reused.
    if (!options_.training) free_values_.push_back(id);
}

Buffer Recorder::allocate(std::int64_t elements, DataType type, std::string_view name,
                          bool gradient) {
    return allocate_part(elements, elements, elements * model::size_of(type), type, name, gradient);
}

Buffer Recorder::allocate_part(std::int64_t elements, std::int64_t stored, std::int64_t bytes,
                               DataType type, std::string_view name, bool gradient) {
    Storage storage;
    allocated_elements_ += stored;
    allocated_bytes_ += bytes;
    if (options_.memory && stored > 0) {
        storage.block = plan_.allocate(name, bytes);
        const bool ends = module_ == Module::head || module_ == Module::loss;
        purposes_.push_back(ends && purpose_ == Purpose::activation ? Purpose::logits : purpose_);
        storage.allocated = true;
    }
    storages_.push_back(storage);
    const auto id =
        new_value(elements, type, static_cast<std::int32_t>(storages_.size()) - 1, gradient);
    return {this, id, true};
}

void Recorder::mark(const Buffer& tensor, Purpose purpose) {
    if (!tensor) return;
    const Storage& storage = storages_[static_cast<std::size_t>(value(tensor).storage)];
    if (storage.allocated) purposes_[storage.block] = purpose;
}

Recorder::TapeEntry* Recorder::note(Step step, const Buffer& output, std::string_view name,
                                    std::initializer_list<const Buffer*> inputs) {
    const bool wanted = std::any_of(inputs.begin(), inputs.end(),
                                    [this](const Buffer* input) { return records(*input); });
    if (!wanted) return nullptr;
    values_[static_cast<std::size_t>(output.id_)].gradient = true;
    TapeEntry& entry = tape_.emplace_back();
    entry.step = step;
    entry.module = module_;
    entry.layer = layer_;
    entry.output = output.id_;
    entry.name = name;
    std::size_t place = 0;
    for (const Buffer* input : inputs) {
        if (place == 0 && *input) entry.type = input->type();
        entry.inputs[place++] = records(*input) ? input->id_ : -1;
    }
    return &entry;
}

void Recorder::launch(StepKernel kernel) {
    kernel.module = module_;
    kernel.pass = pass_;
    kernel.plain = plain_;
    kernel.inside = layer_ >= 0 && layer_ < options_.layers;
    const bool own_stream = kernel.kind == KernelKind::collective && kernel.d == 0;
    if (kernels_.size() * 2 >= buckets_.size()) {
        buckets_.assign(std::max<std::size_t>(512, buckets_.size() * 2), -1);
        for (std::size_t i = 0; i < kernels_.size(); ++i) {
            std::size_t at = hash_of(kernels_[i].kernel) & (buckets_.size() - 1);
            while (buckets_[at] >= 0) at = (at + 1) & (buckets_.size() - 1);
            buckets_[at] = static_cast<std::int32_t>(i);
        }
    }
    std::size_t at = hash_of(kernel) & (buckets_.size() - 1);
    while (buckets_[at] >= 0) {
        Counted& known = kernels_[static_cast<std::size_t>(buckets_[at])];
        if (known.kernel == kernel) {
            known.count += times_;
            order(buckets_[at], own_stream);
            return;
        }
        at = (at + 1) & (buckets_.size() - 1);
    }
    buckets_[at] = static_cast<std::int32_t>(kernels_.size());
    kernels_.push_back({.kernel = kernel, .count = times_, .layer = layer_});
    order(buckets_[at], own_stream);
}

void Recorder::small(std::string_view name, std::int64_t bytes, Time least) {
    launch({.kind = KernelKind::small, .least = least, .a = bytes, .name = name});
}

Buffer Recorder::made(Math math, std::int64_t elements, DataType type, std::string_view name) {
    Buffer out = allocate(elements, type, name);
    pointwise(math, elements, 0, Reading::vectors, type, type, name);
    return out;
}

void Recorder::elementwise(Math math, std::int64_t elements, int inputs, Reading reading,
                           DataType in, DataType out, std::string_view name) {
    if (elements == 0) return;
    launch({.kind = KernelKind::pointwise,
            .math = math,
            .reading = reading,
            .in = in,
            .out = out,
            .inputs = static_cast<std::int8_t>(inputs),
            .a = elements,
            .name = name});
}

void Recorder::rows_kernel(KernelKind kind, std::int64_t rows, std::int64_t columns, DataType type,
                           std::string_view name) {
    launch({.kind = kind, .in = type, .out = type, .a = rows, .b = columns, .name = name});
}

void Recorder::product(ProductForm form, std::int64_t m, std::int64_t n, std::int64_t k,
                       DataType type, bool bias, std::string_view name) {
    launch({.kind = KernelKind::product,
            .in = type,
            .out = type,
            .form = form,
            .bias = bias,
            .a = m,
            .b = n,
            .c = k,
            .name = name});
}

Buffer Recorder::slice(const Buffer& base, std::int64_t elements, std::string_view name) {
    const bool gradient = records(base);
    Buffer view(this, new_value(elements, value(base).type, value(base).storage, gradient), false);
    if (TapeEntry* const entry = note(Step::slice, view, name, {&base})) {
        entry->sizes[0] = base.elements();
        entry->transposed = !base.dense();
    }
    return view;
}

std::vector<Buffer> Recorder::split(const Buffer& base, std::span<const std::int64_t> elements,
                                    std::string_view name) {
    std::vector<Buffer> parts;
    for (const std::int64_t count : elements) {
        parts.push_back(Buffer(
            this, new_value(count, value(base).type, value(base).storage, records(base)), false));
    }
    if (TapeEntry* const entry = note(Step::split, parts.front(), name, {&base})) {
        entry->sizes[0] = base.elements();
        entry->transposed = !base.dense();
        for (const Buffer& part : parts) {
            values_[static_cast<std::size_t>(part.id_)].gradient = true;
            entry->outputs.push_back(part.id_);
        }
    }
    return parts;
}

Buffer Recorder::unary(Math math, Buffer x, std::string_view name) {
    Buffer out = allocate(x.elements(), x.type(), name);
    pointwise(math, x.elements(), 1, x.dense() ? Reading::vectors : Reading::indexed, x.type(),
              x.type(), name);
    if (TapeEntry* const entry = note(Step::unary, out, name, {&x})) {
        entry->math = math;
        const bool keeps_result = math == Math::reciprocal_root || math == Math::tanh ||
                                  math == Math::sigmoid || math == Math::relu;
        const bool keeps_input = math == Math::square || math == Math::cube || math == Math::silu ||
                                 math == Math::gelu || math == Math::gelu_tanh;
        if (keeps_result) entry->saved = {out};
        if (keeps_input) entry->saved = {x};
    }
    return x.dense() ? out : out.apart();
}

Buffer Recorder::binary(Math math, Buffer x, Buffer y, std::string_view name) {
    const DataType type = wider(x.type(), y.type());
    Buffer out = allocate(x.elements(), type, name);
    const bool dense = x.dense() && y.dense();
    pointwise(math, x.elements(), 2, dense ? Reading::vectors : Reading::indexed, x.type(), type,
              name);
    if (TapeEntry* const entry = note(Step::binary, out, name, {&x, &y})) {
        entry->math = math;
        if (math == Math::multiply) {
            entry->saved = {records(y) ? x : Buffer(), records(x) ? y : Buffer()};
        }
    }
    return x.dense() ? out : out.apart();
}

Buffer Recorder::broadcast(Math math, Buffer x, Buffer y, std::string_view name, bool along_rows) {
    // bf16 with fp32 gives fp32.
    const DataType type = wider(x.type(), y.type());
    Buffer out = allocate(x.elements(), type, name);
    pointwise(math, x.elements(), 2, Reading::indexed, x.type(), type, name);
    if (TapeEntry* const entry = note(Step::broadcast, out, name, {&x, &y})) {
        entry->math = math;
        entry->type = y.type();
        entry->sizes = {x.elements(), y.elements(), 0, 0};
        entry->transposed = along_rows;
        if (math == Math::multiply) {
            entry->saved = {records(y) ? x : Buffer(), records(x) ? y : Buffer()};
        }
    }
    return x.dense() ? out : out.apart();
}

Buffer Recorder::cast(Buffer x, DataType type, std::string_view name) {
    if (x.type() == type) return x;
    if (options_.fused && !value(x).leaf) {  // merged into the kernel that reads or writes it
        Buffer seen(this, new_value(x.elements(), type, value(x).storage, false), x.dense());
        note(Step::cast, seen, name, {&x});
        return seen;
    }
    Buffer out = allocate(x.elements(), type, name);
    elementwise(Math::cast, x.elements(), 1, x.dense() ? Reading::converting : Reading::indexed,
                x.type(), type, name);
    note(Step::cast, out, name, {&x});
    return x.dense() ? out : out.apart();
}

Buffer Recorder::dropout(Buffer x, double probability, std::string_view name) {
    if (!options_.training || probability <= 0.0) return x;
    Buffer out = allocate(x.elements(), x.type(), name);
    const Buffer mask = allocate(x.elements(), DataType::int8, "dropout mask");
    pointwise(Math::dropout, x.elements(), 1, Reading::vectors, x.type(), x.type(), name);
    if (TapeEntry* const entry = note(Step::dropout, out, name, {&x})) entry->saved = {mask};
    return out;
}

Buffer Recorder::contiguous(Buffer x, std::string_view name) {
    if (x.dense()) return x;
    Buffer out = allocate(x.elements(), x.type(), name);
    pointwise(Math::copy, x.elements(), 1, Reading::indexed, x.type(), x.type(), name);
    if (TapeEntry* const entry = note(Step::unary, out, name, {&x})) {
        entry->math = Math::add_scalar;  // the gradient passes through unchanged
    }
    return out;
}

Buffer Recorder::heads(Buffer x, bool apart, std::string_view name) {
    Buffer view(this, new_value(x.elements(), value(x).type, value(x).storage, records(x)), !apart);
    if (TapeEntry* const entry = note(Step::heads, view, name, {&x})) entry->transposed = apart;
    return view;
}

Buffer Recorder::mean(Buffer x, std::int64_t columns, std::string_view name) {
    const std::int64_t rows = x.elements() / columns;
    Buffer out = allocate(rows, x.type(), name);
    rows_kernel(KernelKind::row_mean, rows, columns, x.type(), name);
    if (TapeEntry* const entry = note(Step::mean, out, name, {&x})) {
        entry->sizes = {rows, columns, 0, 0};
    }
    return out;
}

Buffer Recorder::layer_norm(Buffer x, const Buffer& weight, const Buffer& bias,
                            std::int64_t columns, std::string_view name) {
    const std::int64_t rows = x.elements() / columns;
    Buffer out = allocate(x.elements(), x.type(), name);
    const Buffer mean = allocate(rows, DataType::fp32, "mean of the norm");
    const Buffer deviation = allocate(rows, DataType::fp32, "deviation of the norm");
    rows_kernel(KernelKind::layer_norm, rows, columns, x.type(), name);
    if (TapeEntry* const entry = note(Step::layer_norm, out, name, {&x, &weight, &bias})) {
        entry->sizes = {rows, columns, 0, 0};
        entry->saved = {x, mean, deviation};
    }
    return out;
}

Buffer Recorder::softmax(Buffer x, std::int64_t columns, std::string_view name) {
    const std::int64_t rows = x.elements() / columns;
    Buffer out = allocate(x.elements(), x.type(), name);
    rows_kernel(KernelKind::softmax, rows, columns, x.type(), name);
    if (TapeEntry* const entry = note(Step::softmax, out, name, {&x})) {
        entry->sizes = {rows, columns, 0, 0};
        entry->saved = {out};
    }
    return out;
}

Buffer Recorder::cat(Buffer x, Buffer y, std::int64_t piece, std::string_view name) {
    const std::int64_t elements = (x ? x.elements() : 0) + y.elements();
    Buffer out = allocate(elements, y.type(), name);
    // Contiguous tensors are copied in vectors.
    const bool dense = y.dense() && (!x || x.dense());
    launch({.kind = KernelKind::cat,
            .reading = dense ? Reading::vectors : Reading::indexed,
            .in = y.type(),
            .out = y.type(),
            .a = elements,
            .b = piece,
            .c = x ? std::max(x.elements(), y.elements()) : elements,
            .name = name});
    if (TapeEntry* const entry = note(Step::cat, out, name, {&x, &y})) {
        entry->sizes = {x ? x.elements() : 0, y.elements(), 0, 0};
    }
    return out.apart();
}

Buffer Recorder::embedding(const Buffer& table, std::int64_t rows, std::int64_t columns,
                           std::int64_t table_rows, std::string_view name) {
    Buffer out = allocate(rows * columns, table.type(), name);
    if (!options_.fused) {
        launch({.kind = KernelKind::gather,
                .in = table.type(),
                .out = table.type(),
                .a = rows,
                .b = columns,
                .c = table_rows,
                .name = name});
    }
    if (TapeEntry* const entry = note(Step::embedding, out, name, {&table})) {
        entry->sizes = {rows, columns, table_rows, 0};
    }
    return out;
}

Buffer Recorder::linear(Buffer x, const Linear& layer, std::string_view name) {
    const std::int64_t rows = x.elements() / layer.inputs;
    Buffer out = kept_result();
    if (!out) {
        out = allocate(rows * layer.outputs, x.type(), name);
        const std::int64_t columns = padded(layer.outputs, rows, layer.inputs);
        if (columns != layer.outputs) {
            compiled_copy(layer.outputs * layer.inputs, x.type(), x.type(), Reading::vectors, name);
        }
        product(layer.transposed ? ProductForm::plain : ProductForm::forward, rows, columns,
                layer.inputs, x.type(), static_cast<bool>(layer.bias), name);
        keep(out);
    }
    if (TapeEntry* const entry = note(Step::linear, out, name, {&x, &layer.weight, &layer.bias})) {
        entry->sizes = {rows, layer.outputs, layer.inputs, 0};
        entry->transposed = layer.transposed;
        entry->saved = {x, layer.weight};
    }
    return out;
}

Buffer Recorder::attention(const Buffer& q, const Buffer& k, const Buffer& v,
                           const AttentionShape& shape, std::string_view name) {
    Buffer out = kept_result();
    const bool again = static_cast<bool>(out);
    if (!again) {
        out = allocate(shape.batch * shape.heads * shape.queries * shape.value_dim, q.type(), name);
        keep(out);
    }
    attentions_.push_back(shape);
    std::int32_t index = 0;
    while (attentions_[static_cast<std::size_t>(index)] != shape) ++index;
    if (index + 1 < static_cast<std::int32_t>(attentions_.size())) attentions_.pop_back();
    if (!again) {
        launch({.kind = KernelKind::attention,
                .in = q.type(),
                .out = q.type(),
                .attention = index,
                .name = name});
    }
    if (TapeEntry* const entry = note(Step::attention, out, name, {&q, &k, &v})) {
        const Buffer sums = allocate(shape.batch * shape.heads * shape.queries, DataType::fp32,
                                     "sums of attention");
        entry->sizes = {q.elements(), k.elements(), v.elements(), 0};
        entry->attention = index;
        entry->transposed = !k.dense();
        entry->saved = {q, k, v, out, sums};
    }
    return out;
}

Buffer Recorder::grouped(Buffer x, const Buffer& weights, std::int64_t rows, std::int64_t n,
                         std::int64_t k, std::int64_t experts, std::string_view name) {
    Buffer out = kept_result();
    if (!out) {
        out = allocate(rows * n, x.type(), name);
        small("experts: addresses of the products", grouped_addresses(experts));
        launch({.kind = KernelKind::experts,
                .in = x.type(),
                .out = x.type(),
                .a = rows,
                .b = n,
                .c = k,
                .d = experts,
                .name = name});
        keep(out);
    }
    if (TapeEntry* const entry = note(Step::grouped, out, name, {&x, &weights})) {
        entry->sizes = {rows, n, k, experts};
        entry->saved = {x, weights};
    }
    return out;
}

Buffer Recorder::cross_entropy(Buffer logits, std::int64_t rows, std::int64_t classes) {
    // Labels are padded and shifted: a fill and two copies; then log-softmax and the mean of the
    // picked values.
    small("labels: pad", rows * 8);
    if (!options_.fused) {
        for (const char* step : {"labels: copy", "labels: shift"}) small(step, rows * 8);
    }
    Buffer chosen;
    if (options_.fused) {
        chosen = compiled_log_softmax(logits, rows, classes);
    } else {
        chosen = allocate(rows * classes, logits.type(), "log-softmax");
        rows_kernel(KernelKind::log_softmax, rows, classes, logits.type(), "log-softmax");
    }
    Buffer loss = allocate(1, logits.type(), "loss");
    small("loss: mean of the picks", rows * 12);
    if (TapeEntry* const entry = note(Step::cross_entropy, loss, "log-softmax", {&logits})) {
        entry->sizes = {rows, classes, 0, 0};
        entry->saved = {chosen};
    }
    return loss;
}

}  // namespace ridge::programs
