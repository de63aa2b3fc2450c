#include "model/moe/work.h"

#include <algorithm>

namespace ridge::model {
namespace {

constexpr double token_bytes = 2.0;  ///< of an element outside the experts

double real(std::int64_t count) {
    return static_cast<double>(count);
}

}  // namespace

MoeLoad moe_load(const Moe& op) {
    MoeLoad load;
    load.pairs = std::max(1.0, real(op.tokens) * real(op.topk) / real(op.ep));
    load.experts = real(op.experts / op.ep);
    load.active = std::min(load.experts, load.pairs);
    load.inner = real(op.intermediate / op.tp);
    return load;
}

double expert_bytes(const Moe& op) {
    const MoeLoad load = moe_load(op);
    return operand_bytes(op.type, 2.0 * load.inner, real(op.hidden), Operand::weights) +
           operand_bytes(op.type, real(op.hidden), load.inner, Operand::weights);
}

Work moe_work(const Moe& op) {
    const MoeLoad load = moe_load(op);
    const double hidden = real(op.hidden);
    const double weights = load.active * expert_bytes(op);
    const double tokens = real(op.tokens) * hidden * token_bytes;
    // Rows are gathered, and pass between the products and into the weighted sum.
    const double rows = operand_bytes(op.type, load.pairs, hidden);
    const double inner = operand_bytes(op.type, load.pairs, load.inner);
    const double gates = load.pairs * 2.0 * load.inner * token_bytes;
    const double results = load.pairs * hidden * token_bytes;

    Work work;
    work.tensor = Flop::from_base(6.0 * load.pairs * hidden * load.inner);
    work.fma = Flop::from_base(load.pairs * (5.0 * load.inner + 2.0 * hidden));
    work.special = 2.0 * load.pairs * load.inner;
    work.compulsory_read = Bytes::from_base(tokens + weights);
    work.compulsory_write = Bytes::from_base(tokens);
    work.dram_read = Bytes::from_base(tokens + weights + rows + gates + inner + results);
    work.dram_write = Bytes::from_base(tokens + rows + gates + inner + results);
    work.kernels = 6;
    return work;
}

}  // namespace ridge::model
