// Predictions of matrix products: counts from matmul_work, the roofline, and the time of
// matmul_model where the GPU has parameters.

#include <algorithm>
#include <cmath>
#include <string>

#include "model/matmul_band.h"
#include "model/matmul_model.h"
#include "model/matmul_work.h"
#include "model/predict.h"
#include "model/roofline.h"

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

/// The kernel set whose parameters describe the product.
MatmulPipe kernels_of(const Matmul& op, Pipe pipe) {
    if (pipe == Pipe::vector) return MatmulPipe::vector;
    return size_of(op.type) == 1 ? MatmulPipe::eight_bit : MatmulPipe::tensor;
}

bool is_matmul_implementation(Implementation implementation) {
    switch (implementation) {
        case Implementation::library:
        case Implementation::naive:
        case Implementation::coalesced:
        case Implementation::tiled:
        case Implementation::register_tiled:
        case Implementation::mma:
        case Implementation::wgmma:
            return true;
        default:
            return false;
    }
}

void add_term(Prediction& p, Resource resource, Time time, double amount) {
    if (time <= Time{}) return;
    const double rate = amount > 0.0 ? amount / time.base() : 0.0;
    p.terms.push_back({.resource = resource, .time = time, .amount = amount, .rate = rate});
}

/// Replaces the roofline's terms by those of the model. The pipe's term is what it issues or what
/// the power limit allows, whichever is longer.
void set_terms(Prediction& p, const MatmulTime& t, Resource pipe,
               const MatmulParameters& parameters) {
    const double flop = p.work.flop().base();
    p.terms = {};
    add_term(p, pipe, std::max(t.pipe, t.power), flop);
    add_term(p, Resource::dram, t.dram, p.work.dram().base());
    add_term(p, Resource::l2, t.l2, t.l2_reads.base());
    add_term(p, Resource::store, t.store, p.work.compulsory_write.base());
    add_term(p, Resource::latency, t.latency + t.fill + t.cold_fill, 0.0);
    if (t.quantise > Time{}) {
        add_term(p, Resource::quantise, t.quantise - parameters.quantise, 0.0);
    }
    add_term(p, Resource::launch, t.launch + t.launches, 0.0);
}

void set_notes(Prediction& p, const Matmul& op, const MatmulSituation& s, const MatmulTime& t) {
    const double once = p.work.compulsory().base();
    if (matmul_alignment(op) < 16 && s.pipe != MatmulPipe::vector && op.n > 1) {
        p.note(NoteCode::alignment_cliff, static_cast<double>(matmul_alignment(op)), t.alignment);
    }
    if (t.split > 1) p.note(NoteCode::split_k, t.split);
    if (t.power >= std::max(t.loop + t.store, t.dram)) {
        p.note(NoteCode::power_limited, p.work.flop() / (s.peak * t.power));
    }
    if (t.quantise > Time{}) p.note(NoteCode::quantised_input, t.quantise.base());
    const bool warm = s.l2 == L2State::warm;
    if (warm && s.launch == LaunchMode::graph)
        p.note(NoteCode::rotated_weights, weights_in_rotation);
    if (warm && p.work.dram().base() < 0.1 * once && s.machine.l2_size) {
        p.note(NoteCode::l2_resident, once, s.machine.l2_size->base());
    }
}

void set_band(Prediction& p, const MatmulSituation& s, const MatmulTime& t, bool bundled) {
    const bool own = s.parameters.evidence == Evidence::own && !bundled;
    apply_band(p, bundled ? BandClass::matmul_bundled : matmul_band(s, regime_of(t)),
               own ? Confidence::calibrated : Confidence::family, matmul_validity(s));
    if (bundled) p.note(NoteCode::estimated_kernel);
    if (t.alignment == 1.0) return;
    p.low = std::max(p.lower_bound, p.time * std::pow(p.low / p.time, estimated_cliff));
    p.high = p.time * std::pow(p.high / p.time, estimated_cliff);
}

