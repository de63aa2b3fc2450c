// Plans of attention: tiled kernels, split decoding, and the standard three steps; see plan.h.
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <memory>

#include "measure/cuda/kernels/attention.h"
#include "measure/cuda/libraries/cublas.h"
#include "measure/cuda/memory/verify.h"
#include "measure/cuda/plans/plan.h"
#include "model/attention/bundled.h"

namespace ridge::measure::cuda {
namespace {

using model::Implementation;

constexpr std::int64_t sampled_heads = 3;
constexpr std::int64_t sampled_queries = 12;

/// Reference of single query rows, in double.
class RowCheck {
  public:
    RowCheck(const AttentionProblem& problem, cudaStream_t stream)
        : problem_(problem), stream_(stream) {}

    void check(std::int64_t batch, std::int64_t head, Comparison& comparison) const {
        const std::int64_t group = problem_.heads / problem_.kv_heads;
        const std::int64_t cache = batch * problem_.kv_heads + head / group;
        const std::int64_t d = problem_.head_dim;
        const Matrix k = matrix(problem_.k, cache * problem_.keys * d, problem_.keys);
        const Matrix v = matrix(problem_.v, cache * problem_.keys * d, problem_.keys);
        for (const std::int64_t query : sampled(problem_.queries, sampled_queries, 7)) {
            const std::int64_t first =
                ((batch * problem_.heads + head) * problem_.queries + query) * d;
            const Eigen::RowVectorXd expected = row(matrix(problem_.q, first, 1), k, v, query);
            const Matrix got = matrix(problem_.o, first, 1);
            for (Eigen::Index i = 0; i < d; ++i) comparison.add(got(0, i), expected(i));
        }
    }

  private:
    using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

    [[nodiscard]] Matrix matrix(const void* base, std::int64_t first, std::int64_t rows) const {
        const auto values =
            read_elements(base, stored(problem_.type), first, 1, rows * problem_.head_dim, stream_);
        return Eigen::Map<const Matrix>(values.data(), rows, problem_.head_dim);
    }

    [[nodiscard]] Eigen::RowVectorXd row(const Matrix& q, const Matrix& k, const Matrix& v,
                                         std::int64_t query) const {
        std::int64_t visible = problem_.keys;
        if (problem_.mask == AttentionMask::causal) {
            visible = std::clamp<std::int64_t>(query + 1 + problem_.keys - problem_.queries, 0,
                                               problem_.keys);
        }
        if (visible == 0) return Eigen::RowVectorXd::Zero(problem_.head_dim);
        Eigen::VectorXd weights =
            static_cast<double>(problem_.scale) * (k.topRows(visible) * q.transpose());
        weights = (weights.array() - weights.maxCoeff()).exp();
        return weights.transpose() * v.topRows(visible) / weights.sum();
    }

