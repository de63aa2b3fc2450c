#include "tests/model/random_operation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "hardware/error.h"
#include "tests/support/sample.h"

namespace ridge::test {

using namespace ridge::model;

namespace {

/// A number from the environment, or zero if it is not set.
std::uint64_t setting(const char* name) {
    const char* const text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
}

}  // namespace

std::size_t case_count(std::size_t usual) {
    return std::max<std::size_t>(1, usual * whole_setting("RIDGE_CASES") / one_in());
}

Random::Random(std::uint64_t seed) : engine_(seed + setting("RIDGE_SEED")) {}

Random Random::of_table(std::uint64_t seed) {
    Random random(seed);
    random.engine_.seed(seed);
    return random;
}

std::int64_t Random::whole(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
}

double Random::real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
}

std::int64_t Random::size(std::int64_t largest) {
    const double logarithm = real(0.0, std::log2(static_cast<double>(largest)));
    const double value = coin() ? std::exp2(std::round(logarithm)) : std::exp2(logarithm);
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(value), 1, largest);
}

namespace {

constexpr std::array matmul_types{DataType::fp64, DataType::fp32,      DataType::tf32,
                                  DataType::fp16, DataType::bf16,      DataType::fp8,
                                  DataType::int8, DataType::fp8_block, DataType::nvfp4};
constexpr std::array plain_types{DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16,
                                 DataType::fp8};
constexpr std::array attention_types{DataType::fp16, DataType::bf16};
constexpr std::array head_dims{16, 32, 40, 64, 80, 96, 128, 192, 256};
constexpr std::array<std::string_view, 10> functions{"relu",    "gelu", "sin", "exp",  "sqrt",
                                                     "sigmoid", "tanh", "abs", "silu", "log"};
constexpr std::array<std::string_view, 6> operators{" + ", " - ", " * ", " / ", "^", " * "};
constexpr std::array<std::string_view, 8> leaves{"y", "y", "y", "x", "bias", "alpha", "2", "0.5"};
constexpr std::array directions{Direction::forward, Direction::backward};
constexpr std::array epilogues{Epilogue::none, Epilogue::bias, Epilogue::bias_relu,
                               Epilogue::bias_gelu, Epilogue::accumulate};
constexpr std::array layouts{Layout::row_major, Layout::column_major};

Matmul random_matmul(Random& random) {
    const DataType type = random.pick(matmul_types);
    return {.batch = random.coin() ? 1 : random.size(64),
            .m = random.size(16384),
            .n = random.size(16384),
            .k = random.size(16384),
            .type = type,
            .accumulate = type == DataType::fp64 ? DataType::fp64 : DataType::fp32,
            .output = type == DataType::fp64 ? DataType::fp64 : DataType::bf16,
            .a_layout = random.pick(layouts),
            .b_layout = random.pick(layouts),
            .epilogue = random.pick(epilogues)};
}

RowWise random_rows(Random& random, RowKind kind) {
    const bool forward = kind == RowKind::max || kind == RowKind::argmax || kind == RowKind::scan;
    return {.kind = kind,
            .rows = random.size(1 << 18),
            .cols = random.size(1 << 16),
            .type = random.pick(plain_types),
            .direction = forward ? Direction::forward : random.pick(directions),
            .axis = is_reduction(kind) ? static_cast<Axis>(random.whole(0, 2)) : Axis::rows};
}

Access random_access(Random& random) {
    const auto pattern = static_cast<AccessPattern>(random.whole(0, 3));
    const bool reads = pattern == AccessPattern::strided || pattern == AccessPattern::misaligned;
    return {.pattern = pattern,
            .elements = random.size(std::int64_t{1} << 32),
            .degree = reads ? random.size(64) : random.whole(1, 32),
            .type = reads ? random.pick(plain_types) : DataType::fp32};
}

}  // namespace

