// Operations as plain values: what is computed, independent of the GPU and of the implementation.
//
//   const Operation op = Matmul{.m = 4096, .n = 4096, .k = 4096, .type = DataType::bf16};
//
// Shapes are counts of elements. `fields.h` lists each operation's fields by name; that one table
// drives the command line, CSV, `--op` texts, JSON and sweeps. All checks are in `validate`. Code
// that gets a validated operation may multiply freely, because every product that it needs was
// checked there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "model/core/data_type.h"
#include "model/core/mixed_attention.h"
#include "model/core/recurrent.h"
#include "model/core/sparse.h"
#include "model/expression/expression.h"

namespace ridge::model {

enum class Layout : std::uint8_t { row_major, column_major };
enum class Epilogue : std::uint8_t { none, bias, bias_relu, bias_gelu, accumulate };
enum class Direction : std::uint8_t { forward, backward };

/// Whether an activation follows the bias.
[[nodiscard]] constexpr bool is_activated(Epilogue epilogue) {
    return epilogue == Epilogue::bias_relu || epilogue == Epilogue::bias_gelu;
}

/// Whether a vector of n elements is added to every row of the result.
[[nodiscard]] constexpr bool has_bias(Epilogue epilogue) {
    return epilogue == Epilogue::bias || is_activated(epilogue);
}

/// C[batch,m,n] = A[batch,m,k] B[batch,k,n].
struct Matmul {
    std::int64_t batch = 1;
    std::int64_t m = 0;
    std::int64_t n = 0;
    std::int64_t k = 0;
    DataType type = DataType::bf16;        ///< of A and B
    DataType accumulate = DataType::fp32;  ///< fp64 for fp64; int32 counts as fp32 for int8
    DataType output = DataType::bf16;      ///< of C
    Layout a_layout = Layout::row_major;
    Layout b_layout = Layout::row_major;
    Epilogue epilogue = Epilogue::none;
};

/// O[batch,heads,seq_q,head_dim] = softmax(Q K^T / sqrt(head_dim)) V, where K and V have kv_heads
/// heads and seq_kv tokens. A causal mask is aligned to the last token (bottom right).
struct Attention {
    std::int64_t batch = 1;
    std::int64_t heads = 0;
    std::int64_t kv_heads = 0;
    std::int64_t seq_q = 0;
    std::int64_t seq_kv = 0;
    std::int64_t head_dim = 0;
    std::int64_t window = 0;  ///< most keys that a query sees (sliding window); 0: all
    DataType type = DataType::bf16;
    std::optional<DataType> cache_type = std::nullopt;  ///< of K and V in the cache; empty: `type`
    Direction direction = Direction::forward;
    bool causal = false;
    bool kv_write = false;  ///< also writes the new tokens' K and V into the cache
    bool paged = false;     ///< K and V are read through a page table, as in a serving engine
};

/// The element type of K and V in memory.
[[nodiscard]] constexpr DataType cache_type_of(const Attention& attention) {
    return attention.cache_type.value_or(attention.type);
}

/// The same attention without options that change nothing: a window that hides no key, a causal
/// mask over one query. (eq. A3)
[[nodiscard]] Attention without_idle_masks(Attention attention);

/// A cheap test that is true only if there are no such options; most calls then need no copy.
[[nodiscard]] inline bool lacks_idle_masks(const Attention& attention) {
    return attention.window == 0 && !(attention.causal && attention.seq_q == 1);
}

/// Whether its window hides any key.
[[nodiscard]] inline bool is_windowed(const Attention& attention) {
    return attention.window != 0 && without_idle_masks(attention).window != 0;
}

/// Multi-head latent attention (DeepSeek-V2). The cache holds one latent vector and one rotated key
/// per token, shared by all heads. Prefill attends with keys of head_dim + rope_dim and values of
/// head_dim, expanded from the latents by products that are not part of this operation. Absorbed
/// decoding attends to the latents themselves: keys of latent_dim + rope_dim, values of latent_dim.
/// A causal mask is aligned to the last token.
enum class MlaPhase : std::uint8_t { prefill, decode };
struct Mla {
    MlaPhase phase = MlaPhase::decode;
    std::int64_t batch = 1;
    std::int64_t heads = 0;  ///< on this GPU
    std::int64_t seq_q = 0;
    std::int64_t seq_kv = 0;
    std::int64_t latent_dim = 512;
    std::int64_t rope_dim = 64;
    std::int64_t head_dim = 128;  ///< of a key without its rotated part, and of a value
    DataType type = DataType::bf16;
    std::optional<DataType> cache_type = std::nullopt;  ///< of the cache; empty: `type`
};
[[nodiscard]] constexpr DataType cache_type_of(const Mla& mla) {
    return mla.cache_type.value_or(mla.type);
}

/// How the tokens are distributed over the experts: evenly, or with loads that follow a power law
/// p(load) ~ load^-exponent across experts.
struct ExpertLoad {
    std::int64_t exponent_thousandths = 0;  ///< 1200 for an exponent of 1.2; 0: balanced

