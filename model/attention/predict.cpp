// Predictions of attention: counted work, the roofline, and the time model if the machine has its
// parameters.

#include "model/attention/predict.h"

#include <algorithm>
#include <string>

#include "model/attention/bundled.h"
#include "model/attention/time.h"
#include "model/attention/work.h"
#include "model/machine/features.h"
#include "model/roof/account.h"
#include "model/roof/band.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

/// Whether the machine has the compute capability that the released kernels need (README of
/// flash-attention): flash1 runs on Turing and newer, flash2 on Ampere and newer. flashinfer's
/// kernels of TensorRT-LLM are built for sm_100 and sm_103. 0 means a GPU of another vendor, which
/// has its own kernels.
bool runs_flash(Implementation implementation, const Machine& machine) {
    const Features features = features_of(machine.compute_capability);
    if (implementation == Implementation::flash3) return features.wgmma;
    if (implementation == Implementation::flashinfer) return features.trtllm_attention;
    if (!features.warps) return true;
    return implementation == Implementation::flash2 ? features.mma_sync : features.early_mma;
}

/// The library kernels: flashinfer (forward only) and flash3 on GPUs that run them (sm_100, sm_90),
/// flash2 on other tensor cores, and three kernels on older GPUs.
Implementation usual_implementation(const Attention& op, const Machine& machine) {
    using enum Implementation;
    for (const auto each : {flashinfer, flash3, flash2}) {
        if (each == flashinfer && op.direction == Direction::backward) continue;
        if (runs_flash(each, machine)) return each;
    }
    return Implementation::standard;
}

