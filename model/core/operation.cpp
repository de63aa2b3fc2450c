#include "model/core/operation.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "hardware/checked.h"
#include "hardware/error.h"
#include "hardware/number_text.h"

namespace ridge::model {
namespace {

constexpr std::int64_t largest_edge = std::int64_t{1} << 48;

// Bytes and FLOP are at most 8 bytes x 16 passes per element of a checked product. Checking
// products with this factor keeps every later sum below 2^62.
constexpr NamedCount headroom{"elements", 128};

void require_edge(std::string_view field, std::int64_t value) {
    if (value < 1) {
        throw InputError(std::string(field) + " must be at least 1, got " + std::to_string(value));
    }
    if (value > largest_edge) {
        throw InputError(std::string(field) + " must be at most 2^48, got " +
                         std::to_string(value));
    }
}

void require_product(std::initializer_list<NamedCount> factors) {
    for (const NamedCount& factor : factors) require_edge(factor.name, factor.value);
    const std::int64_t product = checked_product(factors);
    if (product > (std::int64_t{1} << 62) / headroom.value) {
        std::string names;
        for (const NamedCount& factor : factors) {
            if (factor.value > 1) names += (names.empty() ? "" : " x ") + std::string(factor.name);
        }
        throw InputError(names + " is too large: " + std::to_string(product) +
                         " elements or operations exceed 2^55");
    }
}

/// Requires a type that is stored element by element, in whole bytes.
void require_plain(std::string_view field, DataType type) {
    if (!is_block_scaled(type)) return;
    throw InputError(std::string(field) + ": " + std::string(name_of(type)) +
                         " is a type for the operands of products only",
                     {},
                     "operations that take dtype " + std::string(name_of(type)) + ": matmul, moe");
}

void check(const Matmul& op) {
    require_product({{"batch", op.batch}, {"m", op.m}, {"n", op.n}, {"k", op.k}});
    require_plain("out_dtype", op.output);
    require_plain("accumulate", op.accumulate);
    if ((op.type == DataType::fp64) != (op.accumulate == DataType::fp64)) {
        throw InputError("accumulate: " + std::string(name_of(op.accumulate)) +
                         " does not work with dtype " + std::string(name_of(op.type)));
    }
    if (op.accumulate != DataType::fp64 && op.accumulate != DataType::fp32 &&
        !(op.accumulate == DataType::fp16 &&
          (op.type == DataType::fp16 || op.type == DataType::fp8))) {
        throw InputError("accumulate: " + std::string(name_of(op.accumulate)) +
                             " is not an accumulator type of dtype " +
                             std::string(name_of(op.type)),
                         {}, "fp32; fp16 with fp16 or fp8; fp64 with fp64");
    }
    if (op.output == DataType::int32 && op.type != DataType::int8) {
        throw InputError("out_dtype: int32 needs dtype int8, not " + std::string(name_of(op.type)));
    }
}

/// The cache has the type of the computation, or 8 bits beside a computation in 16.
void check_cache(DataType type, std::optional<DataType> cache) {
    if (!cache || *cache == type) return;
    if (size_of(type) == 2 && (*cache == DataType::fp8 || *cache == DataType::int8)) return;
    throw InputError("kv_dtype: " + std::string(name_of(*cache)) + " does not work with dtype " +
                         std::string(name_of(type)),
                     {}, "the same type, or fp8 or int8 with fp16 and bf16");
}

void check(const Attention& op) {
    require_plain("dtype", op.type);
    check_cache(op.type, op.cache_type);
    if (cache_type_of(op) != op.type && op.direction == Direction::backward) {
        throw InputError("kv_dtype: the backward pass has no cache; leave kv_dtype out");
    }
    require_edge("heads", op.heads);
    require_edge("kv_heads", op.kv_heads);
    require_edge("head_dim", op.head_dim);
    require_edge("seq_q", op.seq_q);
    require_edge("seq_kv", op.seq_kv);
    if (op.kv_heads > op.heads || op.heads % op.kv_heads != 0) {
        throw InputError("kv_heads must divide heads: " + std::to_string(op.kv_heads) +
                         " does not divide " + std::to_string(op.heads));
    }
    if (op.head_dim > 4096) {
        throw InputError("head_dim must be at most 4096, got " + std::to_string(op.head_dim));
    }
    if (op.window < 0 || op.window > largest_edge) {
        throw InputError("window must be 0 (all keys) or from 1 to 2^48, got " +
                         std::to_string(op.window));
    }
    if (op.causal && op.seq_q > op.seq_kv) {
        throw InputError("seq_q must not exceed seq_kv under a causal mask: " +
                         std::to_string(op.seq_q) + " > " + std::to_string(op.seq_kv));
    }
    if (op.type == DataType::tf32 || op.type == DataType::int8 || op.type == DataType::fp64) {
        throw InputError("dtype: attention is modelled for fp32, fp16, bf16 and fp8, not " +
                         std::string(name_of(op.type)));
    }
    require_product({{"batch", op.batch},
                     {"heads", op.heads},
                     {"seq_q", op.seq_q},
                     {"seq_kv", op.seq_kv},
                     {"head_dim", op.head_dim}});
}

void check(const Mla& op) {
    require_plain("dtype", op.type);
    if (size_of(op.type) != 2) {
        throw InputError("dtype: mla is modelled for fp16 and bf16, not " +
                         std::string(name_of(op.type)));
    }
    check_cache(op.type, op.cache_type);
    require_product({{"batch", op.batch},
                     {"heads", op.heads},
                     {"seq_q", op.seq_q},
                     {"seq_kv", op.seq_kv},
                     {"latent_dim", op.latent_dim},
                     {"rope_dim", op.rope_dim}});
    require_edge("head_dim", op.head_dim);
    for (const NamedCount& width :
         {NamedCount{"latent_dim", op.latent_dim}, NamedCount{"rope_dim", op.rope_dim},
          NamedCount{"head_dim", op.head_dim}}) {
        if (width.value > 4096) {
            throw InputError(std::string(width.name) + " must be at most 4096, got " +
                             std::to_string(width.value));
        }
    }
    if (op.seq_q > op.seq_kv) {
        throw InputError("seq_q must not exceed seq_kv under a causal mask: " +
                         std::to_string(op.seq_q) + " > " + std::to_string(op.seq_kv));
    }
}

void check(const SparseAttention& op) {
    require_plain("dtype", op.type);
    const bool attends = op.part == SparsePart::attend;
    require_product({{"batch", op.batch},
                     {"heads", op.heads},
                     {"seq_q", op.seq_q},
                     {"seq_kv", op.seq_kv},
                     {"head_dim", attends ? op.latent_dim + op.rope_dim : op.head_dim}});
    if (attends) {
        check_cache(op.type, op.cache_type);
        require_edge("topk", op.topk);
    }
    if (op.seq_q > op.seq_kv) {
        throw InputError("seq_q must not exceed seq_kv under a causal mask: " +
                         std::to_string(op.seq_q) + " > " + std::to_string(op.seq_kv));
    }
    if (size_of(op.type) > 2 || op.type == DataType::int8) {
        throw InputError("dtype: sparse attention is modelled for 16 bits and fp8, not " +
                         std::string(name_of(op.type)));
    }
}

void check(const MixedAttention& op) {
    check(Attention{.heads = op.heads,
                    .kv_heads = op.kv_heads,
                    .seq_q = op.seq_q,
                    .seq_kv = op.seq_kv,
                    .head_dim = op.head_dim,
                    .type = op.type,
                    .cache_type = op.cache_type,
                    .causal = true});
    require_product({{"decodes", op.decodes},
                     {"heads", op.heads},
                     {"decode_kv", op.decode_kv},
                     {"head_dim", op.head_dim}});
}

void require_divisor(std::string_view field, std::int64_t divisor, std::string_view of,
                     std::int64_t value) {
    require_edge(field, divisor);
    if (value % divisor == 0) return;
    throw InputError(std::string(field) + " must divide " + std::string(of) + ": " +
                     std::to_string(divisor) + " does not divide " + std::to_string(value));
}

void check(const Moe& op) {
    require_product({{"tokens", op.tokens},
                     {"topk", op.topk},
                     {"hidden", op.hidden},
                     {"intermediate", op.intermediate}});
    require_product(
        {{"experts", op.experts}, {"hidden", op.hidden}, {"intermediate", op.intermediate}});
    if (op.topk > op.experts) {
        throw InputError("topk must not exceed experts: " + std::to_string(op.topk) + " > " +
                         std::to_string(op.experts));
    }
    require_divisor("tp", op.tp, "intermediate", op.intermediate);
    require_divisor("ep", op.ep, "experts", op.experts);
    const double exponent = op.load.exponent();
    if (!op.load.balanced() && (exponent < 0.1 || exponent > 10.0)) {
        throw InputError("distribution: the exponent of a power law must be from 0.1 to 10, got " +
                         to_string(op.load));
    }
    if (op.type == DataType::tf32 || op.type == DataType::fp64 || op.type == DataType::int32 ||
        op.type == DataType::mxfp4 || op.type == DataType::int4) {
        throw InputError("dtype: moe is modelled for fp32, 16-bit, 8-bit and nvfp4 experts, not " +
                             std::string(name_of(op.type)),
                         {},
                         bits_of(op.type) == 4 ? "the type of the weights is weight_dtype" : "");
    }
    if (bits_of(weight_type_of(op)) > bits_of(op.type)) {
        throw InputError("weight_dtype: " + std::string(name_of(weight_type_of(op))) +
                         " is wider than dtype " + std::string(name_of(op.type)));
    }
}

void check(const Recurrence& op) {
    require_plain("dtype", op.type);
    require_product({{"batch", op.batch},
                     {"seq", op.seq},
                     {"v_heads", op.v_heads},
                     {"head_k_dim", op.head_k_dim},
                     {"head_v_dim", op.head_v_dim}});
    require_product({{"batch", op.batch}, {"seq", op.seq}, {"conv", op.conv}});
    require_edge("chunk", op.chunk);
    require_divisor(op.kind == RecurrenceKind::mamba2 ? "groups" : "k_heads", op.k_heads,
                    op.kind == RecurrenceKind::mamba2 ? "heads" : "v_heads", op.v_heads);
    if (op.phase == RecurrencePhase::generation && op.seq != 1) {
        throw InputError("seq must be 1 in phase generation, got " + std::to_string(op.seq), {},
                         "phase verify checks several drafted tokens of a sequence");
    }
    if (size_of(op.type) != 2 && op.type != DataType::fp32) {
        throw InputError("dtype: recurrences are modelled for fp32, fp16 and bf16, not " +
                         std::string(name_of(op.type)));
    }
}

void check(const TokenWise& op) {
    require_plain("dtype", op.type);
    require_product({{"batch", op.batch}, {"rows", op.rows}, {"cols", op.cols}});
    require_edge(op.kind == TokenKind::topk ? "topk" : "conv", op.width);
    if (op.kind == TokenKind::topk && op.width > op.cols) {
        throw InputError("topk must not exceed cols: " + std::to_string(op.width) + " > " +
                         std::to_string(op.cols));
    }
    if (op.kind == TokenKind::quantize && bits_of(op.output) >= bits_of(op.type)) {
        throw InputError("out_dtype: " + std::string(name_of(op.output)) +
                         " is not narrower than dtype " + std::string(name_of(op.type)));
    }
}

void check(const Elementwise& op) {
    require_plain("dtype", op.type);
    require_plain("out_dtype", op.result());
    if (op.expression.empty()) throw InputError("expr is missing");
    if (op.direction == Direction::backward && !has_gradient(op.expression)) {
        throw InputError("direction: '" + op.expression.text() + "' has no gradient", {},
                         "a comparison is 0 or 1");
    }
    require_product({{"elements", op.elements},
                     {"nodes of expr", static_cast<std::int64_t>(op.expression.nodes().size())}});
}

void check(const RowWise& op) {
    require_plain("dtype", op.type);
    require_product({{"rows", op.rows}, {"cols", op.cols}});
}
void check(const Transpose& op) {
    require_plain("dtype", op.type);
    require_product(
        {{"batch", op.batch}, {"rows", op.rows}, {"cols", op.cols}, {"inner", op.inner}});
}
void check(const Copy& op) {
    require_plain("dtype", op.type);
    require_product({{"elements", op.elements}, {"stride", op.stride}});
}

void check(const Cat& op) {
    require_plain("dtype", op.type);
    require_product({{"inputs", op.inputs}, {"rows", op.rows}, {"cols", op.cols}});
    if (op.axis == Axis::all) throw InputError("axis: cat joins along rows or columns, not all");
    if (op.views() && op.rows * op.cols % op.inner != 0) {
        throw InputError("inner must divide rows x cols of one input: " +
                         std::to_string(op.rows * op.cols) + " by " + std::to_string(op.inner));
    }
}

void check(const AdamW& op) {
    require_plain("dtype", op.type);
    require_product({{"elements", op.elements}});
    require_edge("inputs", op.tensors);
    if (op.tensors > op.elements) {
        throw InputError("inputs must not exceed elements: " + std::to_string(op.tensors) + " > " +
                         std::to_string(op.elements));
    }
    if (size_of(op.type) == 1) {
        throw InputError("dtype: adamw takes fp64, fp32, fp16 or bf16, not " +
                         std::string(name_of(op.type)));
    }
}

void check(const Gather& op) {
    require_plain("dtype", op.type);
    require_product({{"rows", op.rows}, {"cols", op.cols}});
    require_product({{"table_rows", op.table_rows}, {"cols", op.cols}});
}

void require_range(std::string_view field, std::int64_t value, std::int64_t least,
                   std::int64_t most) {
    if (value >= least && value <= most) return;
    throw InputError(std::string(field) + " must be from " + std::to_string(least) + " to " +
                     std::to_string(most) + ", got " + std::to_string(value));
}

void require_words(const Access& op) {
    if (op.type == DataType::fp32) return;
    throw InputError("dtype: pattern " + std::string(name_of(op.pattern)) +
                     " works on 4-byte words (fp32), not " + std::string(name_of(op.type)));
}

/// The unit in which the words of a working set come, and their least number.
struct WorkingSet {
    std::int64_t multiple;
    std::int64_t least;
};
constexpr WorkingSet chase_words{.multiple = 32, .least = 64};    // lines of 128 bytes
constexpr WorkingSet reread_words{.multiple = 4, .least = 2048};  // vectors, one for each thread

void require_working_set(const Access& op, const WorkingSet& words) {
    require_words(op);
    constexpr std::int64_t most = std::int64_t{1} << 31;
    require_range("elements", op.elements, words.least, most);
    require_range("degree", op.degree, 1, 1);
    if (op.elements % words.multiple == 0) return;
    throw InputError("elements: pattern " + std::string(name_of(op.pattern)) +
                     " takes a multiple of " + std::to_string(words.multiple) + ", got " +
                     std::to_string(op.elements));
}

void check(const Access& op) {
    require_plain("dtype", op.type);
    constexpr std::int64_t warp = 32;
    constexpr std::int64_t farthest = std::int64_t{1} << 20;
    const std::string_view degree = degree_name(op.pattern);
    switch (op.pattern) {
        case AccessPattern::strided:
            require_range(degree, op.degree, 1, farthest);
            require_product({{"elements", op.elements}, {degree, op.degree}});
            return;
        case AccessPattern::misaligned:
            require_range(degree, op.degree, 0, farthest);
            require_product({{"elements", op.elements}});
            return;
        case AccessPattern::chase:
            require_working_set(op, chase_words);
            return;
        case AccessPattern::reread:
            require_working_set(op, reread_words);
            return;
        case AccessPattern::divergent:
        case AccessPattern::bank_conflict:
            break;
    }
    require_words(op);
    require_range(degree, op.degree, 1, warp);
    constexpr std::int64_t work_of_an_element = 1 << 15;  // most instructions of all paths
    require_product({{"elements", op.elements}, {"work of an element", work_of_an_element}});
}

void check(const Collective& op) {
    require_plain("dtype", op.type);
    require_product({{"bytes", op.bytes}});
    const bool host =
        op.kind == CollectiveKind::host_to_device || op.kind == CollectiveKind::device_to_host;
    if (host) return;
    if (op.gpus < 2 || op.gpus > most_gpus) {
        throw InputError("gpus must be between 2 and " + std::to_string(most_gpus) + ", got " +
                         std::to_string(op.gpus));
    }
}

void check(const OwnKernel& op) {
    require_plain("dtype", op.type);
    if (op.flop < 1 && op.bytes < 1 && op.l2_bytes < 1) {
        throw InputError("flop: a kernel needs FLOP or bytes", {},
                         "flop=137e9, bytes=101MB, l2_bytes=1.6GB, or several of them");
    }
    constexpr std::int64_t most = std::int64_t{1} << 60;
    constexpr std::int64_t most_registers = 255;
    constexpr std::int64_t most_threads = 1024;
    require_range("flop", op.flop, 0, most);
    require_range("bytes", op.bytes, 0, most);
    require_range("l2_bytes", op.l2_bytes, 0, most);
    require_range("grid", op.grid, 0, largest_edge);
    require_range("block", op.block, 1, most_threads);
    require_range("registers", op.registers, 0, most_registers);
    require_range("shared", op.shared, 0, largest_edge);
}

constexpr std::array<std::string_view, access_pattern_count> access_patterns{
    "strided", "misaligned", "divergent", "bank_conflict", "chase", "reread"};
constexpr std::array<std::string_view, access_pattern_count> access_degrees{
    "stride", "offset", "paths", "ways", "", ""};

struct TypeOf {
    template <class Op>
    DataType operator()(const Op& op) const {
        return op.type;
    }
};

}  // namespace

DataType type_of(const Operation& operation) {
    return std::visit(TypeOf{}, operation);
}

std::string_view name_of(AccessPattern pattern) {
    return access_patterns[static_cast<std::size_t>(pattern)];
}
std::string_view degree_name(AccessPattern pattern) {
    return access_degrees[static_cast<std::size_t>(pattern)];
}
std::int64_t best_degree(AccessPattern pattern) {
    return pattern == AccessPattern::misaligned ? 0 : 1;
}

bool is_usually_gated(const Moe& moe) {
    struct Sizes {
        std::int64_t hidden;
        std::int64_t intermediate;
        std::int64_t topk;
        std::int64_t experts;
    };
    // From the config.json of the models (mlp_hidden_act relu2); hidden may be that of a latent space.
    constexpr std::array<Sizes, 5> ungated{{{2688, 1856, 6, 128},
                                            {1024, 2688, 22, 512},
                                            {4096, 2688, 22, 512},
                                            {2048, 5120, 22, 512},
                                            {8192, 5120, 22, 512}}};
    return std::none_of(ungated.begin(), ungated.end(), [&moe](const Sizes& each) {
        return moe.hidden == each.hidden && moe.intermediate == each.intermediate &&
               moe.topk == each.topk && moe.experts == each.experts;
    });
}

std::string to_string(const ExpertLoad& load) {
    if (load.balanced()) return "balanced";
    std::string digits = std::to_string(load.exponent_thousandths % 1000 + 1000).substr(1);
    while (digits.size() > 1 && digits.back() == '0') digits.pop_back();
    return "power_law_" + std::to_string(load.exponent_thousandths / 1000) + "." + digits;
}

ExpertLoad parse_expert_load(std::string_view text, std::string_view field) {
    constexpr std::string_view law = "power_law_";
    if (text == "balanced") return {};
    const auto exponent =
        text.starts_with(law) ? whole_real(text.substr(law.size())) : std::nullopt;
    if (!exponent || !(*exponent >= 0.1) || *exponent > 10.0) {
        throw InputError(std::string(field) + ": unknown word '" + std::string(text) + "'", {},
                         "balanced, or power_law_E with an exponent E from 0.1 to 10, for example "
                         "power_law_1.2");
    }
    return {.exponent_thousandths = std::lround(1000.0 * *exponent)};
}

Attention without_idle_masks(Attention attention) {
    if (attention.window > 0) {
        // A single query has no keys after it: its window lies before it, causal or not.
        if (attention.seq_q == 1) attention.causal = true;
        // Keys before and after a query that the window leaves visible, as in `count_scores`.
        const std::int64_t half = attention.window / 2;
        const std::int64_t before = attention.causal ? attention.window - 1 : half;
        const std::int64_t behind = attention.causal ? 0 : attention.window - 1 - half;
        const bool hides =
            before < attention.seq_kv - 1 || (!attention.causal && behind < attention.seq_q - 1);
        if (!hides) attention.window = 0;
    }
    if (attention.seq_q == 1 && attention.window == 0) attention.causal = false;
    return attention;
}

void validate(const Operation& operation) {
    if (type_of(operation) == DataType::int32) {
        throw InputError("dtype: int32 is a type for results (out_dtype) only");
    }
    std::visit([](const auto& op) { check(op); }, operation);
}

}  // namespace ridge::model
