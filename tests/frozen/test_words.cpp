// What texts mean, and in which words they are refused: expressions, operations, configs of models and files of GPUs,
// right ones and such with a fault, against data/words.txt (table.h).
//
// A question begins with its part: "expression sin(x) + y", "operation matmul m=0 n=4 k=4",
// "config llama-3.1-8b hidden_size=0" (a field and its value in JSON; "-": taken away),
// "file NUMBER TEXT" (line NUMBER of the sample below becomes TEXT).
#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/expression/expression.h"
#include "programs/configs/config_reader.h"
#include "programs/configs/presets.h"
#include "programs/configs/weights.h"
#include "tests/frozen/table.h"
#include "tests/model/corners.h"
#include "tests/model/random_operation.h"

namespace ridge::programs {
namespace {

std::string counts_text(const model::ExpressionCounts& c) {
    return fmt::format("{} {} {} {} {} {} {} {:.6g} {:.6g} {:.6g}", c.kernels, c.reads, c.writes,
                       c.vector_reads, c.vector_writes, c.mask_reads, c.mask_writes, c.flop,
                       c.special, c.operations);
}

std::string expression_answer(const std::string& text) {
    const model::Expression e = model::parse_expression(text);
    std::string answer =
        fmt::format("{} nodes {} unfused {} fused {}", model::to_string(e), e.nodes().size(),
                    counts_text(e.unfused()), counts_text(e.fused()));
    const model::KernelChain& chain = e.chain();
    answer += fmt::format(" chain {:.6g} {:.6g} {:.6g}", chain.tensors, chain.cost.flop,
                          chain.double_cost.flop);
    for (const model::KernelStep& step : chain.steps) {
        answer += fmt::format(" {} {} {} {:.6g} {:.6g} {:d} {:d}", model::name_of(step.function),
                              step.reads, fmt::join(step.distance, ","), step.cost.flop,
                              step.double_cost.special, step.vector, step.vector_result);
    }
    if (model::has_gradient(e)) {
        answer += " backward " + counts_text(backward_counts(e, model::Fusion::unfused)) + " " +
                  counts_text(backward_counts(e, model::Fusion::fused));
    }
    try {
        const model::ChainAccesses accesses = chain_accesses(e);
        answer += fmt::format(" accesses {} {} {}", accesses.functions, accesses.stored,
                              accesses.recomputed);
    } catch (const InputError& error) {
        answer += std::string(" ") + error.what();
    }
    return answer;
}

std::string operation_answer(const std::string& text) {
    const model::StepText step = model::parse_step(text);
    const model::OperationKind kind = step.operation.kind;
    const model::Operation operation = make_operation(kind, step.operation.parameters);
    const model::Execution execution = make_execution(step.operation.parameters);
    return fmt::format("{} x {} {} | {} | {} {} {}", step.name, step.count,
                       text_of(kind, parameters_of(operation)),
                       text_of(kind, with_defaults(kind, step.operation.parameters)),
                       name_of(execution.implementation), name_of(execution.l2),
                       model::name_of(kind_of(operation) == kind ? operation : operation));
}

/// A preset's text with a field set to another value.
std::string edited(std::string text, const std::string& field, const std::string& value) {
    const std::size_t at = text.find("\"" + field + "\"");
    if (at == std::string::npos) {
        return value == "-"
                   ? text
                   : "{\"" + field + "\": " + value + "," + text.substr(text.find('{') + 1);
    }
    std::size_t end = text.find(':', at) + 1;
    for (int depth = 0; end < text.size(); ++end) {
        depth += text[end] == '[' || text[end] == '{' ? 1 : 0;
        if (depth == 0 && (text[end] == ',' || text[end] == '}')) break;
        depth -= text[end] == ']' || text[end] == '}' ? 1 : 0;
    }
    if (value != "-") return text.replace(at, end - at, "\"" + field + "\": " + value);
    return text.erase(at, end - at + (text[end] == ',' ? 1 : 0));
}

std::string config_answer(const std::string& question) {
    std::istringstream words(question);
    std::string name;
    std::string change;
    words >> name >> change;
    std::string text;
    for (const hardware::EmbeddedFile& each : embedded_presets()) {
        if (each.path.find("/" + name + ".json") != std::string_view::npos) text = each.text;
    }
    const std::size_t equals = change.find('=');
    if (equals != std::string::npos) {
        text = edited(text, change.substr(0, equals), change.substr(equals + 1));
    }
    const Architecture a = read_config(text, "config.json");
    std::string answer = fmt::format(
        "{} layers {} parameters {} active {} cache {} {}", a.family, a.layers(), parameters_of(a),
        active_parameters_of(a), kv_cache_bytes(a, {.batch = 2, .tokens = 1000}),
        kv_cache_bytes(a, {.bytes = 1, .batch = 3, .tokens = 9000, .tensor_parallel = 2}));
    for (const std::string& asked : quantisation_words()) {
        answer += fmt::format(" {}", stored_bytes(a, parse_quantisation(asked, "weights"), 2));
    }
    return answer;
}

constexpr std::array file_lines{R"(schema = 1)",
                                R"(name = "sample")",
                                R"(title = "Sample")",
                                R"(vendor = "NVIDIA")",
                                R"(kind = "gpu")",
                                R"(architecture = "sm_90")",
                                R"([sources])",
                                R"(A = { kind = "vendor", text = "a data sheet" })",
                                R"([sm])",
                                R"(count = { value = 132, source = "A" })",
                                R"([clock])",
                                R"(boost = { value = "1980 MHz", source = "A" })",
                                R"([dram])",
                                R"(bandwidth = { value = "4.8 TB/s", source = "A" })",
                                R"(capacity = { value = "141 GB", source = "A" })",
                                R"([l2])",
                                R"(size = { value = "50 MiB", source = "A" })",
                                R"([model.matmul.tensor])",
                                R"(launch = { value = "3 us", source = "A" })"};

std::string file_answer(const std::string& question) {
    std::istringstream words(question);
    std::size_t number = 0;
    std::string line;
    words >> number;
    std::getline(words, line);
    std::string text;
    for (std::size_t i = 0; i < file_lines.size(); ++i) {
        text += (i == number ? line : file_lines[i]) + std::string("\n");
    }
    std::string answer = "problems";
    for (const hardware::Problem& problem : model::check_text(text, "sample.toml")) {
        answer += " | " + to_string(problem.location) + " " + problem.message;
    }
    return answer;
}

std::string word_answer(const std::string& question) {
    const std::size_t blank = question.find(' ');
    const std::string part = question.substr(0, blank);
    const std::string rest = question.substr(blank + 1);
    if (part == "expression") return expression_answer(rest);
    if (part == "operation") return operation_answer(rest);
    return part == "config" ? config_answer(rest) : file_answer(rest);
}

TEST_CASE("texts mean what they meant, and are refused in the same words", "[frozen]") {
    test::check_table("words", word_answer);
}

void draw_expressions(test::Random& random, std::vector<std::string>& questions) {
    for (int i = 0; i < 60; ++i) {
        questions.push_back("expression " + test::random_expression(random, 1 + i % 4));
    }
    constexpr std::string_view characters = "()+-*/^<>=!,.x1e ";
    for (int i = 0; i < 40; ++i) {
        std::string text = test::random_expression(random, 2);
        text[static_cast<std::size_t>(
            random.whole(0, static_cast<std::int64_t>(text.size()) - 1))] = random.pick(characters);
        questions.push_back("expression " + text);
    }
    for (const char* text : {"",
                             "1",
                             "c",
                             "x",
                             "-x",
                             "x < y",
                             "where(x < 0, x, y)",
                             "x ** 2",
                             "x^0.5",
                             "x^-1",
                             "x^3",
                             "x^-2",
                             "2 * (3 + 4) * x",
                             "x / c",
                             "pi * x",
                             "clamp(x, 0, 6)",
                             "dropout(x)",
                             "masked_fill(x, mask)",
                             "sigmoid(sigmoid(sigmoid(x)))",
                             "gelu(x + bias) * gamma",
                             "x + x",
                             "sin(x)^2 + cos(x)^2",
                             "foo(x)",
                             "sin(x, y)",
                             "x y",
                             "1..2",
                             "1e999 * x"}) {
        questions.push_back(std::string("expression ") + text);
    }
}

/// One of the words of a text, changed, doubled or left out.
std::string faulty(test::Random& random, const std::string& text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    std::string& word = words[static_cast<std::size_t>(
        random.whole(0, static_cast<std::int64_t>(words.size()) - 1))];
    constexpr std::array values{"0",   "-1",         "1.5",  "4Ki", "2k",     "9223372036854775807",
                                "1e9", "3000000000", "true", "fp8", "column", "1,2",
                                ""};
    const std::size_t equals = word.find('=');
    switch (random.whole(0, 3)) {
        case 0:
            word.clear();
            break;
        case 1:
            word += " " + word;
            break;
        case 2:
            word.insert(word.size() / 2, "x");
            break;
        default:
            word = equals == std::string::npos ? word.substr(1)
                                               : word.substr(0, equals + 1) + random.pick(values);
    }
    return fmt::format("{}", fmt::join(words, " "));
}

void draw_operations(test::Random& random, std::vector<std::string>& questions) {
    for (const model::OperationInfo& info : model::operation_table()) {
        for (int i = 0; i < 7; ++i) {
            model::Operation drawn = test::random_operation(random, info.kind);
            if (i % 2 == 1) drawn = test::cornered(drawn, random);
            const std::string text = text_of(info.kind, parameters_of(drawn));
            questions.push_back("operation " + (i < 2 ? text : faulty(random, text)));
        }
    }
}

void draw_configs(test::Random& random, std::vector<std::string>& questions) {
    constexpr std::array fields{"hidden_size",
                                "num_hidden_layers",
                                "num_attention_heads",
                                "num_key_value_heads",
                                "head_dim",
                                "intermediate_size",
                                "vocab_size",
                                "tie_word_embeddings",
                                "sliding_window",
                                "layer_types",
                                "num_experts",
                                "num_experts_per_tok",
                                "moe_intermediate_size",
                                "n_routed_experts",
                                "kv_lora_rank",
                                "model_type",
                                "attention_bias",
                                "quantization_config",
                                "first_k_dense_replace",
                                "hidden_act",
                                "max_position_embeddings",
                                "unheard_of",
                                "torch_dtype",
                                "text_config"};
    constexpr std::array values{
        "0",
        "1",
        "-1",
        "3",
        "96",
        "1000000000000",
        "\"x\"",
        "true",
        "false",
        "null",
        "-",
        "1.5",
        "[]",
        "{\"quant_method\":\"fp8\"}",
        "{\"quant_method\":\"fp8\",\"weight_block_size\":[128,128]}",
        "{\"quant_method\":\"awq\",\"bits\":4,\"group_size\":128}",
        "{\"quant_method\":\"gptq\",\"bits\":8,\"group_size\":-1}",
        "{\"quant_method\":\"bitsandbytes\",\"load_in_4bit\":true}",
        "{\"quant_method\":\"mxfp4\",\"modules_to_not_convert\":[\"lm_head\"]}"};
    for (const std::string& name : preset_names()) {
        questions.push_back("config " + name);
        for (int i = 0; i < 2; ++i) {
            const std::size_t field = static_cast<std::size_t>(random.whole(0, fields.size() - 1));
            const bool stored = std::string_view(fields[field]) == "quantization_config";
            const std::size_t value = static_cast<std::size_t>(
                random.whole(stored ? 13 : 0, stored ? values.size() - 1 : 12));
            questions.push_back(fmt::format("config {} {}={}", name, fields[field], values[value]));
        }
    }
}

void draw_files(std::vector<std::string>& questions) {
    constexpr std::array lines{R"()",
                               R"(name = 1)",
                               R"(architecture = "sm_91")",
                               R"(schema = 9)",
                               R"(kind = "toaster")",
                               R"(count = { value = 132 })",
                               R"(count = { value = "132 MHz", source = "A" })",
                               R"(count = { value = -1, source = "A" })",
                               R"(count = { value = 1.5, source = "B" })",
                               R"(boost = { value = "1980", source = "A" })",
                               R"(boost = { value = "1980 kg", source = "A" })",
                               R"(bandwidth = { value = "4.8 PB/s", source = "A" })",
                               R"(bandwith = { value = "1 TB/s", source = "A" })",
                               R"(launch = { value = "-3 us", source = "A" })",
                               R"(launch = 3)",
                               R"([model.nothing])",
                               R"([[sources]])",
                               R"(A = { kind = "rumour", text = "x" })",
                               R"(x = "unclosed)"};
    for (std::size_t number = 0; number < file_lines.size(); ++number) {
        for (std::size_t i = number % 3; i < lines.size(); i += 3) {
            questions.push_back(
                fmt::format("file {}{}{}", number, lines[i][0] == '\0' ? "" : " ", lines[i]));
        }
    }
    questions.emplace_back("file 99");
}

TEST_CASE("draws the questions of the table of words", "[.][frozen-draw]") {
    test::Random random(20261130);
    std::vector<std::string> questions;
    draw_expressions(random, questions);
    draw_operations(random, questions);
    draw_configs(random, questions);
    draw_files(questions);
    test::write_table("words", questions, word_answer);
}

}  // namespace
}  // namespace ridge::programs
