// Time of forward attention in three kernels, eq. T16 of docs/model.md: two library products, and
// between them a softmax that works in place on the scores in memory.
#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/attention/time.h"
#include "model/bundled/rows.h"
#include "model/roof/memory_time.h"
#include "model/roof/overlap.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

/// The query heads of one key-value head lie one after the other in memory: they are rows of one
/// product.
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

/// Time of the softmax: waves of blocks of equal latency, the traffic of the scores through L2 and
/// DRAM, and exp2. Rows that are not held in registers also wait for their elements. Hidden scores
/// are written but not read.
KernelTime softmax_time(const Attention& op, const AttentionWork& counted,
                        const StandardParameters& fitted, const MemoryParameters& memory) {
    const auto element = static_cast<double>(size_of(op.type));
    const bundled::ScoreSoftmaxPlan plan = bundled::score_softmax_plan(op.seq_kv, size_of(op.type));
    const bool held = plan.vectors > 0;  // in registers; else read twice, element by element
    const Bytes scores = Bytes::from_base(counted.scores.full * element);
    const Bytes visible = Bytes::from_base(counted.scores.exact * element);
    const double kept = memory.l2.found(scores);
    const double rows = counted.scores.full / static_cast<double>(op.seq_kv);
    const double resident =
        std::min(memory.blocks_per_sm, std::floor(memory.threads_per_sm / plan.threads));

    KernelTime time;
    time.dram_read = (1.0 - kept) * visible;
    time.dram_write = (1.0 - kept) * scores;
    time.dram = dram_time(memory, time.dram_read, time.dram_write);
    time.l2 = l2_time(memory, (held ? 1.0 : 2.0) * visible, scores, rows);
    const Frequency clocks = memory.clock * memory.sm_count;
    time.special = counted.scores.exact / memory.special_lanes * units::cycle / clocks;
    time.rounds = std::ceil(rows / (resident * memory.sm_count));
    time.latency = time.rounds * fitted.softmax_row;
    if (!held) {
        const double keys = (counted.scores.exact + counted.scores.full) / (2.0 * rows);
        const double elements = keys * time.rounds * resident;  // of one SM
        time.latency += elements / fitted.softmax_elements * units::cycle / memory.clock;
    }
    const Time pipe = combined({time.dram, time.l2, time.special}, pipes);
    time.total = combined({pipe, time.latency}, bytes_in_flight);
    return time;
}

}  // namespace

std::optional<AttentionTime> three_kernel_attention_time(
    const Attention& op, const AttentionWork& counted, const StandardParameters& fitted,
    const Execution& execution, const Machine& machine, ProductPredictor product) {
    if (!machine.memory || fitted.softmax_row <= Time{}) return std::nullopt;
    AttentionTime time;
    time.regime = AttentionRegime::three_kernels;
    time.working_set = counted.work.compulsory() + counted.scratch;
    Execution each;
    each.implementation = Implementation::library;
    each.l2 = execution.l2;
    for (const Matmul& matmul : {scores_product(op), values_product(op)}) {
        const Outcome outcome = product(matmul, each, machine);
        const auto* const part = std::get_if<Prediction>(&outcome);
        if (part == nullptr) return std::nullopt;
        time.total += part->time;
        time.tensor += term_of(*part, Resource::tensor) + term_of(*part, Resource::fma);
        time.dram += term_of(*part, Resource::dram);
        time.dram_bytes += part->work.dram();
        time.dram_write += part->work.dram_write;
        time.executed_tensor += part->executed_tensor;
        time.l2 += part->work.l2;
        time.launch += term_of(*part, Resource::launch);
        each.l2 = L2State::warm;
    }
    const auto element = static_cast<double>(size_of(op.type));
    time.l2 += Bytes::from_base((counted.scores.full + counted.scores.exact) * element);
    const KernelTime softmax = softmax_time(op, counted, fitted, *machine.memory);
    time.softmax = softmax.special;
    time.dram += softmax.dram;
    time.dram_bytes += softmax.dram_read + softmax.dram_write;
    time.dram_write += softmax.dram_write;
    time.tiles = softmax.latency;
    const Time launches =
        machine.kernel_floor + launch_gaps(machine, execution.launch, counted.work.kernels);
    time.launch += launches;
    time.total += softmax.total + launches;
    if (op.kv_write) {
        const Bytes moved = 2.0 * counted.cache_write;
        const Bandwidth dram = machine.dram_bandwidth * fitted.forward_dram_fraction;
        time.cache_write = fitted.kernel + moved / dram;
        time.dram_bytes += moved;
        time.dram_write += counted.cache_write;
        time.l2 += moved;
        time.total += time.cache_write;
    }
    return time;
}

}  // namespace ridge::model
