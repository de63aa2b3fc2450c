#include "model/matmul/torch_products.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/core/real.h"
#include "model/matmul/work.h"
#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

/// Times in microseconds at 1980 MHz; those of a tile are one after the other.
struct Code {
    double step;   ///< along k
    double store;  ///< of a tile's results
    double start;
};
constexpr Code small_tiles{0.26, 1.93, -0.08};  // 64 x 64 x 128; n and k are multiples of 16
constexpr Code tall_tiles{0.35, 1.12, 1.5};     // 128 x 64 x 128
constexpr Code small_unaligned{0.63, 0.6, 1.7};
constexpr Code tall_unaligned{1.05, 0.8, 1.7};
constexpr Code large_unaligned{2.29, 4.2, 1.7};  // 256 x 128 x 128, k alone is unaligned
constexpr Code odd_results{0.61, 0.0, 5.1};      // 256 x 128 x 128, k alone is aligned
constexpr Code by_rows{0.96, 0.25, 2.87};        // 128 x 128 x 32
constexpr double reference_clock = 1.98e9;
constexpr double warm_start = 0.25;  // less, where operands are in the L2

/// How PyTorch's kernels differ from those that the parameters of the library were fitted to:
/// microseconds more at 1980 MHz, and factors on the parameters of the same names.
struct Difference {
    double start = 0.0;
    double k_step = 1.0;
    double issue = 1.0;
    double store = 1.0;
    double second_kernel = 1.0;
    double l2 = 1.0;
};
constexpr Difference wide{.k_step = 1.18, .store = 0.86};
constexpr Difference narrow{.store = 0.8, .l2 = 0.77};
constexpr Difference pairs{.start = 2.2};
constexpr Difference odd_columns{.k_step = 0.78, .issue = 0.81, .store = 0.36};
constexpr Difference odd_rows{.issue = 1.1, .store = 0.48};
constexpr Difference single{.second_kernel = 1.3};
constexpr Difference tf32{.start = 0.54, .k_step = 0.42, .second_kernel = 1.5, .l2 = 0.23};
constexpr Difference tf32_unaligned{.start = -0.5, .k_step = 2.1, .issue = 0.27};
constexpr double turn_around = 2.5;  // a line written back, over its time at the bandwidth of DRAM

const Difference& difference_of(const Matmul& op, MatmulPipe pipe) {
    switch (pipe) {
        case MatmulPipe::eight_bit:
            return narrow;
        case MatmulPipe::vector:
            return single;
        case MatmulPipe::tf32:
            return row_alignment(op) < 16 ? tf32_unaligned : tf32;
        case MatmulPipe::align_4:
            return pairs;
        case MatmulPipe::align_2:
            return op.b_layout == Layout::column_major ? odd_columns : odd_rows;
        default:
            return wide;
    }
}

double tiles_of(const Matmul& op, Tile tile) {
    return real(op.batch) * real(ceil_divide(op.m, tile.m)) * real(ceil_divide(op.n, tile.n));
}

/// A kernel for int8 operands and its tile.
struct KernelChoice {
    Tile tile;
    const Code& code;
};

KernelChoice choice_of(const Matmul& op, double sms) {
    constexpr std::int64_t vector = 16;
    constexpr Tile small{64, 64, 128};
    constexpr Tile tall{128, 64, 128};
    constexpr Tile large{256, 128, 128};
    if (op.b_layout == Layout::row_major) return {{128, 128, 32}, by_rows};
    const bool k_aligned = op.k % vector == 0;
    const bool n_aligned = op.n % vector == 0;
    const bool few = tiles_of(op, small) < 1.5 * sms;
    if (k_aligned && n_aligned)
        return few ? KernelChoice{small, small_tiles} : KernelChoice{tall, tall_tiles};
    if (k_aligned && tiles_of(op, large) <= sms) return {large, odd_results};
    if (n_aligned && tiles_of(op, large) >= 0.6 * sms) return {large, large_unaligned};
    return few ? KernelChoice{small, small_unaligned} : KernelChoice{tall, tall_unaligned};
}

}  // namespace