/// The kernels that stand for a backend of scaled_dot_product_attention.
Implementation kernel_of(Implementation implementation, const Machine& machine) {
    switch (implementation) {
        case Implementation::torch_flash:
            return Implementation::flash2;
        case Implementation::torch_efficient:
            return Implementation::flash1;
        case Implementation::torch_cudnn:
            return features_of(machine.compute_capability).wgmma ? Implementation::flash3
                                                                 : Implementation::flash2;
        case Implementation::torch_math:
            return Implementation::torch;
        default:
            return implementation;
    }
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

const std::optional<FlashParameters>& parameters_of(const Attention& op,
                                                    const AttentionParameters& fitted,
                                                    Implementation implementation) {
    if (cache_type_of(op) != op.type) {
        return implementation == Implementation::flashinfer ? fitted.flashinfer_kv8
                                                            : fitted.flash3_kv8;
    }
    if (implementation == Implementation::flash1) return fitted.flash1;
    if (implementation == Implementation::flashinfer) return fitted.flashinfer;
    return implementation == Implementation::flash2 ? fitted.flash2 : fitted.flash3;
}

/// Evidence of the parameters of a bundled kernel; empty if there are no parameters.
std::optional<Evidence> bundled_evidence(const AttentionParameters& fitted,
                                         Implementation implementation, bool decodes) {
    if (decodes) return fitted.decode ? std::optional(fitted.decode->evidence) : std::nullopt;
    const auto& tiled = implementation == Implementation::wgmma ? fitted.wgmma : fitted.mma;
    return tiled ? std::optional(tiled->evidence) : std::nullopt;
}

/// The result of the time model, and the origin of its parameters.
struct Modelled {
    AttentionTime time;
    Evidence evidence = Evidence::foreign;
    bool borrowed = false;  ///< parameters of another implementation
};

/// Empty if the machine has no parameters for the implementation.
std::optional<Modelled> modelled_time(const Attention& op, const AttentionWork& counted,
                                      Implementation implementation, const Execution& execution,
                                      const Machine& machine, ProductPredictor product) {
    if (!machine.attention || machine.sm_count == 0) return std::nullopt;
    if (is_unfused(implementation)) {
        const StandardParameters& fitted = machine.attention->standard;
        const bool three_kernels =
            implementation == Implementation::standard && op.direction == Direction::forward;
        if (three_kernels) {
            if (auto time =
                    three_kernel_attention_time(op, counted, fitted, execution, machine, product)) {
                return Modelled{*time, fitted.softmax_evidence};
            }
        }
        return Modelled{standard_attention_time(op, counted, fitted, execution, machine),
                        fitted.evidence};
    }
    if (is_bundled_attention(implementation)) {
        const AttentionParameters& fitted = *machine.attention;
        const auto evidence = bundled_evidence(fitted, implementation, counted.grid.few_rows);
        if (!evidence) return std::nullopt;
        return Modelled{
            bundled_attention_time(op, counted, implementation, fitted, execution, machine),
            *evidence};
    }
    const auto& fitted = parameters_of(op, *machine.attention, implementation);
    if (!fitted) return std::nullopt;
    return Modelled{attention_time(op, counted, implementation, *fitted, execution, machine),
                    fitted->evidence, fitted->borrowed};
}

/// The terms as the model combines them: those on chip add up, DRAM overlaps them, and the rest is
/// added. Loads that the matmuls hide are not a term.
void set_terms(Prediction& prediction, const AttentionTime& time, const AttentionWork& counted) {
    const bool tensor = prediction.work.tensor > Flop{};
    add_term(prediction, tensor ? Resource::tensor : Resource::fma, time.tensor + time.droop,
             counted.executed_tensor.base());
    add_term(prediction, Resource::special, time.softmax, counted.executed_special);
    add_term(prediction, Resource::dram, time.dram, time.dram_bytes.base());
    add_term(prediction, Resource::l2, time.load + time.cache_write + time.copies,
             counted.work.l2.base());
    add_term(prediction, Resource::latency, time.tiles + time.tail + time.scan + time.combine);
    add_term(prediction, Resource::launch, time.launch);
}

/// The band class of a serving engine's call, by regime.
BandClass serving_class(Implementation implementation, const Attention& op,
                        AttentionRegime regime) {
    if (cache_type_of(op) != op.type) {
        return op.seq_q == 1 ? BandClass::cache8_decode : BandClass::cache8_prefill;
    }
    if (implementation == Implementation::flashinfer) {
        return op.seq_q == 1 ? BandClass::umma_decode : BandClass::umma_prefill;
    }
    const bool flash3 = implementation == Implementation::flash3;
    switch (regime) {
        case AttentionRegime::decode_latency:
        case AttentionRegime::prefill_throughput:
            return flash3 ? BandClass::serving_smooth : BandClass::serving_steady;
        case AttentionRegime::prefill_split:
        case AttentionRegime::prefill_memory:
            return BandClass::serving_memory;
        case AttentionRegime::decode_memory:
            return BandClass::serving_smooth;
        default:
            return flash3 ? BandClass::serving_uneven : BandClass::serving_smooth;
    }
}

/// Contiguous calls were checked only against published throughput, which includes no short calls.
BandClass band_class_of(const Attention& op, Implementation implementation,
                        const AttentionTime& time) {
    switch (time.regime) {
        case AttentionRegime::backward:
            return BandClass::published;
        case AttentionRegime::unfused:
            return BandClass::unfused;
        case AttentionRegime::three_kernels:
            return BandClass::row_kernel;
        case AttentionRegime::bundled_decode:
        case AttentionRegime::bundled_tiles:
            return BandClass::attention_tiles;
        default:
            break;
    }
    if (op.paged) return serving_class(implementation, op, time.regime);
    return time.launch > 0.25 * time.total ? BandClass::estimate : BandClass::published;
}

/// Shapes that no row or figure covers are extrapolated.
Validity validity_of(const Attention& op, Implementation implementation) {
    const bool blackwell = implementation == Implementation::flashinfer;
    const bool known_dim = op.head_dim == 64 || op.head_dim == 128 || op.head_dim == 256 ||
                           op.head_dim == (blackwell ? 512 : 192);
    const bool known_shape =
        size_of(op.type) == 2 && op.window == 0 && (op.seq_q == 1 || op.seq_q == op.seq_kv);
    return known_dim && known_shape ? Validity::validated : Validity::extrapolated;
}

/// Scales the implementation's reads and writes to the bytes that reach DRAM in the end.
void scale_dram(Work& work, Bytes moved) {
    if (work.dram() <= Bytes{}) return;
    const double share = moved / work.dram();
    work.dram_read *= share;
    work.dram_write *= share;
}

void set_time(Prediction& prediction, const Modelled& modelled, Implementation implementation,
              const Attention& op, const AttentionWork& counted, const Execution& execution,
              const Machine& machine) {
    const AttentionTime& time = modelled.time;
    set_terms(prediction, time, counted);
    if (time.regime == AttentionRegime::three_kernels) {
        prediction.executed_tensor = time.executed_tensor;
        prediction.work.l2 = time.l2;
        prediction.work.dram_read = time.dram_bytes - time.dram_write;
        prediction.work.dram_write = time.dram_write;
    } else {
        scale_dram(prediction.work, time.dram_bytes);
    }
    prediction.time = std::max(time.total, prediction.lower_bound);
    apply_band(prediction, band_class_of(op, implementation, time),
               chip_evidence(modelled.evidence), validity_of(op, prediction.implementation));
    if (modelled.borrowed) {
        widen_for_borrowed(prediction, op.seq_q == 1 ? Borrowed::decode : Borrowed::prefill);
    }
    if (execution.l2 == L2State::warm && time.dram_bytes <= 0.1 * time.working_set) {
        prediction.note(note::L2Resident{.data = time.working_set, .capacity = machine.l2.size});
    }
}

std::string bundled_refusal(const Attention& op, Implementation implementation,
                            const Machine& machine) {
    if (std::string reason = bundled_attention_refusal(op); !reason.empty()) return reason;
    const bool hopper = implementation == Implementation::wgmma;
    const Features features = features_of(machine.compute_capability);
    if (hopper ? !features.wgmma : !features.mma_sync) {
        return "impl " + std::string(name_of(implementation)) + " needs compute capability " +
               (hopper ? "9.0; " : "8.0 or newer; ") + machine.name + " does not have it";
    }
    return {};
}

bool is_backend_of_sdpa(Implementation implementation) {
    return implementation == Implementation::torch_flash ||
           implementation == Implementation::torch_efficient ||
           implementation == Implementation::torch_cudnn ||
           implementation == Implementation::torch_math;
}

/// Why the implementation cannot run on the machine; empty if it can.
std::string refusal(const Attention& op, Implementation asked_for, Implementation implementation,
                    const Machine& machine) {
    const bool flash = !is_unfused(implementation) && !is_bundled_attention(implementation);
    if (flash && !runs_flash(implementation, machine)) {
        const char* const needed = implementation == Implementation::flashinfer ? "10.0 or 10.3"
                                   : implementation == Implementation::flash3   ? "9.0"
                                   : implementation == Implementation::flash2   ? "8.0 or newer"
                                                                                : "7.5 or newer";
        return std::string(name_of(implementation)) + " needs compute capability " + needed + "; " +
               machine.name + " does not have it";
    }
    if (implementation == Implementation::flashinfer && op.direction == Direction::backward) {
        return "flashinfer has no backward pass";
    }
    if (cache_type_of(op) != op.type && implementation != Implementation::flash3 &&
        implementation != Implementation::flashinfer) {
        return "kv_dtype " + std::string(name_of(cache_type_of(op))) + " with dtype " +
               std::string(name_of(op.type)) +
               " is modelled only for flash3 (compute capability 9.0) and flashinfer (10.0)" +
               (features_of(machine.compute_capability).wgmma
                    ? ""
                    : ", which " + machine.name + " lacks");
    }
    if (is_bundled_attention(implementation)) return bundled_refusal(op, implementation, machine);
    if (asked_for == Implementation::torch_cudnn &&
        !features_of(machine.compute_capability).warps) {
        return "cuDNN runs on NVIDIA GPUs only; " + machine.name + " is not one";
    }
    if (is_backend_of_sdpa(asked_for) && (op.window != 0 || op.paged || op.kv_write)) {
        return "scaled_dot_product_attention has no sliding window, and it neither reads page "
               "tables "
               "nor writes the cache";
    }
    if (!machine.tensor_peak(op.type) && !machine.vector_peak(op.type)) {
        return "dtype " + std::string(name_of(op.type)) +
               " has neither a tensor-core nor a vector rate on " + machine.name;
    }
    const bool efficient = asked_for == Implementation::torch_efficient;
    if (!efficient && !is_unfused(implementation) && op.type == DataType::fp32) {
        return "flash attention is modelled only for 16- and 8-bit types; use impl standard for "
               "fp32";
    }
    return {};
}

/// Whether flash2 does not fold or split although multiprocessors are idle: its rules for page
/// tables and windows (flash_api.cpp of flash-attention and of vLLM's copy).
bool leaves_idle(const Attention& op, Implementation implementation, const AttentionGrid& grid,
                 const Machine& machine) {
    if (implementation != Implementation::flash2 || op.direction == Direction::backward) {
        return false;
    }
    const bool windowed = op.seq_q == 1 && op.window > 0 && op.heads > op.kv_heads;
    const bool unsplit = op.paged && grid.pack == 1 && grid.tiles < machine.sm_count;
    return windowed || unsplit;
}

/// The time of a backend of scaled_dot_product_attention; empty for everything else.
std::optional<BackendTime> backend_time(const Attention& op, Implementation asked_for,
                                        const Work& work, const Execution& execution,
                                        const Machine& machine, OperationPredictor operation) {
    if (machine.sm_count == 0 || machine.boost_clock <= Frequency{}) return std::nullopt;
    switch (asked_for) {
        case Implementation::torch_flash:
        case Implementation::torch_efficient:
        case Implementation::torch_cudnn:
            // PyTorch builds for other vendors have other kernels than those that were timed.
            if (!features_of(machine.compute_capability).warps || !machine.torch_attention)
                return std::nullopt;
            return torch_attention_time(op, asked_for, work, execution, machine);
        case Implementation::torch_math:
            return torch_math_time(op, execution, machine, operation);
        default:
            return std::nullopt;
    }
}

/// The context for counting the kernels. Unlike the kernel that stands for them, SDPA's efficient
/// backend splits no keys, and cuDNN splits only those of a single query.
AttentionContext context_of(const Attention& op, Implementation asked_for, const Machine& machine) {
    AttentionContext context = attention_context(machine);
    const bool whole = asked_for == Implementation::torch_efficient ||
                       (asked_for == Implementation::torch_cudnn && op.seq_q > 1);
    if (whole) context.sm_count = 0;
    return context;
}

BandClass torch_class(const Attention& op, Implementation asked_for) {
    // The math backend is separate kernels in both directions.
    const bool separate = asked_for == Implementation::torch_math;
    if (separate || op.direction == Direction::forward) return BandClass::torch_attention;
    const bool efficient = asked_for == Implementation::torch_efficient;
    return efficient ? BandClass::torch_efficient : BandClass::torch_backward;
}

/// Sets the time of a backend, without its band.
void set_backend(Prediction& prediction, const BackendTime& time, Bytes parts, LaunchMode launch,
                 const Machine& machine) {
    const Time gaps = launch_gaps(machine, launch, time.kernels);
    const bool tensor = prediction.work.tensor > Flop{};
    prediction.work.kernels = time.kernels;
    // Scratch memory is counted for the kernel that stands for the backend.
    prediction.tiling.split =
        std::max(prediction.tiling.split, static_cast<std::int32_t>(time.splits));
    // Parts of split keys are read soon after they are written, so what fits stays in L2.
    const Bytes kept = parts * machine.l2.found(parts);
    prediction.work.dram_read -= kept;
    prediction.work.dram_write -= kept;
    prediction.terms = {};
    add_term(prediction, tensor ? Resource::tensor : Resource::fma, time.pipes);
    add_term(prediction, Resource::dram, time.dram, prediction.work.dram().base());
    add_term(prediction, Resource::latency, time.blocks);
    add_term(prediction, Resource::launch, time.launch + gaps);
    prediction.time = std::max(time.total, prediction.lower_bound) + gaps;
}

/// The kernels that were asked for, and those that stand for them.
struct Choice {
    Implementation asked_for;
    Implementation implementation;
};

AttentionWork counted_as(const Attention& op, const Choice& choice, const Machine& machine) {
    return count_attention(op, choice.implementation, context_of(op, choice.asked_for, machine));
}

/// Whether a kernel that was timed only with one query, or with as many as keys, might split the
/// keys of a call in between, whose tiles leave multiprocessors idle.
bool may_split(const Attention& op, Implementation implementation, const AttentionGrid& grid,
               const Machine& machine) {
    const bool between = op.seq_q > 1 && op.seq_q < op.seq_kv;
    return implementation == Implementation::flashinfer && between && grid.splits == 1 &&
           grid.tiles < machine.sm_count;
}

/// Extends the band down to the time with all multiprocessors at work. (A17)
void reach_split(Prediction& prediction, const AttentionGrid& grid, const Machine& machine) {
    const double share = static_cast<double>(grid.tiles) / static_cast<double>(machine.sm_count);
    prediction.low =
        std::min(prediction.time, std::max(prediction.lower_bound, share * prediction.low));
    prediction.evidence.kernel = KernelEvidence::other;
}

Outcome predicted(const Attention& op, const Choice& choice, const Execution& execution,
                  const Machine& machine, ProductPredictor product, OperationPredictor operation) {
    const auto [asked_for, implementation] = choice;
    const AttentionWork counted = counted_as(op, choice, machine);
    Work work = counted.work;
    if (!machine.tensor_peak(op.type)) {
        work.fma += work.tensor;
        work.vector = work.tensor;
        work.tensor = Flop{};
    }
    const Roofs roofs = roofs_of(machine, op.type);
    Outcome outcome(std::in_place_type<Prediction>);
    auto& prediction = std::get<Prediction>(outcome);
    set_counted(prediction, work, roofs);
    prediction.implementation = asked_for;
    if (work.tensor > Flop{}) prediction.executed_tensor = counted.executed_tensor;
    prediction.lower_bound = roofline_bound(work, prediction.peak, machine, execution.l2);
    prediction.footprint = work.compulsory() + counted.scratch;
    if (machine.sm_count > 0) prediction.tiling = tiling_of(counted, machine);
    if (const auto backend = backend_time(op, asked_for, work, execution, machine, operation)) {
        const bool forward = op.direction == Direction::forward;
        const Bytes parts =
            forward && prediction.tiling.split > 1 ? counted.scratch - counted.statistics : Bytes{};
        set_backend(prediction, *backend, parts, execution.launch, machine);
        apply_torch_band(prediction, torch_class(op, asked_for), machine.torch_evidence(),
                         execution.launch);
    } else if (const auto modelled =
                   modelled_time(op, counted, implementation, execution, machine, product)) {
        set_time(prediction, *modelled, implementation, op, counted, execution, machine);
    } else {
        add_roofline(prediction, roofs, machine);
        prediction.time += launch_gaps(machine, execution.launch, work.kernels);
        apply_roofline_band(prediction);
    }
    if (may_split(op, implementation, counted.grid, machine)) {
        reach_split(prediction, counted.grid, machine);
    }
    if (op.causal && !is_unfused(implementation) && counted.executed_ratio() > 1.005) {
        prediction.note(note::CausalBlocks{.executed = counted.executed_ratio()});
    }
    if (counted.grid.splits > 1) {
        prediction.note(note::SplitKeys{.parts = counted.grid.splits});
    }
    if (op.direction == Direction::backward && !is_unfused(implementation)) {
        prediction.note(note::Atomics{});
    }
    if (leaves_idle(op, implementation, counted.grid, machine)) {
        prediction.note(
            note::UnsplitKeys{.blocks = counted.grid.tiles, .sm_count = machine.sm_count});
    }
    return outcome;
}

/// The prediction of a call without masks that change nothing.
Outcome answered(const Attention& op, const Execution& execution, const Machine& machine,
                 ProductPredictor product, OperationPredictor operation) {
    const bool of_engine = execution.implementation == Implementation::engine;
    const Implementation asked_for =
        of_engine || execution.implementation == Implementation::automatic
            ? usual_implementation(op, machine)
            : execution.implementation;
    const Implementation implementation = kernel_of(asked_for, machine);
    if (of_engine && op.direction == Direction::backward) {
        return NotModelled{"the kernels of serving engines have no backward pass"};
    }
    if (of_engine) {
        return predicted(op, {asked_for, implementation}, execution, machine, product, operation);
    }
    if (std::string reason = refusal(op, asked_for, implementation, machine); !reason.empty()) {
        return NotModelled{std::move(reason)};
    }
    return predicted(op, {asked_for, implementation}, execution, machine, product, operation);
}

}  // namespace

Outcome predict(const Attention& op, const Execution& execution, const Machine& machine,
                ProductPredictor product, OperationPredictor operation) {
    if (lacks_idle_masks(op)) return answered(op, execution, machine, product, operation);
    return answered(without_idle_masks(op), execution, machine, product, operation);
}

AttentionWork attention_counts(const Attention& op, Implementation implementation,
                               const Machine& machine) {
    const Choice choice{.asked_for = implementation,
                        .implementation = kernel_of(implementation, machine)};
    return counted_as(op, choice, machine);
}

}  // namespace ridge::model
