#include "programs/report/changes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>

#include "model/expression/expression.h"
#include "model/predict.h"
#include "programs/aten/least_change.h"
#include "programs/report/changed_call.h"

namespace ridge::programs {
namespace {

std::size_t at(std::int32_t index) {
    return static_cast<std::size_t>(index);
}

Time time_of_step(const model::Operation& operation, model::Implementation implementation,
                  const model::Machine& machine) {
    const model::Outcome outcome =
        model::predict(operation, {.implementation = implementation}, machine);
    const auto* const prediction = std::get_if<model::Prediction>(&outcome);
    return prediction == nullptr ? Time{} : prediction->time;
}

/// Operators that take the type of the product before them.
bool follows_products(std::string_view name) {
    constexpr std::array names{
        "relu",      "clamp_min",  "gelu", "silu", "gelu_backward",  "silu_backward",
        "hardswish", "leaky_relu", "sum",  "cat",  "native_dropout", "threshold_backward"};
    return std::find(names.begin(), names.end(), bare_operator(name)) != names.end();
}

bool multiplies(const OperatorRow& row) {
    return row.family == OperatorFamily::product || row.family == OperatorFamily::attention;
}

/// In fp32; the elements of its tensors.
std::int64_t wide_elements(const Call& call) {
    std::int64_t elements = 0;
    for (const Tensor* tensor : call.tensors()) {
        if (tensor->dims.size() < 2) continue;
        if (tensor->type != ElementType::fp32) return 0;
        elements += tensor->stored_elements();
    }
    return elements;
}

Call in_bf16(Call call) {
    for (Argument& argument : call.arguments) {
        for (Tensor& tensor : argument.tensors) {
            if (tensor.type == ElementType::fp32) tensor.type = ElementType::bf16;
        }
    }
    return call;
}

bool is_image(const Tensor& tensor) {
    if (tensor.dims.size() < 4 || tensor.dims[1] < 2) return false;
    std::int64_t pixels = 1;
    for (std::size_t i = 2; i < tensor.dims.size(); ++i) pixels *= tensor.dims[i];
    return pixels > 1;
}

/// Images that have their channels first take them last.
Call with_channels_last(Call call) {
    for (Argument& argument : call.arguments) {
        for (Tensor& tensor : argument.tensors) {
            if (!is_image(tensor) || !tensor.contiguous()) continue;
            tensor.strides.assign(tensor.dims.size(), 1);
            std::int64_t stride = tensor.dims[1];
            for (std::size_t i = tensor.dims.size(); i-- > 2;) {
                tensor.strides[i] = stride;
                stride *= tensor.dims[i];
            }
            tensor.strides[0] = stride;
        }
    }
    return call;
}

class Changes {
  public:
    Changes(const std::vector<Instance>& instances, const Rows& rows, const model::Machine& machine)
        : instances_(instances), rows_(rows), machine_(machine) {
        for (const OperatorRow& row : rows.rows) all_ += row.measured;
    }

    /// Products in fp32 as products in bf16, with a cast of their inputs, which the backward pass keeps; and
    /// what follows them in their type.
    void add_precision() {
        const auto applies = [this](std::size_t i) {
            const bool follows =
                follows_products(rows_.rows[i].name) || rows_.understood[i].changes_layout;
            return (multiplies(rows_.rows[i]) || follows) && wide_elements(rows_.calls[i]) > 0;
        };
        const auto cast = [this](std::size_t i) {
            if (!multiplies(rows_.rows[i]) || rows_.backward[i]) return Time{};
            const model::Elementwise op{.expression = model::parse_expression("x"),
                                        .elements = wide_elements(rows_.calls[i]),
                                        .type = model::DataType::fp32,
                                        .output = model::DataType::bf16};
            return time_of_step(op, model::Implementation::torch, machine_);
        };
        const bool multiplied = std::any_of(rows_.rows.begin(), rows_.rows.end(), multiplies);
        if (!multiplied) return;
        add(SavingKind::precision, "products and convolutions in bf16 (autocast) instead of fp32",
            applies, in_bf16, cast);
    }

