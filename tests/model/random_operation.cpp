#include "tests/model/random_operation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <string_view>

namespace ridge::test {

using namespace ridge::model;

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

constexpr std::array matmul_types{DataType::fp64, DataType::fp32, DataType::tf32, DataType::fp16,
                                  DataType::bf16, DataType::fp8,  DataType::int8};
constexpr std::array plain_types{DataType::fp64, DataType::fp32, DataType::fp16, DataType::bf16,
                                 DataType::fp8};
constexpr std::array attention_types{DataType::fp16, DataType::bf16};
constexpr std::array head_dims{16, 32, 40, 64, 80, 96, 128, 192, 256};
constexpr std::array<std::string_view, 6> expressions{"x",
                                                      "relu(x)",
                                                      "gelu(x + bias)",
                                                      "sin(x)^2 + cos(x)^2",
                                                      "x * sigmoid(y) + z",
                                                      "sigmoid(sigmoid(sigmoid(x)))"};
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

RowWise random_rows(Random& random) {
    return {.kind = static_cast<RowKind>(random.whole(0, 3)),
            .rows = random.size(1 << 18),
            .cols = random.size(1 << 16),
            .type = random.pick(plain_types),
            .direction = random.pick(directions)};
}

Access random_access(Random& random) {
    const auto pattern = static_cast<AccessPattern>(random.whole(0, 3));
    const bool reads = pattern == AccessPattern::strided || pattern == AccessPattern::misaligned;
    return {.pattern = pattern,
            .elements = random.size(std::int64_t{1} << 32),
            .degree = reads ? random.size(64) : random.whole(1, 32),
            .type = reads ? random.pick(plain_types) : DataType::fp32};
}

template <class Op, class Member>
void grow(std::vector<std::pair<std::string, Operation>>& larger, const Op& op, const char* name,
          Member member) {
    for (const std::int64_t by : {op.*member, std::int64_t{1}}) {
        Op changed = op;
        changed.*member += by;
        larger.emplace_back(name, changed);
    }
}

std::vector<std::pair<std::string, Operation>> grown_attention(const Attention& op) {
    std::vector<std::pair<std::string, Operation>> larger;
    grow(larger, op, "batch", &Attention::batch);
    grow(larger, op, "seq_kv", &Attention::seq_kv);
    if (!op.causal || op.seq_q * 2 <= op.seq_kv) grow(larger, op, "seq_q", &Attention::seq_q);
    if (op.window > 0) grow(larger, op, "window", &Attention::window);
    Attention heads = op;
    heads.heads *= 2;
    larger.emplace_back("heads", heads);
    heads.kv_heads *= 2;
    larger.emplace_back("heads and kv_heads", heads);
    return larger;
}

}  // namespace

Attention random_attention(Random& random, Heads heads) {
    const std::int64_t kv_heads = random.size(32);
    const std::int64_t group = heads == Heads::equal ? 1 : random.size(8);
    const std::int64_t seq_kv = random.size(16384);
    const bool causal = random.coin();
    const std::int64_t seq_q = random.coin() ? seq_kv : random.coin() ? 1 : random.size(4096);
    return {.batch = random.size(16),
            .heads = kv_heads * group,
            .kv_heads = kv_heads,
            .seq_q = causal ? std::min(seq_q, seq_kv) : seq_q,
            .seq_kv = seq_kv,
            .head_dim = random.pick(head_dims),
            .window = random.whole(0, 3) == 0 ? random.size(4096) : 0,
            .type = random.pick(attention_types),
            .direction = random.pick(directions),
            .causal = causal,
            .kv_write = false};
}

Operation random_operation(Random& random) {
    switch (random.whole(0, 8)) {
        case 0:
            return random_matmul(random);
        case 1:
            return random_attention(random, Heads::grouped);
        case 2:
            return Elementwise{.expression = parse_expression(random.pick(expressions)),
                               .elements = random.size(std::int64_t{1} << 32),
                               .type = random.pick(plain_types),
                               .direction = random.pick(directions)};
        case 3:
            return random_rows(random);
        case 4:
            return Transpose{.rows = random.size(1 << 16),
                             .cols = random.size(1 << 16),
                             .type = random.pick(plain_types)};
        case 5:
            return Copy{.elements = random.size(std::int64_t{1} << 34),
                        .type = random.pick(plain_types)};
        case 6:
            return Gather{.rows = random.size(1 << 20),
                          .cols = random.size(1 << 14),
                          .table_rows = random.size(1 << 20),
                          .type = random.pick(plain_types)};
        case 7:
            return random_access(random);
        default:
            return Collective{.kind = static_cast<CollectiveKind>(random.whole(0, 7)),
                              .gpus = random.whole(2, 16),
                              .bytes = random.size(std::int64_t{1} << 34)};
    }
}

