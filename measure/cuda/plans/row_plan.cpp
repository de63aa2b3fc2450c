// Plans of softmax, layer norm, RMS norm and row sums; see plan.h.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "hardware/error.h"
#include "measure/cuda/kernels/normalize.h"
#include "measure/cuda/kernels/row_sum.h"
#include "measure/cuda/kernels/softmax.h"
#include "measure/cuda/memory/verify.h"
#include "measure/cuda/plans/plan.h"

namespace ridge::measure::cuda {
namespace {

using model::Implementation;
using model::RowKind;

constexpr std::int64_t sampled_rows = 16;
constexpr float epsilon = 1e-5F;
// A row sum of n random terms is about sqrt(n), while its float rounding grows like the sum of
// magnitudes.
constexpr double sum_tolerance = 1e-4;

struct Operands {
    const void* x = nullptr;
    const void* gamma = nullptr;
    const void* beta = nullptr;
    void* y = nullptr;
};

using Row = std::vector<double>;

Row softmax_of(const Row& x) {
    const double largest = *std::max_element(x.begin(), x.end());
    Row y;
    for (const double value : x) y.push_back(std::exp(value - largest));
    const double total = std::accumulate(y.begin(), y.end(), 0.0);
    for (double& value : y) value /= total;
    return y;
}

Row normalized(const Row& x, const Row& gamma, const Row* beta) {
    const auto count = static_cast<double>(x.size());
    const double mean = beta == nullptr ? 0.0 : std::accumulate(x.begin(), x.end(), 0.0) / count;
    double variance = 0.0;
    for (const double value : x) variance += (value - mean) * (value - mean);
    const double scale = 1.0 / std::sqrt(variance / count + static_cast<double>(epsilon));
    Row y;
    for (std::size_t i = 0; i < x.size(); ++i) {
        y.push_back((x[i] - mean) * scale * gamma[i] + (beta == nullptr ? 0.0 : (*beta)[i]));
    }
    return y;
}

class RowCheck {
  public:
    RowCheck(const model::RowWise& op, ElementType type, const Operands& at, cudaStream_t stream)
        : op_(op), type_(stored(type)), at_(at), stream_(stream) {}

    [[nodiscard]] bool sums() const { return op_.kind == RowKind::sum; }
    [[nodiscard]] StoredType result_type() const { return sums() ? StoredType::float32 : type_; }
    [[nodiscard]] std::int64_t results() const { return sums() ? op_.rows : op_.rows * op_.cols; }

    [[nodiscard]] Verification check() const {
        const Row gamma = at_.gamma == nullptr ? Row() : read(at_.gamma, 0, op_.cols);
        const Row beta = at_.beta == nullptr ? Row() : read(at_.beta, 0, op_.cols);
        Comparison comparison;
        for (const std::int64_t row : sampled(op_.rows, sampled_rows, 11)) {
            const Row x = read(at_.x, row * op_.cols, op_.cols);
            const Row expected = reference(x, gamma, beta);
            const Row got = read_elements(at_.y, result_type(), sums() ? row : row * op_.cols, 1,
                                          static_cast<std::int64_t>(expected.size()), stream_);
            for (std::size_t i = 0; i < expected.size(); ++i) comparison.add(got[i], expected[i]);
        }
        const double tolerance = sums() ? sum_tolerance : 2.0 * rounding_tolerance(type_);
        return comparison.verdict(tolerance,
                                  count_poisoned(at_.y, result_type(), results(), stream_));
    }

  private:
    [[nodiscard]] Row read(const void* base, std::int64_t first, std::int64_t count) const {
        return read_elements(base, type_, first, 1, count, stream_);
    }

    [[nodiscard]] Row reference(const Row& x, const Row& gamma, const Row& beta) const {
        switch (op_.kind) {
            case RowKind::softmax:
                return softmax_of(x);
            case RowKind::layernorm:
                return normalized(x, gamma, &beta);
            case RowKind::rmsnorm:
                return normalized(x, gamma, nullptr);
            case RowKind::sum:
                return {std::accumulate(x.begin(), x.end(), 0.0)};
            default:
                break;
        }
        throw ContractViolation("unknown row operation");
    }

