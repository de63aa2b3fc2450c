#include "model/engine/deepgemm_tiles.h"

#include <algorithm>
#include <array>
#include <limits>

#include "hardware/checked.h"
#include "model/core/real.h"

namespace ridge::model {
namespace {

constexpr std::int32_t step_bytes = 128;  // along k

struct Shape {
    std::int64_t m;
    std::int64_t n;
    std::int64_t k;
    std::int64_t sms;
};

/// Stages of a pipeline of operands beside the tile of the result in shared memory.
std::int32_t stages_of(const Shape& shape, std::int32_t rows, std::int32_t columns) {
    constexpr std::int64_t shared = 232448;
    constexpr std::int64_t barriers = 256;
    constexpr std::int64_t scale = 4;  // bytes
    const std::int64_t result = std::int64_t{2} * rows * columns;
    const std::int64_t uniform = step_bytes % columns == 0 ? 1 : 2;
    const std::int64_t scales = ceil_divide(shape.k, step_bytes) * scale * uniform;
    const std::int64_t stage = std::int64_t{step_bytes} * (rows + columns) + scale * rows;
    return static_cast<std::int32_t>((shared - result - barriers - scales) / stage);
}

bool fits_hopper(const Shape& shape, std::int32_t rows, std::int32_t columns) {
    const std::int32_t beyond = columns - step_bytes;
    if (beyond > 0 && columns % beyond != 0 && step_bytes % beyond != 0) return false;
    if (rows > 128 && columns > 128) return false;
    if ((std::int32_t{2} * columns) % 64 != 0) return false;
    const std::int32_t stages = stages_of(shape, rows, columns);
    return stages >= (is_largest_on_hopper({rows, columns, step_bytes}) ? 3 : 4);
}

/// Cycles of the L2 or of shared memory over the part of the waves that is used.
double hopper_cycles(const Shape& shape, const DeepGemmTile& t) {
    constexpr double l2_rate = 8e6 / 1.3e3;  // bytes per clock
    constexpr double shared_rate = 128.0;
    const double sms = real(shape.sms);
    const double rows = t.tile.m;
    const double columns = t.tile.n;
    const std::int64_t blocks = ceil_divide(shape.m, t.tile.m) * ceil_divide(shape.n, t.tile.n);
    const std::int64_t waves = ceil_divide(blocks, shape.sms);
    if (t.cluster_rows * t.cluster_columns > 1 && waves <= 1) {
        return std::numeric_limits<double>::max();
    }
    const double k = real(shape.k);
    const double result = 2.0 * rows * columns;
    const double l2 = k * (rows / t.cluster_columns + columns / t.cluster_rows) + result;
    const double loads = k * (rows + columns);
    const double reads = k * (std::max(64.0, rows) + columns) + result;
    const double of_l2 = l2 * real(blocks) / std::min(64.0 * sms, l2_rate);
    const double of_shared = (loads + reads + result) * real(blocks) / (shared_rate * sms);
    const double used = real(blocks) / (real(waves) * sms);
    return std::max(of_l2, of_shared) / used;
}

DeepGemmTile hopper_tile(const Shape& shape) {
    constexpr std::array<std::pair<std::int32_t, std::int32_t>, 3> clusters{
        {{1, 1}, {1, 2}, {2, 1}}};
    constexpr std::array<std::int32_t, 5> heights{64, 128, 16, 32, 256};
    constexpr std::int32_t widest = 192;
    DeepGemmTile best;
    double least = std::numeric_limits<double>::infinity();
    for (const auto& [along_m, along_n] : clusters) {
        for (const std::int32_t rows : heights) {
            if (rows < 64 && shape.m > rows) continue;
            for (std::int32_t columns = 16; columns <= widest; columns += 16) {
                if (!fits_hopper(shape, rows, columns)) continue;
                const DeepGemmTile t{{rows, columns, step_bytes}, along_m, along_n};
                const double cycles = hopper_cycles(shape, t);
                if (cycles >= least) continue;
                least = cycles;
                best = t;
            }
        }
    }
    return best;
}

/// What decides on Blackwell, the first difference first; less is better.
std::array<std::int64_t, 6> blackwell_rank(const Shape& shape, const DeepGemmTile& t) {
    const std::int64_t blocks = ceil_divide(shape.m, t.tile.m) * ceil_divide(shape.n, t.tile.n);
    const std::int64_t waves = ceil_divide(blocks, shape.sms);
    const std::int64_t last = (blocks - 1) % shape.sms + 1;
    return {waves == 1 ? 0 : 1,  -t.cluster_rows * t.cluster_columns, waves, -last,
            t.tile.m + t.tile.n, std::int64_t{t.tile.m} * t.tile.n};
}

DeepGemmTile blackwell_tile(const Shape& shape) {
    DeepGemmTile best;
    std::array<std::int64_t, 6> least{};
    bool any = false;
    const auto consider = [&](const DeepGemmTile& t) {
        const auto rank = blackwell_rank(shape, t);
        if (any && rank >= least) return;
        any = true;
        least = rank;
        best = t;
    };
    const std::int32_t rows = shape.m <= 32 ? 32 : shape.m <= 64 ? 64 : 128;
    const std::int32_t widest = shape.k <= 256 ? 128 : 224;
    for (std::int32_t cluster = 1; cluster <= 2; ++cluster) {
        const bool even_m = ceil_divide(shape.m, rows) % cluster == 0;
        for (std::int32_t columns = 32; even_m && columns <= widest; columns += 32) {
            consider({{rows, columns, step_bytes}, cluster, 1});
        }
        const bool even_n = ceil_divide(shape.n, std::int64_t{128}) % cluster == 0;
        for (std::int32_t swapped = 16; even_n && swapped <= 224; swapped += 16) {
            consider({{swapped, 128, step_bytes}, 1, cluster});
        }
    }
    return best;
}

}  // namespace

DeepGemmTile deepgemm_tile(const Matmul& op, std::int64_t sms, DeepGemmKernels kernels) {
    const Shape shape{.m = op.m, .n = op.n, .k = op.k, .sms = std::max<std::int64_t>(sms, 1)};
    return kernels == DeepGemmKernels::hopper ? hopper_tile(shape) : blackwell_tile(shape);
}

bool is_largest_on_hopper(const Tile& tile) {
    return tile.m * tile.n >= 128 * 192;
}

}  // namespace ridge::model
