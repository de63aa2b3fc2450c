#include "model/matmul/torch_products.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"
#include "model/core/real.h"
#include "model/matmul/work.h"
#include "model/roof/overlap.h"

namespace ridge::model {
namespace {

/// Rows at 4, 8 or 16 bytes run as in the library.
constexpr ProductCode as_the_library{};

const ProductCode& code_of(const TorchProductCode& all, const Matmul& op, MatmulPipe pipe) {
    switch (pipe) {
        case MatmulPipe::eight_bit:
            return all.eight_bit;
        case MatmulPipe::vector:
            return all.single;
        case MatmulPipe::tf32:
            return row_alignment(op) < 16 ? all.tf32_odd : all.tf32;
        case MatmulPipe::align_2:
            return op.b_layout == Layout::column_major ? all.odd_columns : all.odd_rows;
        default:
            return as_the_library;
    }
}

double tiles_of(const Matmul& op, Tile tile) {
    return real(op.batch) * real(ceil_divide(op.m, tile.m)) * real(ceil_divide(op.n, tile.n));
}

/// A kernel for int8 operands and its tile.
struct ProductChoice {
    Tile tile;
    const IntegerTileCode& code;
};

ProductChoice choice_of(const Matmul& op, const TorchProductCode& all, double sms) {
    constexpr std::int64_t vector = 16;
    constexpr Tile small{64, 64, 128};
    constexpr Tile tall{128, 64, 128};
    constexpr Tile large{256, 128, 128};
    if (op.b_layout == Layout::row_major) return {{128, 128, 32}, all.integer_rows};
    const bool k_aligned = op.k % vector == 0;
    const bool n_aligned = op.n % vector == 0;
    const bool few = tiles_of(op, small) < all.choice.integer_tiles.few * sms;
    if (k_aligned && n_aligned)
        return few ? ProductChoice{small, all.small_tiles} : ProductChoice{tall, all.tall_tiles};
    if (k_aligned && tiles_of(op, large) <= sms) return {large, all.odd_results};
    return few ? ProductChoice{small, all.small_unaligned}
               : ProductChoice{tall, all.tall_unaligned};
}

}  // namespace

Time in_torch(double clocks, const Machine& machine) {
    return clocks * units::cycle / machine.boost_clock;
}

bool is_integer_product(const Matmul& op) {
    return op.type == DataType::int8 && size_of(op.output) == 4;
}

MatmulTime integer_product_time(const MatmulSituation& s) {
    const Matmul& op = s.op;
    const double sms = real(s.machine.sm_count);
    const TorchProductCode& all = *s.machine.torch_product;
    const ProductChoice choice = choice_of(op, all, sms);
    const IntegerTileCode& code = choice.code;
    const double filled = tiles_of(op, choice.tile) / sms;
    const double rounds =
        op.b_layout == Layout::row_major
            ? std::ceil(filled)
            : std::max(1.0, filled + all.integer.last_round * (std::ceil(filled) - filled));
    const double steps = real(op.k) / choice.tile.k;
    const double operands = real(op.batch) * (real(op.m) * real(op.k) + real(op.k) * real(op.n));
    const double results = 4.0 * real(op.batch) * real(op.m) * real(op.n);
    const bool warm = s.l2 == L2State::warm;
    const double missing =
        warm ? 1.0 - s.machine.l2.found(Bytes::from_base(operands + results)) : 1.0;

    MatmulTime time;
    time.tile = choice.tile;
    time.launch =
        s.machine.kernel_floor + in_torch(code.start - (warm ? all.integer.warm : 0.0), s.machine);
    time.latency = in_torch(rounds * (std::max(1.0, steps) * code.step + code.store), s.machine);
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
                                     const MatmulParameters& library, const Machine& machine) {
    const TorchCosts& costs = *machine.memory->torch;
    const ProductCode& d = code_of(*machine.torch_product, op, pipe);
    MatmulParameters p = library;
    p.launch += d.start * units::cycle / library.clock;
    p.k_step *= d.k_step;
    p.issue_fraction *= d.issue;
    if (pipe != MatmulPipe::align_2 || op.n % 2 != 0) p.store_per_sm *= d.store;
    p.second_kernel *= d.second_kernel;
    if (pipe == MatmulPipe::vector) {
        // The library's launch contains first loads from DRAM.
        p.cold_fill = costs.first_dram - costs.first_l2;
        p.launch -= p.cold_fill;
        if (op.batch > 1) p.second_kernel = Time{};  // k is not split
    }
    return p;
}

WriteBack behind_write_back(const MatmulSituation& s, const Work& cold, Time alone) {
    const Bytes filled = cold.compulsory();
    const Bytes displaced = s.machine.l2.displaced(filled, L2State::dirty);
    const Time reading = cold.dram_read / s.machine.dram_bandwidth;
    const double busy = std::min(1.0, reading.base() / alone.base());
    return {displaced, s.machine.torch_product->common.turn_around * busy *
                           (displaced / s.machine.dram_bandwidth)};
}

Time vector_wait(const Matmul& op, L2State l2, const Machine& machine) {
    const bool bias = op.epilogue != Epilogue::none && op.epilogue != Epilogue::accumulate;
    if (!(bias || op.type == DataType::fp8) || !machine.memory || !machine.memory->torch) {
        return Time{};
    }
    return l2 == L2State::warm ? machine.memory->torch->step_l2 : machine.memory->torch->step_dram;
}

}  // namespace ridge::model