    model::RowWise op_;
    StoredType type_;
    Operands at_;
    cudaStream_t stream_;
};

class Builder {
  public:
    Builder(const model::RowWise& op, const Context& context, Plan& plan)
        : op_(op), context_(context), plan_(plan), type_(element_of(op.type)) {
        if (type_ == ElementType::tfloat32) type_ = ElementType::float32;
        at_.x = keep(context.input(type_, op.rows * op.cols, 1));
    }

    [[nodiscard]] ElementType type() const { return type_; }
    [[nodiscard]] const Operands& operands() const { return at_; }

    [[nodiscard]] Launch softmax() {
        at_.y = matrix();
        return launch_of(Softmax{.source = at_.x,
                                 .destination = at_.y,
                                 .rows = op_.rows,
                                 .columns = op_.cols,
                                 .type = type_});
    }

    [[nodiscard]] Launch manual_softmax() {
        at_.y = matrix();
        void* const shifted = matrix();
        void* const exponentials = matrix();
        auto* const maximum =
            static_cast<float*>(keep(Buffer(bytes_of(ElementType::float32, op_.rows))));
        auto* const sum =
            static_cast<float*>(keep(Buffer(bytes_of(ElementType::float32, op_.rows))));
        return launch_of(UnfusedSoftmax{.source = at_.x,
                                        .shifted = shifted,
                                        .exponentials = exponentials,
                                        .destination = at_.y,
                                        .row_maximum = maximum,
                                        .row_sum = sum,
                                        .rows = op_.rows,
                                        .columns = op_.cols,
                                        .type = type_});
    }

    [[nodiscard]] Launch normalize(Norm norm) {
        at_.y = matrix();
        at_.gamma = keep(context_.input(type_, op_.cols, 2));
        if (norm == Norm::layer) at_.beta = keep(context_.input(type_, op_.cols, 3));
        return launch_of(Normalize{.source = at_.x,
                                   .destination = at_.y,
                                   .gamma = at_.gamma,
                                   .beta = at_.beta,
                                   .rows = op_.rows,
                                   .columns = op_.cols,
                                   .type = type_,
                                   .norm = norm,
                                   .epsilon = epsilon});
    }

    [[nodiscard]] Launch sum() {
        at_.y = keep(Buffer(bytes_of(ElementType::float32, op_.rows)));
        return launch_of(RowReduction{.source = at_.x,
                                      .destination = static_cast<float*>(at_.y),
                                      .rows = op_.rows,
                                      .columns = op_.cols,
                                      .type = type_});
    }

  private:
    void* keep(Buffer buffer) {
        plan_.buffers.push_back(std::move(buffer));
        return plan_.buffers.back().as();
    }
    void* matrix() { return keep(Buffer(bytes_of(type_, op_.rows * op_.cols))); }

    const model::RowWise& op_;
    const Context& context_;
    Plan& plan_;
    ElementType type_;
    Operands at_;
};

Launch build(Builder& builder, RowKind kind, Implementation implementation) {
    const bool manual =
        implementation == Implementation::manual || implementation == Implementation::unfused;
    if (manual && kind == RowKind::softmax) return builder.manual_softmax();
    if (implementation != Implementation::fused) {
        refuse(implementation, "operations along rows");
    }
    switch (kind) {
        case RowKind::softmax:
            return builder.softmax();
        case RowKind::layernorm:
            return builder.normalize(Norm::layer);
        case RowKind::rmsnorm:
            return builder.normalize(Norm::rms);
        case RowKind::sum:
            return builder.sum();
        default:
            break;
    }
    throw ContractViolation("unknown row operation");
}

}  // namespace

Plan plan_row_wise(const model::RowWise& op, const model::Execution& execution,
                   const Context& context) {
    if (op.direction != model::Direction::forward) {
        throw Refusal("there is no bundled backward pass of operations along rows");
    }
    Plan plan;
    plan.implementation = execution.implementation;
    Builder builder(op, context, plan);
    plan.launch = build(builder, op.kind, execution.implementation);
    const RowCheck rows(op, builder.type(), builder.operands(), context.stream());
    plan.verify = [rows, y = builder.operands().y, launch = plan.launch,
                   stream = context.stream()] {
        poison(y, rows.result_type(), rows.results(), stream);
        launch(stream);
        require(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
        return rows.check();
    };
    return plan;
}

}  // namespace ridge::measure::cuda
