#include "model/matmul/torch_few_rows.h"

#include <algorithm>
#include <cmath>

#include "model/core/real.h"
#include "model/matmul/work.h"
#include "model/roof/memory_time.h"
#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

/// How a kernel covers the result and walks along k. (eq. M26)
struct Kernel {
    double columns;  ///< of a block
    double rows;     ///< of a block, at most
    double depth;    ///< elements of k that a thread's load and the loads beside it take
    double step;     ///< of a load that waits for the one before, in steps of the GPU's
};
// Factors on a load that waits, lane slots of a multiply-add, clocks of a block's results.
constexpr double dot_step = 1.08;
constexpr double dot_slots = 9.6;  // of a multiply-add, with its share of the loads
constexpr double dot_result = 2520;
constexpr double walk_slots = 2.0;
constexpr double walk_step = 0.264;
constexpr double walk_result = 6500;

constexpr double dot_unpack = 18;  // slots more of an element of B with 16 bits
constexpr double walk_unpack = 9.5;

constexpr double resident_blocks = 8.0;

}  // namespace

bool runs_few_rows(const Matmul& op) {
    if (bits_of(op.type) == 16) return op.m <= 8 && row_alignment(op) < 16;
    if (op.type != DataType::fp32) return false;
    if (op.b_layout == Layout::column_major) return op.m <= 16;
    return op.m <= 8 && op.n % 4 == 0;
}

MatmulTime few_rows_time(const MatmulSituation& s) {
    const Matmul& op = s.op;
    const MemoryParameters& memory = *s.machine.memory;
    const TorchCosts& torch = *memory.torch;
    const bool dots = op.b_layout == Layout::column_major;
    const double element = real(size_of(op.type));
    const Kernel kernel = dots ? Kernel{8.0, 8.0, 128.0, dot_step}
                               : Kernel{64.0, element < 4.0 ? 4.0 : 8.0, 16.0, walk_step};
    const double batch = real(op.batch);
    const double blocks =
        batch * std::ceil(real(op.n) / kernel.columns) * std::ceil(real(op.m) / kernel.rows);
    const double products = batch * real(op.m) * real(op.n) * real(op.k);
    const double operands = batch * element * real(op.k) * (real(op.m) + real(op.n));
    const double results = batch * real(size_of(op.output)) * real(op.m) * real(op.n);
    const bool warm = s.l2 == L2State::warm;
    const double missing =
        warm ? 1.0 - s.machine.l2.found(Bytes::from_base(operands + results)) : 1.0;
    const double share = std::min(1.0, blocks / memory.sm_count);
    const double waits = std::ceil(real(op.k) / kernel.depth) - 1.0;
    const Time first = warm ? torch.first_l2 : torch.first_dram;
    const Time step = warm ? torch.step_l2 : torch.step_dram;
    const double result = dots ? dot_result : walk_result;
    const Time life = first + waits * kernel.step * step + result * units::cycle / memory.clock;
    const double unpack = element < 4.0 ? (dots ? dot_unpack : walk_unpack) : 0.0;
    const double slots =
        (dots ? dot_slots : walk_slots) * products +
        unpack * batch * real(op.n) * real(op.k) * std::ceil(real(op.m) / kernel.rows);
    const double rounds =
        std::max(0.0, std::ceil(blocks / (resident_blocks * memory.sm_count)) - 1.0);

    MatmulTime time;
    time.tile = {static_cast<std::int32_t>(kernel.rows), static_cast<std::int32_t>(kernel.columns),
                 static_cast<std::int32_t>(kernel.depth)};
    time.launch = s.machine.kernel_floor;
    time.pipe = slots * units::cycle / (memory.fp32_lanes * memory.sm_count * share * memory.clock);
    time.dram_reads = Bytes::from_base(missing * operands);
    time.dram_writes = s.machine.l2.written_back(Bytes::from_base(results),
                                                 Bytes::from_base(operands + results), s.l2);
    time.dram = dram_time(memory, time.dram_reads, time.dram_writes);
    time.l2_reads = Bytes::from_base(operands);
    time.l2 = time.l2_reads / (memory.l2_read * share);
    time.latency = life * (1.0 + rounds);
    const Time moved = combined({time.pipe, time.dram, time.l2}, Overlap{3.0});
    time.total = time.launch + life + combined({rounds * life, moved}, Overlap{1.5});
    return time;
}

}  // namespace ridge::model