    /// cuDNN turns images with channels first before and after its kernels.
    void add_layout() {
        const bool convolves = std::any_of(
            rows_.calls.begin(), rows_.calls.end(),
            [](const Call& call) { return call.name.find("conv") != std::string::npos; });
        if (!convolves) return;
        const auto applies = [this](std::size_t i) {
            const auto tensors = rows_.calls[i].tensors();
            return std::any_of(tensors.begin(), tensors.end(), [](const Tensor* tensor) {
                return is_image(*tensor) && tensor->contiguous();
            });
        };
        add(SavingKind::layout, "images with channels last (channels_last)", applies,
            with_channels_last, [](std::size_t) { return Time{}; });
    }

    /// A softmax between two products of its size, and its gradient between two and two.
    void add_attention() {
        Sum sum;
        std::vector<bool> taken(instances_.size(), false);
        for (std::size_t i = 0; i < instances_.size(); ++i) {
            const std::string& name = row(i).name;
            const bool backward = name.find("_softmax_backward_data") != std::string::npos;
            if (backward || name == "aten::_softmax") add_softmax(i, backward, sum, taken);
        }
        push(SavingKind::attention,
             "scores, softmax and values in one kernel (scaled_dot_product_attention)", sum);
    }

    [[nodiscard]] std::vector<Saving> finish() { return std::move(found_); }

  private:
    struct Sum {
        std::int64_t count = 0;
        std::int64_t kernels = 0;
        Time now;
        Time then;
        SavedTimes times{};
    };

    [[nodiscard]] const OperatorRow& row(std::size_t instance) const {
        return rows_.rows[at(rows_.row_of[instance])];
    }
    [[nodiscard]] const Understood& understood(std::size_t instance) const {
        return rows_.understood[at(rows_.row_of[instance])];
    }

    void add(SavingKind kind, const char* what, const std::function<bool(std::size_t)>& applies,
             const std::function<Call(Call)>& change,
             const std::function<Time(std::size_t)>& beside) {
        Sum sum;
        for (std::size_t i = 0; i < rows_.calls.size(); ++i) {
            const OperatorRow& row = rows_.rows[i];
            // Lists of tensors are known by their blocks, which no change says.
            const bool of_lists = row.family == OperatorFamily::optimizer;
            if (rows_.calls[i].name.empty() || row.driver || of_lists || row.count < 1) continue;
            if (!applies(i)) continue;
            const auto ratio =
                changed_time(row, rows_.understood[i], change(rows_.calls[i]), machine_);
            if (!ratio) continue;
            sum.count += row.count;
            sum.kernels += row.kernels;
            sum.now += row.measured;
            const Time then = row.measured * *ratio + beside(i) * static_cast<double>(row.count);
            sum.then += then;
            sum.times.rows.emplace_back(static_cast<std::int32_t>(i), then / row.measured);
        }
        push(kind, what, sum);
    }

    void push(SavingKind kind, const char* what, const Sum& sum) {
        if (sum.count < 1 || sum.now - sum.then < all_ * least_change()) return;
        found_.push_back({.kind = kind,
                          .what = what,
                          .count = sum.count,
                          .kernels = sum.kernels / sum.count,
                          .now = sum.now,
                          .then = sum.then,
                          .times = sum.times});
    }

    /// The product of an instance that reads or writes scores of this many elements.
    [[nodiscard]] const model::Matmul* product_of(std::size_t instance, double scores) const {
        const Understood& what = understood(instance);
        if (what.family != OperatorFamily::product || what.steps.empty()) return nullptr;
        const auto* const op = std::get_if<model::Matmul>(&what.steps.front().operation);
        if (op == nullptr) return nullptr;
        const auto size = [op](std::int64_t a, std::int64_t b) {
            return static_cast<double>(op->batch) * static_cast<double>(a) * static_cast<double>(b);
        };
        const bool fits = size(op->m, op->n) == scores || size(op->m, op->k) == scores ||
                          size(op->k, op->n) == scores;
        return fits && op->batch > 1 ? op : nullptr;
    }

