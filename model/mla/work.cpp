#include "model/mla/work.h"

#include "model/core/real.h"

namespace ridge::model {
namespace {

bool decodes(const Mla& op) {
    return op.phase == MlaPhase::decode;
}

/// Elements of the cache per token.
double cached_elements(const Mla& op) {
    return real(op.latent_dim + op.rope_dim);
}

}  // namespace

MlaShape mla_shape(const Mla& op) {
    MlaShape shape;
    shape.key_dim = decodes(op) ? cached_elements(op) : real(op.head_dim + op.rope_dim);
    shape.value_dim = decodes(op) ? real(op.latent_dim) : real(op.head_dim);
    shape.kv_heads = decodes(op) ? 1.0 : real(op.heads);
    // Query i of Nq sees Nk - Nq + 1 + i keys.
    const double queries = real(op.seq_q);
    const double pairs = queries * (real(op.seq_kv) - (queries - 1.0) / 2.0);
    shape.scores = real(op.batch) * real(op.heads) * pairs;
    return shape;
}

MlaCacheWrite mla_cache_write(const Mla& op) {
    const double elements = real(op.batch) * real(op.seq_q) * cached_elements(op);
    return {.read = Bytes::from_base(elements * real(size_of(op.type))),
            .written = Bytes::from_base(elements * real(size_of(cache_type_of(op))))};
}

Work mla_work(const Mla& op) {
    const MlaShape shape = mla_shape(op);
    const double element = real(size_of(op.type));
    const double rows = real(op.batch) * real(op.heads) * real(op.seq_q);
    const double keys = real(op.batch) * real(op.seq_kv);
    const double kv = decodes(op)
                          ? keys * cached_elements(op) * real(size_of(cache_type_of(op)))
                          : keys * shape.kv_heads * (shape.key_dim + shape.value_dim) * element;
    const MlaCacheWrite cache = mla_cache_write(op);

    Work work;
    work.tensor = Flop::from_base(2.0 * shape.scores * (shape.key_dim + shape.value_dim));
    work.fma = Flop::from_base(4.0 * shape.scores + rows * shape.value_dim);
    work.special = shape.scores + 2.0 * rows;
    work.compulsory_read = Bytes::from_base(rows * shape.key_dim * element + kv) + cache.read;
    work.compulsory_write = Bytes::from_base(rows * shape.value_dim * element) + cache.written;
    work.dram_read = work.compulsory_read;
    work.dram_write = work.compulsory_write;
    work.kernels = 2;
    return work;
}

}  // namespace ridge::model
