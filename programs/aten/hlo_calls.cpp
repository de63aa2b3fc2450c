// Instructions that XLA compiled, as the reader of JAX's traces describes them (programs/traces/hlo.h).
#include <utility>

#include "programs/aten/rules.h"

namespace ridge::programs {
namespace {

/// A product as PyTorch's, with the same rule. A library's kernel is the one that was measured; a fusion's is XLA's own.
std::optional<Understood> hlo_product(const Subject& subject, std::string_view what) {
    const std::vector<Argument>& arguments = subject.call.arguments;
    const Tensor* const a = subject.call.tensor(0);
    if (arguments.size() < 3 || a == nullptr) return {};
    const bool batch = a->dims.size() > 2;
    const Call call{.name = batch ? "aten::bmm" : "aten::mm",
                    .arguments = {arguments[0], arguments[1]}};
    std::optional<Understood> found = operations_of(call);
    if (!found || found->steps.size() != 1) return {};
    if (what.ends_with(" tf32")) {
        auto* const op = std::get_if<model::Matmul>(&found->steps.front().operation);
        if (op == nullptr) return {};
        op->type = model::DataType::tf32;
        op->accumulate = model::default_accumulator(op->type);
        op->output = model::default_output(op->type);
    }
    found->foreign = !what.starts_with("hlo product library");
    found->law = nullptr;
    found->law_name.clear();
    return found;
}

/// All operands are read and all results are written, once.
std::optional<Understood> hlo_traffic(const Subject& subject) {
    std::int64_t bytes = 0;
    const Tensor* largest = nullptr;
    for (const Tensor* tensor : subject.call.tensors()) {
        bytes += tensor->bytes();
        if (largest == nullptr || tensor->bytes() > largest->bytes()) largest = tensor;
    }
    if (largest == nullptr) return {};
    auto found = streamed(bytes, largest->type, model::Implementation::torch);
    if (found) found->foreign = true;
    return found;
}

}  // namespace

std::optional<std::string_view> hlo_words(const Call& call) {
    if (call.arguments.empty()) return {};
    const std::string_view what = call.arguments.back().value;
    if (!what.starts_with("hlo ")) return {};
    return what;
}

std::optional<Understood> compiled_by_xla(const Subject& subject, std::string_view what) {
    auto found = what.starts_with("hlo product") ? hlo_product(subject, what)
                 : what == "hlo traffic"         ? hlo_traffic(subject)
                                                 : std::nullopt;
    if (!found) return {};
    found->counts = counts_of(subject.call, subject.hint);
    found->inputs.clear();
    for (const Tensor* tensor : subject.call.tensors()) {
        if (tensor->elements() > 1) found->inputs.push_back({tensor->elements(), tensor->bytes()});
    }
    return found;
}

}  // namespace ridge::programs
