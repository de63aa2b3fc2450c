#include "programs/report/batch_axis.h"

#include <algorithm>
#include <string_view>

#include "programs/report/weights.h"

namespace ridge::programs {
namespace {

bool is_recurrent(const Call& call) {
    return call.name.find("_rnn") != std::string::npos ||
           call.name.find("_thnn_fused") != std::string::npos;
}

/// What a size of the batch explains.
class Trial {
  public:
    Trial(std::int64_t size, const Rows& rows, const WeightShapes& weights)
        : size_(size), weights_(weights) {
        for (const Call& call : rows.calls) {
            for (std::size_t i = 0; i < call.arguments.size(); ++i) {
                const Argument& argument = call.arguments[i];
                if (argument.list || holds_weights(call, i)) continue;
                for (const Tensor& tensor : argument.tensors) {
                    if (!is_weight(tensor)) add_extents(tensor);
                }
            }
        }
    }

    [[nodiscard]] std::optional<Call> doubled(Call call) const {
        if (const auto first = first_operand(call)) return doubled_product(std::move(call), *first);
        std::set<std::int64_t> grown;
        std::int64_t largest = 0;
        std::int64_t largest_grown = 0;
        const bool recurrent = is_recurrent(call);
        for (std::size_t i = 0; i < call.arguments.size(); ++i) {
            if (holds_weights(call, i)) continue;
            for (Tensor& tensor : call.arguments[i].tensors) {
                const std::int64_t elements = tensor.elements();
                largest = std::max(largest, elements);
                const auto axis = axis_of(tensor, recurrent);
                if (!axis) continue;
                largest_grown = std::max(largest_grown, elements);
                grown.insert(tensor.dims[*axis]);
                grow(tensor, *axis);
            }
        }
        if (grown.empty() || largest_grown < largest) return {};
        // Targets and indices have one entry for each row.
        for (Argument& argument : call.arguments) {
            for (Tensor& tensor : argument.tensors) {
                if (tensor.dims.size() == 1 && grown.contains(tensor.dims[0])) grow(tensor, 0);
            }
        }
        return call;
    }

    /// Whether a call takes its samples one by one: images of a convolution, heads of an attention, words of a
    /// sentence as rows of a product. Where words of all sentences lie together, none does.
    [[nodiscard]] bool separates(const OperatorRow& row, const Call& call) const {
        const auto first = first_operand(call);
        const Tensor* const tensor = call.tensor(first.value_or(0));
        if (tensor == nullptr || tensor->dims.size() < 2) return false;
        const auto& dims = tensor->dims;
        if (first) return dims.size() == 2 && longer_.contains(dims[0]);
        if (is_recurrent(call)) return dims.size() == 3 && dims[1] == size_;
        const bool images = call.name.find("conv") != std::string::npos && dims.size() >= 3;
        const bool heads = row.family == OperatorFamily::attention && dims.size() == 4;
        return (images || heads) && dims[0] == size_;
    }

    /// A matrix or filters: its first dimension could be the batch's or a weight's.
    [[nodiscard]] bool is_weight(const Tensor& tensor) const {
        return weights_.contains(tensor.dims);
    }

  private:
    [[nodiscard]] bool leads(const Tensor& tensor) const {
        return tensor.dims.size() >= 3 && tensor.dims[0] == size_;
    }
    [[nodiscard]] bool is_multiple(std::int64_t extent) const {
        return size_ > 1 && extent % size_ == 0;
    }
    void add_extents(const Tensor& tensor) {
        const bool windows = tensor.dims.size() >= 3 && is_multiple(tensor.dims[0]);
        if (!leads(tensor) && !windows) return;
        std::int64_t product = 1;
        for (std::size_t i = 0; i + 1 < tensor.dims.size(); ++i) {
            product *= tensor.dims[i];
            extents_.insert(product);
            if (product != size_) longer_.insert(product);
        }
    }

    /// The dimension of the batch; empty: the tensor has none.
    [[nodiscard]] std::optional<std::size_t> axis_of(const Tensor& tensor, bool recurrent) const {
        const auto& dims = tensor.dims;
        if (dims.size() < 2 || is_weight(tensor)) return {};
        if (!recurrent && extents_.contains(dims[0])) return 0;
        if (dims.size() < 3) return {};
        if (!recurrent && is_multiple(dims[0])) return 0;
        // Queries, keys and values are stacked, and recurrent layers take words x batch.
        constexpr std::int64_t stacked = 4;
        if (size_ > 1 && dims[1] == size_ && (dims[0] <= stacked || recurrent)) return 1;
        return {};
    }

