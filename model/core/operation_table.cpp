// The tables behind fields.h: every field with its words, every operation with its fields.
#include <algorithm>
#include <array>
#include <vector>

#include "hardware/error.h"
#include "hardware/nearest.h"
#include "model/core/fields.h"
#include "model/expression/functions.h"

namespace ridge::model {
namespace {

using enum Field;

constexpr std::array<FieldInfo, field_count> fields{{
    {pattern, "pattern", FieldKind::word,
     "access pattern: strided, misaligned, divergent, bank_conflict, chase or reread"},
    {part, "part", FieldKind::word,
     "conv (the short convolution), scan (the recurrence), or conv+scan in one kernel", "scan"},
    {phase, "phase", FieldKind::word,
     "mla: prefill, or decode with absorbed products; gdn, kda, mamba2: context, generation or "
     "verify (drafted tokens)",
     "decode if seq_q is less than seq_kv; generation if seq is 1"},
    {dtype, "dtype", FieldKind::word,
     "element type: fp64, fp32, tf32, fp16, bf16, fp8, int8; products also fp8_block, nvfp4; "
     "experts also mxfp8",
     "bf16"},
    {kv_dtype, "kv_dtype", FieldKind::word, "element type of the cache", "dtype"},
    {weight_dtype, "weight_dtype", FieldKind::word,
     "element type of the weights: dtype, or int4, int8, mxfp4, nvfp4 beside another dtype",
     "dtype"},
    {batch, "batch", FieldKind::count, "independent problems", "1"},
    {m, "m", FieldKind::count, "rows of A and C"},
    {n, "n", FieldKind::count, "columns of B and C"},
    {k, "k", FieldKind::count, "columns of A, rows of B"},
    {accumulate, "accumulate", FieldKind::word, "accumulator type: fp32, fp16 or fp64",
     "fp32; fp64 for fp64"},
    {out_dtype, "out_dtype", FieldKind::word, "element type of the result (int8: fp32 or int32)",
     "dtype; bf16 for fp8, fp32 for tf32 and int8"},
    {a_layout, "a_layout", FieldKind::word, "row (k contiguous) or column", "row"},
    {b_layout, "b_layout", FieldKind::word, "row (n contiguous) or column", "row"},
    {epilogue, "epilogue", FieldKind::word, "none, bias, bias_relu, bias_gelu, accumulate", "none"},
    {heads, "heads", FieldKind::count, "query heads"},
    {kv_heads, "kv_heads", FieldKind::count, "key and value heads", "heads"},
    {seq, "seq", FieldKind::count, "tokens: sets seq_q and seq_kv"},
    {seq_q, "seq_q", FieldKind::count, "query tokens"},
    {seq_kv, "seq_kv", FieldKind::count, "key and value tokens", "seq_q"},
    {decodes, "decodes", FieldKind::count, "sequences that decode one token beside the new tokens"},
    {decode_kv, "decode_kv", FieldKind::count,
     "tokens in the cache of each of them, its own with it"},
    {head_dim, "head_dim", FieldKind::count, "elements of one head", "128"},
    {latent_dim, "latent_dim", FieldKind::count, "elements of a token's latent", "512"},
    {rope_dim, "rope_dim", FieldKind::count, "elements of a token's rotated key", "64"},
    {causal, "causal", FieldKind::flag, "mask later keys (aligned to the last token)", "no"},
    {window, "window", FieldKind::count, "most keys that a query sees (sliding window)",
     "all keys"},
    {kv_write, "kv_write", FieldKind::flag, "also write the new tokens' K and V to the cache",
     "no"},
    {paged, "paged", FieldKind::flag, "K and V are read through a page table", "same as kv_write"},
    {tokens, "tokens", FieldKind::count, "tokens of the batch", "batch x seq of gdn, kda, mamba2"},
    {hidden, "hidden", FieldKind::count, "elements of a token"},
    {intermediate, "intermediate", FieldKind::count, "inner width of one expert"},
    {topk, "topk", FieldKind::count,
     "experts that each token is sent to, keys of a query, or results of each row"},
    {experts, "experts", FieldKind::count, "number of experts"},
    {gated, "gated", FieldKind::flag, "experts of three matrices, with a gate, or of two without",
     "yes; no for the sizes of published models without one"},
    {tp, "tp", FieldKind::count, "GPUs that split the inner width of every expert", "1"},
    {ep, "ep", FieldKind::count, "GPUs that share the experts", "1"},
    {distribution, "distribution", FieldKind::word,
     "how tokens spread over experts: balanced, or power_law_E with exponent E", "balanced"},
    {d_model, "d_model", FieldKind::count,
     "width of the model around gdn, kda, mamba2 (no part of their cost)", "any"},
    {conv, "conv", FieldKind::count, "width of the causal convolution", "4"},
    {k_heads, "k_heads", FieldKind::count, "heads of q and k on this GPU"},
    {head_k_dim, "head_k_dim", FieldKind::count, "elements of one head of q and k", "128"},
    {v_heads, "v_heads", FieldKind::count, "heads of v on this GPU, each with a state", "k_heads"},
    {head_v_dim, "head_v_dim", FieldKind::count, "elements of one head of v", "128"},
    {state, "state", FieldKind::count, "mamba2: elements of the state per channel", "128"},
    {groups, "groups", FieldKind::count, "mamba2: groups of heads that share B and C", "1"},
    {chunk, "chunk", FieldKind::count, "tokens that a kernel of the prompt takes at once",
     "64; mamba2: 256"},
    {rows, "rows", FieldKind::count, "rows"},
    {cols, "cols", FieldKind::count, "columns: elements of one row"},
    {inner, "inner", FieldKind::count,
     "elements that a transpose keeps together, or that lie together in views that cat joins",
     "1; contiguous inputs of cat"},
    {inputs, "inputs", FieldKind::count,
     "number of tensors that cat joins, or that hold the parameters", "1"},
    {axis, "axis", FieldKind::word,
     "results of a reduction: one per row (rows), per column (columns), or one (all)",
     "rows; columns of cat"},
    {table_rows, "table_rows", FieldKind::count, "rows of the embedding table"},
    {elements, "elements", FieldKind::count, "elements of each tensor"},
    {stride, "stride", FieldKind::count, "elements from one read to the next", "1"},
    {offset, "offset", FieldKind::count, "misaligned: elements before the first read", "0"},
    {paths, "paths", FieldKind::count, "divergent: code paths that each warp takes, 1 to 32", "1"},
    {ways, "ways", FieldKind::count,
     "bank_conflict: threads of a warp that share one bank, 1 to 32", "1"},
    {expr, "expr", FieldKind::text, "expression, for example \"gelu(x + bias)\""},
    {vectors, "vectors", FieldKind::text,
     "inputs of expr that are broadcast vectors, separated by commas", "bias, gamma, scale"},
    {scalars, "scalars", FieldKind::text, "inputs of expr that are scalars, separated by commas",
     "c, alpha, beta, eps"},
    {direction, "direction", FieldKind::word, "forward or backward", "forward"},
    {gpus, "gpus", FieldKind::count, "GPUs that take part", "2"},
    {flop, "flop", FieldKind::count, "kernel: FLOP of the launch", "none"},
    {pipe, "pipe", FieldKind::word, "kernel: pipe of its arithmetic, vector or tensor", "vector"},
    {bytes, "bytes", FieldKind::count,
     "message size in bytes (not elements); kernel: from and to DRAM", "none"},
    {l2_bytes, "l2_bytes", FieldKind::count, "kernel: bytes between L2 and multiprocessors",
     "bytes"},
    {grid, "grid", FieldKind::count, "kernel: blocks, 512 or 16x32", "not known"},
    {block, "block", FieldKind::count, "kernel: threads of a block, 256 or 32x8", "256"},
    {registers, "registers", FieldKind::count, "kernel: registers of a thread", "0"},
    {shared, "shared", FieldKind::count, "kernel: bytes of shared memory of a block", "0"},
    {nvls, "nvls", FieldKind::word,
     "whether the switch between the GPUs may add (NVLS): auto, or off", "auto"},
    {impl, "impl", FieldKind::word, "implementation", "auto"},
    {tile, "tile", FieldKind::word, "tile MxN[xK] instead of the model's choice",
     "the model's choice"},
    {l2, "l2", FieldKind::word, "L2 cache at the start: warm, cold, or dirty (to be written back)",
     "warm"},
    {launch, "launch", FieldKind::word,
     "what the time holds: kernel, graph, or stream (eager calls)", "kernel"},
    {software, "software", FieldKind::word,
     "library, framework or engine that runs it: NAME or NAME-VERSION", "the newest of all"},
    {kernel, "kernel", FieldKind::word, "kernel of that software, by its own name",
     "what the software picks"},
    {mode, "mode", FieldKind::word, "how the software runs: auto, eager, compiled or graph",
     "auto"},
}};

constexpr std::array common_required_rows{rows, cols};
constexpr std::array matmul_required{m, n, k};
constexpr std::array matmul_optional{dtype,    batch,    accumulate, out_dtype, a_layout,
                                     b_layout, epilogue, impl,       tile,      l2,
                                     launch,   software, kernel,     mode};
constexpr std::array attention_required{heads, head_dim};
constexpr std::array attention_optional{dtype,  kv_dtype, batch,  kv_heads, seq,    seq_q,
                                        seq_kv, causal,   window, kv_write, paged,  direction,
                                        impl,   l2,       launch, software, kernel, mode};
constexpr std::array mla_required{heads};
constexpr std::array mla_optional{phase, dtype,  kv_dtype,   batch,    seq,
                                  seq_q, seq_kv, latent_dim, rope_dim, head_dim,
                                  impl,  l2,     launch,     software, mode};
constexpr std::array indexer_optional{dtype, batch, seq,    seq_q,    seq_kv, head_dim,
                                      impl,  l2,    launch, software, mode,   kernel};
constexpr std::array sparse_required{heads, topk};
constexpr std::array sparse_optional{dtype,  kv_dtype,   batch,    seq,   seq_q,
                                     seq_kv, latent_dim, rope_dim, impl,  l2,
                                     launch, software,   mode,     kernel};
constexpr std::array mixed_required{heads, seq_q, decodes, decode_kv};
constexpr std::array mixed_optional{dtype, kv_dtype, kv_heads, seq_kv, head_dim, impl,
                                    l2,    launch,   software, mode,   kernel};
constexpr std::array moe_required{tokens, hidden, intermediate, topk, experts};
constexpr std::array moe_optional{dtype, weight_dtype, gated,  tp,       ep,   distribution,
                                  impl,  l2,           launch, software, mode, kernel};
constexpr std::array delta_required{seq, k_heads};
constexpr std::array delta_optional{part,   phase,    dtype,      batch,      tokens, d_model,
                                    conv,   v_heads,  head_k_dim, chunk,      impl,   l2,
                                    launch, software, mode,       head_v_dim, kernel};
constexpr std::array mamba_required{heads, seq};
constexpr std::array mamba_optional{part, phase,    dtype,    batch, tokens, d_model,
                                    conv, head_dim, groups,   state, chunk,  impl,
                                    l2,   launch,   software, mode,  kernel};
constexpr std::array topk_required{rows, cols, topk};
constexpr std::array quantize_optional{dtype, out_dtype, impl, l2, launch, software, mode};
constexpr std::array conv1d_required{seq, cols};
constexpr std::array conv1d_optional{dtype, batch, conv, impl, l2, launch, software, mode};
constexpr std::array elementwise_required{expr, elements};
constexpr std::array elementwise_optional{dtype, vectors, scalars, out_dtype, direction,
                                          impl,  l2,      launch,  software,  mode};
constexpr std::array rows_optional{dtype, direction, impl, l2, launch, software, mode};
constexpr std::array reduction_optional{dtype, axis, direction, impl, l2, launch, software, mode};
constexpr std::array forward_reduction_optional{dtype, axis, impl, l2, launch, software, mode};
constexpr std::array transpose_optional{dtype, batch, inner, impl, l2, launch, software, mode};
constexpr std::array copy_required{elements};
constexpr std::array copy_optional{dtype, stride, impl, l2, launch, software, mode};
constexpr std::array adamw_optional{dtype, inputs, impl, l2, launch, software, mode};
constexpr std::array cat_required{inputs, rows, cols};
constexpr std::array cat_optional{dtype, axis, inner, impl, l2, launch, software, mode};
constexpr std::array plain_optional{dtype, impl, l2, launch, software, mode};
constexpr std::array gather_required{rows, cols, table_rows};
constexpr std::array access_required{pattern, elements};
constexpr std::array access_optional{dtype, stride, offset, paths,    ways,
                                     impl,  l2,     launch, software, mode};
constexpr std::array collective_required{bytes};
constexpr std::array collective_optional{gpus, dtype, nvls, impl, launch, software, mode, kernel};
constexpr std::array transfer_optional{gpus, dtype, impl, launch, software, mode};
constexpr std::array send_optional{gpus, dtype, nvls, impl, launch, software, mode};

constexpr std::span<const Field> nothing_required{};
constexpr std::array kernel_optional{flop, dtype, pipe,      bytes,  l2_bytes,
                                     grid, block, registers, shared, launch};

constexpr std::array matmul_ways{
    Implementation::library, Implementation::naive,          Implementation::coalesced,
    Implementation::tiled,   Implementation::register_tiled, Implementation::mma,
    Implementation::wgmma,   Implementation::torch,          Implementation::compiled};
constexpr std::array attention_ways{Implementation::standard,    Implementation::torch,
                                    Implementation::flash1,      Implementation::flash2,
                                    Implementation::flash3,      Implementation::flashinfer,
                                    Implementation::mma,         Implementation::wgmma,
                                    Implementation::torch_flash, Implementation::torch_efficient,
                                    Implementation::torch_cudnn, Implementation::torch_math};
constexpr std::array moe_ways{Implementation::cutlass};
constexpr std::array elementwise_ways{Implementation::fused, Implementation::unfused,
                                      Implementation::torch, Implementation::compiled};
constexpr std::array softmax_ways{Implementation::fused, Implementation::manual,
                                  Implementation::torch, Implementation::compiled};
constexpr std::array fused_way{Implementation::fused};
constexpr std::array row_ways{Implementation::fused, Implementation::torch,
                              Implementation::compiled};
constexpr std::array framework_ways{Implementation::torch, Implementation::compiled};
constexpr std::array torch_way{Implementation::torch};
constexpr std::array adamw_ways{Implementation::torch, Implementation::fused};
constexpr std::array transpose_ways{Implementation::tiled, Implementation::naive,
                                    Implementation::torch};
constexpr std::array plain_ways{Implementation::bundled, Implementation::torch};
constexpr std::array bundled_way{Implementation::bundled};
constexpr std::array library_way{Implementation::library};
constexpr std::array collective_ways{Implementation::library, Implementation::torch};
constexpr std::array all_reduce_ways{Implementation::library, Implementation::torch,
                                     Implementation::custom};
constexpr std::array send_ways{Implementation::library, Implementation::torch,
                               Implementation::copy_engine};
constexpr std::array own_way{Implementation::custom};
constexpr std::array host_ways{Implementation::library, Implementation::pageable};

using Kind = OperationKind;
const std::array<OperationInfo, operation_kind_count> operations{{
    {Kind::matmul, "matmul", "C[batch,m,n] = A[batch,m,k] B[batch,k,n]", matmul_required,
     matmul_optional, matmul_ways},
    {Kind::attention, "attention", "softmax(Q K^T) V, forward or backward", attention_required,
     attention_optional, attention_ways},
    {Kind::mla, "mla", "latent attention (DeepSeek), prefill or absorbed decode", mla_required,
     mla_optional, library_way},
    {Kind::indexer, "indexer", "scores of all keys of a query, from which sparse attention chooses",
     mla_required, indexer_optional, fused_way},
    {Kind::sparse_mla, "sparse_mla", "latent attention over the topk keys that an indexer chose",
     sparse_required, sparse_optional, fused_way},
    {Kind::mixed_attention, "mixed_attention",
     "attention of a mixed step: new tokens of a prompt and sequences that decode", mixed_required,
     mixed_optional, fused_way},
    {Kind::moe, "moe", "a block of experts: routing, grouped products, weighted sum", moe_required,
     moe_optional, moe_ways},
    {Kind::gdn, "gdn", "gated delta rule: short convolution, recurrence, or both", delta_required,
     delta_optional, fused_way},
    {Kind::kda, "kda", "Kimi delta attention: short convolution, recurrence, or both",
     delta_required, delta_optional, fused_way},
    {Kind::mamba2, "mamba2", "Mamba-2: short convolution, state space recurrence, or both",
     mamba_required, mamba_optional, fused_way},
    {Kind::topk, "topk", "the largest of each row, with their positions", topk_required,
     plain_optional, fused_way},
    {Kind::rope, "rope", "rotary embedding of each token's queries and keys", common_required_rows,
     plain_optional, fused_way},
    {Kind::swiglu, "swiglu", "out[rows,cols] = silu(a) * b with a and b side by side",
     common_required_rows, plain_optional, fused_way},
    {Kind::quantize, "quantize", "rows to a narrower type, with its scales", common_required_rows,
     quantize_optional, fused_way},
    {Kind::conv1d, "conv1d", "causal convolution along the tokens, channel by channel",
     conv1d_required, conv1d_optional, fused_way},
    {Kind::elementwise, "elementwise", "an expression over every element", elementwise_required,
     elementwise_optional, elementwise_ways},
    {Kind::softmax, "softmax", "softmax along each row", common_required_rows, rows_optional,
     softmax_ways},
    {Kind::layernorm, "layernorm", "layer normalisation of each row", common_required_rows,
     rows_optional, row_ways},
    {Kind::rmsnorm, "rmsnorm", "root-mean-square normalisation of each row", common_required_rows,
     rows_optional, row_ways},
    {Kind::sum, "sum", "sum of each row, of each column, or of all", common_required_rows,
     reduction_optional, row_ways},
    {Kind::mean, "mean", "mean of each row, of each column, or of all", common_required_rows,
     reduction_optional, framework_ways},
    {Kind::max, "max", "largest element of each row, of each column, or of all",
     common_required_rows, forward_reduction_optional, framework_ways},
    {Kind::argmax, "argmax",
     "position of the largest element of each row, of each column, or of all", common_required_rows,
     forward_reduction_optional, framework_ways},
    {Kind::cross_entropy, "cross_entropy", "loss of each row of logits against its target",
     common_required_rows, rows_optional, framework_ways},
    {Kind::scan, "scan", "running sums along each row", common_required_rows, plain_optional,
     torch_way},
    {Kind::transpose, "transpose", "out[batch,cols,rows,inner] = in[batch,rows,cols,inner]",
     common_required_rows, transpose_optional, transpose_ways},
    {Kind::copy, "copy", "out = in, or every stride-th element of it", copy_required, copy_optional,
     plain_ways},
    {Kind::gather, "gather", "embedding rows by index", gather_required, plain_optional,
     plain_ways},
    {Kind::cat, "cat", "tensors joined into one", cat_required, cat_optional, torch_way},
    {Kind::adamw, "adamw", "optimizer step of AdamW", copy_required, adamw_optional, adamw_ways},
    {Kind::access, "access",
     "strided, misaligned or repeated reads, divergent branches, bank conflicts, a pointer chase",
     access_required, access_optional, bundled_way},
    {Kind::all_reduce, "all_reduce", "sum over GPUs, result everywhere", collective_required,
     collective_optional, all_reduce_ways},
    {Kind::all_gather, "all_gather", "concatenation over GPUs, result everywhere",
     collective_required, collective_optional, collective_ways},
    {Kind::reduce_scatter, "reduce_scatter", "sum over GPUs, each GPU keeps a part",
     collective_required, collective_optional, collective_ways},
    {Kind::all_to_all, "all_to_all", "every GPU sends a part to every other", collective_required,
     collective_optional, collective_ways},
    {Kind::broadcast, "broadcast", "one GPU sends to all others", collective_required,
     collective_optional, collective_ways},
    {Kind::send, "send", "one GPU sends to another", collective_required, send_optional, send_ways},
    {Kind::host_to_device, "host_to_device", "copy from host memory, pinned or pageable",
     collective_required, transfer_optional, host_ways},
    {Kind::device_to_host, "device_to_host", "copy to host memory, pinned or pageable",
     collective_required, transfer_optional, host_ways},
    {Kind::kernel, "kernel", "a kernel of your own, known by its FLOP, bytes and launch",
     nothing_required, kernel_optional, own_way},
}};

constexpr std::array row_kinds{Kind::softmax, Kind::layernorm,     Kind::rmsnorm,
                               Kind::sum,     Kind::mean,          Kind::max,
                               Kind::argmax,  Kind::cross_entropy, Kind::scan};
constexpr std::array recurrence_kinds{Kind::gdn, Kind::kda, Kind::mamba2};
constexpr std::array token_kinds{Kind::topk, Kind::rope, Kind::swiglu, Kind::quantize,
                                 Kind::conv1d};
constexpr std::array collective_kinds{
    Kind::all_reduce, Kind::all_gather, Kind::reduce_scatter, Kind::all_to_all,
    Kind::broadcast,  Kind::send,       Kind::host_to_device, Kind::device_to_host};

constexpr std::array<OperationAlias, 24> alias_table{{{"gated_delta_rule", Kind::gdn},
                                                      {"ssd", Kind::mamba2},
                                                      {"quantise", Kind::quantize},
                                                      {"silu_and_mul", Kind::swiglu},
                                                      {"cumsum", Kind::scan},
                                                      {"gemm", Kind::matmul},
                                                      {"mm", Kind::matmul},
                                                      {"bmm", Kind::matmul},
                                                      {"linear", Kind::matmul},
                                                      {"attn", Kind::attention},
                                                      {"sdpa", Kind::attention},
                                                      {"pointwise", Kind::elementwise},
                                                      {"layer_norm", Kind::layernorm},
                                                      {"rms_norm", Kind::rmsnorm},
                                                      {"embedding", Kind::gather},
                                                      {"index_select", Kind::gather},
                                                      {"allreduce", Kind::all_reduce},
                                                      {"allgather", Kind::all_gather},
                                                      {"reducescatter", Kind::reduce_scatter},
                                                      {"alltoall", Kind::all_to_all},
                                                      {"bcast", Kind::broadcast},
                                                      {"h2d", Kind::host_to_device},
                                                      {"d2h", Kind::device_to_host},
                                                      {"memcpy", Kind::copy}}};

struct KindOf {
    Kind operator()(const Matmul&) const { return Kind::matmul; }
    Kind operator()(const Attention&) const { return Kind::attention; }
    Kind operator()(const Mla&) const { return Kind::mla; }
    Kind operator()(const SparseAttention& op) const {
        return op.part == SparsePart::index ? Kind::indexer : Kind::sparse_mla;
    }
    Kind operator()(const MixedAttention&) const { return Kind::mixed_attention; }
    Kind operator()(const Moe&) const { return Kind::moe; }
    Kind operator()(const Recurrence& op) const {
        return recurrence_kinds[static_cast<std::size_t>(op.kind)];
    }
    Kind operator()(const TokenWise& op) const {
        return token_kinds[static_cast<std::size_t>(op.kind)];
    }
    Kind operator()(const Elementwise&) const { return Kind::elementwise; }
    Kind operator()(const RowWise& op) const {
        return row_kinds[static_cast<std::size_t>(op.kind)];
    }
    Kind operator()(const Transpose&) const { return Kind::transpose; }
    Kind operator()(const Copy&) const { return Kind::copy; }
    Kind operator()(const Gather&) const { return Kind::gather; }
    Kind operator()(const Cat&) const { return Kind::cat; }
    Kind operator()(const AdamW&) const { return Kind::adamw; }
    Kind operator()(const Access&) const { return Kind::access; }
    Kind operator()(const OwnKernel&) const { return Kind::kernel; }
    Kind operator()(const Collective& op) const {
        return collective_kinds[static_cast<std::size_t>(op.kind)];
    }
};

}  // namespace

OperationKind kind_of(const Operation& operation) {
    return std::visit(KindOf{}, operation);
}
std::string_view name_of(const Operation& operation) {
    return info_of(kind_of(operation)).name;
}

CollectiveKind collective_kind(OperationKind kind) {
    const auto found = std::find(collective_kinds.begin(), collective_kinds.end(), kind);
    RIDGE_CONTRACT(found != collective_kinds.end());
    return static_cast<CollectiveKind>(found - collective_kinds.begin());
}

RecurrenceKind recurrence_kind(OperationKind kind) {
    const auto found = std::find(recurrence_kinds.begin(), recurrence_kinds.end(), kind);
    RIDGE_CONTRACT(found != recurrence_kinds.end());
    return static_cast<RecurrenceKind>(found - recurrence_kinds.begin());
}

TokenKind token_kind(OperationKind kind) {
    const auto found = std::find(token_kinds.begin(), token_kinds.end(), kind);
    RIDGE_CONTRACT(found != token_kinds.end());
    return static_cast<TokenKind>(found - token_kinds.begin());
}

RowKind row_kind(OperationKind kind) {
    const auto found = std::find(row_kinds.begin(), row_kinds.end(), kind);
    RIDGE_CONTRACT(found != row_kinds.end());
    return static_cast<RowKind>(found - row_kinds.begin());
}

bool has(OperationKind kind, Implementation implementation) {
    const auto& ways = info_of(kind).implementations;
    return implementation == Implementation::automatic ||
           std::find(ways.begin(), ways.end(), implementation) != ways.end();
}

std::string refusal(OperationKind kind, Implementation implementation) {
    const OperationInfo& info = info_of(kind);
    std::string words;
    for (const Implementation way : info.implementations) {
        words += (words.empty() ? "" : ", ") + std::string(name_of(way));
    }
    return "impl " + std::string(name_of(implementation)) + " is not an implementation of " +
           std::string(info.name) + "; it has " + words;
}

std::span<const FieldInfo> field_table() {
    return fields;
}
const FieldInfo& info_of(Field field) {
    return fields[static_cast<std::size_t>(field)];
}

std::optional<Field> find_field(std::string_view name) {
    for (const FieldInfo& info : fields) {
        if (same_word(info.name, name)) return info.field;
    }
    return std::nullopt;
}

std::span<const OperationInfo> operation_table() {
    return operations;
}
const OperationInfo& info_of(OperationKind kind) {
    return operations[static_cast<std::size_t>(kind)];
}

std::span<const OperationAlias> operation_aliases() {
    return alias_table;
}

std::optional<OperationKind> find_operation_kind(std::string_view name) {
    for (const OperationInfo& info : operations) {
        if (same_word(info.name, name)) return info.kind;
    }
    for (const OperationAlias& alias : alias_table) {
        if (same_word(alias.name, name)) return alias.kind;
    }
    return std::nullopt;
}

OperationKind parse_operation_kind(std::string_view name) {
    if (const auto kind = find_operation_kind(name)) return *kind;
    std::vector<std::string> names;
    names.reserve(operations.size() + alias_table.size());
    for (const OperationInfo& info : operations) names.emplace_back(info.name);
    for (const OperationAlias& alias : alias_table) names.emplace_back(alias.name);
    const std::string near = did_you_mean(name, names);
    std::string hint = near.empty() ? "`ridge ops` lists the operations" : near;
    if (const auto function = find_function(name)) {
        const std::string_view all = "x, y, z";
        const auto count = static_cast<std::size_t>(std::max(1, function->info->arguments));
        hint = "a function of expressions: elementwise with expr=\"" + std::string(name) + "(" +
               std::string(all.substr(0, 3 * count - 2)) + ")\"";
    }
    throw InputError("op: unknown operation '" + std::string(name) + "'", {}, std::move(hint));
}

bool applies(OperationKind kind, Field field) {
    const OperationInfo& info = info_of(kind);
    const auto holds = [field](std::span<const Field> list) {
        return std::find(list.begin(), list.end(), field) != list.end();
    };
    return holds(info.required) || holds(info.optional);
}

}  // namespace ridge::model
