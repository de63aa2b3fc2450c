// Predictions of operations that stream their data: elementwise, row-wise, transpose, copy, gather.

#include <algorithm>

#include "model/band.h"
#include "model/elementwise_work.h"
#include "model/footprint.h"
#include "model/memory_model.h"
#include "model/predict.h"
#include "model/roofline.h"
#include "model/row_kernels.h"
#include "model/row_work.h"

namespace ridge::model {
namespace {

NotModelled refuse(const Operation& operation, Implementation implementation) {
    return {"impl " + std::string(name_of(implementation)) + " is not an implementation of " +
            std::string(name_of(operation))};
}

bool is_one_of(Implementation implementation, std::initializer_list<Implementation> known) {
    return std::find(known.begin(), known.end(), implementation) != known.end();
}

/// A time of one call in a stream is a framework's; everything else is a well-made kernel's.
Implementation resolved(const Execution& execution, Implementation usual) {
    if (execution.implementation != Implementation::automatic) return execution.implementation;
    return execution.launch == LaunchMode::stream ? Implementation::eager : usual;
}

bool by_framework(Implementation implementation) {
    return is_one_of(implementation,
                     {Implementation::eager, Implementation::unfused, Implementation::manual});
}

/// What the operation asks of each kernel it starts: the same share for all.
StreamWork share_of(const Work& work, DataType type, double passes,
                    const MemoryParameters& memory) {
    // Issue slots per element and pass besides the arithmetic (load, store, address), and slots per
    // FLOP of the compiled sequences, in which an FMA is 2 FLOP (eq. B5).
    constexpr double slots_per_access = 1.5;
    constexpr double slots_per_flop = 0.7;
    const double kernels = work.kernels;
    const double accesses = work.dram().base() / static_cast<double>(size_of(type)) * passes;
    const double l2_write = work.dram_write.base();
    return {.read = work.dram_read / kernels,
            .write = work.dram_write / kernels,
            .l2_read = (work.l2 - Bytes::from_base(l2_write)) / kernels,
            .l2_write = Bytes::from_base(l2_write) / kernels,
            .slots = (slots_per_access * accesses + slots_per_flop * work.fma.base()) / kernels,
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

void add_term(Prediction& prediction, Resource resource, Time time, double amount) {
    if (time <= Time{}) return;
    prediction.terms.push_back(
        {.resource = resource, .time = time, .amount = amount, .rate = amount / time.base()});
}

/// Replaces the roofline's terms and time by those of `kernels` kernels that each take `kernel`.
void settle_times(Prediction& prediction, const KernelTime& kernel, const Execution& execution,
                  const MemoryParameters& memory) {
    const double kernels = prediction.work.kernels;
    const Caller caller =
        by_framework(prediction.implementation) ? Caller::framework : Caller::native;
    const Time launch = launch_time(memory, kernel.total, kernels, execution.launch, caller);
    const Bytes dram = (kernel.dram_read + kernel.dram_write) * kernels;
    prediction.terms = {};
    add_term(prediction, Resource::fma, kernel.fma * kernels, prediction.work.fma.base());
    add_term(prediction, Resource::special, kernel.special * kernels, prediction.work.special);
    add_term(prediction, Resource::dram, kernel.dram * kernels, dram.base());
    add_term(prediction, Resource::l2, kernel.l2 * kernels, kernel.l2_traffic.base() * kernels);
    add_term(prediction, Resource::latency, kernel.latency * kernels, 0.0);
    add_term(prediction, Resource::launch, launch, 0.0);
    prediction.time = kernel.total * kernels + launch;
    settle_limiter(prediction);
}

/// The roofline with launches and gaps, for a device without a memory model.
void settle_roofline(Prediction& prediction, const Execution& execution, const Machine& machine) {
    prediction.time += launch_gaps(machine, execution.launch, prediction.work.kernels);
    prediction.low = prediction.lower_bound;
    prediction.high = 2.0 * prediction.time;
    prediction.note(NoteCode::roofline_only);
}

/// The roofline's value with the implementation, the bound for this L2 state and what stays in L2.
Prediction counted(const Work& work, DataType type, const Execution& execution,
                   Implementation implementation, const Machine& machine) {
    Prediction prediction = roofline(work, roofs_of(machine, type), machine);
    prediction.implementation = implementation;
    prediction.lower_bound = memory_bound_time(work, machine, execution.l2);
    for (const Term& term : prediction.terms) {
        if (bound_of(term.resource) != Bound::compute) continue;
        prediction.lower_bound = std::max(prediction.lower_bound, term.time);
    }
    if (machine.l2_size && work.compulsory() * 2.0 <= *machine.l2_size) {
        prediction.note(NoteCode::l2_resident, work.compulsory().base(), machine.l2_size->base());
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

/// What a bundled kernel does besides moving its bytes.
struct NativeShape {
    Time tile{};                ///< load, barrier and store of a tile of a transpose
    double element_rate = 0.0;  ///< of its elements
    double special = 0.0;       ///< special-function results per element
    bool ragged = false;        ///< a tail of elements after the last whole vector
    double elements = 0.0;      ///< that pass through tiles
    double chains = 0.0;        ///< dependent index and row loads
    bool scattered = false;     ///< writes single elements
};

constexpr double vector_bytes = 16.0;

/// The kernel as `stream_kernel` has it, with the costs of the bundled one. (eq. B9)
StreamKernel native_kernel(StreamKernel kernel, const NativeShape& shape, DataType type,
                           const MemoryParameters& memory) {
    constexpr double vectors_per_thread = 2.0;
    const NativeCosts& native = memory.native;
    if (shape.scattered) kernel.scatter = native.scatter;
    kernel.elements = shape.elements;
    kernel.element_rate = shape.element_rate;
    kernel.tile = shape.tile;
    if (native.start <= Time{}) return kernel;
    const double per_thread =
        vectors_per_thread * vector_bytes / static_cast<double>(size_of(type));
    kernel.chains = shape.chains;
    kernel.start = native.start + per_thread * shape.special * native.special_chain;
    if (shape.ragged) kernel.start += memory.l2_latency;
    kernel.first_load = true;
    return kernel;
}

Prediction stream_prediction(const Work& work, DataType type, Direction direction,
                             const Execution& execution, Implementation implementation,
                             const Machine& machine, const NativeShape& shape = {}) {
    Prediction prediction = counted(work, type, execution, implementation, machine);
    if (!machine.memory) {
        settle_roofline(prediction, execution, machine);
        return prediction;
    }
    const MemoryParameters& memory = *machine.memory;
    const double arrays = arrays_of(work);
    StreamKernel kernel = stream_kernel(memory, type, arrays, implementation);
    if (implementation != Implementation::eager) {
        kernel = native_kernel(kernel, shape, type, memory);
    }
    settle_times(prediction,
                 stream_time(memory, share_of(work, type, 1.0, memory), kernel, execution.l2),
                 execution, memory);
    const bool framework = by_framework(implementation);
    apply_band(
        prediction, framework ? BandClass::stream_eager : BandClass::stream_native,
        framework ? memory.eager_kernels : memory.streams,
        framework ? eager_validity(prediction, type, direction, execution) : Validity::validated);
    return prediction;
}

BandClass row_class(const RowWise& op, Implementation implementation, const RowKernel& kernel) {
    constexpr std::int64_t short_rows = 2560;
    if (implementation != Implementation::eager) return BandClass::row_native;
    if (op.kind == RowKind::softmax || op.kind == RowKind::sum) {
        return kernel.read_passes > 1.0 ? BandClass::softmax_passes : BandClass::softmax_one_pass;
    }
    return op.cols < short_rows ? BandClass::norm_short_rows : BandClass::norm_long_rows;
}

Prediction row_prediction(const RowWise& op, const Execution& execution,
                          Implementation implementation, const Machine& machine) {
    const Work work = row_work(op, implementation);
    Prediction prediction = counted(work, op.type, execution, implementation, machine);
    if (!machine.memory) {
        settle_roofline(prediction, execution, machine);
        return prediction;
    }
    const MemoryParameters& memory = *machine.memory;
    const RowKernel kernel = row_kernel(op, implementation, memory);
    const RowShape shape{.rows = static_cast<double>(op.rows) / work.kernels,
                         .work = share_of(work, op.type, kernel.read_passes, memory)};
    settle_times(prediction, row_time(memory, shape, kernel, execution.l2), execution, memory);
    const bool framework = by_framework(implementation);
    const bool known_kind = op.kind == RowKind::softmax || op.kind == RowKind::layernorm;
    apply_band(prediction, row_class(op, implementation, kernel),
               framework ? memory.eager_kernels : memory.streams,
               framework && known_kind
                   ? eager_validity(prediction, op.type, op.direction, execution)
                   : Validity::extrapolated);
    return prediction;
}

}  // namespace

Outcome predict(const Elementwise& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = resolved(execution, Implementation::fused);
    if (!is_one_of(implementation,
                   {Implementation::fused, Implementation::unfused, Implementation::eager})) {
        return refuse(op, implementation);
    }
    const Work work = elementwise_work(op, implementation);
    const auto vector = static_cast<std::int64_t>(vector_bytes) / size_of(op.type);
    const double per_kernel = static_cast<double>(op.elements) * work.kernels;
    Prediction prediction = stream_prediction(
        work, op.type, op.direction, execution, implementation, machine,
        {.special = work.special / per_kernel, .ragged = op.elements % vector != 0});
    prediction.footprint = footprint(op, implementation, pass_of(op.direction)).total();
    return prediction;
}

Outcome predict(const RowWise& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = resolved(execution, Implementation::fused);
    const bool manual = implementation == Implementation::manual;
    if (manual && (op.kind != RowKind::softmax || op.direction != Direction::forward)) {
        return refuse(op, implementation);
    }
    if (!manual && !is_one_of(implementation, {Implementation::fused, Implementation::library,
                                               Implementation::eager})) {
        return refuse(op, implementation);
    }
    if (!manual) return row_prediction(op, execution, implementation, machine);
    Prediction prediction = stream_prediction(row_work(op, implementation), op.type, op.direction,
                                              execution, implementation, machine);
    prediction.footprint += static_cast<double>(op.rows) * static_cast<double>(op.cols) *
                            static_cast<double>(size_of(op.type)) * 2.0 * units::B;
    return prediction;
}

Outcome predict(const Transpose& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = resolved(execution, Implementation::library);
    if (!is_one_of(implementation, {Implementation::library, Implementation::naive,
                                    Implementation::tiled, Implementation::eager})) {
        return refuse(op, implementation);
    }
    NativeShape shape;
    shape.scattered = implementation == Implementation::naive;
    if (machine.memory && implementation == Implementation::tiled) {
        const auto vector = static_cast<std::int64_t>(vector_bytes) / size_of(op.type);
        const bool whole = op.rows % vector == 0 && op.cols % vector == 0;
        const NativeCosts& native = machine.memory->native;
        // A tile in vectors is 256 bytes square: a quarter of the elements in 4-byte types.
        const double share = 4.0 / static_cast<double>(size_of(op.type) * size_of(op.type));
        shape.tile = whole ? native.transpose_tile * share : native.element_tile;
        shape.elements = static_cast<double>(op.rows) * static_cast<double>(op.cols);
        shape.element_rate = whole ? native.vector_rate : native.element_rate;
    }
    return stream_prediction(transpose_work(op, implementation, machine.dram_sector), op.type,
                             Direction::forward, execution, implementation, machine, shape);
}

Outcome predict(const Copy& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = resolved(execution, Implementation::library);
    if (!is_one_of(implementation, {Implementation::library, Implementation::eager})) {
        return refuse(op, implementation);
    }
    return stream_prediction(copy_work(op), op.type, Direction::forward, execution, implementation,
                             machine);
}

Outcome predict(const Gather& op, const Execution& execution, const Machine& machine) {
    const Implementation implementation = resolved(execution, Implementation::library);
    if (!is_one_of(implementation, {Implementation::library, Implementation::eager})) {
        return refuse(op, implementation);
    }
    Prediction prediction = stream_prediction(gather_work(op, machine.dram_sector), op.type,
                                              Direction::forward, execution, implementation,
                                              machine, {.chains = static_cast<double>(op.rows)});
    const double row_bytes = static_cast<double>(op.cols) * static_cast<double>(size_of(op.type));
    const auto untouched = static_cast<double>(op.table_rows - std::min(op.rows, op.table_rows));
    prediction.footprint += untouched * row_bytes * units::B;
    const double efficiency = gather_sector_efficiency(op, machine.dram_sector);
    if (efficiency < 1.0) prediction.note(NoteCode::sparse_gather, efficiency);
    return prediction;
}

}  // namespace ridge::model