    AttentionProblem problem_;
    cudaStream_t stream_;
};

double tolerance_of(model::DataType type, Implementation implementation) {
    if (type == model::DataType::fp32) return 1e-4;
    // Rounding scores to the type before the softmax costs as much again as rounding P.
    const double rounding = type == model::DataType::fp16 ? 2e-3 : 1e-2;
    return implementation == Implementation::standard ? 2.0 * rounding : rounding;
}

std::function<Verification()> verifier(const AttentionProblem& problem, double tolerance,
                                       const Launch& launch, cudaStream_t stream) {
    return [=] {
        const std::int64_t elements =
            problem.batch * problem.heads * problem.queries * problem.head_dim;
        poison(problem.o, stored(problem.type), elements, stream);
        launch(stream);
        require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        Comparison comparison;
        const RowCheck rows(problem, stream);
        for (const std::int64_t index : sampled(problem.batch * problem.heads, sampled_heads, 23)) {
            rows.check(index / problem.heads, index % problem.heads, comparison);
        }
        return comparison.verdict(
            tolerance, count_poisoned(problem.o, stored(problem.type), elements, stream));
    };
}

/// S = Q K^T, P = softmax(S), O = P V with S and P in memory. The query heads of one key-value head
/// are contiguous, so they are the rows of one product.
Launch standard_attention(const AttentionProblem& p, model::DataType type, Plan& plan) {
    const std::int64_t group = p.heads / p.kv_heads;
    const std::int64_t matrices = p.batch * p.kv_heads;
    plan.buffers.emplace_back(bytes_of(p.type, p.batch * p.heads * p.queries * p.keys));
    void* const scores = plan.buffers.back().as();
    const LibraryProduct first{.a = p.q,
                               .b = p.k,
                               .d = scores,
                               .batch = matrices,
                               .m = group * p.queries,
                               .n = p.keys,
                               .k = p.head_dim,
                               .type = type,
                               .output = stored(p.type),
                               .b_layout = model::Layout::column_major};
    const LibraryProduct second{.a = scores,
                                .b = p.v,
                                .d = p.o,
                                .batch = matrices,
                                .m = group * p.queries,
                                .n = p.head_dim,
                                .k = p.keys,
                                .type = type,
                                .output = stored(p.type)};
    const Launch scored = library_matmul(first).launch;
    const Launch softmax = masked_softmax({.scores = scores,
                                           .out = scores,
                                           .matrices = p.batch * p.heads,
                                           .queries = p.queries,
                                           .keys = p.keys,
                                           .scale = p.scale,
                                           .mask = p.mask,
                                           .type = p.type});
    const Launch weighted = library_matmul(second).launch;
    return [=](cudaStream_t stream) {
        scored(stream);
        softmax(stream);
        weighted(stream);
    };
}

/// Queries and keys of a tile, and the depth of its first product.
model::Tile tile_of(const bundled::AttentionKernel& kernel, const AttentionProblem& p) {
    return {.m = kernel.queries, .n = kernel.keys, .k = static_cast<std::int32_t>(p.head_dim)};
}

void plan_decode(const AttentionProblem& p, const Context& context, Plan& plan) {
    plan.split = bundled::decode_splits(extents_of(p), context.limits().multiprocessors);
    plan.buffers.emplace_back(attention_decode_workspace_bytes(p, plan.split));
    plan.launch = attention_decode(p, plan.buffers.back().as(), plan.split);
    plan.tile = tile_of(bundled::attention_decode(p.head_dim), p);
}

void plan_tiled(const AttentionProblem& p, Implementation implementation, Plan& plan) {
    const bool wgmma = implementation == Implementation::wgmma;
    plan.launch = wgmma ? attention_wgmma(p) : attention_mma_sync(p);
    const bool causal = p.mask == AttentionMask::causal;
    plan.tile = tile_of(wgmma ? bundled::attention_wgmma(p.head_dim, causal)
                              : bundled::attention_mma_sync(p.head_dim),
                        p);
}

void require_covered(const model::Attention& op, const model::Execution& execution) {
    if (const std::string reason = model::unmeasured_attention(op); !reason.empty()) {
        throw Refusal(reason);
    }
    if (execution.tile) throw Refusal("the bundled attention kernels choose their own tiles");
}

}  // namespace

Plan plan_attention(const model::Attention& op, const model::Execution& execution,
                    const Context& context) {
    require_covered(op, execution);
    Plan plan;
    plan.implementation = execution.implementation;
    const ElementType type = element_of(op.type);
    const auto keep = [&plan](Buffer buffer) {
        plan.buffers.push_back(std::move(buffer));
        return plan.buffers.back().as();
    };
    const std::int64_t query_elements = op.batch * op.heads * op.seq_q * op.head_dim;
    const std::int64_t key_elements = op.batch * op.kv_heads * op.seq_kv * op.head_dim;
    AttentionProblem problem{.q = keep(context.input(type, query_elements, 1)),
                             .k = keep(context.input(type, key_elements, 2)),
                             .v = keep(context.input(type, key_elements, 3)),
                             .o = keep(Buffer(bytes_of(type, query_elements)))};
    problem.lse = static_cast<float*>(
        keep(Buffer(bytes_of(ElementType::float32, op.batch * op.heads * op.seq_q))));
    problem.batch = op.batch;
    problem.heads = op.heads;
    problem.kv_heads = op.kv_heads;
    problem.queries = op.seq_q;
    problem.keys = op.seq_kv;
    problem.head_dim = op.head_dim;
    problem.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(op.head_dim)));
    problem.mask = op.causal ? AttentionMask::causal : AttentionMask::none;
    problem.type = type;
    switch (execution.implementation) {
        case Implementation::standard:
            plan.launch = standard_attention(problem, op.type, plan);
            break;
        case Implementation::mma:
            if (bundled::decodes(extents_of(problem))) {
                plan_decode(problem, context, plan);
                break;
            }
            [[fallthrough]];
        case Implementation::wgmma:
            plan_tiled(problem, execution.implementation, plan);
            break;
        default:
            refuse(execution.implementation, "attention");
    }
    plan.verify = verifier(problem, tolerance_of(op.type, execution.implementation), plan.launch,
                           context.stream());
    return plan;
}

}  // namespace ridge::measure::cuda
