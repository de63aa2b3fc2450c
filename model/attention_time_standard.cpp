// Time of forward attention in three kernels, eq. T16 of docs/model.md: two library products with a
// softmax between them that works in place on the scores in memory.
#include <algorithm>
#include <cmath>

#include "model/attention_time.h"
#include "model/combine.h"
#include "model/memory_model.h"
#include "model/predict.h"
#include "model/roofline.h"

namespace ridge::model {
namespace {

/// The query heads of one key-value head lie behind each other: they are rows of one product.
Matmul product(const Attention& op) {
    Matmul matmul;
    matmul.batch = op.batch * op.kv_heads;
    matmul.m = op.heads / op.kv_heads * op.seq_q;
    matmul.type = op.type;
    matmul.output = op.type;
    return matmul;
}

Matmul scores_product(const Attention& op) {
    Matmul matmul = product(op);
    matmul.n = op.seq_kv;
    matmul.k = op.head_dim;
    matmul.b_layout = Layout::column_major;
    return matmul;
}

Matmul values_product(const Attention& op) {
    Matmul matmul = product(op);
    matmul.n = op.head_dim;
    matmul.k = op.seq_kv;
    return matmul;
}

Time term_of(const Prediction& prediction, Resource resource) {
    Time time;
    for (const Term& term : prediction.terms) {
        if (term.resource == resource) time += term.time;
    }
    return time;
}

/// One block per row, which stays in registers where it is whole 16-byte vectors and not too long;
/// other rows are read twice, element by element. Hidden scores are written but not read.
KernelTime softmax_time(const Attention& op, const AttentionWork& counted,
                        const StandardParameters& fitted, const MemoryParameters& memory) {
    constexpr double longest_row = 65536.0;  // bytes
    constexpr double vector = 16.0;
    const auto element = static_cast<double>(size_of(op.type));
    const double row = static_cast<double>(op.seq_kv) * element;
    const bool held = std::fmod(row, vector) == 0.0 && row <= longest_row;
    const Bytes scores = Bytes::from_base(counted.scores.full * element);
    const Bytes visible = Bytes::from_base(counted.scores.exact * element);
    const double miss = 1.0 - retained(scores, memory.l2_size * fitted.l2_fraction, 8.0);
    const double rows = counted.scores.full / static_cast<double>(op.seq_kv);

    KernelTime time;
    time.dram_read = miss * visible;
    time.dram_write = miss * scores;
    time.dram = dram_time(memory, time.dram_read, time.dram_write);
    time.l2 = l2_time(memory, (held ? 1.0 : 2.0) * visible, scores, memory.sm_count);
    const Frequency clocks = memory.clock * memory.sm_count;
    time.special = counted.scores.full / memory.special_lanes * units::cycle / clocks;
    time.latency = rows / memory.sm_count * fitted.softmax_row;
    if (!held) {
        time.latency += counted.scores.full / fitted.softmax_elements * units::cycle / clocks;
    }
    const Time pipe = combined({time.dram, time.l2, time.special}, pipes);
    time.total = combined({pipe, time.latency}, bytes_in_flight);
    return time;
}

}  // namespace

std::optional<AttentionTime> three_kernel_attention_time(const Attention& op,
                                                         const AttentionWork& counted,
                                                         const StandardParameters& fitted,
                                                         const Execution& execution,
                                                         const Machine& machine) {
    if (!machine.memory || fitted.softmax_row <= Time{}) return std::nullopt;
    AttentionTime time;
    time.regime = AttentionRegime::three_kernels;
    time.working_set = counted.work.compulsory() + counted.scratch;
    Execution each;
    each.implementation = Implementation::library;
    each.l2 = execution.l2;
    for (const Matmul& matmul : {scores_product(op), values_product(op)}) {
        const Outcome outcome = predict(matmul, each, machine);
        const auto* const part = std::get_if<Prediction>(&outcome);
        if (part == nullptr) return std::nullopt;
        time.total += part->time;
        time.tensor += term_of(*part, Resource::tensor) + term_of(*part, Resource::fma);
        time.dram += term_of(*part, Resource::dram);
        time.dram_bytes += part->work.dram();
        time.executed_tensor += part->executed_tensor;
        time.launch += term_of(*part, Resource::launch);
        each.l2 = L2State::warm;
    }
    const KernelTime softmax = softmax_time(op, counted, fitted, *machine.memory);
    time.softmax = softmax.special;
    time.dram += softmax.dram;
    time.dram_bytes += softmax.dram_read + softmax.dram_write;
    time.tiles = softmax.latency;
    const Time launches =
        machine.kernel_floor + launch_gaps(machine, execution.launch, counted.work.kernels);
    time.launch += launches;
    time.total += softmax.total + launches;
    return time;
}

}  // namespace ridge::model
