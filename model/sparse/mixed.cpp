#include "model/sparse/mixed.h"

#include <string>

#include "model/core/real.h"
#include "model/roof/account.h"
#include "model/roof/band.h"
#include "model/roof/roofline.h"

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
    if (!machine.tensor_peak(op.type)) {
        return NotModelled{"mixed_attention runs on tensor cores, which do not take dtype " +
                           std::string(name_of(op.type)) + " on " + machine.name};
    }
    const Work work = mixed_work(op);
    Prediction prediction = roofline(work, roofs_of(machine, op.type), machine);
    prediction.implementation = Implementation::fused;
    prediction.lower_bound = roofline_bound(work, prediction.peak, machine, execution.l2);
    prediction.time += launch_gaps(machine, execution.launch, work.kernels);
    apply_roofline_band(prediction);
    return prediction;
}

}  // namespace ridge::model