Attention random_attention(Random& random, Heads heads) {
    const std::int64_t kv_heads = random.size(32);
    const std::int64_t group = heads == Heads::equal ? 1 : random.size(8);
    const std::int64_t seq_kv = random.size(16384);
    const bool causal = random.coin();
    const std::int64_t seq_q = random.coin() ? seq_kv : random.coin() ? 1 : random.size(4096);
    const Direction direction = random.pick(directions);
    const bool serving = direction == Direction::forward && random.coin();
    return {.batch = random.size(16),
            .heads = kv_heads * group,
            .kv_heads = kv_heads,
            .seq_q = causal ? std::min(seq_q, seq_kv) : seq_q,
            .seq_kv = seq_kv,
            .head_dim = random.pick(head_dims),
            .window = random.whole(0, 3) == 0 ? random.size(4096) : 0,
            .type = random.pick(attention_types),
            .cache_type = serving && random.coin() ? std::optional(DataType::fp8) : std::nullopt,
            .direction = direction,
            .causal = causal,
            .kv_write = serving && random.coin(),
            .paged = serving && random.coin()};
}

std::string random_expression(Random& random, int depth) {
    const std::int64_t form = depth == 0 ? 0 : random.whole(0, 9);
    if (form < 2) return std::string(random.pick(leaves));
    const std::string first = random_expression(random, depth - 1);
    if (form < 5) return std::string(random.pick(functions)) + "(" + first + ")";
    const std::string_view sign = random.pick(operators);
    const std::string second = sign == "^" ? "2" : random_expression(random, depth - 1);
    return "(" + first + std::string(sign) + second + ")";
}

