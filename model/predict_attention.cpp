// Predictions of attention from its counted work.

#include <algorithm>
#include <string>

#include "model/attention_work.h"
#include "model/predict.h"
#include "model/roofline.h"

namespace ridge::model {
namespace {

bool is_attention_implementation(Implementation implementation) {
    return implementation == Implementation::standard ||
           implementation == Implementation::flash1 || implementation == Implementation::flash2 ||
           implementation == Implementation::flash3;
}

/// flash3 where its kernels run (sm_90), flash2 on other tensor cores.
Implementation usual_implementation(const Machine& machine) {
    return machine.compute_capability == 90 ? Implementation::flash3 : Implementation::flash2;
}

AttentionContext context_of(const Machine& machine) {
    AttentionContext context;
    context.compute_capability = machine.compute_capability;
    context.sm_count = machine.sm_count;
    context.l2 = machine.l2_size.value_or(Bytes{});
    if (machine.limits) context.sram = machine.limits->shared;
    return context;
}

Tiling tiling_of(const AttentionGrid& grid, const Machine& machine) {
    const std::int64_t slots = std::max<std::int64_t>(1, machine.sm_count);
    const std::int64_t waves = (grid.tiles + slots - 1) / slots;
    return {.tile = {static_cast<std::int32_t>(grid.blocks.q),
                     static_cast<std::int32_t>(grid.blocks.kv), 0},
            .tiles = grid.tiles,
            .split = static_cast<std::int32_t>(grid.splits),
            .blocks_per_sm = 1,
            .waves = waves,
            .tile_efficiency = 1.0,
            .wave_efficiency = static_cast<double>(grid.tiles) /
                               (static_cast<double>(waves) * static_cast<double>(slots))};
}

/// Why the implementation cannot run on the machine; empty when it can.
std::string refusal(const Attention& op, Implementation implementation, const Machine& machine) {
    if (!is_attention_implementation(implementation)) {
        return "impl " + std::string(name_of(implementation)) +
               " is not an implementation of attention";
    }
    if (implementation == Implementation::flash3 && machine.compute_capability != 90) {
        return "flash3 needs compute capability 9.0; " + machine.name + " does not have it";
    }
    if (!machine.tensor_peak(op.type) && !machine.vector_peak(op.type)) {
        return "dtype " + std::string(name_of(op.type)) +
               " has neither a tensor-core nor a vector rate on " + machine.name;
    }
    if (implementation != Implementation::standard && op.type == DataType::fp32) {
        return "flash attention is modelled for 16- and 8-bit types; use impl standard for fp32";
    }
    return {};
}

}  // namespace

Outcome predict(const Attention& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = execution.implementation == Implementation::automatic
                                              ? usual_implementation(machine)
                                              : execution.implementation;
    if (std::string reason = refusal(op, implementation, machine); !reason.empty()) {
        return NotModelled{std::move(reason)};
    }
    const AttentionWork counted = count_attention(op, implementation, context_of(machine));
    Work work = counted.work;
    if (!machine.tensor_peak(op.type)) {
        work.fma += work.tensor;
        work.tensor = Flop{};
    }
    Prediction prediction = roofline(work, roofs_of(machine, op.type), machine);
    prediction.implementation = implementation;
    prediction.time += launch_gaps(machine, execution.launch, work.kernels);
    prediction.low = prediction.lower_bound;
    prediction.high = 2.0 * prediction.time;
    prediction.footprint = work.compulsory() + counted.scratch;
    prediction.tiling = tiling_of(counted.grid, machine);
    prediction.note(NoteCode::roofline_only);
    if (op.causal && counted.executed_ratio() > 1.005) {
        prediction.note(NoteCode::causal_blocks, counted.executed_ratio());
    }
    if (counted.grid.splits > 1) {
        prediction.note(NoteCode::split_kv, static_cast<double>(counted.grid.splits));
    }
    if (op.direction == Direction::backward && implementation != Implementation::standard) {
        prediction.note(NoteCode::atomics);
    }
    return prediction;
}

}  // namespace ridge::model
