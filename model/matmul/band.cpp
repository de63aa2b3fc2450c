#include "model/matmul/band.h"

#include <algorithm>

#include "model/core/product_rows.h"
#include "model/machine/features.h"

namespace ridge::model {
namespace {

/// Classes of kernels of Hopper and later, by regime.
BandClass fine_class(MatmulRegime regime) {
    const bool uneven = regime == MatmulRegime::split || regime == MatmulRegime::store ||
                        regime == MatmulRegime::pipe;
    return uneven ? BandClass::product_split : BandClass::product_smooth;
}

BandClass umma_class(MatmulPipe pipe, MatmulRegime regime) {
    if (pipe != MatmulPipe::tensor) return BandClass::umma_narrow;
    const bool uneven = regime == MatmulRegime::split || regime == MatmulRegime::store ||
                        regime == MatmulRegime::pipe;
    return uneven ? BandClass::umma_uneven : BandClass::umma_even;
}

/// Classes of kernels that run in whole waves.
BandClass coarse_class(MatmulRegime regime) {
    if (regime == MatmulRegime::power) return BandClass::product_fixed;
    const bool even = regime == MatmulRegime::split || regime == MatmulRegime::memory;
    return even ? BandClass::product_ampere : BandClass::product_coarse;
}

/// Whether layers of models have such an extent: a few times a power of two. A library's choices
/// for other extents are less regular.
bool is_usual(std::int64_t extent) {
    constexpr std::int64_t most_times = 25;
    const std::int64_t grain = extent & -extent;
    return extent / grain <= most_times;
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

bool measured_shape(const Matmul& op, MatmulPipe pipe) {
    const std::int64_t width = std::max(op.n, op.k);
    if (pipe == MatmulPipe::vector) {
        return op.type == DataType::fp32 && op.m >= 512 && op.m <= 65536 && op.n >= 768 &&
               op.k >= 512 && width <= 65536;
    }
    const bool type = bits_of(op.type) == 16 || op.type == DataType::fp8 ||
                      pipe == MatmulPipe::tf32 || pipe == MatmulPipe::four_bit;
    return type && op.m <= 32768 && std::min(op.n, op.k) >= 32 && width <= 65536;
}

}  // namespace

BandClass matmul_band(const MatmulSituation& s, MatmulRegime regime) {
    const bool umma = features_of(s.machine.compute_capability).tensor_memory;
    const bool hopper = s.machine.family == Family::hopper;
    const bool usual = is_usual(s.op.n) && is_usual(s.op.k);
    switch (s.pipe) {
        case MatmulPipe::vector:
            return BandClass::product_fma;
        case MatmulPipe::eight_bit:
            if (umma) return umma_class(s.pipe, regime);
            return hopper && !usual ? BandClass::product_old : eight_bit_class(regime);
        case MatmulPipe::four_bit:
            return umma_class(s.pipe, regime);
        case MatmulPipe::tf32:
        case MatmulPipe::align_4:
        case MatmulPipe::align_2:
            return BandClass::product_old;
        case MatmulPipe::tensor:
            break;
    }
    if (umma) return umma_class(s.pipe, regime);
    if (hopper && !usual) return BandClass::product_old;
    const bool fine = hopper || s.machine.family == Family::blackwell;
    return fine ? fine_class(regime) : coarse_class(regime);
}

BandClass bundled_band(Implementation implementation) {
    const bool by_elements =
        implementation == Implementation::naive || implementation == Implementation::coalesced;
    return by_elements ? BandClass::row_kernel : BandClass::product_bundled;
}

BandClass torch_band(const Matmul& op, L2State l2) {
    const bool thin = op.m <= most_few_rows;
    const bool warm = l2 == L2State::warm;
    switch (op.type) {
        case DataType::fp32:
            if (!thin) return BandClass::torch_fp32;
            return warm ? BandClass::torch_thin_warm : BandClass::torch_fp32_thin;
        case DataType::tf32:
            return BandClass::torch_tf32;
        case DataType::fp8:
            return BandClass::torch_fp8;
        case DataType::int8:
            return BandClass::torch_int8;
        default:
            if (!has_whole_vectors(op)) {
                return thin ? BandClass::torch_odd_thin : BandClass::torch_odd;
            }
            return warm ? BandClass::torch_warm : BandClass::torch_product;
    }
}

Validity matmul_validity(const MatmulSituation& s) {
    const bool measured = s.op.batch == 1 && s.l2 == L2State::warm && measured_shape(s.op, s.pipe);
    return measured ? Validity::validated : Validity::extrapolated;
}

}  // namespace ridge::model
