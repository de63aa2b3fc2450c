// How the layouts of tensors of equal shape relate in memory.
#include <algorithm>
#include <vector>

#include "programs/aten/rules.h"

namespace ridge::programs {
namespace {

struct Dimension {
    std::int64_t size = 1;
    std::int64_t to = 0;  ///< strides
    std::int64_t from = 0;
};

std::vector<std::int64_t> strides_of(const Tensor& x) {
    if (x.strides.size() == x.dims.size()) return x.strides;
    std::vector<std::int64_t> strides(x.dims.size());
    std::int64_t stride = 1;
    for (std::size_t i = x.dims.size(); i-- > 0;) {
        strides[i] = stride;
        stride *= x.dims[i];
    }
    return strides;
}

/// Ordered by falling strides of the result; neighbours that form one dimension on both sides are
/// joined.
std::vector<Dimension> dimensions_of(const Tensor& to, const Tensor& from) {
    const std::vector<std::int64_t> to_strides = strides_of(to);
    const std::vector<std::int64_t> from_strides = strides_of(from);
    std::vector<Dimension> all;
    for (std::size_t i = 0; i < to.dims.size(); ++i) {
        if (to.dims[i] != 1) all.push_back({to.dims[i], to_strides[i], from_strides[i]});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Dimension& a, const Dimension& b) { return a.to > b.to; });
    std::vector<Dimension> joined;
    for (const Dimension& inner : all) {
        if (!joined.empty() && joined.back().to == inner.to * inner.size &&
            joined.back().from == inner.from * inner.size) {
            joined.back() = {joined.back().size * inner.size, inner.to, inner.from};
        } else {
            joined.push_back(inner);
        }
    }
    return joined;
}

/// One dimension of a loop: its size, and the stride of each tensor, 0 if it is broadcast.
struct SharedDimension {
    std::int64_t size = 1;
    std::vector<std::int64_t> strides{};
};

std::vector<SharedDimension> dimensions_of_loop(const std::vector<Tensor>& tensors) {
    std::size_t rank = 0;
    for (const Tensor& tensor : tensors) rank = std::max(rank, tensor.dims.size());
    std::vector<SharedDimension> all(rank);
    for (const Tensor& tensor : tensors) {
        const std::vector<std::int64_t> strides = strides_of(tensor);
        const std::size_t missing = rank - tensor.dims.size();
        for (std::size_t i = 0; i < rank; ++i) {
            const std::int64_t size = i < missing ? 1 : tensor.dims[i - missing];
            all[i].size = std::max(all[i].size, size);
            all[i].strides.push_back(size > 1 ? strides[i - missing] : 0);
        }
    }
    std::erase_if(all, [](const SharedDimension& each) { return each.size == 1; });
    std::stable_sort(
        all.begin(), all.end(),
        [](const SharedDimension& a, const SharedDimension& b) { return a.strides > b.strides; });
    return all;
}

bool continues(const SharedDimension& outer, const SharedDimension& inner) {
    for (std::size_t i = 0; i < inner.strides.size(); ++i) {
        // Without the product, which the strides of a damaged trace would overflow.
        const bool steps_over = inner.size == 0
                                    ? outer.strides[i] == 0
                                    : outer.strides[i] % inner.size == 0 &&
                                          outer.strides[i] / inner.size == inner.strides[i];
        if (!steps_over) return false;
    }
    return true;
}

/// The dimensions of the loop over all tensors, after those that form one in all of them were joined.
std::vector<SharedDimension> joined_loop(const std::vector<Tensor>& tensors) {
    std::vector<SharedDimension> joined;
    for (SharedDimension& inner : dimensions_of_loop(tensors)) {
        if (!joined.empty() && continues(joined.back(), inner)) {
            joined.back() = {joined.back().size * inner.size, std::move(inner.strides)};
        } else {
            joined.push_back(std::move(inner));
        }
    }
    return joined;
}

bool lies_apart(const std::vector<SharedDimension>& joined) {
    return !joined.empty() &&
           std::any_of(joined.back().strides.begin(), joined.back().strides.end(),
                       [](std::int64_t stride) { return stride > 1; });
}

}  // namespace

std::int64_t loop_dimensions(const std::vector<Tensor>& tensors) {
    const auto joined = joined_loop(tensors);
    return joined.size() <= 1 && !lies_apart(joined) ? 0 : static_cast<std::int64_t>(joined.size());
}

bool loop_lies_apart(const std::vector<Tensor>& tensors) {
    return lies_apart(joined_loop(tensors));
}

Exchange exchange_of(const Tensor& to, const Tensor& from) {
    const std::int64_t elements = to.elements();
    if (to.dims != from.dims || elements < 1) return {.rows = 1, .cols = elements, .inner = 1};
    std::vector<Dimension> all = dimensions_of(to, from);
    std::int64_t inner = 1;
    if (!all.empty() && all.back().to == 1 && all.back().from == 1) {
        inner = all.back().size;
        all.pop_back();
    }
    if (all.empty()) return {.rows = 1, .cols = 1, .inner = inner};
    // In the source the columns are contiguous, or have the smallest stride.
    const Dimension& nearest =
        *std::min_element(all.begin(), all.end(),
                          [](const Dimension& a, const Dimension& b) { return a.from < b.from; });
    return {.rows = elements / inner / nearest.size, .cols = nearest.size, .inner = inner};
}

Tensor in_order_of_memory(const Tensor& x, const Tensor& leader, std::int64_t& dim) {
    const std::vector<std::int64_t> strides = strides_of(leader);
    std::vector<std::size_t> order(x.dims.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    if (strides.size() != x.dims.size()) return x;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(strides[a], leader.dims[a] != 1) >
               std::pair(strides[b], leader.dims[b] != 1);
    });
    const std::vector<std::int64_t> own = strides_of(x);
    Tensor turned{.type = x.type, .dims = {}, .strides = {}};
    std::int64_t place = dim;
    for (std::size_t i = 0; i < order.size(); ++i) {
        turned.dims.push_back(x.dims[order[i]]);
        turned.strides.push_back(own[order[i]]);
        if (static_cast<std::int64_t>(order[i]) == dim) place = static_cast<std::int64_t>(i);
    }
    dim = place;
    return turned;
}

}  // namespace ridge::programs
