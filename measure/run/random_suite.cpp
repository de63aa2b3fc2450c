// Random shapes for every bundled kernel; see suite.h.
//
// Method: draws a kind of kernel by its weight, then a question of that kind in words. Sizes are
// log-uniform. A question that would take more than about 50 ms or 16 GB is drawn again.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include "measure/run/device.h"
#include "measure/run/random_sizes.h"
#include "measure/run/suite.h"
#include "model/footprint/footprint.h"
#include "model/machine/features.h"

namespace ridge::measure {
namespace {

constexpr std::string_view tiled_attention = "mma";  ///< runs on any GPU; also decodes
constexpr std::string_view hopper_attention = "wgmma";

constexpr Bytes most_memory = 16.0 * units::GB;

/// "op field=value ...". Fields are drawn in the order of the calls, whatever the compiler.
class Words {
  public:
    explicit Words(std::string_view op) : text_(op) {}

    template <class Value>
    Words& with(std::string_view field, const Value& value) {
        text_ += fmt::format(" {}={}", field, value);
        return *this;
    }
    Words& with(std::string_view more) {
        text_ += more;
        return *this;
    }
    [[nodiscard]] const std::string& text() const { return text_; }

  private:
    std::string text_;
};

/// A question in words; empty when the draw is too large.
using Text = std::optional<std::string>;

struct Edges {
    std::int64_t m;
    std::int64_t n;
    std::int64_t k;
};

/// How the matrix products of one kernel are drawn.
struct Products {
    std::string_view words;  ///< dtype, impl and any other fixed fields
    Edges low{64, 64, 64};
    Edges high{8192, 16384, 16384};
    double most_flop = 4e12;
    std::int64_t multiple = 1;  ///< of n and k
};

Text product(Random& random, const Products& products) {
    const std::int64_t m = random.size(products.low.m, products.high.m);
    const auto whole = [&](std::int64_t low, std::int64_t high) {
        const std::int64_t size = random.size(low, high);
        return std::max(products.multiple, size / products.multiple * products.multiple);
    };
    const std::int64_t n = whole(products.low.n, products.high.n);
    const std::int64_t k = whole(products.low.k, products.high.k);
    const std::string_view l2 = random.l2();
    const double flop =
        2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    if (flop > products.most_flop) return std::nullopt;
    return fmt::format("matmul m={} n={} k={} {}{}", m, n, k, products.words, l2);
}

constexpr Edges skinny{16, 64, 64};
constexpr Edges smallest{16, 16, 16};
constexpr Edges middle{4096, 4096, 4096};
constexpr Edges large{8192, 8192, 8192};

Text library_product(Random& random, std::int32_t capability) {
    const Products bf16{.words = "dtype=bf16 impl=library", .low = skinny};
    switch (random.below(10)) {
        case 0:
            return product(random, {.words = "dtype=fp16 impl=library", .low = skinny});
        case 1:
            if (!model::features_of(capability).fp8) return std::nullopt;
            return product(
                random,
                {.words = "dtype=fp8 b_layout=column impl=library", .low = skinny, .multiple = 16});
        case 2:
            return product(random, {.words = "dtype=tf32 impl=library",
                                    .low = skinny,
                                    .most_flop = 2e12,
                                    .multiple = 4});
        case 3:
            return product(random,
                           {.words = "dtype=fp32 impl=library", .low = skinny, .most_flop = 1e12});
        case 4:
        case 5:
            return product(random, {.words = bf16.words, .low = skinny, .multiple = 8});
        default:
            return product(random, bf16);
    }
}

Text vector_product(Random& random, std::int32_t) {
    switch (random.below(5)) {
        case 0:
            return product(random, {.words = "dtype=fp32 impl=naive",
                                    .low = smallest,
                                    .high = middle,
                                    .most_flop = 2e10});
        case 1:
            return product(random, {.words = "dtype=fp32 impl=coalesced",
                                    .low = smallest,
                                    .high = middle,
                                    .most_flop = 1e11});
        case 2:
            return product(random, {.words = "dtype=fp32 impl=tiled",
                                    .low = smallest,
                                    .high = middle,
                                    .most_flop = 1e11});
        default:
            return product(
                random,
                {.words = "dtype=fp32 impl=register_tiled", .high = large, .most_flop = 1e12});
    }
}

Text tensor_product(Random& random, std::int32_t capability) {
    const bool hopper = random.one_in(2);
    if (hopper && !model::features_of(capability).wgmma) return std::nullopt;
    const bool half = random.one_in(3);
    if (hopper) {
        return product(random, {.words = half ? "dtype=fp16 impl=wgmma" : "dtype=bf16 impl=wgmma",
                                .multiple = 8});
    }
    return product(random, {.words = half ? "dtype=fp16 impl=mma" : "dtype=bf16 impl=mma",
                            .high = {8192, 8192, 16384},
                            .multiple = 8});
}

Text prefill(Random& random, std::int32_t capability) {
    constexpr std::array<std::string_view, 3> types{"bf16", "bf16", "fp16"};
    constexpr std::array<std::string_view, 5> ways{tiled_attention, tiled_attention,
                                                   hopper_attention, hopper_attention, "standard"};
    constexpr double most_flop = 3e12;
    const std::string_view way = random.pick(ways);
    if (way == hopper_attention && !model::features_of(capability).wgmma) return std::nullopt;
    const std::int64_t heads = random.power_of_two(7);
    const std::int64_t batch = random.one_in(2) ? 1 : random.power_of_two(4);
    const std::int64_t seq = random.size(128, way == "standard" ? 8192 : 16384);
    const std::int64_t head_dim = random.one_in(2) ? 64 : 128;
    const std::int64_t causal = random.below(2);
    const std::int64_t group = heads >= 8 && random.one_in(2) ? 4 * random.power_of_two(2) : 1;
    const auto tokens = static_cast<double>(seq);
    if (4.0 * static_cast<double>(batch * heads * head_dim) * tokens * tokens > most_flop) {
        return std::nullopt;
    }
    return fmt::format(
        "attention dtype={} batch={} heads={} kv_heads={} seq={} head_dim={} causal={} impl={}",
        random.pick(types), batch, heads, heads / group, seq, head_dim, causal, way);
}

Text decode(Random& random, std::int32_t) {
    const std::int64_t heads = 8 * random.power_of_two(4);
    const std::int64_t group = random.one_in(3) ? 1 : 4 * random.power_of_two(2);
    return Words("attention dtype=bf16 seq_q=1")
        .with("batch", random.power_of_two(8))
        .with("heads", heads)
        .with("kv_heads", heads / group)
        .with("seq_kv", random.size(256, 65536))
        .with("head_dim", random.one_in(2) ? 64 : 128)
        .with("impl", tiled_attention)
        .with(random.l2())
        .text();
}

constexpr std::array<std::string_view, 3> plain_types{"bf16", "fp16", "fp32"};
constexpr std::array<std::string_view, 3> row_types{"bf16", "bf16", "fp32"};

Text elementwise(Random& random, std::int32_t) {
    constexpr std::array<std::string_view, 14> expressions{
        "\"gelu(x + bias)\"",    "\"silu(x) * y\"",
        "\"alpha*x + y\"",       "\"x*y + z\"",
        "\"tanh(exp(x) + 1)\"",  "\"exp(x)\"",
        "\"relu(x)\"",           "\"x + 1\"",
        "\"sqrt(abs(x)) + y\"",  "\"gelu_tanh(x)\"",
        "\"log(x*x + 1)\"",      "\"(x + y)*(x - y)\"",
        "\"x / (1 + exp(-x))\"", "\"sin(x)^2 + cos(x)^2\""};
    return Words("elementwise")
        .with("dtype", random.pick(plain_types))
        .with("elements", random.size(1 << 12, 1 << 28))
        .with("expr", random.pick(expressions))
        .with("impl", random.below(5) < 3 ? "fused" : "unfused")
        .with(random.circumstances())
        .text();
}

Text rows(Random& random, std::int32_t) {
    constexpr std::array<std::string_view, 5> operations{"softmax", "softmax", "layernorm",
                                                         "rmsnorm", "sum"};
    constexpr std::int64_t most_elements = 400'000'000;
    const std::string_view operation = random.pick(operations);
    const bool manual = operation == "softmax" && random.one_in(2);
    const std::int64_t height = random.size(64, 65536);
    const std::int64_t width = random.size(64, 16384);
    if (height * width > most_elements) return std::nullopt;
    return Words(operation)
        .with("dtype", random.pick(row_types))
        .with("rows", height)
        .with("cols", width)
        .with("impl", manual ? "manual" : "fused")
        .with(random.circumstances())
        .text();
}

Text movement(Random& random, std::int32_t) {
    switch (random.below(3)) {
        case 0:
            return Words("transpose")
                .with("dtype", random.pick(plain_types))
                .with("rows", random.size(128, 16384))
                .with("cols", random.size(128, 16384))
                .with("impl", random.one_in(2) ? "naive" : "tiled")
                .with(random.l2())
                .text();
        case 1:
            return Words("copy impl=bundled")
                .with("dtype", random.pick(row_types))
                .with("elements", random.size(1 << 12, 1 << 29))
                .with(random.circumstances())
                .text();
        default:
            return Words("gather impl=bundled")
                .with("dtype", random.pick(row_types))
                .with("rows", random.size(256, 1 << 20))
                .with("cols", random.size(16, 8192, 16))
                .with("table_rows", random.size(1000, 2'000'000))
                .with(random.l2())
                .text();
    }
}

Text access(Random& random, std::int32_t) {
    constexpr std::array<std::string_view, 3> types{"fp32", "bf16", "fp64"};
    constexpr std::int64_t warp = 32;
    Words words("access impl=bundled");
    switch (random.below(4)) {
        case 0:
            return words.with("pattern", "strided")
                .with("dtype", random.pick(types))
                .with("elements", random.size(1 << 14, 1 << 26))
                .with("stride", random.size(1, 64, 4))
                .with(random.l2())
                .text();
        case 1:
            return words.with("pattern", "misaligned")
                .with("dtype", random.pick(types))
                .with("elements", random.size(1 << 14, 1 << 28))
                .with("offset", random.below(warp))
                .with(random.l2())
                .text();
        case 2:
            return words.with("pattern", "divergent")
                .with("elements", random.size(1 << 14, 1 << 24))
                .with("paths", 1 + random.below(warp))
                .text();
        default:
            return words.with("pattern", "bank_conflict")
                .with("elements", random.size(1 << 16, 1 << 29))
                .with("ways", 1 + random.below(warp))
                .text();
    }
}

struct Kind {
    std::int64_t weight;  ///< roughly the number of its implementations, and how much they vary
    Text (*draw)(Random&, std::int32_t compute_capability);
};
constexpr std::array kinds{Kind{20, library_product},
                           Kind{10, vector_product},
                           Kind{9, tensor_product},
                           Kind{20, prefill},
                           Kind{7, decode},
                           Kind{12, elementwise},
                           Kind{16, rows},
                           Kind{13, movement},
                           Kind{8, access}};

Text draw(Random& random, std::int32_t compute_capability) {
    const std::int64_t total =
        std::accumulate(kinds.begin(), kinds.end(), std::int64_t{0},
                        [](std::int64_t sum, const Kind& kind) { return sum + kind.weight; });
    std::int64_t place = random.below(total);
    for (const Kind& kind : kinds) {
        if (place < kind.weight) return kind.draw(random, compute_capability);
        place -= kind.weight;
    }
    return std::nullopt;
}

bool fits(const Question& question) {
    return footprint(question.operation, question.execution.implementation, model::Pass::inference)
               .total() <= most_memory;
}

}  // namespace

std::vector<Question> random_questions(std::uint64_t seed, std::int64_t count,
                                       std::int32_t compute_capability) {
    Random random(seed);
    std::vector<Question> questions;
    std::set<std::string> seen;
    while (static_cast<std::int64_t>(questions.size()) < count) {
        const Text text = draw(random, compute_capability);
        if (!text) continue;
        Question question = parse_question(*text);
        if (!fits(question)) continue;
        question.seed = seed;
        if (seen.insert(canonical_text(question)).second) questions.push_back(std::move(question));
    }
    return questions;
}

}  // namespace ridge::measure
