#include "model/sparse/mixed.h"

#include "model/core/real.h"
#include "model/sparse/predict.h"

namespace ridge::model {
namespace {

/// Pairs of a query and a key of one head that the mask leaves.
double scores_of(const MixedAttention& op) {
    const double q = real(op.seq_q);
    const double chunk = q * real(op.seq_kv) - 0.5 * q * (q - 1.0);
    return chunk + real(op.decodes) * real(op.decode_kv);
}

}  // namespace

MixedBytes mixed_bytes(const MixedAttention& op) {
    const double d = real(op.head_dim);
    const double tokens = real(op.seq_q) + real(op.decodes);
    const double keys = real(op.seq_kv) + real(op.decodes) * real(op.decode_kv);
    return {.queries = tokens * real(op.heads) * d * real(size_of(op.type)),
            .keys = 2.0 * keys * real(op.kv_heads) * d * real(size_of(cache_type_of(op)))};
}

Work mixed_work(const MixedAttention& op) {
    const double scores = real(op.heads) * scores_of(op);
    const double d = real(op.head_dim);
    const MixedBytes bytes = mixed_bytes(op);
    Work work;
    work.tensor = Flop::from_base(4.0 * d * scores);
    work.fma = Flop::from_base(4.0 * scores);
    work.special = scores;
    work.compulsory_read = Bytes::from_base(bytes.queries + bytes.keys);
    work.compulsory_write = Bytes::from_base(bytes.queries);
    work.dram_read = work.compulsory_read;
    work.dram_write = work.compulsory_write;
    return work;
}

Outcome predict(const MixedAttention& op, const Execution& execution, const Machine& machine) {
    return tensor_roofline(name_of(Operation(op)), op.type, mixed_work(op), execution, machine);
}

}  // namespace ridge::model
