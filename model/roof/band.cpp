#include "model/roof/band.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/error.h"

namespace ridge::model {
namespace {

constexpr double extrapolation_factor = 1.5;

constexpr std::string_view bundled_records =
    "held-out records of the bundled kernels at random shapes, H200 SXM";
constexpr std::string_view eager_rows =
    "held-out rows of the NeuSight test set, whole shapes held out together, A100 PCIe and V100";
constexpr std::string_view nccl_rows =
    "held-out rows of aiconfigurator's NCCL tables, A100, H100 and H200 SXM";
constexpr std::string_view flash2_rows =
    "held-out (batch, heads) groups of aiconfigurator's attention tables, A100 SXM";
constexpr std::string_view flash3_rows =
    "held-out (batch, heads) groups of aiconfigurator's attention tables, H100 and H200 SXM";
constexpr std::string_view flash_figures =
    "throughput figures of FlashAttention-2 and 3, A100 and H100: 108 points";
constexpr std::string_view flash_tables =
    "tables of the FlashAttention paper, A100 40 GB, from 1024 tokens";
constexpr std::string_view bundled_attention =
    "held-out random shapes of the bundled attention kernels on an H200 SXM";
constexpr std::string_view library_hopper =
    "held-out rows of aiconfigurator's matrix-product tables, bf16, H100 and H200 SXM";
constexpr std::string_view library_ampere =
    "held-out rows of aiconfigurator's matrix-product tables, bf16, A100 SXM";
constexpr std::string_view library_fp8 =
    "held-out rows of aiconfigurator's matrix-product tables, fp8, H100 and H200 SXM";
constexpr std::string_view library_fma =
    "held-out rows of the NeuSight test set, fp32 products, A100 PCIe and V100";
constexpr std::string_view records_h200 =
    "held-out shapes of records of an H200, `ridge fit matmul --records`";
constexpr std::string_view nothing = "nothing measured: an estimate";

// clang-format off
constexpr std::array<BandRow, 81> rows{{
    {BandClass::stream_bundled, -0.055, 0.04, 0.12, bundled_records},
    {BandClass::stream_bundled_short, -0.115, 0.095, 0.12, bundled_records},
    {BandClass::stream_eager,     -0.03, 0.015, 0.12, eager_rows},
    {BandClass::row_bundled, -0.105, 0.13, 0.12, bundled_records},
    {BandClass::sum_bundled, -0.1, 0.105, 0.12, bundled_records},
    {BandClass::manual_bundled, -0.09, 0.065, 0.12, bundled_records},
    {BandClass::transpose_bundled, -0.105, 0.10, 0.12, bundled_records},
    {BandClass::transpose_scattered, -0.06, 0.055, 0.12, bundled_records},
    {BandClass::gather_bundled, -0.085, 0.085, 0.12, bundled_records},
    {BandClass::bundled_call, -0.1, 0.3, 0.12, bundled_records},
    {BandClass::access, -0.075, 0.15, 0.12, bundled_records},
    {BandClass::softmax_one_pass, -0.03, 0.05, 0.15, eager_rows},
    {BandClass::softmax_passes,   -0.07, 0.085, 0.15, eager_rows},
    {BandClass::norm_short_rows,  -0.08, 0.135, 0.15, eager_rows},
    {BandClass::norm_long_rows,   -0.038, 0.010, 0.15, eager_rows},
    {BandClass::ring_ll,          -0.07, 0.085, 0.35, nccl_rows},
    {BandClass::ring_ll128,       -0.07, 0.05, 0.35, nccl_rows},
    {BandClass::ring_simple,      -0.07, 0.07, 0.35, nccl_rows},
    {BandClass::ring_nvls,        -0.05, 0.05, 0.35, nccl_rows},
    {BandClass::peer_ll,          -0.07, 0.14, 0.35, nccl_rows},
    {BandClass::peer_simple,      -0.10, 0.10, 0.35, nccl_rows},
    {BandClass::host_copy,        -0.25, 0.35, 0.00, nothing},
    {BandClass::flash2_decode_memory, -0.043, 0.062, 0.06, flash2_rows},
    {BandClass::flash2_decode_split, -0.060, 0.045, 0.06, flash2_rows},
    {BandClass::flash2_decode_waves, -0.054, 0.049, 0.06, flash2_rows},
    {BandClass::flash2_decode_latency, -0.027, 0.032, 0.06, flash2_rows},
    {BandClass::flash2_prefill_short, -0.027, 0.040, 0.06, flash2_rows},
    {BandClass::flash2_prefill_split, -0.124, 0.058, 0.06, flash2_rows},
    {BandClass::flash2_prefill_memory, -0.080, 0.070, 0.06, flash2_rows},
    {BandClass::flash2_prefill_tail, -0.062, 0.046, 0.06, flash2_rows},
    {BandClass::flash2_prefill_tiles, -0.064, 0.040, 0.06, flash2_rows},
    {BandClass::flash2_prefill_throughput, -0.027, 0.027, 0.06, flash2_rows},
    {BandClass::flash3_decode_memory, -0.041, 0.074, 0.06, flash3_rows},
    {BandClass::flash3_decode_split, -0.070, 0.077, 0.06, flash3_rows},
    {BandClass::flash3_decode_waves, -0.073, 0.081, 0.06, flash3_rows},
    {BandClass::flash3_decode_latency, -0.064, 0.056, 0.06, flash3_rows},
    {BandClass::flash3_prefill_short, -0.043, 0.076, 0.06, flash3_rows},
    {BandClass::flash3_prefill_split, -0.124, 0.058, 0.06, flash3_rows},
    {BandClass::flash3_prefill_memory, -0.080, 0.112, 0.06, flash3_rows},
    {BandClass::flash3_prefill_tail, -0.068, 0.057, 0.06, flash3_rows},
    {BandClass::flash3_prefill_tiles, -0.068, 0.069, 0.06, flash3_rows},
    {BandClass::flash3_prefill_throughput, -0.051, 0.046, 0.06, flash3_rows},
    {BandClass::attention_contiguous, -0.105, 0.113, 0.06, flash_figures},
    {BandClass::attention_contiguous_short, -0.330, 0.300, 0.10, nothing},
    {BandClass::attention_backward, -0.105, 0.113, 0.06, flash_figures},
    {BandClass::attention_unfused, -0.080, 0.170, 0.12, flash_tables},
    {BandClass::attention_mma, -0.038, 0.041, 0.12, bundled_attention},
    {BandClass::attention_wgmma, -0.033, 0.042, 0.12, bundled_attention},
    {BandClass::attention_decode, -0.037, 0.044, 0.12, bundled_attention},
    {BandClass::attention_standard, -0.103, 0.131, 0.12, bundled_attention},
    {BandClass::matmul_hopper_launch, -0.053, 0.072, 0.06, library_hopper},
    {BandClass::matmul_hopper_split, -0.092, 0.089, 0.06, library_hopper},
    {BandClass::matmul_hopper_memory, -0.062, 0.086, 0.06, library_hopper},
    {BandClass::matmul_hopper_store, -0.105, 0.122, 0.06, library_hopper},
    {BandClass::matmul_hopper_latency, -0.060, 0.097, 0.06, library_hopper},
    {BandClass::matmul_hopper_pipe, -0.087, 0.103, 0.06, library_hopper},
    {BandClass::matmul_hopper_power, -0.061, 0.094, 0.06, library_hopper},
    {BandClass::matmul_hopper_quantise, -0.073, 0.095, 0.06, library_hopper},
    {BandClass::matmul_ampere_launch, -0.171, 0.149, 0.06, library_ampere},
    {BandClass::matmul_ampere_split, -0.092, 0.117, 0.06, library_ampere},
    {BandClass::matmul_ampere_memory, -0.069, 0.136, 0.06, library_ampere},
    {BandClass::matmul_ampere_store, -0.151, 0.171, 0.06, library_ampere},
    {BandClass::matmul_ampere_latency, -0.117, 0.148, 0.06, library_ampere},
    {BandClass::matmul_ampere_pipe, -0.103, 0.165, 0.06, library_ampere},
    {BandClass::matmul_ampere_power, -0.042, 0.035, 0.06, library_ampere},
    {BandClass::matmul_ampere_quantise, -0.117, 0.148, 0.06, library_ampere},
    {BandClass::matmul_fp8_launch, -0.080, 0.098, 0.06, library_fp8},
    {BandClass::matmul_fp8_split, -0.062, 0.086, 0.06, library_fp8},
    {BandClass::matmul_fp8_memory, -0.044, 0.063, 0.06, library_fp8},
    {BandClass::matmul_fp8_store, -0.075, 0.115, 0.06, library_fp8},
    {BandClass::matmul_fp8_latency, -0.046, 0.086, 0.06, library_fp8},
    {BandClass::matmul_fp8_pipe, -0.078, 0.090, 0.06, library_fp8},
    {BandClass::matmul_fp8_power, -0.053, 0.071, 0.06, library_fp8},
    {BandClass::matmul_fp8_quantise, -0.037, 0.037, 0.06, library_fp8},
    {BandClass::matmul_fma, -0.080, 0.140, 0.15, library_fma},
    {BandClass::matmul_tf32, -0.190, 0.170, 0.10, records_h200},
    {BandClass::matmul_misaligned, -0.130, 0.190, 0.10, records_h200},
    {BandClass::matmul_elements, -0.075, 0.095, 0.15, records_h200},
    {BandClass::matmul_tiles, -0.060, 0.053, 0.15, records_h200},
    {BandClass::matmul_mma, -0.058, 0.052, 0.15, records_h200},
    {BandClass::matmul_wgmma, -0.065, 0.076, 0.15, records_h200},
}};
// clang-format on

constexpr bool in_order() {
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (static_cast<std::size_t>(rows[i].band_class) != i) return false;
    }
    return true;
}
static_assert(in_order(), "the rows stand in the order of BandClass");

}  // namespace

const BandRow& band_row(BandClass band_class) {
    const auto index = static_cast<std::size_t>(band_class);
    RIDGE_CONTRACT(index < rows.size());
    return rows[index];
}

void apply_band(Prediction& prediction, BandClass band_class, Confidence confidence,
                Validity validity) {
    const BandRow& row = band_row(band_class);
    const double margin = confidence == Confidence::calibrated ? 0.0 : row.family_margin;
    const double factor = validity == Validity::validated ? 1.0 : extrapolation_factor;
    const Time low = prediction.time * std::exp(factor * (row.low - margin));
    prediction.low = std::min(prediction.time, std::max(prediction.lower_bound, low));
    prediction.high = prediction.time * std::exp(factor * (row.high + margin));
    prediction.confidence = confidence;
    if (confidence == Confidence::family) prediction.note(NoteCode::uncalibrated);
    if (validity == Validity::extrapolated) prediction.note(NoteCode::extrapolated);
}

}  // namespace ridge::model
