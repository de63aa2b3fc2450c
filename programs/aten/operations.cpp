#include "programs/aten/operations.h"

#include <algorithm>
#include <array>
#include <string>

#include "hardware/algorithms.h"
#include "hardware/error.h"
#include "model/expression/expression.h"
#include "programs/aten/rules.h"
#include "programs/graph/costs.h"

namespace ridge::programs {
namespace {

constexpr std::array<std::string_view, family_count> family_names{
    "product", "attention", "softmax",   "norm", "reduction",     "pointwise", "copy", "gather",
    "dropout", "loss",      "optimizer", "fill", "communication", "compiled",  "other"};

const Rule* rule_of(std::string_view name) {
    for (const auto& rules :
         {product_rules(), convolution_rules(), image_rules(), attention_rules(), row_rules(),
          movement_rules(), recurrent_rules()}) {
        for (const Rule& rule : rules) {
            if (rule.name == name) return &rule;
        }
    }
    return nullptr;
}

/// The element type of most of the bytes.
ElementType main_type(const Subject& subject) {
    ElementType type = ElementType::unknown;
    std::int64_t most = -1;
    for (const Tensor* tensor : subject.call.tensors()) {
        const ElementType each = type_of(*tensor, subject);
        if (size_of(each) > 0 && tensor->bytes() > most) {
            most = tensor->bytes();
            type = each;
        }
    }
    return type;
}

}  // namespace

std::optional<Understood> streamed(std::int64_t bytes, ElementType type,
                                   model::Implementation implementation, const char* expression) {
    const std::int64_t size = size_of(type);
    if (size == 0 || bytes < 2 * size) return {};
    model::Step step = step_of(model::Elementwise{.expression = model::parse_expression(expression),
                                                  .elements = bytes / (2 * size),
                                                  .type = data_type(type)},
                               implementation, model::L2State::warm);
    return Understood{
        .steps = {std::move(step)}, .family = OperatorFamily::other, .basis = Basis::bytes};
}

model::Step step_of(model::Operation operation, model::Implementation implementation,
                    model::L2State l2) {
    return {.operation = std::move(operation),
            .execution = {.implementation = implementation, .l2 = l2}};
}

Entry entry_of(const model::Step& step) {
    Entry entry;
    entry.operation = step.operation;
    entry.execution = step.execution;
    return entry;
}

model::Step torch_step(model::Operation operation) {
    return step_of(std::move(operation), model::Implementation::torch, model::L2State::warm);
}

Understood carried_out(std::vector<Entry> entries, OperatorFamily family, std::int64_t elements,
                       std::int64_t size) {
    Understood found{
        .family = family, .result_bytes = elements * size, .result_elements = elements};
    for (const Entry& entry : entries) {
        found.steps.push_back({.operation = entry.operation,
                               .execution = entry.execution,
                               .count = entry.count,
                               .name = entry.name});
    }
    found.entries = std::move(entries);
    return found;
}

ElementType type_of(const Tensor& tensor, const Subject& subject) {
    return tensor.type == ElementType::unknown ? subject.hint : tensor.type;
}

std::optional<Understood> by_bytes(const Subject& subject) {
    std::int64_t bytes = 0;
    std::int64_t largest = 0;
    for (const Tensor* tensor : subject.call.tensors()) {
        const std::int64_t each = tensor->stored_elements() * size_of(type_of(*tensor, subject));
        bytes += each;
        largest = std::max(largest, each);
    }
    auto found = streamed(bytes + largest, main_type(subject), model::Implementation::torch);
    if (found) found->result_bytes = largest;
    return found;
}

namespace {

/// Whether the kernel computes sines and cosines of fp32 angles, which cost more than their memory
/// traffic. The name contains the operators of all kernels that were generated together; the angles
/// show which kernel it is.
bool turns_angles(const Subject& subject) {
    const std::string_view name = subject.call.name;
    const bool named = name.find("_cos_") != std::string_view::npos &&
                       name.find("_sin_") != std::string_view::npos;
    const auto tensors = subject.call.tensors();
    return named && algorithms::any_of(tensors, [&](const Tensor* tensor) {
               return type_of(*tensor, subject) == ElementType::fp32;
           });
}

}  // namespace

std::optional<Understood> generated(const Subject& subject) {
    const Counts counts = counts_of(subject.call, subject.hint);
    const double elements = counts[Count::elements];
    constexpr double most = 1e15;  // a damaged trace can give any number
    const bool counted = generated_counted(subject.call);
    if (!counted || counts[Count::bytes] > most || elements > most) return by_bytes(subject);
    auto found =
        streamed(static_cast<std::int64_t>(counts[Count::bytes]), main_type(subject),
                 model::Implementation::compiled, turns_angles(subject) ? "sin(x) + cos(x)" : "x");
    if (found) {
        found->family = OperatorFamily::generated;
        found->result_elements = static_cast<std::int64_t>(elements);
        if (const double added = generated_adds(subject.call, elements); added > 0.0) {
            found->beside = KernelWork{.clocks = added * cost("generated.add")};
        }
    }
    return found;
}

bool is_known(std::string_view name) {
    name = bare_operator(name);
    return name.starts_with("triton_") || is_pointwise(name) || rule_of(name) != nullptr;
}

bool has_law(std::string_view name) {
    name = bare_operator(name);
    return template_of(name) != nullptr || template_of(name, LawOf::launches) != nullptr;
}

namespace {

/// Whether a tensor has more elements than any memory, also beside a dimension of size zero: a damaged trace can give any
/// number, and products of sizes would overflow.
bool exceeds_memory(const Tensor& tensor) {
    constexpr double most = 1e13;
    double elements = 1.0;
    for (const std::int64_t size : tensor.dims) {
        elements *= static_cast<double>(std::max<std::int64_t>(size, 1));
    }
    return elements > most;
}

}  // namespace

std::optional<Understood> operations_of(const Call& call, ElementType hint) {
    const std::vector<const Tensor*> tensors = call.tensors();
    if (std::any_of(tensors.begin(), tensors.end(),
                    [](const Tensor* each) { return exceeds_memory(*each); })) {
        return {};
    }
    const auto valid = [](const Understood& each) {
        try {
            for (const model::Step& step : each.steps) model::validate(step.operation);
            return !each.steps.empty();
        } catch (const InputError&) {
            return false;  // a shape that no such operation has: zero sizes, overflow
        }
    };
    const Subject subject{call, hint};
    std::optional<Understood> found;
    if (const auto what = hlo_words(call)) {
        found = compiled_by_xla(subject, *what);
        return found && valid(*found) ? std::move(found) : std::nullopt;
    }
    std::string_view name = bare_operator(call.name);
    if (name == "where" && call.tensors().size() == 1) name = "nonzero";
    if (name.starts_with("triton_")) {
        found = generated(subject);
    } else if (const Rule* const rule = rule_of(name)) {
        found = rule->function(subject);
    } else if (is_pointwise(name)) {
        found = pointwise(name, subject);
    }
    const std::string law = law_name(call, name, hint);
    const Template* fitted = template_of(law);
    const bool ruled = found && valid(*found);
    if (!ruled) {
        // The bytes of an operator that nobody modelled say nothing of what it does with them.
        const bool fits = fitted != nullptr || template_of(law, LawOf::launches) != nullptr;
        found = is_known(call.name) || fits ? by_bytes(subject) : std::nullopt;
        if (!found || !valid(*found)) return {};
    }
    for (const Tensor* tensor : call.tensors()) {
        if (tensor->elements() > 1) {
            found->inputs.push_back(
                {tensor->elements(), tensor->elements() * size_of(type_of(*tensor, subject))});
        }
    }
    found->ruled = ruled;
    found->counts = counts_of(call, hint);
    found->law_name = law;
    if (fitted != nullptr && !(ruled && fitted->fallback)) {
        found->law = fitted;
        found->basis = Basis::shapes;
    }
    return found;
}

void add_launches(Counts& counts, const Launched& kernels) {
    counts[Count::launches] = static_cast<double>(kernels.launches);
    counts[Count::threads] = static_cast<double>(kernels.threads);
    counts[Count::blocks] = static_cast<double>(kernels.blocks);
    if (kernels.longest_blocks > 0) {
        counts[Count::share] =
            counts[Count::elements] / static_cast<double>(kernels.longest_blocks);
    }
    counts[Count::turned] = kernels.plane ? counts[Count::elements] : 0.0;
}

void take_launches(Understood& call, const Launched& kernels) {
    if (call.law_name.empty()) return;
    add_launches(call.counts, kernels);
    const Template* fitted = template_of_kernel(call.law_name, kernels.longest);
    if (fitted == nullptr) fitted = template_of(call.law_name, LawOf::launches);
    const bool ruled = call.law == nullptr && call.basis == Basis::shapes;
    if (fitted == nullptr || (fitted->fallback && ruled)) return;
    call.by_launches = fitted;
    call.basis = Basis::shapes;
}

void take_kernels(Understood& call, std::vector<KernelPart> parts) {
    if (call.law_name.empty() || parts.empty()) return;
    const Template* const band = template_of(call.law_name, LawOf::kernels);
    const bool known = std::all_of(parts.begin(), parts.end(), [](const KernelPart& each) {
        return template_of(each.law) != nullptr;
    });
    if (band == nullptr || !known) return;
    call.by_kernels = band;
    call.parts = std::move(parts);
    call.basis = Basis::shapes;
}

std::string_view name_of(OperatorFamily family) {
    return family_names[static_cast<std::size_t>(family)];
}

std::string_view name_of(Basis basis) {
    constexpr std::array<std::string_view, 3> names{"shapes", "bytes", "counters"};
    return names.at(static_cast<std::size_t>(basis));
}

}  // namespace ridge::programs
