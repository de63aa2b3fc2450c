// Time of a matrix product from its shape, the GPU's rates and the parameters of its kernels.
//
//   const MatmulSituation situation{.op = op, .machine = machine, .parameters = *parameters,
//                                   .peak = peak, .pipe = MatmulPipe::tensor, ...};
//   const MatmulTime time = library_matmul_time(situation);
//   time.total, time.tile, time.split, time.dram_read
//
// Method (docs/model.md M7 to M20): for each tile of a small set, whole and split along k, the time
// of a multiprocessor is the sum of the fill, the k loop (pipe, L2, DRAM reads, latency of its
// steps), the epilogue's stores and the reduction of a split, limited by DRAM traffic and by power.
// The fastest candidate is what a good library would choose. Cheap lower bounds exclude all but two
// or three tiles, and nothing is allocated. Bundled kernels have their own model: bundled.h.
//
// Limits: dense operands. Choices of a library that are poor for the shape are not predicted; they
// are most of the residual.
#pragma once

#include <optional>

#include "model/core/implementation.h"
#include "model/core/operation.h"
#include "model/machine/machine.h"
#include "model/machine/matmul_parameters.h"
#include "model/matmul/tiles.h"

namespace ridge::model {

/// Number of different weights B that a product replayed in a graph uses in turn. The collectors of
/// public measurements do this, and the layers of a network are similar (M18).
inline constexpr std::int64_t weights_in_rotation = 5;

/// Who calls the library: code that launches a kernel, or an eager framework, whose dispatch adds
/// time in a stream.
enum class MatmulCaller : std::uint8_t { code, framework };

struct MatmulSituation {
    const Matmul& op;
    const Machine& machine;
    const MatmulParameters& parameters;
    FlopRate peak;  ///< dense, of the pipe that computes the product
    MatmulPipe pipe = MatmulPipe::tensor;
    L2State l2 = L2State::warm;
    LaunchMode launch = LaunchMode::kernel;
    MatmulCaller caller = MatmulCaller::code;
    std::optional<Tile> tile =
        std::nullopt;  ///< the only tile tried, if given: one block each, whole waves, no split
};

/// Every part of the time, the choice that led to it, and the traffic.
struct MatmulTime {
    Time total;
    Time launch;     ///< of the product's kernel
    Time launches;   ///< fixed time of further kernels: reduction, quantising
    Time fill;       ///< prologues
    Time cold_fill;  ///< first loads that miss L2
    Time loop;       ///< pipe, latency, L2 and DRAM reads together
    Time pipe;       ///< issue rate of the pipe
    Time power;      ///< pipe under the power limit
    Time latency;    ///< steps along k
    Time l2;         ///< operands from L2
    Time store;      ///< epilogue
    Time dram;       ///< reads and writes
    Time dram_read;
    Time reduction;  ///< of a split's partial sums, with its launch
    Time quantise;   ///< A to 8 bits, with its launch
    Bytes dram_reads;
    Bytes dram_writes;
    Bytes l2_reads;  ///< of operands, counting a multicast once
    Bytes repeats;   ///< part of dram_reads that L2 lost between waves
    Tile tile;
    std::int32_t split = 1;
    std::int32_t kernels = 1;
    double alignment = 1.0;  ///< share of the issue rate that the alignment leaves
};

/// The fastest tile and split of the library's set, or the situation's own tile.
/// What the situation's launch mode adds to a kernel alone. (M20)
[[nodiscard]] Time launch_beyond_kernel(const MatmulSituation& situation);
[[nodiscard]] MatmulTime library_matmul_time(const MatmulSituation& situation);

/// What determines the time; residuals are grouped by regime.
enum class MatmulRegime : std::uint8_t {
    launch,
    split,
    memory,
    store,
    latency,
    pipe,
    power,
    quantise
};

/// Fixed costs come first, then a split k, then the largest term.
[[nodiscard]] MatmulRegime regime_of(const MatmulTime& time);

}  // namespace ridge::model
