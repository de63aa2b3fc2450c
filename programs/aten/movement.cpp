// Copies, cat, gathers, fills, indexed losses, and optimizer steps over lists of tensors.
#include <algorithm>
#include <array>

#include "hardware/checked.h"
#include "model/core/join.h"
#include "model/expression/expression.h"
#include "programs/aten/rules.h"
#include "programs/graph/costs.h"
#include "programs/graph/eager_kernels.h"

namespace ridge::programs {
namespace {

using model::Gather;
using model::L2State;

Understood result(model::Step step, OperatorFamily family, std::int64_t elements,
                  std::int64_t size) {
    return {.steps = {std::move(step)},
            .family = family,
            .result_bytes = elements * size,
            .result_elements = elements};
}

/// A copy into `to`: with the same layout, with another type, or with exchanged dimensions.
std::optional<Understood> copy(const Subject& subject) {
    const Tensor* const to = subject.call.tensor(0);
    const Tensor* const from = subject.call.tensor(1);
    if (to == nullptr || from == nullptr || to->elements() < 1) return {};
    const Call pair{.name = "copy", .arguments = {{.tensors = {*from}}}};
    const ElementType type = type_of(*to, subject);
    if (from->type != to->type) {
        auto cast = pointwise("cast", {pair, type});
        if (cast) cast->family = OperatorFamily::copy;
        return cast;
    }
    const bool plain = to->strides == from->strides || (to->contiguous() && from->contiguous());
    const std::int64_t elements = to->elements();
    if (plain && from->dense()) {
        return result(torch_step(model::Copy{.elements = elements, .type = data_type(type)}),
                      OperatorFamily::copy, elements, size_of(type));
    }
    const Exchange lies = exchange_of(*to, *from);
    Understood turned = result(
        torch_step(model::Transpose{
            .rows = lies.rows, .cols = lies.cols, .type = data_type(type), .inner = lies.inner}),
        OperatorFamily::copy, elements, size_of(type));
    turned.changes_layout = true;
    return turned;
}

/// Elements that are contiguous in every part.
std::int64_t together(const std::vector<Tensor>& parts) {
    std::int64_t run = 0;
    for (const Tensor& part : parts) {
        const bool last = part.strides.empty() || part.strides.back() == 1;
        const std::int64_t own = last ? part.dims.back() : 1;
        run = run == 0 ? own : std::min(run, own);
    }
    return std::max<std::int64_t>(1, run);
}

/// A cache that grows by a little: it was written one step earlier, and the caches of other layers
/// since.
bool grows(const std::vector<const Tensor*>& parts) {
    constexpr std::int64_t much = 32;
    return parts.size() == 2 && parts.front()->elements() >= much * parts.back()->elements();
}

std::optional<Understood> concatenation(const Subject& subject) {
    const std::vector<const Tensor*> all = subject.call.tensors();
    std::vector<const Tensor*> parts;
    std::copy_if(all.begin(), all.end(), std::back_inserter(parts),
                 [](const Tensor* part) { return part->elements() > 0 && !part->dims.empty(); });
    if (parts.empty()) return {};
    const ElementType type = type_of(*parts.front(), subject);
    std::int64_t elements = 0;
    for (const Tensor* part : parts) elements += part->elements();
    const Tensor& largest = **std::max_element(
        parts.begin(), parts.end(),
        [](const Tensor* a, const Tensor* b) { return a->elements() < b->elements(); });
    const auto rank = static_cast<std::int64_t>(largest.dims.size());
    std::int64_t dim = subject.call.whole(1).value_or(0);
    if (dim < 0) dim += rank;
    const bool alike = std::all_of(parts.begin(), parts.end(), [&](const Tensor* part) {
        return part->dims.size() == largest.dims.size();
    });
    if (!alike || dim < 0 || dim >= rank) return {};
    // Dense in the same order of dimensions, for example images with channels last: equivalent to
    // contiguous.
    std::vector<Tensor> turned;
    for (const Tensor* part : parts) {
        std::int64_t place = dim;
        turned.push_back(in_order_of_memory(*part, largest, place));
        if (part == parts.back()) dim = place;
    }
    // For the kernel, an empty tensor among them counts as a view.
    const bool views =
        parts.size() < all.size() ||
        std::any_of(turned.begin(), turned.end(), [](const Tensor& x) { return !x.contiguous(); });
    if (parts.size() == 1 && !views) {
        return result(torch_step(model::Copy{.elements = elements, .type = data_type(type)}),
                      OperatorFamily::copy, elements, size_of(type));
    }
    std::int64_t rows = 1;
    for (std::int64_t i = 0; i < std::min(dim, rank); ++i) {
        rows *= turned.front().dims[static_cast<std::size_t>(i)];
    }
    Entry join;
    join.operation = model::joined({.elements = elements,
                                    .largest = largest.elements(),
                                    .piece = std::max<std::int64_t>(1, largest.elements() / rows),
                                    .run = views ? together(turned) : 0,
                                    .type = data_type(type)});
    join.execution = {.implementation = model::Implementation::torch,
                      .l2 = grows(parts) ? L2State::cold : L2State::warm};
    if (!views && !largest.contiguous()) {
        // The kernel computes the position of each vector from all dimensions, one after another.
        const std::int64_t vectors = ceil_divide(elements * size_of(type), 16);
        join.indexed_clocks =
            cost("movement.joined_dimension") * static_cast<double>(rank * vectors);
    }
    return carried_out({std::move(join)}, OperatorFamily::copy, elements, size_of(type));
}

/// A 64-bit index for each element, with a remainder. (S6)
std::optional<Understood> roll(const Subject& subject) {
    const Tensor* const x = subject.call.tensor(0);
    if (x == nullptr || x->elements() < 1) return {};
    const ElementType type = type_of(*x, subject);
    auto found = result(torch_step(model::Copy{.elements = x->elements(), .type = data_type(type)}),
                        OperatorFamily::copy, x->elements(), size_of(type));
    found.kernels = {{.moved = 2.0 * static_cast<double>(x->bytes()),
                      .clocks = cost("movement.rolled") * static_cast<double>(x->elements()),
                      .floors = 1.0}};
    return found;
}

/// One row of `table` for each element of `index`.
std::optional<Understood> gathered(const Subject& subject, const Tensor* table,
                                   const Tensor* index) {
    if (table == nullptr || index == nullptr || table->dims.empty()) return {};
    const std::int64_t cols =
        table->dims.size() > 1 ? table->elements() / std::max<std::int64_t>(1, table->dims[0]) : 1;
    const std::int64_t rows = index->stored_elements();
    if (rows < 1 || cols < 1 || table->dims[0] < 1) return {};
    const ElementType type = type_of(*table, subject);
    return result(
        step_of(
            Gather{
                .rows = rows, .cols = cols, .table_rows = table->dims[0], .type = data_type(type)},
            model::Implementation::torch, L2State::cold),
        OperatorFamily::gather, rows * cols, size_of(type));
}
std::optional<Understood> embedding(const Subject& subject) {
    return gathered(subject, subject.call.tensor(0), subject.call.tensor(1));
}
/// Sums of rows, (table, indices, starts of bags): one thread per column of a bag, one index after
/// another. (S6)
std::optional<Understood> embedding_bag(const Subject& subject) {
    const Tensor* const bags = subject.call.tensor(2);
    auto found = gathered(subject, subject.call.tensor(0), subject.call.tensor(1));
    if (!found || bags == nullptr || bags->elements() < 1) return {};
    const auto& op = std::get<Gather>(found->steps.front().operation);
    const auto size = static_cast<double>(size_of(op.type));
    const auto columns = static_cast<double>(op.cols);
    const auto rows = static_cast<double>(op.rows);
    found->kernels = {
        {.moved = (rows + static_cast<double>(bags->elements())) * columns * size,
         .clocks = cost("movement.bag_index") * rows * columns / cost("movement.bag_threads"),
         .floors = 1.0}};
    return found;
}
/// Up to 16 rows are fetched one after another, each when its index has arrived. (S6)
std::optional<Understood> index_select(const Subject& subject) {
    constexpr std::int64_t most = 16;
    auto found = gathered(subject, subject.call.tensor(0), subject.call.tensor(2));
    if (!found) return found;
    const auto& op = std::get<Gather>(found->steps.front().operation);
    if (op.rows > most) return found;
    const double bytes = 2.0 * static_cast<double>(found->result_bytes);
    found->kernels = {{.moved = bytes,
                       .chains = 1,
                       .chain_clocks = cost("movement.selected_row") * static_cast<double>(op.rows),
                       .floors = 1.0}};
    return found;
}
std::optional<Understood> index_add(const Subject& subject) {
    return gathered(subject, subject.call.tensor(0), subject.call.tensor(2));
}
/// One element per index: each index is read and the position of its element computed. (S6)
Understood along_index(const Subject& subject, const Tensor& table, const Tensor& index,
                       double clocks) {
    const ElementType type = type_of(table, subject);
    const auto elements = static_cast<double>(index.elements());
    auto found =
        result(torch_step(model::Copy{.elements = index.elements(), .type = data_type(type)}),
               OperatorFamily::gather, index.elements(), size_of(type));
    found.kernels = {{.moved = 2.0 * elements * static_cast<double>(size_of(type)) +
                               static_cast<double>(index.bytes()),
                      .clocks = clocks * elements,
                      .floors = 1.0}};
    return found;
}
/// Whole rows if the index is broadcast along the dimensions after it, single elements otherwise.
std::optional<Understood> gather_along(const Subject& subject) {
    const Tensor* const index = subject.call.tensor(2);
    if (index == nullptr) return {};
    const bool rows = index->stored_elements() < index->elements();
    if (rows && index->strides.back() == 0) {
        return gathered(subject, subject.call.tensor(0), index);
    }
    const Tensor* const table = subject.call.tensor(0);
    if (table == nullptr || table->elements() < 1) return {};
    if (rows) return along_index(subject, *table, *index, cost("movement.along_index"));
    const Tensor flat{.type = table->type, .dims = {table->elements()}, .strides = {}};
    return gathered(subject, &flat, index);
}
/// Sums with atomic operations, which wait for each other if elements go to the same position.
std::optional<Understood> scatter_sums(const Subject& subject) {
    const Tensor* const table = subject.call.tensor(0);
    const Tensor* const index = subject.call.tensor(2);
    if (table == nullptr || index == nullptr || index->elements() < 1) return {};
    if (!index->strides.empty() && index->strides.back() == 0) {
        return gathered(subject, table, index);
    }
    const Tensor* const values = subject.call.tensor(3);
    const bool apart = values != nullptr && !values->strides.empty() && values->strides.back() != 1;
    return along_index(subject, *table, *index,
                       cost(apart ? "movement.scatter_apart" : "movement.scatter"));
}
std::optional<Understood> indexed(const Subject& subject) {
    const std::vector<const Tensor*> all = subject.call.tensors();
    return all.size() < 2 ? std::nullopt : gathered(subject, all[0], all[1]);
}
/// Puts rows of values into a table; rows that are to be added are first sorted by position. (W1)
std::optional<Understood> index_put(const Subject& subject) {
    const Tensor* const table = subject.call.tensor(0);
    const Tensor* const values = subject.call.tensor(2);
    if (table == nullptr || values == nullptr || table->dims.empty()) return {};
    // The trace does not record which dimensions are indexed: assume as many as make the values
    // whole rows.
    std::int64_t cols = table->elements();
    for (const std::int64_t size : table->dims) {
        cols /= std::max<std::int64_t>(1, size);
        if (cols > 0 && values->dims.size() > 1 && values->elements() % cols == 0) break;
    }
    cols = std::max<std::int64_t>(1, cols);
    const std::int64_t rows = std::max<std::int64_t>(1, values->elements() / cols);
    const ElementType type = type_of(*table, subject);
    Entry put;
    put.operation = Gather{.rows = rows,
                           .cols = cols,
                           .table_rows = std::max<std::int64_t>(1, table->elements() / cols),
                           .type = data_type(type)};
    put.execution = {.implementation = model::Implementation::torch, .l2 = L2State::warm};
    if (!subject.call.flag(3)) {
        return carried_out({std::move(put)}, OperatorFamily::gather, rows * cols, size_of(type));
    }
    // A warp adds the rows that go to one place, one after another. Places are taken to be drawn evenly.
    const double together = static_cast<double>(rows * cols) /
                            static_cast<double>(std::max<std::int64_t>(1, table->elements()));
    put.least = time_cost("least.index_put") + time_cost("least.index_put_again") * together;
    return carried_out({entry_of(index_sort(rows), "sort"), std::move(put)}, OperatorFamily::gather,
                       rows * cols, size_of(type));
}

/// The gradient of each position is added to the row of its token.
std::optional<Understood> embedding_backward(const Subject& subject) {
    const Tensor* const gradient = subject.call.tensor(0);
    const Tensor* const index = subject.call.tensor(1);
    if (gradient == nullptr || gradient->dims.empty()) return {};
    const std::int64_t rows = subject.call.whole(2).value_or(0);
    const Tensor table{
        .type = gradient->type, .dims = {rows, gradient->dims.back()}, .strides = {}};
    auto found = gathered(subject, &table, index);
    if (!found) return found;
    const EmbeddingGradient kernels =
        embedding_gradient(std::get<Gather>(found->steps[0].operation));
    found->kernels = {kernels.zeros, kernels.sums};
    if (kernels.sort) found->kernels.push_back(*kernels.sort);
    return found;
}

/// Only writes: half of the bytes of a copy.
std::optional<Understood> fill(const Subject& subject) {
    const Tensor* const x = subject.call.tensor(0);
    if (x == nullptr || x->elements() < 1) return {};
    const ElementType type = type_of(*x, subject);
    return result(torch_step(model::Copy{.elements = std::max<std::int64_t>(1, x->elements() / 2),
                                         .type = data_type(type)}),
                  OperatorFamily::fill, x->elements(), size_of(type));
}

/// (gradient, sizes, ...): the gradient of a part, in zeros of the size of the whole.
std::optional<Understood> part_of_zeros(const Subject& subject) {
    const Tensor* const part = subject.call.tensor(0);
    if (part == nullptr || part->elements() < 1) return {};
    std::int64_t whole = 1;
    constexpr std::int64_t most = std::int64_t{1} << 40U;  // a damaged trace can give any number
    for (const std::int64_t size : subject.call.wholes(1)) {
        if (size < 1 || size > most / whole) return {};
        whole *= size;
    }
    if (whole < part->elements()) return {};
    const ElementType type = type_of(*part, subject);
    auto found = result(torch_step(model::Copy{.elements = std::max<std::int64_t>(1, whole / 2),
                                               .type = data_type(type)}),
                        OperatorFamily::fill, whole, size_of(type));
    found.steps.push_back(
        torch_step(model::Copy{.elements = part->elements(), .type = data_type(type)}));
    return found;
}

/// One element per row, selected by its target.
std::optional<Understood> picked(const Subject& subject, const Tensor* x, const Tensor* target) {
    if (x == nullptr || target == nullptr || x->elements() < 1) return {};
    const Tensor flat{.type = x->type, .dims = {x->elements()}, .strides = {}};
    auto found = gathered(subject, &flat, target);
    if (found) found->family = OperatorFamily::loss;
    return found;
}
std::optional<Understood> loss(const Subject& subject) {
    return picked(subject, subject.call.tensor(0), subject.call.tensor(1));
}
std::optional<Understood> loss_backward(const Subject& subject) {
    return picked(subject, subject.call.tensor(1), subject.call.tensor(2));
}

std::optional<Understood> dropout(const Subject& subject) {
    auto found = pointwise("dropout", subject);
    if (found) found->family = OperatorFamily::dropout;
    return found;
}
/// One kernel that scales by a mask of one byte per element, whereas masked_fill copies first.
std::optional<Understood> dropout_backward(const Subject& subject) {
    auto found = pointwise("mul", subject);
    const Tensor* const gradient = subject.call.tensor(0);
    if (!found || gradient == nullptr) return found;
    found->family = OperatorFamily::dropout;
    const ElementType type = type_of(*gradient, subject);
    const std::int64_t size = std::max<std::int64_t>(1, size_of(type));
    const std::int64_t elements = gradient->elements() + gradient->elements() / (2 * size);
    if (std::holds_alternative<model::Elementwise>(found->steps.front().operation)) {
        found->steps = {
            torch_step(model::Elementwise{.expression = model::parse_expression("x * c"),
                                          .elements = elements,
                                          .type = data_type(type)})};
    }
    return found;
}

std::optional<Understood> adamw(const Subject& subject) {
    if (subject.call.arguments.empty() || !subject.call.arguments.front().list) return {};
    std::int64_t elements = 0;
    for (const Tensor& part : subject.call.arguments.front().tensors) elements += part.elements();
    if (elements < 1) return {};
    const ElementType type =
        subject.hint == ElementType::unknown ? ElementType::fp32 : subject.hint;
    return result(step_of(model::AdamW{.elements = elements, .type = data_type(type)},
                          model::Implementation::fused, L2State::cold),
                  OperatorFamily::optimizer, elements, size_of(type));
}

/// Writes new keys and values, or latent vectors, into a cache of pages: what moves is the new
/// part, not the cache. The inputs come first; the cache, the largest tensor, has its own type.
std::optional<Understood> write_cache(const Subject& subject) {
    std::int64_t most = 0;
    const Tensor* cache = nullptr;
    for (const Tensor* tensor : subject.call.tensors()) {
        if (tensor->stored_elements() <= most) continue;
        most = tensor->stored_elements();
        cache = tensor;
    }
    if (cache == nullptr) return {};
    std::int64_t read = 0;
    std::int64_t written = 0;
    for (const Tensor* tensor : subject.call.tensors()) {
        if (tensor->stored_elements() == most) break;
        read += tensor->stored_elements() * size_of(type_of(*tensor, subject));
        written += tensor->stored_elements() * size_of(type_of(*cache, subject));
    }
    return streamed(read + written, type_of(*cache, subject), model::Implementation::torch);
}

constexpr std::array movement_table{Rule{"copy", copy},
                                    Rule{"cat", concatenation},
                                    Rule{"stack", concatenation},
                                    Rule{"_cat", concatenation},
                                    Rule{"embedding", embedding},
                                    Rule{"_embedding_bag", embedding_bag},
                                    Rule{"_embedding_bag_forward_only", embedding_bag},
                                    Rule{"index_select", index_select},
                                    Rule{"gather", gather_along},
                                    Rule{"take_along_dim", gather_along},
                                    Rule{"index", indexed},
                                    Rule{"index_put", index_put},
                                    Rule{"_index_put_impl", index_put},
                                    Rule{"roll", roll},
                                    Rule{"index_add", index_add},
                                    Rule{"index_copy", index_add},
                                    Rule{"scatter", gather_along},
                                    Rule{"scatter_add", scatter_sums},
                                    Rule{"embedding_dense_backward", embedding_backward},
                                    Rule{"fill", fill},
                                    Rule{"zero", fill},
                                    Rule{"ones_like", fill},
                                    Rule{"zeros_like", fill},
                                    Rule{"select_backward", part_of_zeros},
                                    Rule{"slice_backward", part_of_zeros},
                                    Rule{"uniform", fill},
                                    Rule{"normal", fill},
                                    Rule{"bernoulli", fill},
                                    Rule{"random", fill},
                                    Rule{"arange", fill},
                                    Rule{"nll_loss_forward", loss},
                                    Rule{"nll_loss_backward", loss_backward},
                                    Rule{"native_dropout", dropout},
                                    Rule{"native_dropout_backward", dropout_backward},
                                    Rule{"_fused_adamw", adamw},
                                    Rule{"_fused_adam", adamw},
                                    Rule{"reshape_and_cache", write_cache},
                                    Rule{"reshape_and_cache_flash", write_cache},
                                    Rule{"concat_and_cache_mla", write_cache}};

}  // namespace

std::span<const Rule> movement_rules() {
    return movement_table;
}

}  // namespace ridge::programs
