// Predictions of matrix products: counts from matmul_work, the roofline, and the time model if the
// GPU has parameters.

#include "model/matmul/predict.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "model/machine/features.h"
#include "model/matmul/band.h"
#include "model/matmul/bundled.h"
#include "model/matmul/time.h"
#include "model/matmul/torch_few_rows.h"
#include "model/matmul/torch_products.h"
#include "model/matmul/traffic.h"
#include "model/matmul/work.h"
#include "model/roof/account.h"
#include "model/roof/roofline.h"

namespace ridge::model {
namespace {

/// Which pipe a type runs on.
enum class Pipe : std::uint8_t { tensor, vector, none };

Pipe pipe_of(const Matmul& op, Implementation implementation, const Machine& machine) {
    const bool vector_kernel =
        implementation == Implementation::naive || implementation == Implementation::coalesced ||
        implementation == Implementation::tiled || implementation == Implementation::register_tiled;
    if (!vector_kernel && machine.tensor_peak(op.type)) return Pipe::tensor;
    return machine.vector_peak(op.type) ? Pipe::vector : Pipe::none;
}

Roofs matmul_roofs(const Matmul& op, Pipe pipe, const Machine& machine) {
    Roofs roofs = roofs_of(machine, op.type);
    if (pipe == Pipe::vector) {
        roofs.tensor.reset();
        roofs.vector = machine.vector_peak(op.type);
    }
    const auto index = static_cast<std::size_t>(op.type);
    if (pipe == Pipe::tensor && op.accumulate == DataType::fp16 &&
        machine.tensor_fp16_accumulate[index]) {
        roofs.tensor = machine.tensor_fp16_accumulate[index];
    }
    return roofs;
}

/// The kernels that the library uses for 16-bit operands whose rows are not multiples of 16 bytes.
MatmulPipe kernels_by_rows(const Matmul& op) {
    const std::int64_t bytes = row_alignment(op);
    if (bytes >= 16) return MatmulPipe::tensor;
    return bytes >= 4 ? MatmulPipe::align_4 : MatmulPipe::align_2;
}

/// The kernel set whose parameters describe the product. The 16-bit set stands in for a set that
/// the GPU has no parameters for, except for nvfp4, whose kernels resemble no others.
MatmulPipe kernels_of(const Matmul& op, Pipe pipe, bool bundled, const Machine& machine) {
    if (pipe == Pipe::vector) return MatmulPipe::vector;
    if (bundled) return MatmulPipe::tensor;
    if (op.type == DataType::nvfp4) return MatmulPipe::four_bit;
    if (bits_of(op.type) <= 8) return MatmulPipe::eight_bit;
    MatmulPipe wanted = MatmulPipe::tensor;
    if (op.type == DataType::tf32) wanted = MatmulPipe::tf32;
    if (bits_of(op.type) == 16) wanted = kernels_by_rows(op);
    return machine.matmul.find(wanted) != nullptr ? wanted : MatmulPipe::tensor;
}

/// A call in a stream is a framework's if it names no implementation or the framework's (B8).
MatmulCaller caller_of(const Execution& execution) {
    const bool code = execution.implementation != Implementation::automatic &&
                      execution.implementation != Implementation::torch;
    return code ? MatmulCaller::code : MatmulCaller::framework;
}

/// Sets the terms of the model. The pipe's term is its issue time or the time that the power limit
/// allows, whichever is longer.
void set_terms(Prediction& p, const MatmulTime& t, Resource pipe,
               const MatmulParameters& parameters) {
    const double flop = p.work.flop().base();
    add_term(p, pipe, std::max(t.pipe, t.power), pipe == Resource::load_store ? 0.0 : flop);
    add_term(p, Resource::dram, t.dram, p.work.dram().base());
    add_term(p, Resource::l2, t.l2, t.l2_reads.base());
    add_term(p, Resource::store, t.store, p.work.compulsory_write.base());
    add_term(p, Resource::latency, t.latency + t.fill + t.cold_fill, 0.0);
    if (t.quantise > Time{}) {
        add_term(p, Resource::quantise, t.quantise - parameters.quantise);
    }
    add_term(p, Resource::launch, t.launch + t.launches);
}

void set_notes(Prediction& p, const Matmul& op, const MatmulSituation& s, const MatmulTime& t) {
    const Bytes once = p.work.compulsory();
    const bool library =
        p.implementation == Implementation::library || p.implementation == Implementation::torch;
    if (library && row_alignment(op) < 16 && s.pipe != MatmulPipe::vector) {
        p.note(note::AlignmentCliff{.bytes = row_alignment(op), .issue_share = t.alignment});
    }
    if (t.split > 1) p.note(note::SplitK{.parts = t.split});
    if (t.power > Time{} && t.power >= std::max(t.loop + t.store, t.dram)) {
        p.note(note::PowerLimited{.share = p.work.flop() / (s.peak * t.power)});
    }
    if (t.quantise > Time{}) p.note(note::QuantisedInput{.time = t.quantise});
    const bool warm = s.l2 == L2State::warm;
    if (warm && s.launch == LaunchMode::graph) {
        p.note(note::RotatedWeights{.weights = weights_in_rotation});
    }
    if (warm && p.work.dram() < 0.1 * once) {
        p.note(note::L2Resident{.data = once, .capacity = s.machine.l2.size});
    }
}

/// Multiplies the width of the band by a factor, if the alignment's share of the rate is a guess.
void widen_band(Prediction& p, double factor) {
    p.low = std::max(p.lower_bound, p.time * std::pow(p.low / p.time, factor));
    p.high = p.time * std::pow(p.high / p.time, factor);
}

/// The meaning of the pipe's term: elementwise kernels wait for their loads, not for arithmetic.
Resource pipe_term(const MatmulSituation& s, Implementation implementation) {
    if (implementation == Implementation::naive || implementation == Implementation::coalesced) {
        return Resource::load_store;
    }
    return s.pipe == MatmulPipe::vector ? Resource::fma : Resource::tensor;
}

/// Sets time, terms, traffic and tiling from a model over the roofline's counts.
void apply_time(Prediction& p, const MatmulSituation& s, const MatmulTime& t) {
    p.time = t.total;
    p.work.kernels = t.kernels;
    p.work.dram_read = t.dram_reads;
    p.work.dram_write = t.dram_writes;
    p.time = std::max(p.time, p.lower_bound);
    set_terms(p, t, pipe_term(s, p.implementation), s.parameters);
    set_notes(p, s.op, s, t);
}

/// Kernels of Hopper and later fetch operands in boxes if rows start at multiples of 16 bytes.
bool by_copy_engine(const MatmulSituation& s) {
    return features_of(s.machine.compute_capability).copy_engine &&
           (s.pipe == MatmulPipe::tensor || s.pipe == MatmulPipe::eight_bit ||
            s.pipe == MatmulPipe::four_bit) &&
           matmul_alignment(s.op) >= 16;
}

/// Sets time and traffic of the library's kernel, without the band.
MatmulTime apply_library(Prediction& p, const MatmulSituation& s) {
    const MatmulTime t = library_matmul_time(s);
    apply_time(p, s, t);
    p.work.l2 = library_l2_bytes(s.op, t.tile, t.split, by_copy_engine(s));
    p.tiling = matmul_tiling(s.op, t.tile, s.machine.sm_count, 1, t.split);
    const Flop executed = library_executed_flop(s.op, t.tile);
    (s.pipe == MatmulPipe::vector ? p.executed_fma : p.executed_tensor) = executed;
    return t;
}

void apply_library_band(Prediction& p, const MatmulSituation& s, const MatmulTime& t) {
    apply_band(p, matmul_band(s, regime_of(t)), chip_evidence(s.parameters.evidence),
               matmul_validity(s));
    const bool guessed = t.alignment != 1.0 && !falls_back(s.pipe);
    if (guessed) widen_band(p, estimated_cliff);
}

void apply_bundled(Prediction& p, const MatmulSituation& s, Implementation implementation,
                   const BundledKernel& kernel, const BundledMatmul& parameters) {
    const MatmulTime t = bundled_matmul_time(s, implementation, kernel, parameters);
    apply_time(p, s, t);
    const BundledGrid grid = bundled_grid(s, implementation, kernel);
    p.work.l2 = bundled_l2_bytes(s.op, implementation, grid, s.machine);
    p.tiling =
        matmul_tiling(s.op, t.tile, s.machine.sm_count, kernel.layout.blocks_per_sm, t.split);
    const Flop executed = bundled_executed_flop(s, implementation, kernel);
    (s.pipe == MatmulPipe::vector ? p.executed_fma : p.executed_tensor) = executed;
    const bool own = parameters.evidence == Evidence::own;
    apply_band(p, bundled_band(implementation), chip_evidence(parameters.evidence),
               own ? Validity::validated : Validity::extrapolated);
    if (!own) p.note(note::EstimatedKernel{});
}

void apply_integer(Prediction& p, const MatmulSituation& s) {
    const MatmulTime t = integer_product_time(s);
    apply_time(p, s, t);
    p.tiling = matmul_tiling(s.op, t.tile, s.machine.sm_count, 1);
    p.executed_tensor = library_executed_flop(s.op, t.tile);
}

/// Whether the machine has the costs of PyTorch's own products.
bool knows_torch_products(const Machine& machine) {
    return machine.torch_product && machine.memory && machine.memory->torch;
}

/// Applies the kernels for few rows; returns whether they run.
bool apply_few_rows(Prediction& p, const MatmulSituation& s) {
    if (!knows_torch_products(s.machine)) return false;
    const FewRows kernel = few_rows_kernel(s);
    if (kernel == FewRows::tiles) return false;
    const MatmulTime t = few_rows_time(s, kernel);
    apply_time(p, s, t);
    p.tiling = matmul_tiling(s.op, t.tile, s.machine.sm_count, 1, t.split);
    const bool tiles =
        kernel == FewRows::whole || kernel == FewRows::parts || kernel == FewRows::slices;
    (tiles ? p.executed_tensor : p.executed_fma) =
        tiles ? library_executed_flop(s.op, t.tile) : p.work.fma;
    return true;
}

/// The library's product as PyTorch calls it.
void apply_torch(Prediction& p, const MatmulSituation& asked) {
    const bool dirty = asked.l2 == L2State::dirty;
    MatmulSituation s = asked;
    if (dirty) s.l2 = L2State::cold;
    const bool integer = is_integer_product(s.op) && s.machine.torch_product;
    if (integer) apply_integer(p, s);
    if (integer || apply_few_rows(p, s)) {
        // These times are of the kernel alone.
        const Time call = launch_beyond_kernel(s);
        p.time += call;
        add_term(p, Resource::launch, call);
    } else {
        apply_library(p, s);
    }
    const Time wait = vector_wait(s.op, s.l2, s.machine);
    if (wait > Time{}) {
        p.time += wait;
        add_term(p, Resource::latency, wait);
    }
    if (dirty && s.machine.torch_product) {
        const WriteBack others = behind_write_back(s, p.work, p.time);
        p.time += others.time;
        p.work.dram_write += others.bytes;
        add_term(p, Resource::dram, others.time);
    }
    apply_torch_band(p, torch_band(s.op, asked.l2), s.machine.torch_evidence(), s.launch);
}

/// If no parameters are known (GPUs of other vendors): the roofline and a wide band.
void keep_roofline(Prediction& p, const Matmul& op, const Execution& execution,
                   const Machine& machine) {
    p.time += launch_gaps(machine, execution.launch, p.work.kernels);
    if (machine.sm_count > 0) {
        const Tile tile = execution.tile.value_or(Tile{128, 128, 32});
        p.tiling = matmul_tiling(op, tile, machine.sm_count, 1);
    }
    apply_roofline_band(p);
    if (matmul_alignment(op) < 16) {
        p.note(note::AlignmentCliff{.bytes = matmul_alignment(op)});
    }
}

/// Why a bundled kernel does not compute the product; empty if it does.
std::string bundled_refusal(const Matmul& op, Implementation implementation, Pipe pipe,
                            const BundledKernel& kernel, const Machine& machine) {
    const std::string impl = "impl " + std::string(name_of(implementation));
    const std::string type = std::string(name_of(op.type));
    const Features features = features_of(machine.compute_capability);
    if (kernel.pipe == MatmulPipe::tensor && pipe == Pipe::vector) {
        return impl + " runs on tensor cores, which do not take dtype " + type + " on " +
               machine.name;
    }
    if (is_block_scaled(op.type)) {
        return impl + " takes no block-scaled operands; dtype " + type + " needs impl library";
    }
    const bool two_bytes = op.type == DataType::bf16 || op.type == DataType::fp16;
    if (kernel.pipe == MatmulPipe::tensor ? !two_bytes : op.type != DataType::fp32) {
        return impl + (kernel.pipe == MatmulPipe::tensor ? " takes bf16 and fp16" : " takes fp32") +
               ", not " + type;
    }
    if (machine.sm_count == 0) {
        return impl + " is a CUDA kernel, which " + machine.name + " cannot run";
    }
    if (implementation == Implementation::mma && !features.mma_sync) {
        return impl + " needs compute capability 8.0 or newer; " + machine.name +
               " does not have it";
    }
    if (implementation == Implementation::wgmma && !features.wgmma) {
        return impl + " needs compute capability 9.0, which " + machine.name + " does not have";
    }
    return {};
}

/// Why there is no answer; empty if there is one.
std::string refusal(const Matmul& op, Implementation implementation, Pipe pipe,
                    const std::optional<BundledKernel>& bundled, const Machine& machine) {
    if (pipe == Pipe::none) {
        return "dtype " + std::string(name_of(op.type)) +
               " has neither a tensor-core nor a vector rate on " + machine.name;
    }
    return bundled ? bundled_refusal(op, implementation, pipe, *bundled, machine) : std::string();
}

/// Bytes between L2 and multiprocessors, if the kernel's tile is not known.
Bytes usual_traffic(const Matmul& op, const Execution& execution) {
    return matmul_tile_traffic(op, execution.tile.value_or(Tile{128, 128, 32}));
}

/// The product to predict, and the kernels that run it.
struct AskedKernels {
    Implementation asked;
    Pipe pipe;
    const std::optional<BundledKernel>& bundled;
};

/// Sets time, traffic and band of kernels whose parameters are known.
void apply_kernels(Prediction& p, const MatmulSituation& s, const Execution& execution,
                   const AskedKernels& choice) {
    if (choice.bundled) {
        apply_bundled(p, s, choice.asked, *choice.bundled,
                      *(s.machine.matmul.bundled.*(choice.bundled->parameters)));
    } else if (choice.asked == Implementation::torch) {
        p.work.l2 = usual_traffic(s.op, execution);
        apply_torch(p, s);
    } else {
        const MatmulTime time = apply_library(p, s);
        apply_library_band(p, s, time);
    }
}

/// Sets counts, roofs and the lower bound, which do not depend on the kernels.
Roofs set_counts(Prediction& p, const Matmul& op, Pipe pipe, L2State l2, const Machine& machine) {
    const Work work = matmul_work(op, pipe == Pipe::tensor);
    const Roofs roofs = matmul_roofs(op, pipe, machine);
    set_counted(p, work, roofs);
    p.lower_bound = roofline_bound(work, p.peak, machine, l2);
    return roofs;
}

Outcome predicted(const Matmul& op, const Execution& execution, const Machine& machine,
                  const AskedKernels& choice) {
    const auto& [asked, pipe, bundled] = choice;
    Outcome outcome(std::in_place_type<Prediction>);
    auto& prediction = std::get<Prediction>(outcome);
    const Roofs roofs = set_counts(prediction, op, pipe, execution.l2, machine);
    prediction.implementation = asked;
    if (pipe == Pipe::vector && bits_of(op.type) < 32) prediction.note(note::VectorPipe{});

    const MatmulPipe kernels = kernels_of(op, pipe, bundled.has_value(), machine);
    const MatmulParameters* parameters = machine.matmul.find(kernels);
    const bool known = !bundled || (machine.matmul.bundled.*(bundled->parameters)).has_value();
    if (parameters == nullptr || machine.sm_count == 0 || !known) {
        prediction.work.l2 = usual_traffic(op, execution);
        add_roofline(prediction, roofs, machine);
        keep_roofline(prediction, op, execution, machine);
        return outcome;
    }
    const auto apply = [&](const MatmulParameters& of_kernels) {
        const MatmulSituation situation{.op = op,
                                        .machine = machine,
                                        .parameters = of_kernels,
                                        .peak = prediction.peak,
                                        .pipe = kernels,
                                        .l2 = execution.l2,
                                        .launch = execution.launch,
                                        .caller = caller_of(execution),
                                        .tile = execution.tile};
        apply_kernels(prediction, situation, execution, choice);
    };
    if (asked == Implementation::torch && knows_torch_products(machine)) {
        apply(parameters_of_torch(op, kernels, *parameters, machine));
    } else {
        apply(*parameters);
    }
    return outcome;
}

}  // namespace

Outcome predict(const Matmul& op, const Execution& execution, const Machine& machine) {
    if (op.type == DataType::int4 || op.type == DataType::mxfp4 || op.type == DataType::mxfp8) {
        return NotModelled{"products with both operands of dtype " + std::string(name_of(op.type)) +
                           " were never measured"};
    }
    const bool named = execution.implementation != Implementation::automatic;
    const Implementation asked = named ? execution.implementation : Implementation::library;
    // PyTorch's products are those of the library.
    const Implementation implementation =
        asked == Implementation::torch ? Implementation::library : asked;
    const Pipe pipe = pipe_of(op, implementation, machine);
    const auto bundled = bundled_kernel(implementation);
    if (std::string reason = refusal(op, implementation, pipe, bundled, machine); !reason.empty()) {
        return NotModelled{std::move(reason)};
    }
    return predicted(op, execution, machine, {asked, pipe, bundled});
}

void set_library_counts(Prediction& prediction, const Matmul& op, L2State l2,
                        const Machine& machine) {
    set_counts(prediction, op, pipe_of(op, Implementation::library, machine), l2, machine);
}

}  // namespace ridge::model
