// Streams of a well-made kernel that was never measured as such: what moves and what is computed, at
// the rates of this GPU's streams (docs/model.md B2 to B6).
#include "model/token_wise/predict.h"

#include <algorithm>

#include "model/machine/launch.h"
#include "model/roof/account.h"
#include "model/roof/band.h"
#include "model/roof/memory_time.h"
#include "model/roof/roofline.h"
#include "model/token_wise/work.h"

namespace ridge::model {
namespace {

/// 16-byte loads and stores, as such kernels of serving engines are written.
constexpr StreamKernel vector_kernel{.bytes_per_thread = 32.0 * units::B};

KernelTime token_wise_time(const TokenWise& op, const Work& work, const MemoryParameters& memory,
                           L2State l2) {
    // Each access is an instruction, and so is an FMA, which counts as two FLOP (eq. B5).
    const double accesses = work.dram().base() / static_cast<double>(size_of(op.type));
    const StreamWork stream{.read = work.dram_read,
                            .write = work.dram_write,
                            .l2_read = work.dram_read,
                            .l2_write = work.dram_write,
                            .slots = accesses + 0.5 * work.fma.base(),
                            .special = work.special,
                            .lanes = memory.fp32_lanes};
    return stream_time(memory, stream, vector_kernel, l2);
}

void set_time(Prediction& prediction, const KernelTime& kernel, const Execution& execution,
              const MemoryParameters& memory) {
    const Time launch =
        memory.launch.kernel + launch_overhead(memory.launch, execution.launch, 1.0, kernel.total);
    prediction.terms = {};
    prediction.work.dram_read = kernel.dram_read;
    prediction.work.dram_write = kernel.dram_write;
    add_term(prediction, Resource::issue, kernel.fma, 0.0);
    add_term(prediction, Resource::special, kernel.special, kernel.results);
    add_term(prediction, Resource::dram, kernel.dram, prediction.work.dram().base());
    add_term(prediction, Resource::l2, kernel.l2, prediction.work.l2.base());
    add_term(prediction, Resource::latency, kernel.latency, 0.0);
    add_term(prediction, Resource::launch, launch);
    prediction.time = std::max(kernel.total + launch, prediction.lower_bound);
    settle_limiter(prediction);
    apply_band(prediction, BandClass::row_kernel, memory.streams, Validity::extrapolated);
}

}  // namespace

Outcome predict(const TokenWise& op, const Execution& execution, const Machine& machine) {
    const Work work = token_wise_work(op);
    Prediction prediction = roofline(work, roofs_of(machine, op.type), machine);
    prediction.implementation = Implementation::fused;
    prediction.lower_bound = roofline_bound(work, prediction.peak, machine, execution.l2);
    if (machine.memory) {
        const MemoryParameters& memory = *machine.memory;
        set_time(prediction, token_wise_time(op, work, memory, execution.l2), execution, memory);
        return prediction;
    }
    prediction.time += launch_gaps(machine, execution.launch, work.kernels);
    apply_roofline_band(prediction);
    return prediction;
}

}  // namespace ridge::model
