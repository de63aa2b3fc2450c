// Operators on lists of tensors, from the blocks of their kernels, if no shapes were recorded. (eq.
// S10)
#include <algorithm>
#include <array>
#include <numeric>

#include "programs/aten/rules.h"
#include "programs/graph/costs.h"

namespace ridge::programs {
namespace {

struct ListOperator {
    std::string_view name;
    int tensors;  ///< read and written; a tensor that is passed twice counts once
};

// As AdamW calls them: for the square of the gradient, the same tensor is passed twice.
constexpr std::array list_operators{ListOperator{"_amp_foreach_non_finite_check_and_unscale", 2},
                                    ListOperator{"_foreach_addcdiv", 4},
                                    ListOperator{"_foreach_addcmul", 3},
                                    ListOperator{"_foreach_copy", 2},
                                    ListOperator{"_foreach_norm", 1},
                                    ListOperator{"_fused_adam", 7},
                                    ListOperator{"_fused_adamw", 7},
                                    ListOperator{"_fused_sgd", 5},
                                    ListOperator{"_foreach_maximum", 3},
                                    ListOperator{"_foreach_lerp", 3},
                                    ListOperator{"_foreach_add", 2},
                                    ListOperator{"_foreach_sub", 2},
                                    ListOperator{"_foreach_mul", 2},
                                    ListOperator{"_foreach_div", 2},
                                    ListOperator{"_foreach_sqrt", 2},
                                    ListOperator{"_foreach_neg", 2},
                                    ListOperator{"_foreach_zero", 1}};

}  // namespace

ListSizes list_sizes(const Call& call) {
    ListSizes sizes;
    for (const Argument& argument : call.arguments) {
        if (!argument.list || argument.tensors.empty()) continue;
        for (const Tensor& tensor : argument.tensors) {
            sizes.all += tensor.elements();
            sizes.largest = std::max(sizes.largest, tensor.elements());
        }
        break;
    }
    return sizes;
}

std::optional<Understood> lists_by_blocks(std::string_view name,
                                          std::span<const std::int64_t> blocks, ElementType type,
                                          const ListSizes& sizes) {
    if (name.starts_with("aten::")) name.remove_prefix(6);
    if (name.ends_with('_')) name.remove_suffix(1);
    const auto row = std::find_if(list_operators.begin(), list_operators.end(),
                                  [name](const ListOperator& each) { return each.name == name; });
    if (row == list_operators.end() || size_of(type) == 0) return {};
    constexpr std::int64_t most_blocks = 320;  // per launch of multi_tensor_apply
    constexpr std::int64_t chunk = 65536;
    Understood found{.family = OperatorFamily::optimizer, .basis = Basis::bytes};
    std::int64_t all = 0;
    // Blocks of small tensors have less than a chunk to do.
    const auto filled = [](std::int64_t elements, std::int64_t whole) {
        return elements < 1
                   ? 1.0
                   : std::min(1.0, static_cast<double>(elements) /
                                       static_cast<double>(std::max<std::int64_t>(1, whole)));
    };
    const std::int64_t launched = std::accumulate(blocks.begin(), blocks.end(), std::int64_t{0});
    const double moved = filled(sizes.all, launched * chunk);
    const double longest = filled(sizes.largest, chunk);
    for (const std::int64_t each : blocks) {
        if (each < 1 || each > most_blocks) return {};
        all += each;
        found.kernels.push_back(
            {.moved = moved * static_cast<double>(each * chunk * size_of(type) * row->tensors),
             .chains = each,
             .chain_clocks = longest * cost("lists.chain") * row->tensors,
             .block_clocks = moved * cost("lists.block") * row->tensors,
             .floors = 1.0});
    }
    if (all == 0) return {};
    found.ruled = true;
    found.law_name = name;
    found.counts[Count::bytes] =
        moved * static_cast<double>(all * chunk * size_of(type) * row->tensors);
    found.counts[Count::rows] = longest * static_cast<double>(blocks.size());
    found.steps = {torch_step(
        model::Copy{.elements = std::max<std::int64_t>(1, all * chunk * row->tensors / 2),
                    .type = data_type(type)})};
    return found;
}

}  // namespace ridge::programs
