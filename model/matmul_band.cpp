#include "model/matmul_band.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ridge::model {
namespace {

// In the order of MatmulRegime: launch, split, memory, store, latency, pipe, power, quantise.
using Row = std::array<ResidualBand, matmul_regime_count>;

// H100 SXM and H200 SXM, bf16, 2514 rows each; 5-fold cross-validation.
constexpr Row hopper{{{0.948, 1.075},
                      {0.912, 1.093},
                      {0.940, 1.090},
                      {0.900, 1.130},
                      {0.942, 1.102},
                      {0.917, 1.109},
                      {0.941, 1.099},
                      {0.930, 1.100}}};
// A100 SXM 80GB, bf16, 4584 rows.
constexpr Row ampere{{{0.843, 1.161},
                      {0.912, 1.124},
                      {0.933, 1.146},
                      {0.860, 1.186},
                      {0.890, 1.160},
                      {0.902, 1.179},
                      {0.959, 1.036},
                      {0.890, 1.160}}};
// H100 SXM and H200 SXM, fp8, 2486 rows each.
constexpr Row eight_bit{{{0.940, 1.090},
                         {0.940, 1.090},
                         {0.957, 1.065},
                         {0.940, 1.110},
                         {0.955, 1.090},
                         {0.934, 1.090},
                         {0.948, 1.074},
                         {0.964, 1.038}}};
// A100 PCIe 40GB and V100 PCIe, fp32, 503 rows each; all in one regime.
constexpr ResidualBand fp32{0.940, 1.150};
constexpr Row vector{{fp32, fp32, fp32, fp32, fp32, fp32, fp32, fp32}};

constexpr std::array<Row, 4> bands{hopper, ampere, eight_bit, vector};

}  // namespace

ResidualBand ResidualBand::widened(double factor) const {
    return {.low = std::pow(low, factor), .high = std::pow(high, factor)};
}

ResidualBand matmul_band(MatmulKernels kernels, MatmulRegime regime) {
    return bands[static_cast<std::size_t>(kernels)][static_cast<std::size_t>(regime)];
}

bool validated(const Matmul& op, MatmulPipe pipe, L2State l2) {
    if (op.batch > 1 || l2 == L2State::cold) return false;
    const std::int64_t width = std::max(op.n, op.k);
    if (pipe == MatmulPipe::vector) {
        return op.type == DataType::fp32 && op.m >= 512 && op.m <= 65536 && op.n >= 768 &&
               op.k >= 512 && width <= 65536;
    }
    const bool type = size_of(op.type) == 2 || op.type == DataType::fp8;
    return type && op.m <= 32768 && std::min(op.n, op.k) >= 32 && width <= 65536;
}

}  // namespace ridge::model
