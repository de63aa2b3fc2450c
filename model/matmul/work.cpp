#include "model/matmul/work.h"

#include <algorithm>

#include "hardware/checked.h"
#include "model/core/real.h"
#include "model/expression/expression.h"

namespace ridge::model {
namespace {

/// Vector-pipe FLOP per element of C: bias 1 add; relu 1 max; GeLU as in table E3.
double epilogue_flop(Epilogue epilogue) {
    switch (epilogue) {
        case Epilogue::none:
            return 0.0;
        case Epilogue::bias:
        case Epilogue::accumulate:
            return 1.0;
        case Epilogue::bias_relu:
            return 2.0;
        case Epilogue::bias_gelu:
            return 1.0 + cost_of(Function::gelu_tanh).flop;
    }
    return 0.0;
}

/// Bytes of A and B of one product of the batch, including scales.
double one_product_operands(const Matmul& op) {
    return operand_bytes(op.type, real(op.m), real(op.k), Operand::activations) +
           operand_bytes(op.type, real(op.n), real(op.k), Operand::weights);
}

}  // namespace

Work matmul_work(const Matmul& op, bool on_tensor_cores) {
    const double outputs = real(op.batch) * real(op.m) * real(op.n);
    const double result = real(size_of(op.output));
    const Flop product = 2.0 * outputs * real(op.k) * units::FLOP;
    const Flop epilogue = epilogue_flop(op.epilogue) * outputs * units::FLOP;

    Work work;
    work.tensor = on_tensor_cores ? product : Flop{};
    work.fma = epilogue + (on_tensor_cores ? Flop{} : product);
    work.vector = on_tensor_cores ? Flop{} : product;
    if (op.epilogue == Epilogue::bias_gelu) {
        work.special = cost_of(Function::gelu_tanh).special * outputs;
    }
    work.compulsory_read = real(op.batch) * one_product_operands(op) * units::B;
    if (op.epilogue == Epilogue::accumulate) work.compulsory_read += result * outputs * units::B;
    if (has_bias(op.epilogue)) {
        work.compulsory_read += result * real(op.n) * units::B;
    }
    work.compulsory_write = result * outputs * units::B;
    work.dram_read = work.compulsory_read;
    work.dram_write = work.compulsory_write;
    return work;
}

Bytes matmul_tile_traffic(const Matmul& op, const Tile& tile) {
    const double column_tiles = real(ceil_divide(op.n, tile.n));
    const double row_tiles = real(ceil_divide(op.m, tile.m));
    const double a = operand_bytes(op.type, real(op.m) * column_tiles, real(op.k));
    const double b = operand_bytes(op.type, real(op.n) * row_tiles, real(op.k), Operand::weights);
    const double outputs = real(op.m) * real(op.n);
    return real(op.batch) * (a + b + real(size_of(op.output)) * outputs) * units::B;
}

Flop library_executed_flop(const Matmul& op, const Tile& tile) {
    const std::int64_t depth = tile.m > 1 ? 128 * 8 / bits_of(op.type) : 1;
    const auto padded = [](std::int64_t extent, std::int64_t size) {
        return real(ceil_divide(extent, size) * size);
    };
    return 2.0 * real(op.batch) * padded(op.m, tile.m) * padded(op.n, tile.n) *
           padded(op.k, depth) * units::FLOP;
}

Tiling matmul_tiling(const Matmul& op, const Tile& tile, std::int64_t sm_count,
                     std::int32_t blocks_per_sm, std::int32_t split) {
    const std::int64_t row_tiles = ceil_divide(op.m, tile.m);
    const std::int64_t column_tiles = ceil_divide(op.n, tile.n);
    const std::int64_t tiles = op.batch * row_tiles * column_tiles;
    const std::int64_t slots = std::max<std::int64_t>(1, sm_count * blocks_per_sm);
    const std::int64_t waves = ceil_divide(tiles * split, slots);
    const double launched = real(row_tiles) * tile.m * (real(column_tiles) * tile.n);
    return {.tile = tile,
            .tiles = tiles,
            .split = split,
            .blocks_per_sm = blocks_per_sm,
            .waves = waves,
            .tile_efficiency = real(op.m) * real(op.n) / launched,
            .wave_efficiency = real(tiles) * split / (real(waves) * real(slots))};
}

}  // namespace ridge::model
