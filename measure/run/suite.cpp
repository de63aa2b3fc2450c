#include "measure/run/suite.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "hardware/error.h"

namespace ridge::measure {
namespace {

struct Row {
    std::string_view text;
    std::int32_t compute_capability = 80;  ///< oldest GPU that runs it
    std::int32_t newest = 999;             ///< newest GPU that runs it (only Hopper has wgmma)
};

constexpr std::array quick_rows{
    Row{"matmul dtype=bf16 m={512,1024,2048,4096,8192} n=@m k=@m impl=library"},
    Row{"matmul dtype=bf16 m={1,16,128} n=4096 k=4096 impl=library l2=cold"},
    Row{"matmul dtype=bf16 m=2048 n={50257,50304} k=768 impl=library"},
    Row{"matmul dtype={fp16,tf32} m=4096 n=@m k=@m impl=library"},
    Row{"matmul dtype=fp8 m={4096,8192} n=@m k=@m b_layout=column impl=library", 89},
    Row{"matmul dtype=bf16 m={1024,4096,8192} n=@m k=@m impl=wgmma", 90, 90},
    Row{"matmul dtype={bf16,fp16} m=4096 n=@m k=@m impl=mma"},
    Row{"matmul dtype=fp32 m=1024 n=@m k=@m impl={naive,coalesced,tiled,register_tiled}"},
    Row{"matmul dtype=fp32 m=4096 n=@m k=@m impl=register_tiled"},
    Row{"attention dtype=bf16 heads=16 seq={2048,8192} head_dim=128 causal={0,1} impl=wgmma", 90,
        90},
    Row{"attention dtype=bf16 heads=16 seq=4096 head_dim={64,128} impl={mma,standard}"},
    Row{"attention dtype=bf16 heads=32 kv_heads=8 seq=4096 head_dim=128 causal=1 impl=mma"},
    Row{"attention dtype=bf16 batch=16 heads=32 kv_heads=8 seq_q=1 seq_kv={4096,16384} "
        "head_dim=128 impl=mma"},
    Row{"elementwise expr=\"gelu(x + bias)\" dtype=bf16 elements={1048576,134217728} "
        "impl={fused,unfused}"},
    Row{"elementwise expr=\"alpha*x + y\" dtype=fp32 elements={16777216,268435456} impl=fused "
        "l2={cold,warm}"},
    Row{"elementwise expr=\"sin(x)^2 + cos(x)^2\" dtype=fp32 elements=67108864 "
        "impl={fused,unfused}"},
    Row{"softmax dtype=bf16 rows=8192 cols={1024,8192} impl={fused,manual}"},
    Row{"{layernorm,rmsnorm,sum} dtype=bf16 rows=8192 cols={1024,8192} impl=fused"},
    Row{"transpose dtype=fp32 rows=8192 cols=8192 impl={naive,tiled}"},
    Row{"copy dtype=fp32 elements={1048576,268435456} impl=bundled l2={cold,warm}"},
    Row{"gather dtype=bf16 rows=65536 cols={64,1024} table_rows=1000000 impl=bundled l2=cold"},
    Row{"access pattern=strided dtype=fp32 elements=67108864 stride={1,8} impl=bundled l2=cold"},
    Row{"access pattern=bank_conflict elements=268435456 ways={1,8} impl=bundled"},
    Row{"access pattern=divergent elements=4194304 paths={1,4} impl=bundled"},
};

constexpr std::array full_rows{
    // Squares over two orders of magnitude, and nearby sizes that do not fill whole tiles.
    Row{"matmul dtype=bf16 m={128,256,384,640,768,1536,3072,6144,12288,16384} n=@m k=@m "
        "impl=library"},
    Row{"matmul dtype=bf16 m={1000,2047,2050,4104,5000} n=@m k=@m impl=library"},
    Row{"matmul dtype={fp16,bf16} m={256,512,1536,2048,6144} n=@m k=@m impl={library,wgmma}", 90,
        90},
    Row{"matmul dtype={fp16,bf16} m={512,1024,2048,8192} n=@m k=@m impl=mma"},
    // Skinny products of decoding, and the layers of a transformer.
    Row{"matmul dtype=bf16 m={1,8,32,64,256,512} n={4096,14336} k=4096 impl=library "
        "l2={cold,warm}"},
    Row{"matmul dtype=bf16 m={2048,8192} n={6144,28672} k=4096 impl={library,wgmma}", 90, 90},
    Row{"matmul dtype=bf16 m={2048,8192} n=4096 k=14336 impl={library,wgmma}", 90, 90},
    Row{"matmul dtype=bf16 m=4096 n=4096 k={64,128,512,16384,65536} impl={library,wgmma}", 90, 90},
    Row{"matmul dtype=bf16 m={64,8192} n={64,8192} k=65536 impl=library"},
    Row{"matmul dtype=bf16 m={8192,16384} n={50257,50304} k={768,4096} impl=library"},
    Row{"matmul dtype=bf16 m={512,4096} n=@m k=@m impl=library launch={graph,stream}"},
    Row{"matmul dtype=fp8 m={512,1024,2048,6144,16384} n=@m k=@m b_layout=column impl=library", 89},
    Row{"matmul dtype=fp8 m={16,128} n=4096 k=4096 b_layout=column impl=library l2=cold", 89},
    Row{"matmul dtype=tf32 m={512,1024,2048,8192} n=@m k=@m impl=library"},
    Row{"matmul dtype={fp32,fp64} m={1024,2048,4096} n=@m k=@m impl=library"},
    Row{"matmul dtype=bf16 batch={16,64} m=512 n=512 k={64,512} impl=library"},
    Row{"matmul dtype=fp32 m={512,2048} n=@m k=@m impl={naive,coalesced,tiled,register_tiled}"},
    Row{"matmul dtype=fp32 m=8192 n=@m k=@m impl=register_tiled"},
    // Attention: prefill over lengths, heads and masks; decoding over cache lengths.
    Row{"attention dtype=bf16 heads=16 seq={512,1024,4096,16384} head_dim={64,128} causal={0,1} "
        "impl={mma,wgmma}",
        90, 90},
    Row{"attention dtype=bf16 heads=16 seq={512,1024,4096,16384} head_dim={64,128} causal={0,1} "
        "impl=mma",
        80, 89},
    Row{"attention dtype=fp16 heads=32 kv_heads={4,32} seq={2048,8192} head_dim=128 causal=1 "
        "impl=mma"},
    Row{"attention dtype=bf16 batch={4,32} heads=16 seq=1024 head_dim=64 impl=mma"},
    Row{"attention dtype=bf16 heads=16 seq={512,1024,2048,8192} head_dim={64,128} impl=standard"},
    Row{"attention dtype=bf16 batch={1,4,64} heads=32 kv_heads=8 seq_q=1 "
        "seq_kv={1024,8192,65536} head_dim=128 impl=mma l2=cold"},
    Row{"attention dtype=bf16 batch=16 heads=32 seq_q=1 seq_kv=4096 head_dim=128 impl=mma"},
    // Streaming operations from launch-bound to DRAM-bound.
    Row{"elementwise expr=\"gelu(x + bias)\" dtype={bf16,fp32} "
        "elements={65536,4194304,16777216,268435456} impl={fused,unfused}"},
    Row{"elementwise expr=\"silu(x) * y\" dtype=bf16 elements={1048576,16777216,268435456} "
        "impl={fused,unfused}"},
    Row{"elementwise expr=\"x*y + z\" dtype={fp32,fp64} elements={4194304,134217728} impl=fused "
        "l2={cold,warm}"},
    Row{"elementwise expr=\"tanh(exp(x) + 1)\" dtype=fp32 elements={1048576,134217728} "
        "impl={fused,unfused}"},
    Row{"elementwise expr=\"x + 1\" dtype=fp32 elements={1024,65536,1048576} impl=fused "
        "launch={graph,stream}"},
    Row{"softmax dtype={bf16,fp32} rows={128,4096,65536} cols={128,1024,4096} impl={fused,manual}"},
    Row{"softmax dtype=bf16 rows=512 cols={32768,131072} impl=fused"},
    Row{"{layernorm,rmsnorm,sum} dtype={bf16,fp32} rows={128,4096,65536} cols={512,4096} "
        "impl=fused"},
    Row{"transpose dtype={bf16,fp32} rows={1024,4096,16384} cols=@rows impl={naive,tiled}"},
    Row{"transpose dtype=fp32 rows=4000 cols=6000 impl={naive,tiled}"},
    Row{"copy dtype=bf16 elements={65536,4194304,16777216,67108864,1073741824} impl=bundled "
        "l2={cold,warm}"},
    Row{"gather dtype=bf16 rows={1024,65536,1048576} cols={16,128,4096} table_rows=200000 "
        "impl=bundled l2=cold"},
    // Accesses and branches that the hardware serialises.
    Row{"access pattern=strided dtype=fp32 elements=33554432 stride={1,2,4,8,16,32,64} "
        "impl=bundled l2=cold"},
    Row{"access pattern=strided dtype=fp32 elements=262144 stride={1,8} impl=bundled"},
    Row{"access pattern=strided dtype={bf16,fp64} elements=33554432 stride={2,16} impl=bundled "
        "l2=cold"},
    Row{"access pattern=misaligned dtype=fp32 elements=134217728 offset={0,1,8,31} impl=bundled "
        "l2=cold"},
    Row{"access pattern=misaligned dtype=fp32 elements=4194304 offset={0,1} impl=bundled"},
    Row{"access pattern=bank_conflict elements=67108864 ways={1,2,3,4,16,32} impl=bundled"},
    Row{"access pattern=divergent elements=4194304 paths={2,3,8,16,32} impl=bundled"},
};

bool runs_on(const Row& row, std::int32_t compute_capability) {
    return compute_capability >= row.compute_capability && compute_capability <= row.newest;
}

template <std::size_t size>
void add_rows(const std::array<Row, size>& rows, std::int32_t compute_capability,
              std::vector<Question>& questions, std::set<std::string>& seen) {
    for (const Row& row : rows) {
        if (!runs_on(row, compute_capability)) continue;
        for (const std::string& text : expand(row.text)) {
            Question question = parse_question(text);
            if (seen.insert(canonical_text(question)).second) {
                questions.push_back(std::move(question));
            }
        }
    }
}

/// Takes one question of each operation in turn, so that no power-hungry operation runs for minutes
/// without a pause.
std::vector<Question> alternate(std::vector<Question> questions) {
    std::map<std::string_view, std::vector<Question>> by_operation;
    const std::size_t total = questions.size();
    for (Question& question : questions) {
        by_operation[name_of(question.operation)].push_back(std::move(question));
    }
    // Each operation is spread evenly over the whole: its i-th of n questions is at (i + 1/2) / n.
    std::vector<std::pair<double, Question>> placed;
    placed.reserve(total);
    for (auto& [name, list] : by_operation) {
        for (std::size_t i = 0; i < list.size(); ++i) {
            const double position =
                (static_cast<double>(i) + 0.5) / static_cast<double>(list.size());
            placed.emplace_back(position, std::move(list[i]));
        }
    }
    std::stable_sort(placed.begin(), placed.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<Question> order;
    order.reserve(total);
    for (auto& [position, question] : placed) order.push_back(std::move(question));
    return order;
}

/// Replaces "@field" by the value of that field in the same text.
std::string resolve_references(std::string text) {
    for (std::size_t at = text.find("=@"); at != std::string::npos; at = text.find("=@")) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        const std::string name = text.substr(at + 2, end - at - 2);
        const std::size_t source = text.find(" " + name + "=");
        if (source == std::string::npos || source + 1 + name.size() == at) {
            throw InputError(fmt::format("suite: '@{}' is not another field of '{}'", name, text));
        }
        const std::size_t begin = source + name.size() + 2;
        const std::string value = text.substr(begin, text.find(' ', begin) - begin);
        if (value.starts_with('@')) {
            throw InputError(fmt::format("suite: '@{}' refers to another reference", name));
        }
        text.replace(at + 1, end - at - 1, value);
    }
    return text;
}

}  // namespace

Suite parse_suite(std::string_view text) {
    if (text == "quick") return Suite::quick;
    if (text == "full") return Suite::full;
    if (text == "collectives") return Suite::collectives;
    throw InputError("suite: unknown suite '" + std::string(text) + "'", {},
                     "quick, full or collectives");
}

double seconds_of(Suite suite) {
    constexpr double minutes_of_kernels = 420.0;
    return suite == Suite::full ? minutes_of_kernels : 50.0;
}

std::vector<std::string> expand(std::string_view row) {
    const std::size_t open = row.find('{');
    if (open == std::string_view::npos) {
        if (row.find('}') != std::string_view::npos) {
            throw InputError("suite: '}' without '{' in '" + std::string(row) + "'");
        }
        return {resolve_references(std::string(row))};
    }
    const std::size_t close = row.find('}', open);
    if (close == std::string_view::npos) {
        throw InputError("suite: '{' without '}' in '" + std::string(row) + "'");
    }
    std::vector<std::string> texts;
    std::string_view alternatives = row.substr(open + 1, close - open - 1);
    while (true) {
        const std::size_t comma = alternatives.find(',');
        std::string one(row.substr(0, open));
        one += alternatives.substr(0, comma);
        one += row.substr(close + 1);
        for (std::string& text : expand(one)) texts.push_back(std::move(text));
        if (comma == std::string_view::npos) break;
        alternatives.remove_prefix(comma + 1);
    }
    return texts;
}

Question parse_question(std::string_view text) {
    const model::OperationText parsed = model::parse_operation(text);
    return {.operation = model::make_operation(parsed.kind, parsed.parameters),
            .execution = model::make_execution(parsed.parameters)};
}

std::vector<Question> suite(Suite suite, std::int32_t compute_capability) {
    std::vector<Question> questions;
    std::set<std::string> seen;
    add_rows(quick_rows, compute_capability, questions, seen);
    if (suite == Suite::full) add_rows(full_rows, compute_capability, questions, seen);
    return alternate(std::move(questions));
}

}  // namespace ridge::measure