Time torch_time(double us, const Machine& machine) {
    return us * 1e-6 * reference_clock / machine.boost_clock.base() * units::s;
}

bool is_integer_product(const Matmul& op) {
    return op.type == DataType::int8 && op.output == DataType::int32;
}

MatmulTime integer_product_time(const MatmulSituation& s) {
    const Matmul& op = s.op;
    const double sms = real(s.machine.sm_count);
    const KernelChoice choice = choice_of(op, sms);
    const Code& code = choice.code;
    const double filled = tiles_of(op, choice.tile) / sms;
    const double rounds = op.b_layout == Layout::row_major
                              ? std::ceil(filled)
                              : std::max(1.0, filled + 0.3 * (std::ceil(filled) - filled));
    const double steps = real(op.k) / choice.tile.k;
    const double operands = real(op.batch) * (real(op.m) * real(op.k) + real(op.k) * real(op.n));
    const double results = 4.0 * real(op.batch) * real(op.m) * real(op.n);
    const bool warm = s.l2 == L2State::warm;
    const double missing =
        warm ? 1.0 - s.machine.l2.found(Bytes::from_base(operands + results)) : 1.0;

    MatmulTime time;
    time.tile = choice.tile;
    time.launch =
        s.machine.kernel_floor + torch_time(code.start - (warm ? warm_start : 0.0), s.machine);
    time.latency = torch_time(rounds * (std::max(1.0, steps) * code.step + code.store), s.machine);
    time.dram_reads = Bytes::from_base(missing * operands);
    time.dram_writes = s.machine.l2.written_back(Bytes::from_base(results),
                                                 Bytes::from_base(operands + results), s.l2);
    time.dram = (time.dram_reads + time.dram_writes) /
                (s.machine.dram_bandwidth * s.parameters.dram_fraction);
    time.l2_reads = Bytes::from_base(operands);
    time.total = time.launch + combined({time.latency, time.dram}, pipes);
    return time;
}

MatmulParameters parameters_of_torch(const Matmul& op, MatmulPipe pipe,
                                     const MatmulParameters& library, const TorchCosts& costs) {
    const Difference& d = difference_of(op, pipe);
    MatmulParameters p = library;
    p.launch += d.start * reference_clock / library.clock.base() * units::us;
    p.k_step *= d.k_step;
    p.issue_fraction *= d.issue;
    if (pipe != MatmulPipe::align_2 || op.n % 2 != 0) p.store_per_sm *= d.store;
    p.second_kernel *= d.second_kernel;
    if (pipe == MatmulPipe::vector) {
        // The library's launch holds first loads from DRAM.
        p.cold_fill = costs.first_dram - costs.first_l2;
        p.launch -= p.cold_fill;
        if (op.batch > 1) p.second_kernel = Time{};  // k stays whole
    }
    return p;
}

WriteBack behind_write_back(const MatmulSituation& s, const Work& cold, Time alone) {
    const Bytes filled = cold.compulsory();
    const Bytes displaced = s.machine.l2.displaced(filled, L2State::dirty);
    const Time reading = cold.dram_read / s.machine.dram_bandwidth;
    const double busy = std::min(1.0, reading.base() / alone.base());
    return {displaced, turn_around * busy * (displaced / s.machine.dram_bandwidth)};
}

Time vector_wait(const Matmul& op, L2State l2, const Machine& machine) {
    const bool bias = op.epilogue != Epilogue::none && op.epilogue != Epilogue::accumulate;
    if (!(bias || op.type == DataType::fp8) || !machine.memory || !machine.memory->torch) {
        return Time{};
    }
    return l2 == L2State::warm ? machine.memory->torch->step_l2 : machine.memory->torch->step_dram;
}

}  // namespace ridge::model