    void add_softmax(std::size_t place, bool backward, Sum& sum, std::vector<bool>& taken) const {
        constexpr std::size_t nearby = 16;
        const Counts& counts = understood(place).counts;
        const double scores = counts[Count::table];
        const std::size_t wanted = backward ? 2 : 1;
        std::size_t first = place;
        std::size_t last = place;
        std::size_t before = 0;
        std::size_t after = 0;
        const model::Matmul* product = nullptr;
        for (std::size_t i = place; i-- > 0 && place - i < nearby && before < wanted;) {
            if (const auto* op = product_of(i, scores)) {
                ++before;
                first = i;
                product = op;
            }
        }
        for (std::size_t i = place + 1;
             i < instances_.size() && i - place < nearby && after < wanted; ++i) {
            if (product_of(i, scores) != nullptr) {
                ++after;
                last = i;
            }
        }
        if (before < wanted || after < wanted || taken[first]) return;
        const double columns = std::max(1.0, counts[Count::columns]);
        const auto keys = static_cast<std::int64_t>(columns);
        const auto queries = static_cast<std::int64_t>(scores / columns) / product->batch;
        const double pair = static_cast<double>(product->m) * static_cast<double>(product->n) *
                            static_cast<double>(product->k);
        const auto dim = static_cast<std::int64_t>(
            pair / (static_cast<double>(std::max<std::int64_t>(1, queries)) * columns));
        if (queries < 1 || dim < 1) return;
        const model::Attention op{
            .batch = 1,
            .heads = product->batch,
            .kv_heads = product->batch,
            .seq_q = queries,
            .seq_kv = keys,
            .head_dim = dim,
            .type = product->type,
            .direction = backward ? model::Direction::backward : model::Direction::forward};
        const bool wide = size_of(product->type) > 2;
        const Time fused = time_of_step(
            op, wide ? model::Implementation::torch_efficient : model::Implementation::torch_flash,
            machine_);
        if (fused <= Time{}) return;
        // The fused kernel takes any layout: copies of its operands and results go too.
        while (first > 0 && understood(first - 1).changes_layout) --first;
        while (last + 1 < instances_.size() && understood(last + 1).changes_layout) ++last;
        add_fused(first, last, fused, sum);
        std::fill(taken.begin() + static_cast<std::ptrdiff_t>(first),
                  taken.begin() + static_cast<std::ptrdiff_t>(last) + 1, true);
    }

    /// One kernel instead of all from the first instance to the last.
    void add_fused(std::size_t first, std::size_t last, Time fused, Sum& sum) const {
        ++sum.count;
        Time now;
        for (std::size_t i = first; i <= last; ++i) {
            sum.kernels += static_cast<std::int64_t>(instances_[i].kernels.size());
            now += programs::time_of(instances_[i].measured_ns);
        }
        for (std::size_t i = first; i <= last && now > Time{}; ++i) {
            sum.times.instances.emplace_back(i, fused / now);
            if (i > first) sum.times.instances_gone.push_back(i);
        }
        sum.now += now;
        sum.then += fused;
    }

    const std::vector<Instance>& instances_;
    const Rows& rows_;
    const model::Machine& machine_;
    Time all_;
    std::vector<Saving> found_;
};

}  // namespace

std::vector<Saving> changes_of(const std::vector<Instance>& instances, const Rows& rows,
                               const model::Machine& machine) {
    Changes changes(instances, rows, machine);
    changes.add_precision();
    changes.add_layout();
    changes.add_attention();
    return changes.finish();
}

}  // namespace ridge::programs
