#include "measure/device.h"

#include <array>

namespace ridge::measure {
namespace {

using model::Implementation;

constexpr std::array<std::string_view, 17> benchmark_names{
    "dram_read",    "dram_write",    "dram_copy",    "dram_triad",    "l2_read",
    "l1_read",      "shared_read",   "fma",          "tensor_mma",    "tensor_wgmma",
    "exp2",         "pointer_chase", "shared_chase", "launch_kernel", "launch_stream",
    "launch_graph", "launch_submit"};

struct Choose {
    std::int32_t compute_capability;

    Implementation operator()(const model::Matmul&) const { return Implementation::library; }
    Implementation operator()(const model::Attention& op) const {
        if (op.type == model::DataType::fp32) return Implementation::standard;
        return compute_capability == 90 ? Implementation::flash3 : Implementation::flash2;
    }
    Implementation operator()(const model::Elementwise&) const { return Implementation::fused; }
    Implementation operator()(const model::RowWise&) const { return Implementation::fused; }
    Implementation operator()(const model::Transpose&) const { return Implementation::tiled; }
    Implementation operator()(const model::Copy&) const { return Implementation::library; }
    Implementation operator()(const model::Gather&) const { return Implementation::library; }
    Implementation operator()(const model::Access&) const { return Implementation::library; }
    Implementation operator()(const model::Collective&) const { return Implementation::library; }
};

}  // namespace

const Feature* DeviceInfo::feature(std::string_view wanted) const {
    for (const Feature& candidate : features) {
        if (candidate.name == wanted) return &candidate;
    }
    return nullptr;
}

std::string_view name_of(Microbenchmark benchmark) {
    return benchmark_names[static_cast<std::size_t>(benchmark)];
}

model::Implementation choose(const model::Operation& operation, std::int32_t compute_capability) {
    return std::visit(Choose{compute_capability}, operation);
}

}  // namespace ridge::measure