/// Time, terms, traffic, tiling and band of the calibrated model over the roofline's counts.
void apply_model(Prediction& p, const MatmulSituation& s, const MatmulTime& t, bool bundled) {
    p.time = t.total;
    p.work.kernels = t.kernels;
    p.work.dram_read = t.dram_reads;
    p.work.dram_write = t.dram_writes;
    if (!bundled) p.work.l2 = t.l2_reads + p.work.compulsory_write * (t.split > 1 ? 3.0 : 1.0);
    const Bytes moved = std::min(p.work.compulsory(), p.work.dram());
    p.lower_bound = std::max(p.work.flop() / s.peak, moved / s.machine.dram_bandwidth);
    p.time = std::max(p.time, p.lower_bound);
    set_terms(p, t, s.pipe == MatmulPipe::vector ? Resource::fma : Resource::tensor, s.parameters);
    p.tiling = matmul_tiling(s.op, t.tile, s.machine.sm_count, 1, t.split);
    set_notes(p, s.op, s, t);
    set_band(p, s, t, bundled);
    settle_limiter(p);
}

/// Where no parameters are known (other makers' devices): the roofline and a wide band.
void keep_roofline(Prediction& p, const Matmul& op, const Execution& execution,
                   const Machine& machine) {
    p.time += launch_gaps(machine, execution.launch, p.work.kernels);
    p.low = p.lower_bound;
    p.high = 2.0 * p.time;
    if (machine.sm_count > 0) {
        const Tile tile = execution.tile.value_or(Tile{128, 128, 32});
        p.tiling = matmul_tiling(op, tile, machine.sm_count, 1);
    }
    p.note(NoteCode::roofline_only);
    if (matmul_alignment(op) < 16) {
        p.note(NoteCode::alignment_cliff, static_cast<double>(matmul_alignment(op)));
    }
}

/// The tile whose operands stay on chip: it decides the L2 traffic of a bundled kernel (M3).
Tile kept_tile(const Execution& execution, const std::optional<BundledKernel>& bundled) {
    if (execution.tile) return *execution.tile;
    return bundled ? bundled->kept : Tile{128, 128, 32};
}

}  // namespace

Outcome predict(const Matmul& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = execution.implementation == Implementation::automatic
                                              ? Implementation::library
                                              : execution.implementation;
    if (!is_matmul_implementation(implementation)) {
        return NotModelled{"impl " + std::string(name_of(implementation)) +
                           " is not an implementation of matmul"};
    }
    const Pipe pipe = pipe_of(op, implementation, machine);
    if (pipe == Pipe::none) {
        return NotModelled{"dtype " + std::string(name_of(op.type)) +
                           " has neither a tensor-core nor a vector rate on " + machine.name};
    }
    const auto bundled = bundled_kernel(implementation);
    if (bundled && bundled->pipe == MatmulPipe::tensor && pipe == Pipe::vector) {
        return NotModelled{"impl " + std::string(name_of(implementation)) +
                           " runs on tensor cores, which do not take dtype " +
                           std::string(name_of(op.type)) + " on " + machine.name};
    }
    if (implementation == Implementation::wgmma && machine.family != Family::hopper) {
        return NotModelled{"impl wgmma needs compute capability 9.0, which " + machine.name +
                           " does not have"};
    }
    Work work = matmul_work(op, pipe == Pipe::tensor);
    work.l2 = matmul_tile_traffic(op, kept_tile(execution, bundled));
    const Roofs roofs = matmul_roofs(op, pipe, machine);
    Prediction prediction = roofline(work, roofs, machine);
    prediction.implementation = implementation;
    if (pipe == Pipe::vector && size_of(op.type) < 4) prediction.note(NoteCode::vector_pipe);

    const MatmulPipe kernels = kernels_of(op, pipe);
    const MatmulParameters* parameters = machine.matmul.find(kernels);
    const double fraction = bundled ? machine.matmul.bundled.*(bundled->fraction) : 1.0;
    if (parameters == nullptr || machine.sm_count == 0 || fraction <= 0.0) {
        keep_roofline(prediction, op, execution, machine);
        return prediction;
    }
    const MatmulSituation situation{.op = op,
                                    .machine = machine,
                                    .parameters = *parameters,
                                    .peak = prediction.peak,
                                    .pipe = kernels,
                                    .l2 = execution.l2,
                                    .launch = execution.launch,
                                    .tile = execution.tile};
    const MatmulTime time = bundled ? bundled_matmul_time(situation, *bundled, fraction)
                                    : library_matmul_time(situation);
    apply_model(prediction, situation, time, bundled.has_value());
    return prediction;
}

}  // namespace ridge::model
