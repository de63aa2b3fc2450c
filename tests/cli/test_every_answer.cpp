// Over all chips, operations, software and commands: no number stands for something that is not
// modelled, and none without its evidence.
//
// Method: documents are walked. A predicted number needs `evidence` in its object or around it, and
// may not stand beside a reason why there is none. Tables need a column of evidence, with a grade in
// each row that has a predicted number; texts need the word.
#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "model/catalogue/catalogue.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/asked.h"
#include "tests/support/sample.h"
#include "tests/support/temporary_folder.h"

namespace ridge::test {
namespace {

using nlohmann::json;

const std::set<std::string> grades{"measured", "related", "distant", "datasheet"};

/// The names of predicted times and rates in documents and tables.
const std::set<std::string> time_names{"time_us",
                                       "predicted_us",
                                       "expected_us",
                                       "wall_us",
                                       "ttft_us",
                                       "tpot_us",
                                       "time_per_token_us",
                                       "step_us",
                                       "first_token_us",
                                       "speed_up",
                                       "vs_first",
                                       "tokens_per_s",
                                       "mfu",
                                       "mbu",
                                       "predicted",
                                       "flop_per_s",
                                       "power_w",
                                       "energy_j",
                                       "flop_per_j",
                                       "requests_per_s",
                                       "goodput_requests_per_s",
                                       "steady_tokens_per_s",
                                       "ttft_mean_us",
                                       "p50_us",
                                       "p99_us"};
/// And of memory, which a program has although its time may not be modelled.
const std::set<std::string> memory_names{"total_bytes", "reserved_bytes", "sequence_bytes"};

const std::vector<std::string>& chips() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> found;
        for (const auto& entry : model::catalogue().entries()) found.push_back(entry.name);
        return found;
    }();
    return names;
}

std::string all_chips() {
    std::string list;
    for (const std::string& chip : chips()) list += (list.empty() ? "" : ",") + chip;
    return list;
}

/// How many predicted numbers and refusals were seen, so that a check cannot pass by seeing nothing.
struct Seen {
    std::size_t numbers = 0;
    std::size_t refused = 0;
};

bool holds_grade(const json& node, const char* name) {
    const auto found = node.find(name);
    if (found == node.end() || found->is_null()) return false;
    const json& grade = found->is_object() ? found->at("grade") : *found;
    return grade.is_string() && grades.contains(grade.get<std::string>());
}

bool is_refused(const json& node) {
    if (node.contains("error")) return true;
    const auto found = node.find("not_modelled");
    if (found == node.end()) return false;
    return found->is_string() ? !found->get<std::string>().empty()
                              : found->is_number() && found->get<double>() > 0.0;
}

void walk(const json& node, bool graded, bool counted, const std::string& place, Seen& seen) {
    if (node.is_array()) {
        for (const json& each : node) walk(each, graded, counted, place, seen);
        return;
    }
    if (!node.is_object()) return;
    graded = graded || holds_grade(node, "evidence");
    counted = counted || graded || holds_grade(node, "memory_evidence");
    const bool refused = is_refused(node);
    seen.refused += refused ? 1 : 0;
    for (const auto& [name, value] : node.items()) {
        if (value.is_number() && time_names.contains(name)) {
            ++seen.numbers;
            if (!graded || refused) FAIL_CHECK(place << "/" << name << " graded " << graded);
        }
        if (value.is_number() && memory_names.contains(name) && !counted) {
            FAIL_CHECK(place << "/" << name << " without evidence");
        }
        walk(value, graded, counted, place + "/" + name, seen);
    }
}

void check_json(const std::string& line, Seen& seen) {
    const Transcript answer = run_line(line + " --format json");
    INFO(line << '\n' << answer.err);
    if (answer.out.empty()) {
        CHECK(answer.code != 0);
        CHECK_FALSE(answer.err.empty());
        ++seen.refused;
        return;
    }
    walk(json::parse(answer.out), false, false, "", seen);
}

/// The cells of a line of CSV; quoted cells may hold commas.
std::vector<std::string> cells_of(const std::string& line) {
    std::vector<std::string> cells(1);
    bool quoted = false;
    for (const char c : line) {
        if (c == '"') {
            quoted = !quoted;
        } else if (c == ',' && !quoted) {
            cells.emplace_back();
        } else {
            cells.back() += c;
        }
    }
    return cells;
}

