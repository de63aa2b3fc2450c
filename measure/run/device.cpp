#include "measure/run/device.h"

#include <array>

#include "model/attention/bundled.h"
#include "model/core/fields.h"
#include "model/machine/features.h"

namespace ridge::measure {
namespace {

using model::Implementation;

constexpr std::array<std::string_view, 18> benchmark_names{
    "dram_read",    "dram_write",    "dram_copy",    "dram_triad",    "l2_read",
    "l1_read",      "shared_read",   "fma",          "tensor_mma",    "tensor_wgmma",
    "exp2",         "pointer_chase", "shared_chase", "launch_kernel", "launch_stream",
    "launch_graph", "launch_call",   "launch_submit"};

Unavailable no_energy_counter() {
    return {.reason = "this device has no energy counter"};
}

struct Choose {
    std::int32_t compute_capability;

    Implementation operator()(const model::Matmul&) const { return Implementation::library; }
    Implementation operator()(const model::Attention& op) const {
        if (!model::bundled_attention_refusal(op).empty()) return Implementation::standard;
        const bool tiled_on_hopper =
            model::features_of(compute_capability).wgmma && !model::decodes_with_splits(op);
        return tiled_on_hopper ? Implementation::wgmma : Implementation::mma;
    }
    Implementation operator()(const model::Mla&) const { return Implementation::library; }
    Implementation operator()(const model::Moe&) const { return Implementation::cutlass; }
    Implementation operator()(const model::SparseAttention&) const { return Implementation::fused; }
    Implementation operator()(const model::MixedAttention&) const { return Implementation::fused; }
    Implementation operator()(const model::Recurrence&) const { return Implementation::fused; }
    Implementation operator()(const model::TokenWise&) const { return Implementation::fused; }
    Implementation operator()(const model::Elementwise&) const { return Implementation::fused; }
    Implementation operator()(const model::RowWise&) const { return Implementation::fused; }
    Implementation operator()(const model::Transpose&) const { return Implementation::tiled; }
    Implementation operator()(const model::Copy&) const { return Implementation::bundled; }
    Implementation operator()(const model::Gather&) const { return Implementation::bundled; }
    Implementation operator()(const model::Cat&) const { return Implementation::torch; }
    Implementation operator()(const model::AdamW&) const { return Implementation::torch; }
    Implementation operator()(const model::Access&) const { return Implementation::bundled; }
    Implementation operator()(const model::Collective&) const { return Implementation::library; }
    Implementation operator()(const model::OwnKernel&) const { return Implementation::automatic; }
};

}  // namespace

Maybe<SteadyRun> Case::run_steadily(const SteadyRequest&) {
    return no_energy_counter();
}

Maybe<SteadyRun> Device::rest(Time) {
    return no_energy_counter();
}

std::string_view name_of(Microbenchmark benchmark) {
    return benchmark_names[static_cast<std::size_t>(benchmark)];
}

std::optional<Unavailable> not_measured(const model::Operation& operation,
                                        Implementation implementation) {
    const model::OperationKind kind = model::kind_of(operation);
    if (!model::has(kind, implementation)) {
        return Unavailable{.reason = model::refusal(kind, implementation)};
    }
    if (model::is_framework(implementation) || model::needs_framework(operation)) {
        return Unavailable{.reason = "kernels of PyTorch are predicted, not measured",
                           .remedy = "scripts/measure/torch-kernels.py measures them"};
    }
    if (kind == model::OperationKind::kernel) {
        return Unavailable{
            .reason = "a kernel known by its figures has no code to measure",
            .remedy = "ridge profile --counters -- COMMAND measures kernels of a program"};
    }
    if (kind == model::OperationKind::mla || kind == model::OperationKind::moe ||
        std::holds_alternative<model::SparseAttention>(operation) ||
        std::holds_alternative<model::MixedAttention>(operation) ||
        std::holds_alternative<model::Recurrence>(operation) ||
        std::holds_alternative<model::TokenWise>(operation)) {
        return Unavailable{.reason = std::string(model::info_of(kind).name) +
                                     " has no bundled kernel: it is predicted, not measured"};
    }
    const auto* const product = std::get_if<model::Matmul>(&operation);
    if (product != nullptr && is_block_scaled(product->type)) {
        return Unavailable{.reason = "products of dtype " + std::string(name_of(product->type)) +
                                     " are predicted, not measured"};
    }
    const auto* const attention = std::get_if<model::Attention>(&operation);
    if (attention != nullptr && cache_type_of(*attention) != attention->type) {
        return Unavailable{.reason =
                               "attention over a cache of another type is predicted, not "
                               "measured"};
    }
    const bool flash = implementation == Implementation::flash1 ||
                       implementation == Implementation::flash2 ||
                       implementation == Implementation::flash3;
    if (!flash || !std::holds_alternative<model::Attention>(operation)) return std::nullopt;
    return Unavailable{.reason = "impl " + std::string(name_of(implementation)) +
                                 " is a library's kernel: it is predicted, not measured",
                       .remedy = "ask for a bundled one: mma, wgmma (Hopper) or standard"};
}

model::Implementation choose(const model::Operation& operation, std::int32_t compute_capability) {
    if (model::needs_framework(operation)) return Implementation::torch;
    return std::visit(Choose{compute_capability}, operation);
}

}  // namespace ridge::measure
