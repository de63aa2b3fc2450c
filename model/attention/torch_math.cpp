// The math backend of scaled_dot_product_attention: in fp32 for every type, one kernel after the
// other, with the scores in memory (eq. T19).
#include "model/attention/torch_backends.h"
#include "model/expression/expression.h"

namespace ridge::model {
namespace {

class Composer {
  public:
    Composer(const Attention& op, const Execution& execution, const Machine& machine,
             OperationPredictor predictor)
        : op_(op), execution_(execution), machine_(machine), predictor_(predictor) {}

    std::optional<BackendTime> forward() {
        const bool narrow = size_of(op_.type) == 2;
        if (narrow) {
            cast(queries(), op_.type, DataType::fp32);
            cast(keys(), op_.type, DataType::fp32);
            cast(keys(), op_.type, DataType::fp32);
        }
        state_ = L2State::warm;
        map(scaled(), queries());
        map(scaled(), keys());
        product(op_.seq_q, op_.seq_kv, op_.head_dim, Layout::column_major);
        if (op_.causal) {
            for (int i = 0; i < mask_kernels; ++i) map(scaled(), op_.seq_q * op_.seq_kv);
            map(masked(), scores());
        }
        rows(RowKind::softmax, DataType::fp32, Direction::forward);
        cast(scores(), DataType::fp32, DataType::int8);  // rows without any score become zeros
        rows(RowKind::max, DataType::int8, Direction::forward);
        map(scaled(), 1);  // the zero that they become
        map(masked(), scores());
        if (narrow) cast(scores(), DataType::fp32, op_.type);
        product(op_.seq_q, op_.head_dim, op_.seq_kv, Layout::row_major);
        if (narrow) cast(queries(), DataType::fp32, op_.type);
        return finished();
    }

    std::optional<BackendTime> backward() {
        const bool narrow = size_of(op_.type) == 2;
        if (narrow) cast(queries(), op_.type, DataType::fp32);
        state_ = L2State::warm;
        product(op_.seq_kv, op_.head_dim, op_.seq_q, Layout::row_major);
        product(op_.seq_q, op_.seq_kv, op_.head_dim, Layout::column_major);
        rows(RowKind::softmax, DataType::fp32, Direction::backward);
        product(op_.seq_q, op_.head_dim, op_.seq_kv, Layout::row_major);
        product(op_.seq_kv, op_.head_dim, op_.seq_q, Layout::row_major);
        map(scaled(), queries());
        map(scaled(), keys());
        if (narrow) {
            cast(queries(), DataType::fp32, op_.type);
            cast(keys(), DataType::fp32, op_.type);
            cast(keys(), DataType::fp32, op_.type);
        }
        return finished();
    }

  private:
    static constexpr int mask_kernels = 4;  // ones, triangle, fill, select

    static const Expression& scaled() {
        static const Expression expression = parse_expression("x * c");
        return expression;
    }
    static const Expression& masked() {
        static const Expression expression = parse_expression("x * bias");
        return expression;
    }
    static const Expression& plain() {
        static const Expression expression = parse_expression("x");
        return expression;
    }

    [[nodiscard]] std::int64_t heads() const { return op_.batch * op_.heads; }
    [[nodiscard]] std::int64_t queries() const { return heads() * op_.seq_q * op_.head_dim; }
    [[nodiscard]] std::int64_t keys() const { return heads() * op_.seq_kv * op_.head_dim; }
    [[nodiscard]] std::int64_t scores() const { return heads() * op_.seq_q * op_.seq_kv; }

    void cast(std::int64_t elements, DataType from, DataType to) {
        add(Elementwise{.expression = plain(), .elements = elements, .type = from, .output = to});
    }
    void map(const Expression& expression, std::int64_t elements) {
        add(Elementwise{.expression = expression, .elements = elements, .type = DataType::fp32});
    }
    void rows(RowKind kind, DataType type, Direction direction) {
        add(RowWise{.kind = kind,
                    .rows = heads() * op_.seq_q,
                    .cols = op_.seq_kv,
                    .type = type,
                    .direction = direction});
    }
    void product(std::int64_t m, std::int64_t n, std::int64_t k, Layout b_layout) {
        add(Matmul{.batch = heads(),
                   .m = m,
                   .n = n,
                   .k = k,
                   .type = DataType::fp32,
                   .output = DataType::fp32,
                   .b_layout = b_layout});
    }

    void add(const Operation& operation) {
        const Execution execution{
            .implementation = Implementation::torch, .l2 = state_, .launch = LaunchMode::kernel};
        const Outcome outcome = predictor_(operation, execution, machine_);
        const auto* const part = std::get_if<Prediction>(&outcome);
        modelled_ = modelled_ && part != nullptr && part->evidence.chip != ChipEvidence::datasheet;
        if (part == nullptr) return;
        sum_.kernels += part->work.kernels;
        sum_.total += part->time;
        for (const Term& term : part->terms) {
            Time& share = term.resource == Resource::dram     ? sum_.dram
                          : term.resource == Resource::launch ? sum_.launch
                          : is_compute(term.resource)         ? sum_.pipes
                                                              : sum_.blocks;
            share += term.time;
        }
    }

    static bool is_compute(Resource resource) {
        return resource == Resource::tensor || resource == Resource::fma ||
               resource == Resource::special || resource == Resource::issue;
    }

    std::optional<BackendTime> finished() { return modelled_ ? std::optional(sum_) : std::nullopt; }

    const Attention& op_;
    const Execution& execution_;
    const Machine& machine_;
    OperationPredictor predictor_;
    L2State state_ = execution_.l2;
    bool modelled_ = true;
    BackendTime sum_{.kernels = 0};
};

}  // namespace

std::optional<BackendTime> torch_math_time(const Attention& op, const Execution& execution,
                                           const Machine& machine, OperationPredictor predictor) {
    Composer composer(op, execution, machine, predictor);
    return op.direction == Direction::forward ? composer.forward() : composer.backward();
}

}  // namespace ridge::model
