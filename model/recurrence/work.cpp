#include "model/recurrence/work.h"

#include <cmath>

#include "model/core/real.h"

namespace ridge::model {
namespace {

constexpr double fp32 = 4.0;  ///< bytes of an element of the state and of a decay

double tokens_of(const Recurrence& op) {
    return real(op.batch) * real(op.seq);
}

bool convolves(const Recurrence& op) {
    return op.part != RecurrencePart::scan;
}
bool scans(const Recurrence& op) {
    return op.part != RecurrencePart::conv;
}

/// Multiplications and additions with the state per token, in elements of the state: gdn and kda
/// read what a key finds, write the difference and read what the query finds; mamba2 writes and
/// reads. (Y2)
double passes_of(const Recurrence& op) {
    return op.kind == RecurrenceKind::mamba2 ? 2.0 : 3.0;
}

double state_elements(const Recurrence& op) {
    return real(op.v_heads) * real(op.head_k_dim) * real(op.head_v_dim);
}

}  // namespace

RecurrenceBytes recurrence_bytes(const Recurrence& op) {
    const double tokens = tokens_of(op);
    const double element = real(size_of(op.type));
    RecurrenceBytes bytes;
    bytes.inputs = tokens * real(channels_of(op)) * element;
    if (convolves(op)) {
        bytes.window = real(op.batch) * real(channels_of(op)) * real(op.conv - 1) * element;
    }
    bytes.outputs =
        scans(op) ? tokens * real(op.v_heads) * real(op.head_v_dim) * element : bytes.inputs;
    if (!scans(op)) return bytes;
    const double decays =
        op.kind == RecurrenceKind::kda ? real(op.v_heads) * real(op.head_k_dim) : real(op.v_heads);
    bytes.gates = tokens * (decays * fp32 + real(op.v_heads) * element);
    bytes.state = real(op.batch) * state_elements(op) * fp32;
    return bytes;
}

Flop chunked_flop(const Recurrence& op) {
    if (!scans(op) || op.phase != RecurrencePhase::context) return {};
    const double chunk = real(op.chunk);
    const double chunks = std::ceil(real(op.seq) / chunk);
    const double k = real(op.head_k_dim);
    const double v = real(op.head_v_dim);
    const double keys = op.kind == RecurrenceKind::mamba2 ? 1.0 : 3.0;
    const double values = op.kind == RecurrenceKind::mamba2 ? 1.0 : 2.0;
    const double token = 2.0 * passes_of(op) * k * v + 2.0 * chunk * (keys * k + values * v);
    return Flop::from_base(real(op.batch) * chunks * chunk * real(op.v_heads) * token);
}

Work recurrence_work(const Recurrence& op) {
    const RecurrenceBytes bytes = recurrence_bytes(op);
    const double tokens = tokens_of(op);
    Work work;
    if (convolves(op)) {
        const double results = tokens * real(channels_of(op));
        work.fma += Flop::from_base(2.0 * real(op.conv) * results);
        work.special += 2.0 * results;  // silu
    }
    if (scans(op)) {
        const auto flop = Flop::from_base(2.0 * passes_of(op) * tokens * state_elements(op));
        (op.phase == RecurrencePhase::context ? work.tensor : work.fma) += flop;
        work.special += bytes.gates / fp32;
    }
    work.compulsory_read =
        Bytes::from_base(bytes.inputs + bytes.gates + bytes.window + bytes.state);
    work.compulsory_write = Bytes::from_base(bytes.outputs + bytes.window + bytes.state);
    work.dram_read = work.compulsory_read;
    work.dram_write = work.compulsory_write;
    return work;
}

}  // namespace ridge::model
