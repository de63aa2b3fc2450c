// Predictions of attention: counted work, the roofline, and the time model where it has parameters.

#include <algorithm>
#include <string>

#include "model/attention_band.h"
#include "model/attention_time.h"
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

Tiling tiling_of(const AttentionWork& counted, const Machine& machine) {
    const AttentionGrid& grid = counted.grid;
    const std::int64_t slots = std::max<std::int64_t>(1, machine.sm_count * grid.blocks_per_sm);
    const std::int64_t waves = (grid.tiles + slots - 1) / slots;
    return {.tile = {static_cast<std::int32_t>(grid.blocks.q),
                     static_cast<std::int32_t>(grid.blocks.kv), 0},
            .tiles = grid.tiles / grid.splits,
            .split = static_cast<std::int32_t>(grid.splits),
            .blocks_per_sm = grid.blocks_per_sm,
            .waves = waves,
            .tile_efficiency = 1.0 / std::max(1.0, counted.executed_ratio()),
            .wave_efficiency = static_cast<double>(grid.tiles) /
                               (static_cast<double>(waves) * static_cast<double>(slots))};
}

const FlashParameters* parameters_of(const Machine& machine, Implementation implementation) {
    if (!machine.attention || machine.sm_count == 0) return nullptr;
    const AttentionParameters& fitted = *machine.attention;
    const std::optional<FlashParameters>& chosen =
        implementation == Implementation::flash1   ? fitted.flash1
        : implementation == Implementation::flash2 ? fitted.flash2
                                                   : fitted.flash3;
    return chosen ? &*chosen : nullptr;
}

/// The time of the model for this implementation; empty where the machine has no parameters.
std::optional<AttentionTime> modelled_time(const Attention& op, const AttentionWork& counted,
                                           Implementation implementation,
                                           const Execution& execution, const Machine& machine) {
    if (implementation == Implementation::standard) {
        if (!machine.attention || machine.sm_count == 0) return std::nullopt;
        return standard_attention_time(op, counted, machine.attention->standard, execution,
                                       machine);
    }
    const FlashParameters* const fitted = parameters_of(machine, implementation);
    if (fitted == nullptr) return std::nullopt;
    return attention_time(op, counted, implementation, *fitted, execution, machine);
}

/// The least time at datasheet rates when the inputs may already be in the L2: only what exceeds
/// its size must come from DRAM.
Time warm_bound(const Prediction& prediction, const AttentionWork& counted, const Machine& machine,
                L2State state) {
    const Bytes kept = state == L2State::warm ? machine.l2_size.value_or(Bytes{}) : Bytes{};
    Time bound = std::max(Bytes{}, counted.work.compulsory() - kept) / machine.dram_bandwidth;
    for (const Term& term : prediction.terms) {
        if (bound_of(term.resource) == Bound::compute) bound = std::max(bound, term.time);
    }
    return bound;
}

void add_term(Prediction& prediction, Resource resource, Time time, double amount = 0.0) {
    if (time <= Time{}) return;
    prediction.terms.push_back({.resource = resource,
                                .time = time,
                                .amount = amount,
                                .rate = amount > 0.0 ? amount / time.base() : 0.0});
}

/// The terms as the model combines them: those on chip add up, DRAM overlaps them, the rest is
/// added. Loads that the matmuls hide are not a term.
void set_terms(Prediction& prediction, const AttentionTime& time, const AttentionWork& counted) {
    const bool tensor = prediction.work.tensor > Flop{};
    prediction.terms = {};
    add_term(prediction, tensor ? Resource::tensor : Resource::fma, time.tensor + time.droop,
             counted.executed_tensor.base());
    add_term(prediction, Resource::special, time.softmax, counted.executed_special);
    add_term(prediction, Resource::dram, time.dram, time.dram_bytes.base());
    add_term(prediction, Resource::l2, time.load + time.cache_write + time.copies,
             counted.work.l2.base());
    add_term(prediction, Resource::latency, time.tiles + time.tail + time.scan + time.combine);
    add_term(prediction, Resource::launch, time.launch);
    settle_limiter(prediction);
}

/// What the parameters were not fitted to.
bool is_extrapolated(const Attention& op, Implementation implementation) {
    const bool known_dim =
        op.head_dim == 64 || op.head_dim == 128 || op.head_dim == 192 || op.head_dim == 256;
    const bool fitted_kernel =
        implementation == Implementation::flash2 || implementation == Implementation::flash3;
    return !known_dim || !fitted_kernel || size_of(op.type) != 2 || op.window != 0 ||
           op.direction == Direction::backward || (op.seq_q > 1 && op.seq_q != op.seq_kv);
}

void set_time(Prediction& prediction, const AttentionTime& time, const Attention& op,
              const AttentionWork& counted, Implementation implementation,
              const Execution& execution, const Machine& machine) {
    prediction.lower_bound = warm_bound(prediction, counted, machine, execution.l2);
    set_terms(prediction, time, counted);
    prediction.time = std::max(time.total, prediction.lower_bound);
    const BandRatios band = attention_band(time.regime, machine, is_extrapolated(op, implementation));
    prediction.low = std::max(prediction.lower_bound, band.low * prediction.time);
    prediction.high = band.high * prediction.time;
    prediction.confidence = machine.attention->own ? Confidence::calibrated : Confidence::family;
    if (!machine.attention->own) prediction.note(NoteCode::uncalibrated);
    if (is_extrapolated(op, implementation)) prediction.note(NoteCode::extrapolated);
    const Bytes l2 = machine.l2_size.value_or(Bytes{});
    if (time.dram_bytes <= Bytes{}) {
        prediction.note(NoteCode::l2_resident, time.working_set.base(), l2.base());
    }
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
    const AttentionWork counted = count_attention(op, implementation, attention_context(machine));
    Work work = counted.work;
    if (!machine.tensor_peak(op.type)) {
        work.fma += work.tensor;
        work.tensor = Flop{};
    }
    Prediction prediction = roofline(work, roofs_of(machine, op.type), machine);
    prediction.implementation = implementation;
    prediction.footprint = work.compulsory() + counted.scratch;
    prediction.tiling = tiling_of(counted, machine);
    if (const auto time = modelled_time(op, counted, implementation, execution, machine)) {
        set_time(prediction, *time, op, counted, implementation, execution, machine);
    } else {
        prediction.time += launch_gaps(machine, execution.launch, work.kernels);
        prediction.low = prediction.lower_bound;
        prediction.high = 2.0 * prediction.time;
        prediction.note(NoteCode::roofline_only);
    }
    if (op.causal && implementation != Implementation::standard &&
        counted.executed_ratio() > 1.005) {
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