/// In a row with a predicted number there is a grade; in a row with a reason there is no number.
void check_csv(const std::string& line, Seen& seen) {
    const Transcript answer = run_line(line + " --format csv");
    INFO(line << '\n' << answer.err);
    if (answer.out.empty()) {
        CHECK(answer.code != 0);
        return;
    }
    std::istringstream lines(answer.out);
    std::string text;
    std::getline(lines, text);
    const std::vector<std::string> header = cells_of(text);
    INFO(text);
    const bool timed = std::any_of(header.begin(), header.end(), [](const std::string& name) {
        return time_names.contains(name);
    });
    const std::set<std::string>& names = timed ? time_names : memory_names;
    CHECK(std::find(header.begin(), header.end(), "evidence") != header.end());
    while (std::getline(lines, text)) {
        const std::vector<std::string> cells = cells_of(text);
        bool number = false;
        bool graded = false;
        bool refused = false;
        for (std::size_t i = 0; i < cells.size() && i < header.size(); ++i) {
            const bool full = !cells[i].empty() && cells[i] != "not modelled";
            number = number || (full && names.contains(header[i]));
            graded = graded || (header[i] == "evidence" &&
                                cells[i].find_first_not_of("0123456789") != std::string::npos &&
                                grades.contains(cells[i].substr(0, cells[i].find(' '))));
            refused = refused || (full && (header[i] == "error" || header[i] == "not_modelled") &&
                                  cells[i] != "0");
        }
        seen.numbers += number ? 1 : 0;
        seen.refused += refused ? 1 : 0;
        if (number && (!graded || refused)) FAIL_CHECK(text);
    }
}

/// Tables for people and Markdown name the evidence, or the reason why there is no number.
void check_text(const std::string& line, Seen& seen) {
    const Transcript answer = run_line(line);
    INFO(line << '\n' << answer.out << answer.err);
    seen.numbers += 1;
    for (const char* word : {" inf ", "nan ", "-inf"}) {
        CHECK(answer.out.find(word) == std::string::npos);
    }
    const bool graded = std::any_of(grades.begin(), grades.end(), [&](const std::string& grade) {
        return answer.out.find(grade) != std::string::npos;
    });
    const bool refused = answer.out.find("not modelled") != std::string::npos ||
                         (answer.code != 0 && !answer.err.empty());
    CHECK((graded || refused));
    if (graded && !refused) {
        const bool named = answer.out.find("evidence") != std::string::npos ||
                           answer.out.find("Evidence") != std::string::npos;
        CHECK(named);
    }
}

void check_all(const std::string& line, Seen& seen) {
    check_json(line, seen);
    check_csv(line, seen);
    check_text(line, seen);
    check_text(line + " --format md", seen);
}

/// The document, and one of the other formats in turn, for commands that many chips answer.
void check_in_turn(const std::string& line, std::size_t turn, Seen& seen) {
    check_json(line, seen);
    if (turn % 3 == 0) check_csv(line, seen);
    if (turn % 3 == 1) check_text(line, seen);
    if (turn % 3 == 2) check_text(line + " --format md", seen);
}

const std::array software{"",
                          "pytorch",
                          "pytorch-2.1",
                          "cublaslt",
                          "ridge",
                          "nccl",
                          "transformers",
                          "vllm-0.14.0",
                          "vllm-0.24.0",
                          "trtllm",
                          "sglang-0.5.14",
                          "trtllm-1.3.0rc20"};

/// All chips x operations x software, or one in several, as a table of questions.
std::string questions(Sample sample) {
    std::set<std::string> names{"gpu", "op", "software"};
    for (const std::string& operation : asked_operations()) {
        std::istringstream words(operation);
        std::string word;
        words >> word;
        while (words >> word) names.insert(word.substr(0, word.find('=')));
    }
    std::string table;
    for (const std::string& name : names) table += name + ',';
    table.back() = '\n';
    for (const std::string& chip : chips()) {
        for (const std::string& operation : asked_operations()) {
            for (const char* each : software) {
                if (!sample.takes_next()) continue;
                std::istringstream words(operation);
                std::string word;
                words >> word;
                std::map<std::string, std::string> row{
                    {"gpu", chip}, {"op", word}, {"software", each}};
                while (words >> word) {
                    const std::size_t at = word.find('=');
                    row[word.substr(0, at)] = word.substr(at + 1);
                }
                std::string cells;
                for (const std::string& name : names) cells += row[name] + ',';
                cells.back() = '\n';
                table += cells;
            }
        }
    }
    return table;
}

