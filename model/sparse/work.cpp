#include "model/sparse/work.h"

#include <algorithm>

#include "model/core/real.h"

namespace ridge::model {
namespace {

constexpr double fp32 = 4.0;      ///< bytes of a score
constexpr double position = 4.0;  ///< bytes of a chosen key's position

bool indexes(const SparseAttention& op) {
    return op.part == SparsePart::index;
}

double width_of(const SparseAttention& op) {
    return indexes(op) ? real(op.head_dim) : real(op.latent_dim + op.rope_dim);
}

}  // namespace

double keys_of_query(const SparseAttention& op) {
    const double queries = real(op.seq_q);
    const double keys = real(op.seq_kv);
    const double seen = keys - 0.5 * (queries - 1.0);
    if (indexes(op)) return seen;
    // Queries that see no more than `topk` keys attend to all of them.
    const double chosen = real(op.topk);
    const double whole = std::clamp(keys - chosen, 0.0, queries);
    const double rest = queries - whole;
    const double of_rest = std::min(chosen, keys - whole) - 0.5 * std::max(0.0, rest - 1.0);
    return (whole * std::min(chosen, keys) + rest * std::max(1.0, of_rest)) / queries;
}

SparseBytes sparse_bytes(const SparseAttention& op) {
    const double rows = real(op.batch) * real(op.seq_q);
    const double element = real(size_of(op.type));
    const double stored = real(size_of(indexes(op) ? op.type : cache_type_of(op)));
    SparseBytes bytes;
    bytes.queries = rows * real(op.heads) * width_of(op) * element;
    double keys = real(op.batch) * real(op.seq_kv);
    if (indexes(op)) {
        bytes.out = rows * keys_of_query(op) * fp32;
    } else {
        keys = std::min(keys, rows * keys_of_query(op));
        bytes.chosen = rows * real(op.topk) * position;
        bytes.out = rows * real(op.heads) * real(op.latent_dim) * element;
    }
    bytes.keys = keys * width_of(op) * stored;
    return bytes;
}

Work sparse_work(const SparseAttention& op) {
    const SparseBytes bytes = sparse_bytes(op);
    const double pairs = real(op.batch) * real(op.seq_q) * real(op.heads) * keys_of_query(op);
    const double widths = indexes(op) ? width_of(op) : width_of(op) + real(op.latent_dim);
    Work work;
    work.tensor = Flop::from_base(2.0 * pairs * widths);
    work.fma = Flop::from_base(4.0 * pairs);
    work.special = indexes(op) ? 0.0 : pairs;
    work.compulsory_read = Bytes::from_base(bytes.queries + bytes.keys + bytes.chosen);
    work.compulsory_write = Bytes::from_base(bytes.out);
    work.dram_read = work.compulsory_read;
    work.dram_write = work.compulsory_write;
    return work;
}

}  // namespace ridge::model