Execution random_execution(const Operation& operation, Random& random) {
    constexpr std::array l2_states{L2State::warm, L2State::cold};
    constexpr std::array launches{LaunchMode::kernel, LaunchMode::graph, LaunchMode::stream};
    constexpr std::array attention{Implementation::automatic, Implementation::standard,
                                   Implementation::eager,     Implementation::flash1,
                                   Implementation::flash2,    Implementation::flash3,
                                   Implementation::mma,       Implementation::wgmma};
    constexpr std::array matmul{Implementation::automatic, Implementation::library,
                                Implementation::naive, Implementation::tiled, Implementation::mma};
    constexpr std::array elementwise{Implementation::automatic, Implementation::unfused};
    Execution execution{.l2 = random.pick(l2_states), .launch = random.pick(launches)};
    if (std::holds_alternative<Attention>(operation))
        execution.implementation = random.pick(attention);
    if (std::holds_alternative<Elementwise>(operation)) {
        execution.implementation = random.pick(elementwise);
    }
    if (std::holds_alternative<Matmul>(operation)) {
        execution.implementation = random.pick(matmul);
        if (random.whole(0, 7) == 0) execution.tile = Tile{128, 64, 32};
    }
    const auto* rows = std::get_if<RowWise>(&operation);
    if (rows != nullptr && rows->kind == RowKind::softmax &&
        rows->direction == Direction::forward && random.coin()) {
        execution.implementation = Implementation::manual;
    }
    return execution;
}

namespace {

struct Grow {
    using Larger = std::vector<std::pair<std::string, Operation>>;

    Larger operator()(const Matmul& op) const {
        Larger larger;
        grow(larger, op, "batch", &Matmul::batch);
        grow(larger, op, "m", &Matmul::m);
        grow(larger, op, "n", &Matmul::n);
        grow(larger, op, "k", &Matmul::k);
        return larger;
    }
    Larger operator()(const Attention& op) const { return grown_attention(op); }
    Larger operator()(const Elementwise& op) const {
        return one(op, "elements", &Elementwise::elements);
    }
    Larger operator()(const Copy& op) const { return one(op, "elements", &Copy::elements); }
    Larger operator()(const Access& op) const {
        Larger larger = one(op, "elements", &Access::elements);
        const bool most = op.degree >= 16;  // twice that must stay within a warp
        if (op.pattern != AccessPattern::misaligned && !most) {
            grow(larger, op, "degree", &Access::degree);
        }
        return larger;
    }
    Larger operator()(const Collective& op) const { return one(op, "bytes", &Collective::bytes); }
    Larger operator()(const RowWise& op) const { return matrix(op); }
    Larger operator()(const Transpose& op) const { return matrix(op); }
    Larger operator()(const Gather& op) const {
        Larger larger = matrix(op);
        grow(larger, op, "table_rows", &Gather::table_rows);
        return larger;
    }

    template <class Op>
    static Larger matrix(const Op& op) {
        Larger larger = one(op, "rows", &Op::rows);
        grow(larger, op, "cols", &Op::cols);
        return larger;
    }
    template <class Op, class Member>
    static Larger one(const Op& op, const char* name, Member member) {
        Larger larger;
        grow(larger, op, name, member);
        return larger;
    }
};

struct Describe {
    std::ostringstream& out;

    void operator()(const Matmul& op) const {
        out << " batch=" << op.batch << " m=" << op.m << " n=" << op.n << " k=" << op.k;
    }
    void operator()(const Attention& op) const {
        out << " batch=" << op.batch << " heads=" << op.heads << " kv_heads=" << op.kv_heads
            << " seq_q=" << op.seq_q << " seq_kv=" << op.seq_kv << " head_dim=" << op.head_dim
            << " window=" << op.window << " causal=" << op.causal
            << (op.direction == Direction::forward ? " forward" : " backward");
    }
    void operator()(const Elementwise& op) const {
        out << " elements=" << op.elements << " expr=" << to_string(op.expression);
    }
    void operator()(const RowWise& op) const {
        out << " rows=" << op.rows << " cols=" << op.cols
            << (op.direction == Direction::forward ? " forward" : " backward");
    }
    void operator()(const Transpose& op) const {
        out << " rows=" << op.rows << " cols=" << op.cols;
    }
    void operator()(const Copy& op) const { out << " elements=" << op.elements; }
    void operator()(const Gather& op) const {
        out << " rows=" << op.rows << " cols=" << op.cols << " table_rows=" << op.table_rows;
    }
    void operator()(const Access& op) const {
        out << " pattern=" << name_of(op.pattern) << " elements=" << op.elements << " "
            << degree_name(op.pattern) << "=" << op.degree;
    }
    void operator()(const Collective& op) const {
        out << " gpus=" << op.gpus << " bytes=" << op.bytes;
    }
};

}  // namespace

std::vector<std::pair<std::string, Operation>> grown(const Operation& operation) {
    return std::visit(Grow{}, operation);
}

std::string describe(const Operation& operation) {
    std::ostringstream out;
    out << name_of(operation) << " dtype=" << name_of(type_of(operation));
    std::visit(Describe{out}, operation);
    return out.str();
}

}  // namespace ridge::test