TEST_CASE("every chip, operation and software: evidence or no number, in each format") {
    const TemporaryFolder folder;
    const std::string file = folder.file("questions.csv");
    std::ofstream(file) << questions(Sample());
    Seen documents;
    check_json("predict --from " + file, documents);
    // The cells of a row are those of its document: one row in five is enough for the table's own code.
    const std::string fewer = folder.file("fewer.csv");
    std::ofstream(fewer) << questions(Sample(5));
    Seen tables;
    check_csv("predict --from " + fewer, tables);
    CHECK(documents.numbers > 5000);
    CHECK(documents.refused > 1000);
    CHECK(tables.numbers > 1000);
    CHECK(tables.refused > 200);
}

TEST_CASE("comparisons and sweeps over every chip: evidence or no number") {
    Seen seen;
    for (const std::string& line : std::vector<std::string>{
             "compare matmul --m 512 --n 512 --k 512", "compare softmax --rows 512 --cols 512",
             "compare attention --heads 8 --seq 512 --head-dim 64 --dtype fp16",
             "sweep matmul --m 64:512:*2 --n 512 --k 512", "sweep copy --elements 1000:100000:*10",
             "compare model gpt2 --seq 128 --dtype fp32"}) {
        check_all(line + " --gpu " + all_chips(), seen);
    }
    CHECK(seen.numbers > 500);
    CHECK(seen.refused > 50);
}

TEST_CASE("commands of one chip, on every chip: evidence or no number") {
    Seen seen;
    const std::string trace = std::string(RIDGE_JSON_TRACES) + "/trace_llama_prefill.json.gz";
    const std::string code = "kernel " + std::string(RIDGE_KERNEL_CODE) +
                             "/row_sums.sass --grid 64 --block 256 --dram-bytes 1MB";
    std::size_t turn = 0;
    for (const std::string& chip : chips()) {
        for (const std::string& line : std::vector<std::string>{
                 std::string("roofline --op \"matmul m=512 n=512 k=512\" --op \"softmax rows=64 "
                             "cols=64 dtype=fp32\""),
                 std::string("vram softmax --rows 512 --cols 512"),
                 std::string("vram attention --heads 8 --seq 512 --head-dim 64 --impl torch-flash"),
                 std::string("vram kv-cache --kind gqa --layers 32 --kv-heads 8 --head-dim 128"),
                 std::string("model gpt2 --seq 64 --dtype fp32"),
                 std::string("model llama-3.2-1b --phase decode --seq 128 --software serving"),
                 std::string("plan gpt2"), "diagnose " + std::string(RIDGE_TIMES),
                 std::string("serve gpt2 --concurrency 4 --count 8"), "trace " + trace, code}) {
            check_in_turn(line + " --gpu " + chip, turn++, seen);
        }
        check_json("vram gpt2 --gpu " + chip, seen);
        check_text("vram gpt2 --gpu " + chip, seen);
        const std::string serve =
            "serve llama-3.2-1b --concurrency 2 --count 4 --answer 8 --gpu " + chip;
        check_json(serve, seen);
        check_csv(serve, seen);
        check_text(serve, seen);
    }
    CHECK(seen.numbers > 5000);
    CHECK(seen.refused > 200);
}

TEST_CASE("effects on every chip: evidence or no number") {
    Seen seen;
    std::istringstream names(run_line("effect list --format csv").out);
    std::vector<std::string> effects;
    for (std::string line; std::getline(names, line);)
        effects.push_back(line.substr(0, line.find(',')));
    effects.erase(effects.begin());
    CHECK(effects.size() >= 20);
    // Each effect on every third chip, so that each chip meets a third of the effects.
    for (std::size_t i = 0; i < chips().size(); ++i) {
        for (std::size_t j = i % 3; j < effects.size(); j += 3) {
            const std::string line = "effect " + effects[j] + " --gpu " + chips()[i];
            check_json(line, seen);
            check_csv(line, seen);
        }
        check_text("effect roofline --gpu " + chips()[i], seen);
    }
    CHECK(seen.numbers > 3000);
    CHECK(seen.refused > 30);
}

}  // namespace
}  // namespace ridge::test
