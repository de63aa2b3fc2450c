// Classes of predictions that share one 80 % band: operations and regimes whose residuals have the
// same spread. Their bands are in `model/roof/band.h`; the code of each operation says which class
// it belongs to.
//
//   prediction.band_class == BandClass::decode_uneven
//   name_of(BandClass::decode_uneven)   // "decode_uneven"
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace ridge::model {

enum class BandClass : std::uint8_t {
    stream,           // bundled copies and elementwise kernels of more than a few microseconds
    row_kernel,       // bundled kernels with rounds, scattered accesses or short streams
    host_call,        // bundled kernels that wait for the host
    access,           // access patterns
    eager_stream,     // eager elementwise, layer norms of long rows
    eager_softmax,    // eager softmax in one pass
    eager_rows,       // eager kernels that read rows again; norms of short rows
    torch_stream,     // PyTorch's pointwise kernels and copies
    torch_lookup,     // PyTorch's gather and cat
    torch_transpose,  // PyTorch's transposes
    torch_optimizer,  // PyTorch's optimizer steps with one kernel for each of a few operations
    torch_fused,      // PyTorch's optimizer steps in one fused kernel
    torch_rows,       // PyTorch's norms and running sums
    torch_softmax,    // PyTorch's softmax
    torch_gradient,   // gradients of norms, softmax and losses
    torch_loss,       // PyTorch's losses
    torch_reduce,     // PyTorch's reductions
    torch_generated,  // pointwise kernels of torch.compile
    compiled_rows,    // kernels of torch.compile along rows or columns
    compiled_timed,   // the same when Inductor times the configuration on the spot
    torch_product,    // products as PyTorch calls them, 16 bits
    torch_warm,       // the same with operands in the L2
    torch_odd,        // 16 bits, rows not at multiples of 16 bytes
    torch_odd_thin,   // the same with up to 16 rows
    torch_tf32,       // tf32
    torch_fp32,       // fp32
    torch_fp32_thin,  // fp32, up to 16 rows
    torch_thin_warm,  // the same with operands in the L2
    torch_fp8,        // fp8
    torch_int8,       // int8
    torch_attention,  // backends of scaled_dot_product_attention
    torch_backward,   // their backward passes, except:
    torch_efficient,  // the backward pass of the efficient backend
    ring,             // collectives by rings, in the switch, or by full messages between peers
    peer_ll,          // all-to-all and send with the low-latency protocol
    serving_steady,   // FlashAttention-2 in full waves
    serving_smooth,   // decode bound by memory or latency; prefill bound by throughput or tails
    serving_uneven,   // FlashAttention-3: split keys, waves, few tiles
    serving_memory,   // prefill of split or evicted keys
    umma_prefill,     // Blackwell: prefill
    umma_decode,      // Blackwell: decode
    cache8_prefill,   // prefill over an 8-bit cache
    cache8_decode,    // decode over an 8-bit cache
    latent_prefill,   // latent attention, prefill
    latent_decode,    // latent attention, absorbed decoding
    experts,          // blocks of experts
    published,        // contiguous and backward flash attention
    unfused,          // attention as an eager framework composes it
    attention_tiles,  // bundled fused attention
    product_fixed,    // 8-bit products bound by quantising; Ampere's under the power limit
    product_stream,   // 8-bit products bound by DRAM
    product_smooth,   // Hopper: products bound by launch, DRAM, latency and power; 8-bit pipes
    product_split,    // Hopper: products bound by split k, stores and pipes; 8-bit stores
    umma_even,        // Blackwell: products bound by launch, DRAM, latency and power
    umma_uneven,      // Blackwell: products bound by split k, stores and pipes
    umma_narrow,      // Blackwell: products of 8 bits and fewer
    product_ampere,   // Ampere: products bound by split k and DRAM
    product_coarse,   // Ampere: products bound by launch, stores, latency and pipes, in whole waves
    product_fma,      // fp32 library products
    product_old,      // tf32, and operands whose rows are not multiples of 16 bytes
    product_bundled,  // bundled products by tiles
    engine_kernel,    // an engine's kernel without a band of its own
    estimate,         // nothing was measured
    roofline          // no time model: from the lower bound to four times the estimate and a call
};

/// Classes that have a band: all but `roofline`.
inline constexpr std::size_t band_class_count = 63;

inline constexpr std::array<std::string_view, band_class_count + 1> band_class_names{
    "stream",          "row_kernel",
    "host_call",       "access",
    "eager_stream",    "eager_softmax",
    "eager_rows",      "torch_stream",
    "torch_lookup",    "torch_transpose",
    "torch_optimizer", "torch_fused",
    "torch_rows",      "torch_softmax",
    "torch_gradient",  "torch_loss",
    "torch_reduce",    "torch_generated",
    "compiled_rows",   "compiled_timed",
    "torch_product",   "torch_warm",
    "torch_odd",       "torch_odd_thin",
    "torch_tf32",      "torch_fp32",
    "torch_fp32_thin", "torch_thin_warm",
    "torch_fp8",       "torch_int8",
    "torch_attention", "torch_backward",
    "torch_efficient", "ring",
    "peer_ll",         "serving_steady",
    "serving_smooth",  "serving_uneven",
    "serving_memory",  "umma_prefill",
    "umma_decode",     "cache8_prefill",
    "cache8_decode",   "latent_prefill",
    "latent_decode",   "experts",
    "published",       "unfused",
    "attention_tiles", "product_fixed",
    "product_stream",  "product_smooth",
    "product_split",   "umma_even",
    "umma_uneven",     "umma_narrow",
    "product_ampere",  "product_coarse",
    "product_fma",     "product_old",
    "product_bundled", "engine_kernel",
    "estimate",        "roofline"};

[[nodiscard]] constexpr std::string_view name_of(BandClass band_class) {
    return band_class_names[static_cast<std::size_t>(band_class)];
}
static_assert(name_of(BandClass::roofline) == "roofline", "one name per class");

}  // namespace ridge::model
