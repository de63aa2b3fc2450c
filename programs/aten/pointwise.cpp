// Pointwise operators: one kernel that reads its inputs and writes a result of their shape.
#include <algorithm>
#include <array>
#include <string>

#include "model/expression/expression.h"
#include "programs/aten/rules.h"
#include "programs/graph/costs.h"
#include "programs/graph/eager_kernels.h"

namespace ridge::programs {
namespace {

using model::Implementation;

constexpr double from_dram_of_two = 2.0 / 3.0;

/// An operator and the function of the expression language with the same cost; an empty function
/// costs nothing beyond its bytes.
struct PointwiseRow {
    std::string_view name;
    std::string_view function;
    bool boolean = false;  ///< the result is a truth value
};

// Sorted by name: looked up for every distinct call of a trace.
constexpr std::array table{PointwiseRow{"__and__", "+"},
                           PointwiseRow{"__or__", "+"},
                           PointwiseRow{"_foreach_add", "+"},
                           PointwiseRow{"_foreach_addcdiv", "*"},
                           PointwiseRow{"_foreach_addcmul", "*"},
                           PointwiseRow{"_foreach_div", "/"},
                           PointwiseRow{"_foreach_lerp", "+"},
                           PointwiseRow{"_foreach_mul", "*"},
                           PointwiseRow{"_foreach_neg", "abs"},
                           PointwiseRow{"_foreach_sqrt", "sqrt"},
                           PointwiseRow{"_foreach_sub", "-"},
                           PointwiseRow{"_foreach_zero", ""},
                           PointwiseRow{"abs", "abs"},
                           PointwiseRow{"add", "+"},
                           PointwiseRow{"addcdiv", "/"},
                           PointwiseRow{"addcmul", "*"},
                           PointwiseRow{"bitwise_and", "+"},
                           PointwiseRow{"bitwise_not", "abs"},
                           PointwiseRow{"bitwise_or", "+"},
                           PointwiseRow{"bitwise_xor", "+"},
                           PointwiseRow{"cast", ""},
                           PointwiseRow{"ceil", "abs"},
                           PointwiseRow{"clamp", "relu"},
                           PointwiseRow{"clamp_max", "relu"},
                           PointwiseRow{"clamp_min", "relu"},
                           PointwiseRow{"cos", "cos"},
                           PointwiseRow{"div", "/"},
                           PointwiseRow{"dropout", "dropout"},
                           PointwiseRow{"elu", "exp"},
                           PointwiseRow{"eq", "-", true},
                           PointwiseRow{"erf", "erf"},
                           PointwiseRow{"exp", "exp"},
                           PointwiseRow{"exp2", "exp"},
                           PointwiseRow{"floor", "abs"},
                           PointwiseRow{"floor_divide", "/"},
                           PointwiseRow{"ge", "-", true},
                           PointwiseRow{"gelu", "gelu"},
                           PointwiseRow{"gelu_backward", "gelu'"},
                           PointwiseRow{"gt", "-", true},
                           PointwiseRow{"hardswish", "relu"},
                           PointwiseRow{"hardtanh", "relu"},
                           PointwiseRow{"isinf", "abs", true},
                           PointwiseRow{"isnan", "abs", true},
                           PointwiseRow{"isneginf", "abs", true},
                           PointwiseRow{"isposinf", "abs", true},
                           PointwiseRow{"le", "-", true},
                           PointwiseRow{"leaky_relu", "relu"},
                           PointwiseRow{"lerp", "+"},
                           PointwiseRow{"log", "log"},
                           PointwiseRow{"log2", "log"},
                           PointwiseRow{"logical_and", "+", true},
                           PointwiseRow{"logical_not", "abs", true},
                           PointwiseRow{"logical_or", "+", true},
                           PointwiseRow{"lt", "-", true},
                           PointwiseRow{"masked_fill", "masked_fill"},
                           PointwiseRow{"maximum", "+"},
                           PointwiseRow{"minimum", "+"},
                           PointwiseRow{"mul", "*"},
                           PointwiseRow{"ne", "-", true},
                           PointwiseRow{"neg", "abs"},
                           PointwiseRow{"pow", "square"},
                           PointwiseRow{"reciprocal", "rsqrt"},
                           PointwiseRow{"relu", "relu"},
                           PointwiseRow{"remainder", "/"},
                           PointwiseRow{"round", "abs"},
                           PointwiseRow{"rsqrt", "rsqrt"},
                           PointwiseRow{"rsub", "-"},
                           PointwiseRow{"sigmoid", "sigmoid"},
                           PointwiseRow{"sigmoid_backward", "*"},
                           PointwiseRow{"sign", "abs"},
                           PointwiseRow{"silu", "silu"},
                           PointwiseRow{"silu_backward", "silu'"},
                           PointwiseRow{"sin", "sin"},
                           PointwiseRow{"softplus", "exp"},
                           PointwiseRow{"sqrt", "sqrt"},
                           PointwiseRow{"square", "square"},
                           PointwiseRow{"sub", "-"},
                           PointwiseRow{"tanh", "tanh"},
                           PointwiseRow{"tanh_backward", "*"},
                           PointwiseRow{"threshold_backward", "*"},
                           PointwiseRow{"tril", "abs"},
                           PointwiseRow{"triu", "abs"},
                           PointwiseRow{"where", "+"}};

const PointwiseRow* row_of(std::string_view name) {
    const auto* const found = std::lower_bound(
        table.begin(), table.end(), name,
        [](const PointwiseRow& row, std::string_view key) { return row.name < key; });
    return found != table.end() && found->name == name ? &*found : nullptr;
}

/// What a call reads and writes, from the shapes of its tensors.
struct Operands {
    std::vector<const Tensor*> full;  ///< as large as the result, or nearly
    int vectors = 0;
    std::int64_t elements = 0;
    std::int64_t read_bytes = 0;
    ElementType type = ElementType::unknown;  ///< the widest type of the full operands
    bool scattered = false;                   ///< the kernel cannot load vectors of elements
};

Operands operands_of(const Subject& subject) {
    Operands found;
    std::vector<const Tensor*> tensors = subject.call.tensors();
    for (const Tensor* tensor : tensors) {
        found.elements = std::max(found.elements, tensor->elements());
    }
    for (const Tensor* tensor : tensors) {
        const std::int64_t stored = tensor->stored_elements();
        const ElementType type = type_of(*tensor, subject);
        if (stored * 2 <= found.elements) {
            found.vectors += stored > 1 ? 1 : 0;
            continue;
        }
        found.read_bytes += stored * size_of(type);
        found.scattered = found.scattered || !tensor->dense() ||
                          (!found.full.empty() && !tensor->strides.empty() &&
                           found.full.front()->dims == tensor->dims &&
                           found.full.front()->strides != tensor->strides);
        if (size_of(type) > size_of(found.type)) found.type = type;
        found.full.push_back(tensor);
    }
    if (!found.full.empty()) return found;
    for (const Tensor* tensor : tensors) {  // all repeat what they store
        if (tensor->elements() < found.elements) continue;
        found.full = {tensor};
        found.type = type_of(*tensor, subject);
    }
    return found;
}

/// Elements of the result of tensors with these shapes, each broadcast along the others.
std::int64_t broadcast_elements(const std::vector<const Tensor*>& tensors) {
    std::vector<std::int64_t> sizes;  // the last dimension first
    for (const Tensor* tensor : tensors) {
        const auto& dims = tensor->dims;
        sizes.resize(std::max(sizes.size(), dims.size()), 1);
        for (std::size_t i = 0; i < dims.size(); ++i) {
            sizes[i] = std::max(sizes[i], dims[dims.size() - 1 - i]);
        }
    }
    std::int64_t elements = 1;
    for (const std::int64_t size : sizes) {
        constexpr std::int64_t most = std::int64_t{1} << 60U;
        if (size > most / elements) return 0;
        elements *= size;
    }
    return elements;
}

/// Lists of tensors run as one kernel over all of them; each list is one input.
Operands operands_of_lists(const Subject& subject) {
    Operands found;
    for (const Argument& argument : subject.call.arguments) {
        if (!argument.list || argument.tensors.empty()) continue;
        std::int64_t elements = 0;
        for (const Tensor& tensor : argument.tensors) elements += tensor.elements();
        found.elements = std::max(found.elements, elements);
        found.full.push_back(argument.tensors.data());
        found.type = type_of(argument.tensors.front(), subject);
    }
    if (found.type == ElementType::unknown) found.type = ElementType::fp32;
    found.read_bytes =
        found.elements * size_of(found.type) * static_cast<std::int64_t>(found.full.size());
    return found;
}

struct Formula {
    std::string text;
    model::Direction direction = model::Direction::forward;
};

/// One node with as many tensors as the call has; for more than two, a sum represents the kernel.
Formula formula_of(std::string_view function, const Operands& operands) {
    constexpr std::array names{"x", "y", "z", "u", "v", "w"};
    const std::size_t count = std::min(operands.full.size(), names.size());
    if (function == "masked_fill") return {"masked_fill(x, mask)"};
    if (function == "dropout") return {"dropout(x)"};
    if (function.ends_with('\'')) {  // also reads the gradient
        return {std::string(function.substr(0, function.size() - 1)) + "(x)",
                model::Direction::backward};
    }
    if (count > 2) {
        std::string text = "x";
        for (std::size_t i = 1; i < count; ++i) text += std::string(" + ") + names[i];
        return {text};
    }
    const bool sign = function.size() == 1;
    if (count == 2) return {std::string("x ") + (sign ? std::string(function) : "+") + " y"};
    if (sign)
        return {std::string("x ") + std::string(function) +
                (operands.vectors > 0 ? " bias" : " c")};
    return {function.empty() ? "x" : std::string(function) + "(x)"};
}

/// GELU with the error function, unless the call asks for the tanh form.
std::string_view function_of(const PointwiseRow& row, const Call& call) {
    const bool exact = std::none_of(
        call.arguments.begin(), call.arguments.end(),
        [](const Argument& argument) { return argument.value.find("tanh") != std::string::npos; });
    if (exact && row.function == "gelu") return "gelu_erf";
    if (exact && row.function == "gelu'") return "gelu_erf'";
    return row.function;
}

std::optional<model::DataType> other_type(ElementType result, ElementType type) {
    if (size_of(result) == size_of(type) || result == ElementType::unknown) return {};
    return data_type(result);
}

/// A kernel without vector loads and stores: costs the same as a copy of one operand into the order
/// of another. It computes one index per element, however many tensors it reads, which takes as
/// long as 12 bytes of them.
Understood scattered(const Operands& operands, std::int64_t result_bytes) {
    constexpr std::int64_t bytes_of_an_index = 12;
    // The result is dense in the order of the first operand.
    const Tensor& first = *operands.full.front();
    Exchange lies{.rows = 1, .cols = 1, .inner = operands.elements};
    for (const Tensor* operand : operands.full) {
        if (operand->dims != first.dims) continue;
        std::int64_t last = 0;
        const Tensor turned = in_order_of_memory(*operand, first, last);
        const Exchange each = exchange_of({.dims = turned.dims}, turned);
        if (each.inner < lies.inner) lies = each;
    }
    const std::int64_t elements =
        std::max(operands.elements, (operands.read_bytes + result_bytes) / bytes_of_an_index);
    lies.rows = std::max<std::int64_t>(1, elements / (lies.cols * lies.inner));
    return {.steps = {torch_step(model::Transpose{.rows = lies.rows,
                                                  .cols = lies.cols,
                                                  .type = data_type(operands.type),
                                                  .inner = lies.inner})}};
}

/// One dimension of a kernel's loop: its size, and the stride of each tensor in it.
struct LoopDimension {
    std::int64_t size = 1;
    std::vector<std::int64_t> strides{};
};

/// The loop over a result that several tensors form together, shortest strides first.
std::vector<LoopDimension> loop_of(const std::vector<const Tensor*>& tensors) {
    std::size_t rank = 0;
    for (const Tensor* tensor : tensors) rank = std::max(rank, tensor->dims.size());
    std::vector<LoopDimension> loop(rank);
    for (const Tensor* tensor : tensors) {
        std::int64_t contiguous = 1;
        for (std::size_t i = 0; i < rank; ++i) {  // from the last dimension
            std::int64_t size = 1;
            std::int64_t stride = 0;
            if (i < tensor->dims.size()) {
                const std::size_t place = tensor->dims.size() - 1 - i;
                size = tensor->dims[place];
                stride = place < tensor->strides.size() ? tensor->strides[place] : contiguous;
                contiguous *= size;
            }
            loop[i].size = std::max(loop[i].size, size);
            loop[i].strides.push_back(size == 1 ? 0 : stride);
        }
    }
    std::erase_if(loop, [](const LoopDimension& each) { return each.size == 1; });
    // PyTorch orders dimensions by the strides of the first tensor in which they differ.
    std::stable_sort(loop.begin(), loop.end(), [](const LoopDimension& a, const LoopDimension& b) {
        for (std::size_t i = 0; i < a.strides.size(); ++i) {
            if (a.strides[i] == 0 || b.strides[i] == 0) continue;
            if (a.strides[i] != b.strides[i]) return a.strides[i] < b.strides[i];
        }
        return false;
    });
    return loop;
}

/// The number of dimensions left after neighbours that are contiguous in every tensor are merged.
std::size_t loop_dimensions(const std::vector<const Tensor*>& tensors) {
    const std::vector<LoopDimension> loop = loop_of(tensors);
    std::size_t count = loop.empty() ? 0 : 1;
    for (std::size_t i = 1; i < loop.size(); ++i) {
        bool together = true;
        for (std::size_t k = 0; k < loop[i].strides.size(); ++k) {
            together = together && loop[i].strides[k] == loop[i - 1].strides[k] * loop[i - 1].size;
        }
        if (!together) ++count;
    }
    return count;
}

/// Clocks of an SM for the index of an element, beyond the model's cost of a broadcast vector: for
/// each further dimension of the loop, and if broadcast elements are cast when they are read. (S10)
double clocks_of_index(const Subject& subject) {
    std::vector<const Tensor*> tensors = subject.call.tensors();
    std::erase_if(tensors, [](const Tensor* tensor) { return tensor->dims.empty(); });
    if (tensors.size() < 2) return 0.0;
    const std::size_t dimensions = loop_dimensions(tensors);
    if (dimensions < 2) return 0.0;
    bool cast = false;
    for (const Tensor* tensor : tensors) {
        const bool mask = tensor->type == ElementType::boolean;
        cast = cast || (!mask && tensor->type != tensors.front()->type &&
                        tensors.front()->type != ElementType::boolean);
    }
    if (cast) return cost("pointwise.cast");
    if (dimensions == 2) return 0.0;
    return cost(dimensions == 3 ? "pointwise.third" : "pointwise.fourth");
}

/// Whether a mask is as large as the result, and is read as well, a byte for each element.
bool has_whole_mask(const Operands& operands) {
    return std::any_of(operands.full.begin(), operands.full.end(),
                       [](const Tensor* t) { return t->type == ElementType::boolean; });
}

std::string masked_formula(const Operands& operands) {
    return operands.full.size() == 1 ? "masked_fill(x, mask)" : "masked_fill(x, mask) + y";
}

}  // namespace

bool is_pointwise(std::string_view name) {
    return row_of(name) != nullptr;
}

std::optional<Understood> pointwise(std::string_view name, const Subject& subject) {
    const PointwiseRow* const row = row_of(name);
    if (row == nullptr) return {};
    const bool lists = name.starts_with("_foreach");
    Operands operands = lists ? operands_of_lists(subject) : operands_of(subject);
    if (operands.elements < 1 || operands.full.empty() || size_of(operands.type) == 0) return {};
    const std::int64_t together = lists ? 0 : broadcast_elements(subject.call.tensors());
    const bool crossed = together > operands.elements;  // no operand is as large as the result
    if (crossed) operands.elements = together;
    ElementType result = operands.type;
    if (row->boolean) result = ElementType::boolean;
    if (name == "cast") result = subject.hint;
    // A mask is only read, as bytes; it is not an operand of the arithmetic.
    const bool masked = name == "masked_fill";
    const bool spread = masked && subject.call.tensor(1) != nullptr &&
                        subject.call.tensor(1)->elements() < operands.elements;
    const bool whole_mask = name == "where" && has_whole_mask(operands);
    if (masked || name == "where") {
        std::erase_if(operands.full,
                      [](const Tensor* t) { return t->type == ElementType::boolean; });
        if (operands.full.empty()) return {};
    }
    const std::int64_t result_bytes = operands.elements * size_of(result);
    Understood found;
    if (operands.scattered && !lists && !crossed) {
        found = scattered(operands, result_bytes);
    } else {
        Formula formula = formula_of(function_of(*row, subject.call), operands);
        if (whole_mask) formula.text = masked_formula(operands);
        const model::Elementwise op{.expression = model::parse_expression(formula.text),
                                    .elements = operands.elements,
                                    .type = data_type(operands.type),
                                    .direction = formula.direction,
                                    .output = formula.direction == model::Direction::forward
                                                  ? other_type(result, operands.type)
                                                  : std::nullopt};
        const bool one = operands.full.size() <= (whole_mask ? 1 : 2);
        const Implementation several =
            whole_mask ? Implementation::compiled : Implementation::fused;
        found.steps = {step_of(op, one ? Implementation::torch : several, model::L2State::warm)};
    }
    // The kernel computes an index for each element if the mask or both operands are broadcast.
    // (W3)
    const double clocks =
        std::max(spread || crossed ? clocks_indexed : 0.0, lists ? 0.0 : clocks_of_index(subject));
    const bool older = !lists && !operands.scattered && operands.full.size() == 2;
    if ((clocks > 0.0 || older) && found.steps.size() == 1) {
        Entry entry = entry_of(found.steps.front());
        entry.indexed_clocks = clocks * static_cast<double>(operands.elements);
        // The previous kernel wrote one operand of two, and the result evicts older data. (S10)
        entry.from_dram = older ? from_dram_of_two : 0.0;
        found.entries = {std::move(entry)};
    }
    found.family = OperatorFamily::pointwise;
    found.result_bytes = result_bytes;
    found.result_elements = operands.elements;
    return found;
}

}  // namespace ridge::programs
