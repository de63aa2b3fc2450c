// Predictions of operations that stream their data: elementwise, row-wise, transpose, copy, gather.

#include "model/streams/predict.h"

#include <algorithm>
#include <string>
#include <type_traits>

#include "model/roof/account.h"
#include "model/roof/band.h"
#include "model/roof/memory_time.h"
#include "model/roof/roofline.h"
#include "model/streams/bundled_rows.h"
#include "model/streams/bundled_streams.h"
#include "model/streams/bundled_traffic.h"
#include "model/streams/eager_kernels.h"
#include "model/streams/elementwise_work.h"
#include "model/streams/row_work.h"
#include "model/streams/torch_rows.h"
#include "model/streams/torch_time.h"

namespace ridge::model {
namespace {

/// The time of one call in a stream is that of a framework. Everything else is a well-made kernel,
/// if there is one.
Implementation resolved(const Operation& op, const Execution& execution, Implementation usual) {
    if (execution.implementation != Implementation::automatic) return execution.implementation;
    const bool framework = execution.launch == LaunchMode::stream || needs_framework(op);
    return framework ? Implementation::torch : usual;
}

/// Why no bundled kernel runs the operation; empty if one does, or if a framework's kernel is asked
/// for.
std::string bundled_refusal(const Operation& op, Implementation implementation) {
    if (is_framework(implementation) || !needs_framework(op)) return {};
    return "impl " + std::string(name_of(implementation)) + " is a bundled kernel, but there is " +
           "none for this " + std::string(name_of(op)) + "; use impl torch";
}

/// The work of each kernel that the operation starts: the same share for all.
StreamWork share_of(const Work& work, DataType type, double passes,
                    const MemoryParameters& memory) {
    // Each access is an instruction, and so is an FMA, which counts as two FLOP (eq. B5).
    constexpr double slots_per_flop = 0.5;
    const double kernels = work.kernels;
    const double accesses = work.dram().base() / static_cast<double>(size_of(type)) * passes;
    const double l2_write = work.dram_write.base();
    return {.read = work.dram_read / kernels,
            .write = work.dram_write / kernels,
            .l2_read = (work.l2 - Bytes::from_base(l2_write)) / kernels,
            .l2_write = Bytes::from_base(l2_write) / kernels,
            .slots = (accesses + slots_per_flop * work.fma.base()) / kernels,
            .special = work.special / kernels,
            .lanes = type == DataType::fp64 && memory.fp64_lanes > 0.0 ? memory.fp64_lanes
                                                                       : memory.fp32_lanes};
}

/// Tensors that one kernel reads and writes, in units of the result.
double arrays_of(const Work& work) {
    constexpr double most = 8.0;
    if (work.compulsory_write <= Bytes{}) return 1.0;
    const double passes = work.dram() / work.compulsory_write;
    return std::clamp(passes / work.kernels, 1.0, most);
}

/// Sets terms and time of the model. `all` is the time of all kernels, without launches.
void settle_terms(Prediction& prediction, const KernelTime& all, Time kernels, Time launch) {
    prediction.work.dram_read = all.dram_read;
    prediction.work.dram_write = all.dram_write;
    add_term(prediction, Resource::issue, all.fma, 0.0);
    add_term(prediction, Resource::special, all.special, all.results);
    add_term(prediction, Resource::dram, all.dram, prediction.work.dram().base());
    add_term(prediction, Resource::l2, all.l2, prediction.work.l2.base());
    add_term(prediction, Resource::latency, all.latency, 0.0);
    add_term(prediction, Resource::launch, launch);
    prediction.time = kernels + launch;
    settle_limiter(prediction);
}

/// Sets the time of an eager framework's kernels. `kernel` is one of them, without its floor.
void settle_framework(Prediction& prediction, const KernelTime& kernel, const Execution& execution,
                      const MemoryParameters& memory) {
    KernelTime all;
    for (std::int32_t i = 0; i < prediction.work.kernels; ++i) all += kernel;
    settle_terms(
        prediction, all, all.total,
        framework_launch_time(memory, kernel.total, prediction.work.kernels, execution.launch));
}

/// Sets the time of bundled kernels. `all` includes every kernel with its floor.
void settle_bundled(Prediction& prediction, const KernelTime& all, const Execution& execution,
                    const MemoryParameters& memory) {
    const double kernels = prediction.work.kernels;
    const Time floors = memory.launch.kernel * kernels;
    const Time launch =
        launch_overhead(memory.launch, execution.launch, kernels, all.total / kernels);
    settle_terms(prediction, all, all.total - floors, floors + launch);
}

/// The roofline with launches and gaps, for a device without a memory model.
void settle_roofline(Prediction& prediction, DataType type, const Execution& execution,
                     const Machine& machine) {
    add_roofline(prediction, roofs_of(machine, type), machine);
    prediction.time += launch_gaps(machine, execution.launch, prediction.work.kernels);
    apply_roofline_band(prediction);
}

/// The counts, with the implementation, the lower bound for this L2 state and the data that stay in
/// L2.
Prediction counted(const Work& work, DataType type, const Execution& execution,
                   Implementation implementation, const Machine& machine) {
    Prediction prediction = model::counted(work, roofs_of(machine, type));
    prediction.implementation = implementation;
    prediction.lower_bound = roofline_bound(work, prediction.peak, machine, execution.l2);
    if (machine.l2.holds(work.compulsory())) {
        prediction.note(note::L2Resident{.data = work.compulsory(), .capacity = machine.l2.size});
    }
    return prediction;
}

/// Eager kernels were validated as fp32 calls in a stream that take at least 60 us.
Validity eager_validity(const Prediction& prediction, DataType type, Direction direction,
                        const Execution& execution) {
    const bool known = type == DataType::fp32 && direction == Direction::forward &&
                       execution.launch == LaunchMode::stream && prediction.work.kernels == 1 &&
                       prediction.time >= 60.0 * units::us;
    return known ? Validity::validated : Validity::extrapolated;
}

/// Predicts PyTorch's kernels from their own geometry, if the GPU has `model.torch`.
template <class Op>
void settle_torch(Prediction& prediction, const Op& op, BandClass band_class,
                  const Execution& execution, const MemoryParameters& memory) {
    const TorchTime torch = torch_time(memory, op, prediction.implementation, execution.l2);
    prediction.work.kernels = torch.kernels;
    prediction.work.l2 = torch.time.l2_traffic;
    const Time floors = memory.launch.kernel * static_cast<double>(torch.kernels);
    const Time kernels = torch.time.total - floors;
    settle_terms(
        prediction, torch.time, kernels,
        framework_launch_time(memory, kernels / torch.kernels, torch.kernels, execution.launch));
    apply_torch_band(prediction, band_class, memory.torch->evidence, execution.launch);
}

/// The band class of PyTorch's kernels that stream.
template <class Op>
constexpr BandClass torch_stream_class(Implementation implementation) {
    if (implementation == Implementation::compiled) return BandClass::torch_generated;
    if (std::is_same_v<Op, Gather> || std::is_same_v<Op, Cat>) return BandClass::torch_lookup;
    if (std::is_same_v<Op, Transpose>) return BandClass::torch_transpose;
    if (std::is_same_v<Op, AdamW>) {
        const bool fused = implementation == Implementation::fused;
        return fused ? BandClass::torch_fused : BandClass::torch_optimizer;
    }
    return BandClass::torch_stream;
}

template <class Op>
Prediction framework_stream(const Op& op, const Work& work, Direction direction,
                            const Execution& execution, const Machine& machine,
                            Implementation implementation = Implementation::torch) {
    const DataType type = op.type;
    Prediction prediction = counted(work, type, execution, implementation, machine);
    if (!machine.memory) {
        settle_roofline(prediction, type, execution, machine);
        return prediction;
    }
    const MemoryParameters& memory = *machine.memory;
    if (memory.torch) {
        settle_torch(prediction, op, torch_stream_class<Op>(implementation), execution, memory);
        return prediction;
    }
    const StreamKernel kernel = eager_stream_kernel(memory, type, arrays_of(work));
    settle_framework(prediction,
                     stream_time(memory, share_of(work, type, 1.0, memory), kernel, execution.l2),
                     execution, memory);
    apply_band(prediction, BandClass::eager_stream, memory.eager_kernels,
               eager_validity(prediction, type, direction, execution));
    return prediction;
}

/// If PyTorch's kernels have no times of their own, the index arithmetic is a roof: it is computed
/// by the lanes of all multiprocessors at their clock, after the launch. (eq. B33)
void await_indices(Prediction& prediction, const Cat& op, const Machine& machine) {
    if (!machine.memory) return;
    const MemoryParameters& memory = *machine.memory;
    const double elements = static_cast<double>(op.inputs) * static_cast<double>(op.rows) *
                            static_cast<double>(op.cols);
    // Lanes of the GPU on which the slots were counted. Half of them process integers, and GPUs of
    // compute capability 7.0 to 9.0 have as many (CUDA programming guide, throughput of
    // instructions).
    constexpr double lanes = 128.0;
    const double per_clock = lanes * memory.sm_count;
    const Time computing = elements * memory.views.slots / per_clock * units::cycle / memory.clock;
    const Time time = machine.kernel_floor + computing;
    if (time <= prediction.time) return;
    const double factor = time / prediction.time;
    prediction.time = time;
    prediction.low *= factor;
    prediction.high *= factor;
    prediction.limiter = Resource::issue;
}

BandClass framework_row_class(const RowWise& op, const RowKernel& kernel) {
    constexpr std::int64_t short_rows = 2560;
    if (op.kind != RowKind::layernorm && op.kind != RowKind::rmsnorm) {
        return kernel.read_passes > 1.0 ? BandClass::eager_rows : BandClass::eager_softmax;
    }
    return op.cols < short_rows ? BandClass::eager_rows : BandClass::eager_stream;
}

BandClass torch_row_class(const RowWise& op, Implementation implementation,
                          const MemoryParameters& memory) {
    if (implementation == Implementation::compiled) {
        return configurations_are_timed(memory, op) ? BandClass::compiled_timed
                                                    : BandClass::compiled_rows;
    }
    if (is_reduction(op.kind)) return BandClass::torch_reduce;
    if (op.direction == Direction::backward) return BandClass::torch_gradient;
    if (op.kind == RowKind::cross_entropy) return BandClass::torch_loss;
    return op.kind == RowKind::softmax ? BandClass::torch_softmax : BandClass::torch_rows;
}

Prediction framework_rows(const RowWise& op, const Execution& execution, const Machine& machine,
                          Implementation implementation) {
    const Work work = row_work(op, implementation);
    Prediction prediction = counted(work, op.type, execution, implementation, machine);
    if (!machine.memory) {
        settle_roofline(prediction, op.type, execution, machine);
        return prediction;
    }
    const MemoryParameters& memory = *machine.memory;
    if (memory.torch) {
        settle_torch(prediction, op, torch_row_class(op, implementation, memory), execution,
                     memory);
        return prediction;
    }
    const RowKernel kernel = eager_row_kernel(op, memory);
    const RowShape shape{.rows = static_cast<double>(op.rows) / work.kernels,
                         .work = share_of(work, op.type, kernel.read_passes, memory)};
    settle_framework(prediction, row_time(memory, shape, kernel, execution.l2), execution, memory);
    const bool known_kind = op.kind == RowKind::softmax || op.kind == RowKind::layernorm;
    apply_band(prediction, framework_row_class(op, kernel), memory.eager_kernels,
               known_kind ? eager_validity(prediction, op.type, op.direction, execution)
                          : Validity::extrapolated);
    return prediction;
}

/// Streams of a few microseconds scatter for separate reasons, and calls that wait for the host
/// scatter with the host.
BandClass bundled_class(const Prediction& prediction, BandClass usual, const Execution& execution) {
    constexpr Time brief_kernel = 5.0 * units::us;
    if (execution.launch == LaunchMode::stream && prediction.limiter == Resource::launch) {
        return BandClass::host_call;
    }
    const bool brief = prediction.time < brief_kernel * prediction.work.kernels;
    return brief ? BandClass::row_kernel : usual;
}

/// A call of a bundled kernel.
struct BundledCall {
    const Work& work;
    DataType type;
    Implementation implementation;
    BandClass usual_band = BandClass::row_kernel;
    Validity validity = Validity::validated;
};

/// Predicts bundled kernels; `times(memory)` gives the time of all of them together.
template <class Times>
Prediction bundled_prediction(const BundledCall& call, const Execution& execution,
                              const Machine& machine, Times times) {
    Prediction prediction = counted(call.work, call.type, execution, call.implementation, machine);
    if (!machine.memory) {
        settle_roofline(prediction, call.type, execution, machine);
        return prediction;
    }
    const MemoryParameters& memory = *machine.memory;
    settle_bundled(prediction, times(memory), execution, memory);
    apply_band(prediction, bundled_class(prediction, call.usual_band, execution), memory.streams,
               call.validity);
    return prediction;
}

Bytes total(const SectorBytes& moved) {
    return moved.read + moved.write;
}

/// Whether the traffic of a bundled kernel is known; backward passes have no bundled kernel.
bool runs_bundled(Direction direction, Implementation implementation, const Machine& machine) {
    return direction == Direction::forward && !is_framework(implementation) &&
           machine.memory.has_value();
}

/// There are no bundled backward kernels to measure.
Validity bundled_validity(Direction direction) {
    return direction == Direction::forward ? Validity::validated : Validity::extrapolated;
}

}  // namespace

Outcome predict(const Elementwise& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = resolved(op, execution, Implementation::fused);
    if (auto reason = bundled_refusal(op, implementation); !reason.empty()) {
        return NotModelled{std::move(reason)};
    }
    Work work = elementwise_work(op, implementation);
    if (runs_bundled(op.direction, implementation, machine)) {
        work.l2 = total(bundled_sectors(*machine.memory, op, implementation));
    }
    Prediction prediction =
        is_framework(implementation)
            ? framework_stream(op, work, op.direction, execution, machine, implementation)
            : bundled_prediction({work, op.type, implementation, BandClass::stream,
                                  bundled_validity(op.direction)},
                                 execution, machine, [&](const MemoryParameters& memory) {
                                     return bundled_elementwise_time(memory, op, implementation,
                                                                     execution.l2);
                                 });
    return prediction;
}

Outcome predict(const RowWise& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = resolved(op, execution, Implementation::fused);
    if (auto reason = bundled_refusal(op, implementation); !reason.empty()) {
        return NotModelled{std::move(reason)};
    }
    const bool manual = implementation == Implementation::manual;
    if (manual && op.direction == Direction::backward) {
        return NotModelled{
            "impl manual is a forward softmax only; for backward use fused or torch"};
    }
    if (is_framework(implementation)) {
        return framework_rows(op, execution, machine, implementation);
    }
    Work work = row_work(op, implementation);
    if (runs_bundled(op.direction, implementation, machine)) {
        work.l2 = total(bundled_sectors(*machine.memory, op, implementation));
    }
    Prediction prediction = bundled_prediction(
        {work, op.type, implementation, BandClass::row_kernel, bundled_validity(op.direction)},
        execution, machine, [&](const MemoryParameters& memory) {
            return manual ? manual_softmax_time(memory, op, execution.l2)
                          : bundled_row_time(memory, op, execution.l2);
        });
    if (manual) {
        prediction.footprint += static_cast<double>(op.rows) * static_cast<double>(op.cols) *
                                static_cast<double>(size_of(op.type)) * 2.0 * units::B;
    }
    return prediction;
}

namespace {

/// `auto` takes PyTorch's kernel where ridge bundles none, and says so.
Prediction in_place_of_bundled(Prediction prediction, const Execution& execution) {
    if (execution.implementation == Implementation::automatic) {
        prediction.note(note::OtherSoftware{.asked = SoftwareChoice::named("ridge"),
                                            .used = SoftwareChoice::named("pytorch")});
    }
    return prediction;
}

}  // namespace

Outcome predict(const Transpose& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = resolved(op, execution, Implementation::tiled);
    if (auto reason = bundled_refusal(op, implementation); !reason.empty()) {
        return NotModelled{std::move(reason)};
    }
    Work work = transpose_work(op, implementation, machine.dram_sector);
    if (implementation == Implementation::torch) {
        return in_place_of_bundled(
            framework_stream(op, work, Direction::forward, execution, machine), execution);
    }
    if (machine.memory) work.l2 = total(bundled_sectors(*machine.memory, op, implementation));
    return bundled_prediction(
        {work, op.type, implementation}, execution, machine, [&](const MemoryParameters& memory) {
            return bundled_transpose_time(memory, op, implementation, execution.l2);
        });
}

Outcome predict(const Copy& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = resolved(op, execution, Implementation::bundled);
    if (auto reason = bundled_refusal(op, implementation); !reason.empty()) {
        return NotModelled{std::move(reason)};
    }
    const Work work = copy_work(op, machine.dram_sector);
    if (implementation == Implementation::torch) {
        return in_place_of_bundled(
            framework_stream(op, work, Direction::forward, execution, machine), execution);
    }
    return bundled_prediction({work, op.type, implementation, BandClass::stream}, execution,
                              machine, [&](const MemoryParameters& memory) {
                                  return bundled_copy_time(memory, op, execution.l2);
                              });
}

Outcome predict(const Gather& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = resolved(op, execution, Implementation::bundled);
    Work work = gather_work(op, machine.dram_sector);
    if (runs_bundled(Direction::forward, implementation, machine)) {
        work.l2 = total(bundled_sectors(*machine.memory, op));
    }
    Prediction prediction =
        implementation == Implementation::torch
            ? framework_stream(op, work, Direction::forward, execution, machine)
            : bundled_prediction({work, op.type, implementation}, execution, machine,
                                 [&](const MemoryParameters& memory) {
                                     return bundled_gather_time(memory, op, machine.dram_sector,
                                                                execution.l2);
                                 });
    const double row_bytes = static_cast<double>(op.cols) * static_cast<double>(size_of(op.type));
    const double untouched = static_cast<double>(op.table_rows) - gather_distinct_rows(op);
    prediction.footprint += untouched * row_bytes * units::B;
    const double efficiency = gather_sector_efficiency(op, machine.dram_sector);
    if (efficiency < 1.0) prediction.note(note::SparseGather{.useful = efficiency});
    return prediction;
}

Outcome predict(const Cat& op, const Execution& execution, const Machine& machine) {
    Prediction prediction =
        framework_stream(op, cat_work(op), Direction::forward, execution, machine);
    const bool counted = machine.memory && machine.memory->torch;
    if (op.views() && !counted) await_indices(prediction, op, machine);
    return prediction;
}

Outcome predict(const AdamW& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = resolved(op, execution, Implementation::torch);
    return framework_stream(op, adamw_work(op, implementation), Direction::forward, execution,
                            machine, implementation);
}

}  // namespace ridge::model
