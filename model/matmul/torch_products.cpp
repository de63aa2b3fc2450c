#include "model/matmul/torch_products.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/core/real.h"
#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

/// Tile, depth of a step, and times in microseconds at 1980 MHz.
struct Code {
    Tile tile;
    double step;
    double start;
};
constexpr Code by_columns{{64, 64, 128}, 0.257, 1.62};      // n and k are multiples of 16
constexpr Code by_odd_results{{256, 128, 128}, 0.57, 5.4};  // k alone is
constexpr Code by_odd_rows{{64, 64, 128}, 0.54, 2.0};
constexpr Code by_rows{{128, 128, 32}, 0.95, 2.8};
constexpr double reference_clock = 1.98e9;
constexpr double warm_start = 0.4;  // less, where operands are in the L2

const Code& code_of(const Matmul& op) {
    constexpr std::int64_t vector = 16;
    if (op.b_layout == Layout::row_major) return by_rows;
    if (op.k % vector != 0) return by_odd_rows;
    return op.n % vector == 0 ? by_columns : by_odd_results;
}

Time micro(double value, const Machine& machine) {
    return value * 1e-6 * reference_clock / machine.boost_clock.base() * units::s;
}

}  // namespace

bool is_integer_product(const Matmul& op) {
    return op.type == DataType::int8 && op.output == DataType::int32;
}

MatmulTime integer_product_time(const MatmulSituation& s) {
    const Matmul& op = s.op;
    const Code& code = code_of(op);
    const double tiles = real(op.batch) * real(ceil_divide(op.m, code.tile.m)) *
                         real(ceil_divide(op.n, code.tile.n));
    const double rounds = std::ceil(tiles / real(s.machine.sm_count));
    const double steps = real(ceil_divide(op.k, code.tile.k));
    const double operands = real(op.batch) * (real(op.m) * real(op.k) + real(op.k) * real(op.n));
    const double results = 4.0 * real(op.batch) * real(op.m) * real(op.n);
    const bool warm = s.l2 == L2State::warm;
    const double missing =
        warm ? 1.0 - s.machine.l2.found(Bytes::from_base(operands + results)) : 1.0;

    MatmulTime time;
    time.tile = code.tile;
    time.launch = s.machine.kernel_floor + micro(code.start - (warm ? warm_start : 0.0), s.machine);
    time.latency = micro(rounds * steps * code.step, s.machine);
    time.dram_reads = Bytes::from_base(missing * operands);
    time.dram_writes = s.machine.l2.written_back(Bytes::from_base(results),
                                                 Bytes::from_base(operands + results), s.l2);
    time.dram = (time.dram_reads + time.dram_writes) /
                (s.machine.dram_bandwidth * s.parameters.dram_fraction);
    time.l2_reads = Bytes::from_base(operands);
    time.total = time.launch + combined({time.latency, time.dram}, pipes);
    return time;
}

MatmulParameters unaligned_tf32(const MatmulParameters& aligned) {
    constexpr double rate_left = 0.45;
    constexpr double longer_steps = 2.0;
    MatmulParameters slower = aligned;
    slower.issue_fraction *= rate_left;
    slower.k_step *= longer_steps;
    return slower;
}

Time vector_wait(const Matmul& op, L2State l2, const Machine& machine) {
    const bool bias = op.epilogue != Epilogue::none && op.epilogue != Epilogue::accumulate;
    if (!(bias || op.type == DataType::fp8) || !machine.memory || !machine.memory->torch) {
        return Time{};
    }
    return l2 == L2State::warm ? machine.memory->torch->step_l2 : machine.memory->torch->step_dram;
}

}  // namespace ridge::model
