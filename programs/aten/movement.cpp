// Copies, cat, gathers, fills, losses by index, and optimizer steps over lists of tensors.
#include <algorithm>
#include <array>

#include "model/core/join.h"
#include "model/streams/row_work.h"
#include "programs/aten/rules.h"

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

/// A copy into `to`: as it lies, with another type, or with its dimensions exchanged.
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
    // Pieces that stay together: the dimensions from the end that are contiguous on both sides.
    std::int64_t inner = 1;
    for (std::size_t i = to->dims.size(); i-- > 0;) {
        const bool together = !to->strides.empty() && to->strides[i] == inner &&
                              from->dims == to->dims && from->strides.size() == to->dims.size() &&
                              from->strides[i] == inner;
        if (to->dims[i] != 1 && !together) break;
        inner *= to->dims[i];
    }
    const std::int64_t outer = elements / inner;
    const std::int64_t rows = to->dims.empty() ? 1 : std::max<std::int64_t>(1, to->dims.front());
    const std::int64_t cols = outer % rows == 0 ? outer / rows : outer;
    return result(torch_step(model::Transpose{
                      .rows = outer / cols, .cols = cols, .type = data_type(type), .inner = inner}),
                  OperatorFamily::copy, elements, size_of(type));
}

/// Elements that lie together in every part.
std::int64_t together(const std::vector<const Tensor*>& parts) {
    std::int64_t run = 0;
    for (const Tensor* part : parts) {
        const bool last = part->strides.empty() || part->strides.back() == 1;
        const std::int64_t own = last ? part->dims.back() : 1;
        run = run == 0 ? own : std::min(run, own);
    }
    return std::max<std::int64_t>(1, run);
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
    const bool views = std::any_of(parts.begin(), parts.end(),
                                   [](const Tensor* part) { return !part->contiguous(); });
    if (parts.size() == 1 && !views) {
        return result(torch_step(model::Copy{.elements = elements, .type = data_type(type)}),
                      OperatorFamily::copy, elements, size_of(type));
    }
    const Tensor& largest = **std::max_element(
        parts.begin(), parts.end(),
        [](const Tensor* a, const Tensor* b) { return a->elements() < b->elements(); });
    std::int64_t dim = subject.call.whole(1).value_or(0);
    const auto rank = static_cast<std::int64_t>(largest.dims.size());
    if (dim < 0) dim += rank;
    std::int64_t rows = 1;
    for (std::int64_t i = 0; i < std::min(dim, rank); ++i) {
        rows *= largest.dims[static_cast<std::size_t>(i)];
    }
    return result(
        torch_step(model::joined({.elements = elements,
                                  .largest = largest.elements(),
                                  .piece = std::max<std::int64_t>(1, largest.elements() / rows),
                                  .run = views ? together(parts) : 0,
                                  .type = data_type(type)})),
        OperatorFamily::copy, elements, size_of(type));
}

/// Rows of `table` by as many places as `index` holds.
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
std::optional<Understood> index_select(const Subject& subject) {
    return gathered(subject, subject.call.tensor(0), subject.call.tensor(2));
}
/// One element a place, unless the index is broadcast over rows.
std::optional<Understood> gather_along(const Subject& subject) {
    const Tensor* const index = subject.call.tensor(2);
    if (index == nullptr) return {};
    if (index->stored_elements() < index->elements()) return index_select(subject);
    const Tensor* const table = subject.call.tensor(0);
    if (table == nullptr || table->elements() < 1) return {};
    const Tensor flat{.type = table->type, .dims = {table->elements()}, .strides = {}};
    return gathered(subject, &flat, index);
}
std::optional<Understood> indexed(const Subject& subject) {
    const std::vector<const Tensor*> all = subject.call.tensors();
    return all.size() < 2 ? std::nullopt : gathered(subject, all[0], all[1]);
}
/// A table of zeros, then one kernel that goes through all indices, one after the other, or from 3072
/// indices on a sort of them and sums of each token's places, in parts of ten. (eq. S7)
std::vector<KernelWork> gradient_kernels(const Gather& op) {
    constexpr std::int64_t most_unsorted = 3072;
    constexpr double part = 10.0;  // places of a token that a thread adds up
    const double size = static_cast<double>(size_of(op.type));
    const auto rows = static_cast<double>(op.rows);
    const double row = static_cast<double>(op.cols) * size;
    std::vector<KernelWork> kernels{
        {.moved = static_cast<double>(op.table_rows) * row, .dram_share = 0.93, .floors = 1.0}};
    KernelWork sums{.moved = rows * row, .chains = 1};
    if (op.rows <= most_unsorted) {
        sums.chain_clocks = 2400.0 + 70.4 * rows;
        sums.floors = 1.0;
    } else {
        const double columns = 32.0 * static_cast<double>(ceil_divide(op.cols, 32));
        sums.clocks = 3.83 * (model::gather_distinct_rows(op) + rows / part) * columns;
        sums.chain_clocks = 140e3 + 1.27 * rows;
    }
    kernels.push_back(sums);
    return kernels;
}

/// The gradient of each place, added to the row of its token.
std::optional<Understood> embedding_backward(const Subject& subject) {
    const Tensor* const gradient = subject.call.tensor(0);
    const Tensor* const index = subject.call.tensor(1);
    if (gradient == nullptr || gradient->dims.empty()) return {};
    const std::int64_t rows = subject.call.whole(2).value_or(0);
    const Tensor table{
        .type = gradient->type, .dims = {rows, gradient->dims.back()}, .strides = {}};
    auto found = gathered(subject, &table, index);
    if (found) found->kernels = gradient_kernels(std::get<Gather>(found->steps[0].operation));
    return found;
}

/// Only written: half of a copy's bytes.
std::optional<Understood> fill(const Subject& subject) {
    const Tensor* const x = subject.call.tensor(0);
    if (x == nullptr || x->elements() < 1) return {};
    const ElementType type = type_of(*x, subject);
    return result(torch_step(model::Copy{.elements = std::max<std::int64_t>(1, x->elements() / 2),
                                         .type = data_type(type)}),
                  OperatorFamily::fill, x->elements(), size_of(type));
}

/// One element a row by its target.
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
std::optional<Understood> dropout_backward(const Subject& subject) {
    auto found = pointwise("masked_fill", subject);
    if (found) found->family = OperatorFamily::dropout;
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

constexpr std::array movement_table{Rule{"copy", copy},
                                    Rule{"cat", concatenation},
                                    Rule{"stack", concatenation},
                                    Rule{"_cat", concatenation},
                                    Rule{"embedding", embedding},
                                    Rule{"index_select", index_select},
                                    Rule{"gather", gather_along},
                                    Rule{"take_along_dim", gather_along},
                                    Rule{"index", indexed},
                                    Rule{"index_put", indexed},
                                    Rule{"_index_put_impl", indexed},
                                    Rule{"index_add", index_select},
                                    Rule{"index_copy", index_select},
                                    Rule{"scatter", gather_along},
                                    Rule{"scatter_add", gather_along},
                                    Rule{"embedding_dense_backward", embedding_backward},
                                    Rule{"fill", fill},
                                    Rule{"zero", fill},
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
                                    Rule{"_fused_adam", adamw}};

}  // namespace

std::span<const Rule> movement_rules() {
    return movement_table;
}

}  // namespace ridge::programs
