// The time of an attention call from the work that its kernels execute.
//
// A fused kernel divides queries into tiles and keys into blocks. `count_attention` counts tiles,
// blocks (whole ones, as executed), splits and traffic. This model gives the time of one block and
// of one tile:
//
//   block = max(tensor + softmax, load)                                            (eq. T1)
//   tile  = fixed + rows + columns: prologue, first load, epilogue, not overlapped (eq. T2)
//   span  = max(longest tile, average per SM + what runs on after it)              (eq. T3)
//   dram  = misses / bandwidth + start of a cold stream                            (eq. T4)
//   time  = start + cache write + norm5(span + clock droop, dram) + scan + copies + combine  (T5)
//
//   const AttentionWork counted = count_attention(op, Implementation::flash3, context);
//   attention_time(op, counted, Implementation::flash3, {}, machine).total
//
// Limits: fitted on 16-bit elements, equal lengths within a batch, paged caches, head_dim 64 to
// 256, forward. Other calls use the same costs with their own counts. No dropout.
#pragma once

#include "model/attention/work.h"
#include "model/machine/attention_parameters.h"
#include "model/machine/machine.h"
#include "model/roof/product_predictor.h"

namespace ridge::model {

/// The regime that determines the spread of the residuals; chosen from the model's own terms.
enum class AttentionRegime : std::uint8_t {
    decode_memory,
    decode_split,
    decode_waves,
    decode_latency,
    prefill_short,
    prefill_split,
    prefill_memory,
    prefill_tail,
    prefill_tiles,
    prefill_throughput,
    backward,
    unfused,
    bundled_tiles,
    bundled_decode,
    three_kernels
};
inline constexpr std::size_t attention_regime_count = 15;
[[nodiscard]] std::string_view name_of(AttentionRegime regime);

/// Terms of one call. `tensor` to `tiles` are averages per SM; together with `tail` they add up to
/// the span.
struct AttentionTime {
    Time total;
    Time launch;       ///< fixed times of the kernels and the gaps that the launch mode adds
    Time cache_write;  ///< without its fixed time
    Time scan;
    Time copies;  ///< reordering of grouped queries; kernels around the main one of a backward pass
    Time combine;
    Time tensor;
    Time softmax;  ///< exposed part
    Time load;     ///< what loading K and V adds to the matmuls and the softmax
    Time tiles;    ///< prologues and epilogues
    Time tail;     ///< longest tile or last wave beyond the average
    Time droop;
    Time dram;
    Bytes dram_bytes;      ///< bytes that miss the L2
    Flop executed_tensor;  ///< for three kernels, as the products' kernels pad them
    Bytes l2;              ///< for three kernels, by the tiles that the products take
    Bytes dram_write;      ///< part of `dram_bytes`, if three kernels are added up
    Bytes working_set;     ///< distinct bytes that the call touches
    double waves = 0.0;
    AttentionRegime regime = AttentionRegime::prefill_throughput;
};

/// The context that counting needs of a machine.
[[nodiscard]] AttentionContext attention_context(const Machine& machine);

/// Time of a fused kernel (flash1, flash2, flash3), forward or backward. `counted` is the count of
/// `op` for this machine, which must have multiprocessors.
[[nodiscard]] AttentionTime attention_time(const Attention& op, const AttentionWork& counted,
                                           Implementation implementation,
                                           const FlashParameters& fitted,
                                           const Execution& execution, const Machine& machine);

/// Time of a bundled kernel (mma, wgmma), which must have parameters. (eq. T13 to T15)
[[nodiscard]] AttentionTime bundled_attention_time(
    const Attention& op, const AttentionWork& counted, Implementation implementation,
    const AttentionParameters& fitted, const Execution& execution, const Machine& machine);

/// Time of forward attention as two library products and a softmax; empty if one of them is not
/// modelled. (eq. T16)
[[nodiscard]] std::optional<AttentionTime> three_kernel_attention_time(
    const Attention& op, const AttentionWork& counted, const StandardParameters& fitted,
    const Execution& execution, const Machine& machine, ProductPredictor product);

/// Time of unfused attention in an eager framework: one kernel after the other, each bound by its
/// matmul or its traffic (eq. T9).
[[nodiscard]] AttentionTime standard_attention_time(const Attention& op,
                                                    const AttentionWork& counted,
                                                    const StandardParameters& fitted,
                                                    const Execution& execution,
                                                    const Machine& machine);

}  // namespace ridge::model
