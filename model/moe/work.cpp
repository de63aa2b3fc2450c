#include "model/moe/work.h"

#include "model/core/real.h"

namespace ridge::model {
namespace {

constexpr double token_bytes = 2.0;  ///< of an element outside the experts

}  // namespace

double expert_bytes(const Moe& op) {
    const MoeLoad load = moe_load(op);
    const DataType type = weight_type_of(op);
    return operand_bytes(type, widening_of(op) * load.inner, real(op.hidden), Operand::weights) +
           operand_bytes(type, real(op.hidden), load.inner, Operand::weights);
}

MoeRows moe_rows(const Moe& op, const MoeLoad& load) {
    return {.gathered = operand_bytes(op.type, load.pairs, real(op.hidden)),
            .gates = load.pairs * widening_of(op) * load.inner * token_bytes,
            .inner = operand_bytes(op.type, load.pairs, load.inner),
            .results = load.pairs * real(op.hidden) * token_bytes};
}

Work moe_work(const Moe& op) {
    const MoeLoad load = moe_load(op);
    const double hidden = real(op.hidden);
    const double weights = load.active * expert_bytes(op);
    const double tokens = real(op.tokens) * hidden * token_bytes;
    const MoeRows r = moe_rows(op, load);
    const double rows = r.gathered + r.gates + r.inner + r.results;

    Work work;
    const double matrices = widening_of(op) + 1.0;
    work.tensor = Flop::from_base(2.0 * matrices * load.pairs * hidden * load.inner);
    work.fma = Flop::from_base(load.pairs * (5.0 * load.inner + 2.0 * hidden));
    work.special = 2.0 * load.pairs * load.inner;
    work.compulsory_read = Bytes::from_base(tokens + weights);
    work.compulsory_write = Bytes::from_base(tokens);
    work.dram_read = Bytes::from_base(tokens + weights + rows);
    work.dram_write = Bytes::from_base(tokens + rows);
    work.kernels = 6;
    return work;
}

}  // namespace ridge::model