    [[nodiscard]] constexpr bool balanced() const { return exponent_thousandths == 0; }
    [[nodiscard]] constexpr double exponent() const {
        return static_cast<double>(exponent_thousandths) / 1000.0;
    }
    friend constexpr bool operator==(const ExpertLoad&, const ExpertLoad&) = default;
};
/// "balanced", "power_law_1.2".
[[nodiscard]] std::string to_string(const ExpertLoad& load);
/// Throws an InputError that names the field.
[[nodiscard]] ExpertLoad parse_expert_load(std::string_view text, std::string_view field);

/// A block of experts on one GPU. Each of `tokens` goes to `topk` of `experts`. Each expert is a
/// pair of products, hidden -> 2 intermediate (with a gate, else one) -> hidden, and a token's
/// results are added by weight. `tp` GPUs share every expert's intermediate, `ep` GPUs share the experts. Counts and
/// time are those of the busiest GPU, without communication.
struct Moe {
    std::int64_t tokens = 0;
    std::int64_t hidden = 0;
    std::int64_t intermediate = 0;
    std::int64_t topk = 0;
    std::int64_t experts = 0;
    std::int64_t tp = 1;
    std::int64_t ep = 1;
    ExpertLoad load{};
    DataType type = DataType::bf16;                      ///< in which the experts compute
    std::optional<DataType> weight_type = std::nullopt;  ///< of their weights; empty: `type`
    bool gated = true;
};
[[nodiscard]] constexpr DataType weight_type_of(const Moe& moe) {
    return moe.weight_type.value_or(moe.type);
}
/// Whether experts of these sizes have a gate, where nobody says so: not those of published models
/// with squared ReLU.
[[nodiscard]] bool is_usually_gated(const Moe& moe);
/// Columns of the first product per element of the intermediate: gate and up, or up alone.
[[nodiscard]] constexpr double widening_of(const Moe& moe) {
    return moe.gated ? 2.0 : 1.0;
}

/// One expression applied to every element. A result of another type than the inputs is a cast.
struct Elementwise {
    Expression expression;
    std::int64_t elements = 0;
    DataType type = DataType::fp32;
    Direction direction = Direction::forward;
    std::optional<DataType> output{};  ///< of the result; empty: `type`

    [[nodiscard]] DataType result() const { return output.value_or(type); }
};

/// An operation along the rows of a [rows, cols] matrix.
enum class RowKind : std::uint8_t {
    softmax,
    layernorm,
    rmsnorm,
    sum,
    mean,
    max,
    argmax,         ///< int64 positions
    cross_entropy,  ///< log-softmax and the mean loss of int64 targets, one per row
    scan            ///< running sums
};
/// What a reduction produces: one result per row, one per column, or one in all.
enum class Axis : std::uint8_t { rows, columns, all };
struct RowWise {
    RowKind kind = RowKind::softmax;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    DataType type = DataType::bf16;
    Direction direction = Direction::forward;
    Axis axis = Axis::rows;  ///< of sum, mean, max, argmax
};

/// sum, mean, max or argmax.
[[nodiscard]] constexpr bool is_reduction(RowKind kind) {
    return kind == RowKind::sum || kind == RowKind::mean || kind == RowKind::max ||
           kind == RowKind::argmax;
}

/// Number of results: of a reduction along its axis; of any other operation along rows, one per
/// row.
[[nodiscard]] constexpr std::int64_t results_of(const RowWise& op) {
    if (op.axis == Axis::all) return 1;
    return op.axis == Axis::rows ? op.rows : op.cols;
}

/// out[batch, cols, rows, inner] = in[batch, rows, cols, inner]: matrices of pieces of `inner`
/// elements that stay together, as when heads of attention are exchanged with tokens.
struct Transpose {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    DataType type = DataType::bf16;
    std::int64_t batch = 1;
    std::int64_t inner = 1;
};

/// out[i] = in[stride x i].
struct Copy {
    std::int64_t elements = 0;  ///< of the result
    DataType type = DataType::bf16;
    std::int64_t stride = 1;  ///< elements
};

/// `inputs` matrices [rows, cols] joined side by side (`Axis::columns`, where pieces make up each
/// row of the result) or one below the other (`Axis::rows`). Matrices that are views, such as the
/// heads of an attention projection, lie in memory in runs of `inner` elements.
struct Cat {
    std::int64_t inputs = 2;
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    DataType type = DataType::bf16;
    Axis axis = Axis::columns;
    std::int64_t inner = 0;  ///< 0: contiguous

