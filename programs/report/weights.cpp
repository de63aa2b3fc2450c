#include "programs/report/weights.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace ridge::programs {
namespace {

bool names_part(std::string_view name, std::string_view part) {
    return name.find(part) != std::string_view::npos;
}

bool convolves(const Call& call) {
    return names_part(call.name, "conv");
}

bool looks_up(const Call& call) {
    return bare_operator(call.name) == "embedding";
}

}  // namespace

/// The second tensor of a convolution, the third of its gradient, a table.
bool holds_weights(const Call& call, std::size_t argument) {
    if (looks_up(call)) return argument == 0;
    if (!convolves(call)) return false;
    return argument == (names_part(call.name, "backward") ? 2U : 1U);
}

std::optional<std::size_t> first_operand(const Call& call) {
    constexpr std::array plain{"mm", "bmm", "matmul", "linear", "_int_mm", "_scaled_mm"};
    constexpr std::array added{"addmm", "baddbmm", "_addmm_activation"};
    const std::string_view name = bare_operator(call.name);
    if (std::find(plain.begin(), plain.end(), name) != plain.end()) return 0;
    if (std::find(added.begin(), added.end(), name) != added.end()) return 1;
    return {};
}

WeightShapes weights_of(const Rows& rows) {
    WeightShapes weights;
    const auto add = [&weights](const Tensor* tensor) {
        if (tensor == nullptr || tensor->dims.size() < 2) return;
        weights.insert(tensor->dims);
        if (tensor->dims.size() == 2) weights.insert({tensor->dims[1], tensor->dims[0]});
    };
    for (std::size_t i = 0; i < rows.calls.size(); ++i) {
        const Call& call = rows.calls[i];
        const auto first = first_operand(call);
        const Tensor* const second = first ? call.tensor(*first + 1) : nullptr;
        if (second != nullptr && second->dims.size() == 2 && !rows.backward[i]) add(second);
        for (std::size_t k = 0; k < call.arguments.size(); ++k) {
            if (holds_weights(call, k)) add(call.tensor(k));
        }
    }
    return weights;
}

}  // namespace ridge::programs
