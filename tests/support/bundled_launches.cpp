#include "tests/support/bundled_launches.h"

#include <algorithm>
#include <tuple>
#include <variant>

#include "model/bundled/access.h"
#include "model/bundled/attention.h"
#include "model/bundled/matmul.h"
#include "model/bundled/rows.h"
#include "model/bundled/streams.h"
#include "model/matmul/tiles.h"

namespace ridge::test {
namespace {

using namespace model::bundled;
using model::Implementation;
using Launches = std::vector<LaunchGrid>;

/// The expected launches of each kind of operation.
struct Expected {
    const model::Execution& execution;
    std::int64_t sm_count;

    std::optional<Launches> operator()(const model::Matmul& op) const {
        const auto kernel = model::bundled_kernel(execution.implementation);
        if (!kernel) return std::nullopt;
        const MatmulExtents extents{.m = op.m, .n = op.n, .k = op.k, .batch = op.batch};
        MatmulKernel layout = kernel->layout;
        if (execution.implementation == Implementation::wgmma) {
            layout = wgmma_for(extents, sm_count);
            if (execution.tile) {
                layout = execution.tile->n == 256 ? matmul_wgmma_large : matmul_wgmma_small;
            }
        }
        return Launches{matmul_grid(layout, extents, sm_count)};
    }

    std::optional<Launches> operator()(const model::Attention& op) const {
        const AttentionExtents extents{.batch = op.batch,
                                       .heads = op.heads,
                                       .kv_heads = op.kv_heads,
                                       .queries = op.seq_q,
                                       .keys = op.seq_kv,
                                       .head_dim = op.head_dim,
                                       .causal = op.causal};
        if (execution.implementation == Implementation::wgmma) {
            return Launches{attention_wgmma_grid(extents, sm_count)};
        }
        if (execution.implementation ==
            Implementation::standard) {  // of its three kernels, the softmax
            return Launches{score_softmax_grid(op.batch * op.heads * op.seq_q,
                                               score_softmax_plan(op.seq_kv, size_of(op.type)))};
        }
        if (execution.implementation != Implementation::mma) return std::nullopt;
        if (!decodes(extents)) return Launches{attention_mma_sync_grid(extents)};
        const std::int64_t splits = decode_splits(extents, sm_count);
        Launches launches{decode_grid(extents, splits)};
        if (splits > 1) launches.push_back(decode_combine_grid(extents));
        return launches;
    }

    std::optional<Launches> operator()(const model::Elementwise& op) const {
        const std::int64_t columns = std::min(broadcast_elements, op.elements);
        const std::int64_t element = size_of(op.type);
        const auto launch = [&](bool vector, std::int64_t elements) {
            return elementwise_grid(elements, vector ? elementwise_width(element, columns)
                                                     : elementwise_width(element));
        };
        if (execution.implementation == Implementation::fused) {
            return Launches{launch(op.expression.fused().vector_reads > 0, op.elements)};
        }
        Launches launches;
        for (const model::KernelStep& step : op.expression.chain().steps) {
            launches.push_back(launch(step.vector || step.vector_result,
                                      step.vector_result ? columns : op.elements));
        }
        return launches;
    }

    std::optional<Launches> operator()(const model::RowWise& op) const {
        const std::int64_t element = size_of(op.type);
        const LaunchGrid sum = row_grid(op.rows, row_sum_plan(op.cols, element), sum_reduced);
        if (op.kind == model::RowKind::sum) return Launches{sum};
        if (execution.implementation == Implementation::manual) {
            const LaunchGrid step = softmax_step_grid(op.rows, op.cols, element);
            return Launches{sum, step, step, sum, step};
        }
        const RowPlan plan = row_plan(op.cols, element);
        const bool softmax = op.kind == model::RowKind::softmax;
        return Launches{row_grid(op.rows, plan, softmax ? softmax_reduced : norm_reduced)};
    }

    std::optional<Launches> operator()(const model::Transpose& op) const {
        const std::int64_t element = size_of(op.type);
        const TransposeMethod method = execution.implementation == Implementation::naive
                                           ? TransposeMethod::naive
                                           : tiled_transpose(op.rows, op.cols, element);
        return Launches{transpose_grid(op.rows, op.cols, element, method)};
    }

    std::optional<Launches> operator()(const model::Copy& op) const {
        return Launches{copy_grid(op.elements * size_of(op.type))};
    }

    std::optional<Launches> operator()(const model::Gather& op) const {
        return Launches{gather_grid(op.rows)};
    }

    std::optional<Launches> operator()(const model::Access& op) const {
        switch (op.pattern) {
            case model::AccessPattern::divergent:
                return Launches{divergence_grid(op.elements)};
            case model::AccessPattern::bank_conflict:
                return Launches{bank_conflict_grid(op.elements, sm_count)};
            case model::AccessPattern::chase:
                return Launches{{.x = 1, .threads = 1}};
            case model::AccessPattern::reread:
                return Launches{reread_grid(sm_count)};
            default:
                return Launches{word_read_grid(op.elements, sm_count)};
        }
    }

    std::optional<Launches> operator()(const model::Cat&) const { return std::nullopt; }
    std::optional<Launches> operator()(const model::AdamW&) const { return std::nullopt; }
    std::optional<Launches> operator()(const model::Mla&) const { return std::nullopt; }
    std::optional<Launches> operator()(const model::Moe&) const { return std::nullopt; }
    std::optional<Launches> operator()(const model::SparseAttention&) const { return std::nullopt; }
    std::optional<Launches> operator()(const model::MixedAttention&) const { return std::nullopt; }
    std::optional<Launches> operator()(const model::Recurrence&) const { return std::nullopt; }
    std::optional<Launches> operator()(const model::TokenWise&) const { return std::nullopt; }
    std::optional<Launches> operator()(const model::Collective&) const { return std::nullopt; }
    std::optional<Launches> operator()(const model::OwnKernel&) const { return std::nullopt; }
};

}  // namespace

std::optional<Launches> bundled_launches(const measure::Question& question, std::int64_t sm_count) {
    constexpr std::int64_t unit =
        128;  // granularity of shared memory that the driver reports, in bytes
    if (model::needs_framework(question.operation) ||
        model::is_framework(question.execution.implementation)) {
        return std::nullopt;
    }
    auto launches = std::visit(Expected{question.execution, sm_count}, question.operation);
    if (launches) {
        for (LaunchGrid& grid : *launches) grid.shared_bytes = rounded_up(grid.shared_bytes, unit);
    }
    return launches;
}

Launches recorded_launches(const measure::Geometry& geometry) {
    Launches launches;
    for (const measure::KernelLaunch& kernel : geometry.kernels) {
        const LaunchGrid grid{.x = kernel.grid_x,
                              .y = kernel.grid_y,
                              .z = kernel.grid_z,
                              .threads = static_cast<std::int32_t>(kernel.block_threads),
                              .shared_bytes = kernel.shared_bytes};
        launches.insert(launches.end(), static_cast<std::size_t>(kernel.repeat), grid);
    }
    return launches;
}

Launches sorted(Launches launches) {
    const auto key = [](const LaunchGrid& grid) {
        return std::tuple(grid.x, grid.y, grid.z, grid.threads, grid.shared_bytes);
    };
    std::sort(launches.begin(), launches.end(),
              [&](const LaunchGrid& a, const LaunchGrid& b) { return key(a) < key(b); });
    return launches;
}

}  // namespace ridge::test
