#include "model/matmul/band.h"

#include <algorithm>

namespace ridge::model {
namespace {

/// Kernels of Hopper and later, by regime.
BandClass fine_class(MatmulRegime regime) {
    const bool uneven = regime == MatmulRegime::split || regime == MatmulRegime::store ||
                        regime == MatmulRegime::pipe;
    return uneven ? BandClass::product_split : BandClass::product_smooth;
}

/// Kernels that come in whole waves.
BandClass coarse_class(MatmulRegime regime) {
    if (regime == MatmulRegime::power) return BandClass::product_fixed;
    const bool even = regime == MatmulRegime::split || regime == MatmulRegime::memory;
    return even ? BandClass::product_ampere : BandClass::product_coarse;
}

BandClass eight_bit_class(MatmulRegime regime) {
    switch (regime) {
        case MatmulRegime::quantise:
            return BandClass::product_fixed;
        case MatmulRegime::memory:
            return BandClass::product_stream;
        case MatmulRegime::store:
            return BandClass::product_split;
        default:
            return BandClass::product_smooth;
    }
}

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
    const bool type =
        bits_of(op.type) == 16 || op.type == DataType::fp8 || pipe == MatmulPipe::tf32;
    return type && op.m <= 32768 && std::min(op.n, op.k) >= 32 && width <= 65536;
}

}  // namespace

BandClass matmul_band(const MatmulSituation& s, MatmulRegime regime) {
    switch (s.pipe) {
        case MatmulPipe::vector:
            return BandClass::product_fma;
        case MatmulPipe::eight_bit:
            return eight_bit_class(regime);
        case MatmulPipe::tf32:
        case MatmulPipe::align_4:
        case MatmulPipe::align_2:
            return BandClass::product_old;
        case MatmulPipe::tensor:
            break;
    }
    const bool fine = s.machine.family == Family::hopper || s.machine.family == Family::blackwell;
    return fine ? fine_class(regime) : coarse_class(regime);
}

BandClass bundled_band(Implementation implementation) {
    const bool by_elements =
        implementation == Implementation::naive || implementation == Implementation::coalesced;
    return by_elements ? BandClass::row_kernel : BandClass::product_bundled;
}

Validity matmul_validity(const MatmulSituation& s) {
    const bool measured = s.op.batch == 1 && s.l2 == L2State::warm &&
                          measured_shape(s.op, s.pipe) && measured_family(s.machine, s.pipe);
    return measured ? Validity::validated : Validity::extrapolated;
}

}  // namespace ridge::model