namespace {

/// An expression of at least one tensor. It is drawn again if its constants fold to infinity.
Expression random_tensor_expression(Random& random) {
    while (true) {
        const std::string text = random_expression(random, 3);
        if (text.find('y') == std::string::npos) continue;
        try {
            return parse_expression(text);
        } catch (const InputError&) {
            continue;
        }
    }
}

Elementwise random_elementwise(Random& random) {
    return {
        .expression = random_tensor_expression(random),
        .elements = random.size(std::int64_t{1} << 32),
        .type = random.pick(plain_types),
        .direction = random.pick(directions),
        .output = random.whole(0, 3) == 0 ? std::optional(random.pick(plain_types)) : std::nullopt};
}

Collective random_collective(Random& random, OperationKind kind) {
    const bool pair = kind == OperationKind::send || kind == OperationKind::host_to_device ||
                      kind == OperationKind::device_to_host;
    return {.kind = collective_kind(kind),
            .gpus = pair ? 2 : random.whole(2, 16),
            .bytes = random.size(std::int64_t{1} << 34),
            .type = random.pick(plain_types)};
}

OwnKernel random_kernel(Random& random) {
    return {.flop = random.size(std::int64_t{1} << 40),
            .type = random.pick(plain_types),
            .bytes = random.size(std::int64_t{1} << 34),
            .l2_bytes = random.coin() ? random.size(std::int64_t{1} << 36) : 0,
            .grid = random.coin() ? random.size(1 << 16) : 0,
            .block = 32 * random.whole(1, 32),
            .registers = random.coin() ? random.whole(16, 64) : 0};
}

Mla random_mla(Random& random) {
    const std::int64_t keys = random.size(16384);
    const bool prefill = random.coin();
    return {.phase = prefill ? MlaPhase::prefill : MlaPhase::decode,
            .batch = random.size(64),
            .heads = random.size(128),
            .seq_q = prefill ? keys : 1,
            .seq_kv = keys,
            .latent_dim = random.coin() ? 512 : 256,
            .cache_type = random.coin() ? std::optional(DataType::fp8) : std::nullopt};
}

Moe random_moe(Random& random) {
    constexpr std::array types{DataType::bf16, DataType::fp8, DataType::fp8_block, DataType::nvfp4};
    constexpr std::array loads{ExpertLoad{}, ExpertLoad{1010}, ExpertLoad{1200}};
    const std::int64_t experts = std::int64_t{1} << random.whole(0, 8);
    return {.tokens = random.size(16384),
            .hidden = random.size(8192),
            .intermediate = std::int64_t{1} << random.whole(8, 14),
            .topk = random.whole(1, std::min<std::int64_t>(experts, 8)),
            .experts = experts,
            .tp = std::int64_t{1} << random.whole(0, 3),
            .ep = std::int64_t{1} << random.whole(0, experts >= 8 ? 3 : 0),
            .load = random.pick(loads),
            .type = random.pick(types),
            .weight_type = random.whole(0, 3) == 0 ? std::optional(DataType::nvfp4) : std::nullopt,
            .gated = random.coin()};
}

SparseAttention random_sparse(Random& random, SparsePart part) {
    const bool indexes = part == SparsePart::index;
    const std::int64_t keys = random.size(32768);
    SparseAttention op{.part = part,
                       .batch = random.size(64),
                       .heads = random.size(128),
                       .seq_q = random.coin() ? 1 : random.whole(1, keys),
                       .seq_kv = keys,
                       .type = indexes ? DataType::fp8 : DataType::bf16};
    if (!indexes) op.topk = random.size(4096);
    return op;
}

MixedAttention random_mixed(Random& random) {
    const std::int64_t keys = random.size(32768);
    const std::int64_t groups = random.whole(1, 8);
    return {.heads = groups * random.whole(1, 8),
            .kv_heads = groups,
            .seq_q = random.whole(1, keys),
            .seq_kv = keys,
            .decodes = random.size(256),
            .decode_kv = random.size(32768),
            .head_dim = random.coin() ? 128 : 64};
}

Recurrence random_recurrence(Random& random, RecurrenceKind kind) {
    const auto phase = static_cast<RecurrencePhase>(random.whole(0, 2));
    const std::int64_t keys = random.size(32);
    return {.kind = kind,
            .part = static_cast<RecurrencePart>(random.whole(0, 2)),
            .phase = phase,
            .batch = random.size(64),
            .seq = phase == RecurrencePhase::generation ? 1
                   : phase == RecurrencePhase::verify   ? random.whole(2, 8)
                                                        : random.size(16384),
            .k_heads = keys,
            .head_k_dim = random.coin() ? 128 : 64,
            .v_heads = keys * random.whole(1, 4),
            .head_v_dim = random.coin() ? 128 : 64,
            .conv = random.whole(2, 8),
            .chunk = random.coin() ? 64 : 128};
}

TokenWise random_token_wise(Random& random, TokenKind kind) {
    constexpr std::array narrow{DataType::fp8, DataType::int8, DataType::fp8_block, DataType::nvfp4,
                                DataType::mxfp8};
    const bool convolves = kind == TokenKind::conv1d;
    const std::int64_t cols = random.size(16384);
    return {.kind = kind,
            .rows = random.size(16384),
            .cols = cols,
            .width = kind == TokenKind::topk ? random.size(cols)
                     : convolves             ? random.whole(2, 8)
                                             : 1,
            .batch = convolves ? random.size(16) : 1,
            .output = kind == TokenKind::quantize ? random.pick(narrow) : DataType::bf16};
}

/// How often a kind is drawn. There are many kinds of collectives, row operations and recurrences.
int weight_of(OperationKind kind) {
    switch (kind) {
        case OperationKind::matmul:
        case OperationKind::attention:
            return 8;
        case OperationKind::elementwise:
        case OperationKind::access:
            return 6;
        case OperationKind::indexer:
        case OperationKind::sparse_mla:
        case OperationKind::mixed_attention:
        case OperationKind::gdn:
        case OperationKind::kda:
        case OperationKind::mamba2:
        case OperationKind::topk:
        case OperationKind::rope:
        case OperationKind::swiglu:
        case OperationKind::quantize:
        case OperationKind::conv1d:
        case OperationKind::all_reduce:
        case OperationKind::all_gather:
        case OperationKind::reduce_scatter:
        case OperationKind::all_to_all:
        case OperationKind::broadcast:
        case OperationKind::send:
        case OperationKind::host_to_device:
        case OperationKind::device_to_host:
            return 1;
        default:
            return 3;
    }
}

}  // namespace

