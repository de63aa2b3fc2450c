// Operations with one dimension made larger (random_operation.h).
#include <string>
#include <utility>
#include <vector>

#include "tests/model/random_operation.h"

namespace ridge::test {

using namespace ridge::model;

namespace {

template <class Op, class Member>
void grow(std::vector<std::pair<std::string, Operation>>& larger, const Op& op, const char* name,
          Member member) {
    for (const std::int64_t by : {op.*member, std::int64_t{1}}) {
        Op changed = op;
        changed.*member += by;
        larger.emplace_back(name, changed);
    }
}

std::vector<std::pair<std::string, Operation>> grown_attention(const Attention& op) {
    std::vector<std::pair<std::string, Operation>> larger;
    grow(larger, op, "batch", &Attention::batch);
    // With more keys, a window that hides no key begins to hide some, which some kernels refuse.
    const bool idle = op.window > 0 && without_idle_masks(op).window == 0;
    if (!idle) grow(larger, op, "seq_kv", &Attention::seq_kv);
    // A window lies before a single query, but on both sides of one of several queries (eq. A3).
    const bool turns = op.window > 0 && !op.causal && op.seq_q == 1;
    if ((!op.causal || op.seq_q * 2 <= op.seq_kv) && !turns && !idle) {
        grow(larger, op, "seq_q", &Attention::seq_q);
    }
    if (op.window > 0) grow(larger, op, "window", &Attention::window);
    Attention heads = op;
    heads.heads *= 2;
    larger.emplace_back("heads", heads);
    heads.kv_heads *= 2;
    larger.emplace_back("heads and kv_heads", heads);
    return larger;
}

struct Grow {
    using Larger = std::vector<std::pair<std::string, Operation>>;

    Larger operator()(const Matmul& op) const {
        Larger larger;
        grow(larger, op, "batch", &Matmul::batch);
        grow(larger, op, "m", &Matmul::m);
        grow(larger, op, "n", &Matmul::n);
        grow(larger, op, "k", &Matmul::k);
        return larger;
    }
    Larger operator()(const Attention& op) const { return grown_attention(op); }
    Larger operator()(const Mla& op) const {
        Larger larger = one(op, "batch", &Mla::batch);
        grow(larger, op, "heads", &Mla::heads);
        if (op.seq_q == 1) grow(larger, op, "seq_kv", &Mla::seq_kv);
        return larger;
    }
    Larger operator()(const Moe& op) const {
        Larger larger = one(op, "tokens", &Moe::tokens);
        grow(larger, op, "hidden", &Moe::hidden);
        Moe wider = op;
        wider.intermediate *= 2;
        larger.emplace_back("intermediate", wider);
        return larger;
    }
    Larger operator()(const SparseAttention& op) const {
        Larger larger = one(op, "batch", &SparseAttention::batch);
        grow(larger, op, "seq_kv", &SparseAttention::seq_kv);
        grow(larger, op, "heads", &SparseAttention::heads);
        return larger;
    }
    Larger operator()(const MixedAttention& op) const {
        Larger larger = one(op, "decodes", &MixedAttention::decodes);
        grow(larger, op, "decode_kv", &MixedAttention::decode_kv);
        return larger;
    }
    Larger operator()(const Recurrence& op) const {
        Larger larger = one(op, "batch", &Recurrence::batch);
        if (op.phase != RecurrencePhase::generation) grow(larger, op, "seq", &Recurrence::seq);
        Recurrence wider = op;
        wider.v_heads *= 2;
        larger.emplace_back("v_heads", wider);
        return larger;
    }
    Larger operator()(const TokenWise& op) const {
        Larger larger = one(op, "rows", &TokenWise::rows);
        grow(larger, op, "cols", &TokenWise::cols);
        return larger;
    }
    Larger operator()(const Elementwise& op) const {
        return one(op, "elements", &Elementwise::elements);
    }
    Larger operator()(const Copy& op) const { return one(op, "elements", &Copy::elements); }
    Larger operator()(const Access& op) const {
        Larger larger = one(op, "elements", &Access::elements);
        const bool most = op.degree >= 16;  // twice this degree must stay within a warp
        if (op.pattern != AccessPattern::misaligned && !most) {
            grow(larger, op, "degree", &Access::degree);
        }
        return larger;
    }
    Larger operator()(const OwnKernel& op) const {
        Larger larger = one(op, "flop", &OwnKernel::flop);
        grow(larger, op, "bytes", &OwnKernel::bytes);
        return larger;
    }
    Larger operator()(const Collective& op) const { return one(op, "bytes", &Collective::bytes); }
    Larger operator()(const RowWise& op) const { return matrix(op); }
    Larger operator()(const Transpose& op) const { return matrix(op); }
    Larger operator()(const Cat& op) const {
        Larger larger = matrix(op);
        grow(larger, op, "inputs", &Cat::inputs);
        return larger;
    }
    Larger operator()(const AdamW& op) const { return one(op, "elements", &AdamW::elements); }
    Larger operator()(const Gather& op) const {
        Larger larger = matrix(op);
        grow(larger, op, "table_rows", &Gather::table_rows);
        return larger;
    }

    template <class Op>
    static Larger matrix(const Op& op) {
        Larger larger = one(op, "rows", &Op::rows);
        grow(larger, op, "cols", &Op::cols);
        return larger;
    }
    template <class Op, class Member>
    static Larger one(const Op& op, const char* name, Member member) {
        Larger larger;
        grow(larger, op, name, member);
        return larger;
    }
};

}  // namespace

std::vector<std::pair<std::string, Operation>> grown(const Operation& operation) {
    return std::visit(Grow{}, operation);
}

}  // namespace ridge::test
