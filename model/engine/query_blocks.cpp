#include "model/engine/query_blocks.h"

#include <algorithm>

#include "model/core/real.h"
#include "model/machine/query_block_parameters.h"
#include "model/roof/overlap.h"
#include "model/sparse/work.h"

namespace ridge::model {
namespace {

/// Queries, and the keys of each.
struct QueriesAndKeys {
    double queries;
    double keys;
};

QueriesAndKeys counted(const LawCall& call) {
    if (const auto* const rows = std::get_if<TokenWise>(&call.operation)) {
        return {.queries = real(rows->batch) * real(rows->rows), .keys = real(rows->cols)};
    }
    const auto& op = std::get<SparseAttention>(call.operation);
    const bool padded = call.attributes[static_cast<std::size_t>(QueryAttribute::padded)] != 0;
    return {.queries = real(op.batch) * real(op.seq_q),
            .keys = padded ? real(op.topk) : keys_of_query(op)};
}

}  // namespace

LawTime query_blocks(const LawCall& call) {
    constexpr Overlap longer{4.0};
    const auto p = set_of_values(query_blocks_table(), call.kernel.values);
    const QueriesAndKeys all = counted(call);
    const double each = all.queries / real(call.machine.sm_count);
    const double rounds = std::max(1.0, each / p.queries);
    const Frequency clock = call.machine.boost_clock;
    const Time along = rounds * (p.block + all.keys * p.key) / clock;
    const Time shared = each * (p.spread + all.keys * p.spread_key) / clock;
    const Time both = combined({along, shared}, longer);
    LawTime t;
    t.kernels = p.start + both;
    t.terms.push_back({Resource::launch, p.start, 0.0});
    t.terms.push_back({Resource::latency, along, 0.0});
    t.terms.push_back({Resource::l2, shared, call.work.compulsory().base()});
    t.dram_read = call.work.dram_read;
    t.dram_write = call.work.dram_write;
    t.l2 = call.work.compulsory();
    t.executed = call.work.tensor;
    return t;
}

}  // namespace ridge::model