    static void grow(Tensor& tensor, std::size_t axis) {
        const std::int64_t outer = tensor.dims[axis];
        if (axis < tensor.strides.size()) {
            const std::int64_t own = tensor.strides[axis];
            // What lay outside of the batch lies twice as far apart.
            for (std::int64_t& stride : tensor.strides) {
                if (own > 0 && stride >= own * outer) stride *= 2;
            }
        }
        tensor.dims[axis] *= 2;
    }

    /// The rows, the dimension that is summed, or the columns: the first that is one of the batch.
    [[nodiscard]] std::optional<Call> doubled_product(Call call, std::size_t first) const {
        if (first + 1 >= call.arguments.size()) return {};
        auto& a = call.arguments[first].tensors;
        auto& b = call.arguments[first + 1].tensors;
        if (a.size() != 1 || b.size() != 1 || a[0].dims.size() < 2 || b[0].dims.size() < 2)
            return {};
        const bool batched = a[0].dims.size() >= 3;
        const auto belongs = [this](std::int64_t extent) { return extents_.contains(extent); };
        if (batched) {
            const bool scaled = belongs(a[0].dims[0]) || is_multiple(a[0].dims[0]);
            if (!scaled) return {};
            grow(a[0], 0);
            if (b[0].dims.size() >= 3) grow(b[0], 0);
            return call;
        }
        if (belongs(a[0].dims[0])) {
            grow(a[0], 0);
        } else if (belongs(a[0].dims[1])) {
            grow(a[0], 1);
            grow(b[0], 0);
        } else if (belongs(b[0].dims[1])) {
            grow(b[0], 1);
        } else {
            return {};
        }
        return call;
    }

    std::int64_t size_;
    const WeightShapes& weights_;
    std::set<std::int64_t> extents_;
    std::set<std::int64_t> longer_;  ///< the same without the batch itself
};

/// Sums by an index, as over the edges of a graph, whose entries are no samples.
bool scatters(const Call& call) {
    const std::string_view name = bare_operator(call.name);
    return name.starts_with("scatter") || name == "index_add";
}

std::set<std::int64_t> sizes_to_try(const Rows& rows, const WeightShapes& weights) {
    std::set<std::int64_t> sizes;
    std::set<std::int64_t> scattered;
    for (const Call& call : rows.calls) {
        for (std::size_t i = 0; i < call.arguments.size(); ++i) {
            if (call.arguments[i].list || holds_weights(call, i)) continue;
            for (const Tensor& tensor : call.arguments[i].tensors) {
                if (tensor.dims.empty() || weights.contains(tensor.dims)) continue;
                if (scatters(call)) scattered.insert(tensor.dims[0]);
                if (tensor.dims.size() >= 3) sizes.insert(tensor.dims[0]);
            }
        }
    }
    for (const std::int64_t size : scattered) sizes.erase(size);
    return sizes;
}

/// Calls of weights alone, which no batch makes longer: lists of tensors, copies and sums of weights.
bool is_of_weights(const OperatorRow& row, const Call& call, const Trial& trial) {
    if (row.family == OperatorFamily::optimizer) return true;
    if (call.name.empty()) return false;  // nobody knows
    const auto tensors = call.tensors();
    return std::all_of(tensors.begin(), tensors.end(), [&trial](const Tensor* tensor) {
        return tensor->dims.size() < 2 || trial.is_weight(*tensor);
    });
}

}  // namespace

std::optional<BatchAxis> BatchAxis::find(const Rows& rows) {
    constexpr double most_of_it = 0.9;
    constexpr std::size_t most_sizes = 64;
    const WeightShapes weights = weights_of(rows);
    const std::set<std::int64_t> sizes = sizes_to_try(rows, weights);
    if (sizes.size() > most_sizes) return {};
    // A divisor of the batch explains as much as the batch.
    std::optional<BatchAxis> found;
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
        const Trial trial(*size, rows, weights);
        BatchAxis axis(*size);
        Time explained;
        Time all;
        bool separate = false;
        for (std::size_t i = 0; i < rows.calls.size(); ++i) {
            const OperatorRow& row = rows.rows[i];
            axis.doubled_.push_back(trial.doubled(rows.calls[i]));
            separate = separate || trial.separates(row, rows.calls[i]);
            const bool moves = row.driver || row.family == OperatorFamily::communication;
            if (moves || is_of_weights(row, rows.calls[i], trial)) continue;
            all += row.measured;
            if (axis.doubled_.back()) explained += row.measured;
        }
        if (!separate || explained < all * most_of_it) continue;
        if (!found) {
            found = std::move(axis);
        } else if (found->size_ % *size != 0) {
            return {};  // batch x words, or words x batch
        }
    }
    return found;
}

}  // namespace ridge::programs