    [[nodiscard]] constexpr bool views() const { return inner > 0; }
};

/// One step of AdamW over all parameters. It reads parameters, gradients and both moments and
/// writes parameters and moments, all of one type.
struct AdamW {
    std::int64_t elements = 0;  ///< of all tensors
    DataType type = DataType::fp32;
    std::int64_t tensors = 1;
};

/// out[rows, cols] = table[index[rows], cols] with int64 indices into a table of table_rows rows.
struct Gather {
    std::int64_t rows = 0;
    std::int64_t cols = 0;
    std::int64_t table_rows = 0;
    DataType type = DataType::bf16;
};

/// One kind of access or branch that the hardware serialises; everything else is at its best.
///   strided        reads `elements` words, each `degree` words after the previous one
///   misaligned     reads `elements` words from word `degree` of an aligned array
///   divergent      one result per thread after `divergent_steps` (bundled/access.h) FMA; adjacent
///                  threads take one of `degree` code paths in turn
///   bank_conflict  reads `elements` words of shared memory, `degree` threads of a warp on one bank
///   chase          one thread follows pointers through `elements` words, each on its own line
///   reread         all multiprocessors read the same `elements` words over and over
enum class AccessPattern : std::uint8_t {
    strided,
    misaligned,
    divergent,
    bank_conflict,
    chase,
    reread
};
inline constexpr std::size_t access_pattern_count = 6;
struct Access {
    AccessPattern pattern = AccessPattern::strided;
    std::int64_t elements = 0;
    std::int64_t degree = 1;  ///< stride, offset, paths or ways, depending on the pattern; 1 if it
                              ///< has none
    DataType type = DataType::fp32;
};

/// Communication among the GPUs of one node. `bytes` is the message size: the whole buffer of
/// all_reduce, the gathered buffer of all_gather, the input of reduce_scatter and all_to_all.
enum class CollectiveKind : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    all_to_all,
    broadcast,
    send,
    host_to_device,
    device_to_host
};
/// GPUs of one node at most, unless a description of its nodes says more (model/machine/cluster.h).
inline constexpr std::int64_t most_gpus_of_a_node = 16;
inline constexpr std::int64_t most_gpus = 1'000'000;

/// Whether the switch between the GPUs may add (NVLS): as the library chooses, or never.
enum class SwitchAddition : std::uint8_t { automatic, off };

struct Collective {
    CollectiveKind kind = CollectiveKind::all_reduce;
    std::int64_t gpus = 2;
    std::int64_t bytes = 0;
    DataType type = DataType::bf16;  ///< of the elements: switches add only floating types
    SwitchAddition nvls = SwitchAddition::automatic;
};

/// The pipe that does a kernel's arithmetic.
enum class KernelPipe : std::uint8_t { vector, tensor };

/// A kernel known by its figures, not by what it computes. Zero stands for what is not known.
struct OwnKernel {
    std::int64_t flop = 0;
    DataType type = DataType::fp32;  ///< of the arithmetic
    KernelPipe pipe = KernelPipe::vector;
    std::int64_t bytes = 0;     ///< from and to DRAM
    std::int64_t l2_bytes = 0;  ///< between L2 and the multiprocessors
    std::int64_t grid = 0;      ///< blocks
    std::int64_t block = 256;   ///< threads
    std::int64_t registers = 0;
    std::int64_t shared = 0;  ///< bytes of a block
};

using Operation = std::variant<Matmul, Attention, Mla, SparseAttention, MixedAttention, Moe,
                               Recurrence, TokenWise, Elementwise, RowWise, Transpose, Copy, Gather,
                               Cat, AdamW, Access, Collective, OwnKernel>;

/// "matmul", "attention", "elementwise", "softmax", ..., "all_reduce".
[[nodiscard]] std::string_view name_of(const Operation& operation);
[[nodiscard]] DataType type_of(const Operation& operation);
[[nodiscard]] std::string_view name_of(AccessPattern pattern);
/// The field that states `degree`: "stride", "offset", "paths" or "ways"; empty if the pattern has
/// none.
[[nodiscard]] std::string_view degree_name(AccessPattern pattern);
/// The degree of the best case: stride 1, offset 0, one path, one way.
[[nodiscard]] std::int64_t best_degree(AccessPattern pattern);

/// Throws an InputError that names the field if a shape is not positive, does not fit together
/// (kv_heads must divide heads), or is so large that its FLOP, bytes or index space exceed 2^62.
void validate(const Operation& operation);

}  // namespace ridge::model