// There is no default, so that the compiler names a kind without a case.
Operation random_operation(Random& random, OperationKind kind) {
    switch (kind) {
        case OperationKind::matmul:
            return random_matmul(random);
        case OperationKind::attention:
            return random_attention(random, Heads::grouped);
        case OperationKind::mla:
            return random_mla(random);
        case OperationKind::moe:
            return random_moe(random);
        case OperationKind::indexer:
            return random_sparse(random, SparsePart::index);
        case OperationKind::sparse_mla:
            return random_sparse(random, SparsePart::attend);
        case OperationKind::mixed_attention:
            return random_mixed(random);
        case OperationKind::gdn:
        case OperationKind::kda:
        case OperationKind::mamba2:
            return random_recurrence(random, recurrence_kind(kind));
        case OperationKind::topk:
        case OperationKind::rope:
        case OperationKind::swiglu:
        case OperationKind::quantize:
        case OperationKind::conv1d:
            return random_token_wise(random, token_kind(kind));
        case OperationKind::elementwise:
            return random_elementwise(random);
        case OperationKind::softmax:
        case OperationKind::layernorm:
        case OperationKind::rmsnorm:
        case OperationKind::sum:
        case OperationKind::mean:
        case OperationKind::max:
        case OperationKind::argmax:
        case OperationKind::cross_entropy:
        case OperationKind::scan:
            return random_rows(random, row_kind(kind));
        case OperationKind::transpose:
            return Transpose{.rows = random.size(1 << 16),
                             .cols = random.size(1 << 16),
                             .type = random.pick(plain_types),
                             .batch = random.coin() ? 1 : random.size(16),
                             .inner = random.coin() ? 1 : random.size(256)};
        case OperationKind::copy:
            return Copy{.elements = random.size(std::int64_t{1} << 34),
                        .type = random.pick(plain_types),
                        .stride = random.coin() ? 1 : random.size(64)};
        case OperationKind::cat: {
            const std::int64_t run = random.size(256);
            return Cat{.inputs = random.whole(1, 16),
                       .rows = random.size(1 << 14),
                       .cols = run * random.whole(1, 16),
                       .type = random.pick(plain_types),
                       .axis = random.coin() ? Axis::rows : Axis::columns,
                       .inner = random.coin() ? 0 : run};
        }
        case OperationKind::adamw:
            return AdamW{.elements = 300 + random.size(std::int64_t{1} << 32),
                         .type = random.coin() ? DataType::fp32 : DataType::bf16,
                         .tensors = random.whole(1, 300)};
        case OperationKind::gather:
            return Gather{.rows = random.size(1 << 20),
                          .cols = random.size(1 << 14),
                          .table_rows = random.size(1 << 20),
                          .type = random.pick(plain_types)};
        case OperationKind::access:
            return random_access(random);
        case OperationKind::all_reduce:
        case OperationKind::all_gather:
        case OperationKind::reduce_scatter:
        case OperationKind::all_to_all:
        case OperationKind::broadcast:
        case OperationKind::send:
        case OperationKind::host_to_device:
        case OperationKind::device_to_host:
            return random_collective(random, kind);
        case OperationKind::kernel:
            return random_kernel(random);
    }
    std::abort();
}

Operation random_operation(Random& random) {
    static const std::vector<OperationKind> kinds = [] {
        std::vector<OperationKind> often;
        for (const OperationInfo& info : operation_table()) {
            often.insert(often.end(), static_cast<std::size_t>(weight_of(info.kind)), info.kind);
        }
        return often;
    }();
    return random_operation(random, random.pick(kinds));
}

Execution random_execution(const Operation& operation, Random& random) {
    constexpr std::array l2_states{L2State::warm, L2State::cold, L2State::dirty};
    constexpr std::array launches{LaunchMode::kernel, LaunchMode::graph, LaunchMode::stream};
    Execution execution{.l2 = random.pick(l2_states), .launch = random.pick(launches)};
    if (random.whole(0, 2) > 0 && applies(kind_of(operation), Field::impl)) {
        execution.implementation = random.pick(info_of(kind_of(operation)).implementations);
    }
    if (std::holds_alternative<Matmul>(operation) && random.whole(0, 7) == 0) {
        execution.tile = Tile{128, 64, 32};
    }
    return execution;
}

std::string describe(const Operation& operation) {
    return text_of(kind_of(operation), parameters_of(operation));
}

}  // namespace ridge::test
