// The 80 % band of a time, from residuals of rows that were not used for fitting.
//
//   apply_band(prediction, BandClass::ring_simple, Confidence::calibrated, Validity::validated);
//   prediction.low, prediction.high
//
// Method: one table (band.cpp) gives, for each class of operation and regime, the 10 % and 90 %
// quantiles of ln(measured / predicted) and what they rest on. A GPU that takes its efficiencies
// from its family gets the class's family margin on both sides; outside the validated range the
// band is half as wide again. Add a class: one enumerator and one row.
// Limits: the band is of the model, not of one run on a busy or throttled machine.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/core/prediction.h"

namespace ridge::model {

enum class BandClass : std::uint8_t {
    stream_bundled,
    stream_bundled_short,
    stream_eager,
    row_bundled,
    sum_bundled,
    manual_bundled,  // softmax by five kernels
    transpose_bundled,
    transpose_scattered,
    gather_bundled,
    bundled_call,
    access,
    softmax_one_pass,
    softmax_passes,
    norm_short_rows,
    norm_long_rows,
    ring_ll,
    ring_ll128,
    ring_simple,
    ring_nvls,
    peer_ll,
    peer_simple,
    host_copy,
    // regimes of attention_time.h, in the order of AttentionRegime
    flash2_decode_memory,
    flash2_decode_split,
    flash2_decode_waves,
    flash2_decode_latency,
    flash2_prefill_short,
    flash2_prefill_split,
    flash2_prefill_memory,
    flash2_prefill_tail,
    flash2_prefill_tiles,
    flash2_prefill_throughput,
    flash3_decode_memory,
    flash3_decode_split,
    flash3_decode_waves,
    flash3_decode_latency,
    flash3_prefill_short,
    flash3_prefill_split,
    flash3_prefill_memory,
    flash3_prefill_tail,
    flash3_prefill_tiles,
    flash3_prefill_throughput,
    attention_contiguous,
    attention_contiguous_short,
    attention_backward,
    attention_unfused,
    // bundled kernels
    attention_mma,
    attention_wgmma,
    attention_decode,
    attention_standard,
    // regimes of matmul_model.h, in the order of MatmulRegime
    matmul_hopper_launch,
    matmul_hopper_split,
    matmul_hopper_memory,
    matmul_hopper_store,
    matmul_hopper_latency,
    matmul_hopper_pipe,
    matmul_hopper_power,
    matmul_hopper_quantise,
    matmul_ampere_launch,
    matmul_ampere_split,
    matmul_ampere_memory,
    matmul_ampere_store,
    matmul_ampere_latency,
    matmul_ampere_pipe,
    matmul_ampere_power,
    matmul_ampere_quantise,
    matmul_fp8_launch,
    matmul_fp8_split,
    matmul_fp8_memory,
    matmul_fp8_store,
    matmul_fp8_latency,
    matmul_fp8_pipe,
    matmul_fp8_power,
    matmul_fp8_quantise,
    matmul_fma,
    matmul_tf32,
    matmul_misaligned,
    matmul_elements,  // bundled: naive, coalesced
    matmul_tiles,     // tiled, register_tiled
    matmul_mma,
    matmul_wgmma
};

/// Quantiles of ln(measured / predicted) of one class, and their origin.
struct BandRow {
    BandClass band_class;
    double low;
    double high;
    double family_margin;  ///< added on both sides for a GPU that was not measured
    std::string_view validated_on;
};

enum class Validity : std::uint8_t { validated, extrapolated };

[[nodiscard]] const BandRow& band_row(BandClass band_class);

/// Sets the band and the confidence, and notes `uncalibrated` and `extrapolated`. The lower edge is
/// never below the roofline's bound.
void apply_band(Prediction& prediction, BandClass band_class, Confidence confidence,
                Validity validity);

}  // namespace ridge::model
