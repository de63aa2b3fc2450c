#include "model/matmul/band.h"

#include <algorithm>

namespace ridge::model {
namespace {

BandClass in_regime(BandClass first, MatmulRegime regime) {
    return static_cast<BandClass>(static_cast<std::uint8_t>(first) +
                                  static_cast<std::uint8_t>(regime));
}

static_assert(static_cast<std::size_t>(BandClass::matmul_ampere_launch) -
                      static_cast<std::size_t>(BandClass::matmul_hopper_launch) ==
                  matmul_regime_count,
              "one class per regime");

bool measured_family(const Machine& machine, MatmulPipe pipe) {
    const std::int32_t capability = machine.compute_capability;
    switch (pipe) {
        case MatmulPipe::vector:
            return capability == 80 || capability == 70;
        case MatmulPipe::eight_bit:
        case MatmulPipe::tf32:
        case MatmulPipe::align_4:
        case MatmulPipe::align_2:
            return capability == 90;
        case MatmulPipe::tensor:
            break;
    }
    return capability == 80 || capability == 90;
}

bool measured_shape(const Matmul& op, MatmulPipe pipe) {
    const std::int64_t width = std::max(op.n, op.k);
    if (pipe == MatmulPipe::vector) {
        return op.type == DataType::fp32 && op.m >= 512 && op.m <= 65536 && op.n >= 768 &&
               op.k >= 512 && width <= 65536;
    }
    const bool type = size_of(op.type) == 2 || op.type == DataType::fp8 || pipe == MatmulPipe::tf32;
    return type && op.m <= 32768 && std::min(op.n, op.k) >= 32 && width <= 65536;
}

}  // namespace

BandClass matmul_band(const MatmulSituation& s, MatmulRegime regime) {
    switch (s.pipe) {
        case MatmulPipe::vector:
            return BandClass::matmul_fma;
        case MatmulPipe::eight_bit:
            return in_regime(BandClass::matmul_fp8_launch, regime);
        case MatmulPipe::tf32:
            return BandClass::matmul_tf32;
        case MatmulPipe::align_4:
        case MatmulPipe::align_2:
            return BandClass::matmul_misaligned;
        case MatmulPipe::tensor:
            break;
    }
    const bool fine = s.machine.family == Family::hopper || s.machine.family == Family::blackwell;
    return in_regime(fine ? BandClass::matmul_hopper_launch : BandClass::matmul_ampere_launch,
                     regime);
}

BandClass bundled_band(Implementation implementation) {
    switch (implementation) {
        case Implementation::naive:
        case Implementation::coalesced:
            return BandClass::matmul_elements;
        case Implementation::mma:
            return BandClass::matmul_mma;
        case Implementation::wgmma:
            return BandClass::matmul_wgmma;
        default:
            return BandClass::matmul_tiles;
    }
}

Validity matmul_validity(const MatmulSituation& s) {
    const bool measured = s.op.batch == 1 && s.l2 == L2State::warm &&
                          measured_shape(s.op, s.pipe) && measured_family(s.machine, s.pipe);
    return measured ? Validity::validated : Validity::extrapolated;
}

}  // namespace ridge::model
