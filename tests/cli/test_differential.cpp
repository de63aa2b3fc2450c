// Every way to ask gives the same numbers: command line, `--op`, tables as CSV and JSON, sweeps and
// the library, on random operations in random implementations on random GPUs.
//
// Method: the library's answer to each question is written as result cells, with the shortest
// digits that read back exactly. Every front end must print the same characters, or the same
// doubles where it writes JSON. A question that a GPU or an implementation cannot answer must be
// refused in the same words everywhere.
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console/result_columns.h"
#include "cli/views/prediction.h"
#include "hardware/error.h"
#include "model/catalogue/catalogue.h"
#include "model/core/fields.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/model/random_operation.h"
#include "tests/support/text.h"

namespace ridge::cli {
namespace {

using model::Field;
using model::FieldInfo;
using nlohmann::json;

constexpr std::array<const char*, 9> gpus{"h100-sxm", "h200-sxm", "a100-sxm-80gb", "b200",   "l40s",
                                          "t4",       "v100-sxm", "mi300x",        "tpu-v5e"};

const std::map<std::string, model::Machine>& machines() {
    static const std::map<std::string, model::Machine> all = [] {
        const model::Catalogue catalogue = model::catalogue();
        std::map<std::string, model::Machine> made;
        for (const char* name : gpus) made.emplace(name, catalogue.machine(name));
        return made;
    }();
    return all;
}

/// A question and the library's answer to it.
struct Question {
    model::OperationKind kind = model::OperationKind::matmul;
    model::Parameters parameters;
    std::string gpu;
    model::Outcome outcome;
    std::string cells;  ///< the result, as CSV
};

/// Asks the library. A shape that it refuses counts as a question without a prediction.
void ask_library(Question& question) {
    try {
        question.outcome =
            model::predict(make_operation(question.kind, question.parameters),
                           make_execution(question.parameters), machines().at(question.gpu));
    } catch (const InputError& refused) {
        question.outcome = model::NotModelled{refused.what()};
    }
    question.cells.clear();
    append_result_cells(question.cells, question.outcome);
}

Question random_question(test::Random& random) {
    const model::Operation operation = test::random_operation(random);
    const model::Execution execution = test::random_execution(operation, random);
    Question question;
    question.kind = kind_of(operation);
    question.parameters = parameters_of(operation);
    question.gpu = random.pick(gpus);
    const auto set = [&question](Field field, std::string_view text) {
        if (applies(question.kind, field)) question.parameters.set(field, text);
    };
    set(Field::impl, name_of(execution.implementation));
    set(Field::l2, name_of(execution.l2));
    set(Field::launch, name_of(execution.launch));
    if (execution.tile) set(Field::tile, to_string(*execution.tile));
    ask_library(question);
    return question;
}

std::vector<Question> random_questions(std::uint64_t seed, std::size_t count) {
    test::Random random(seed);
    std::vector<Question> questions;
    questions.reserve(count);
    while (questions.size() < count) questions.push_back(random_question(random));
    return questions;
}

std::string quoted(const std::string& text) {
    return text.find_first_of(",\" ") == std::string::npos ? text : "\"" + text + "\"";
}

/// Whether a result has the name of the field, which a table of results then holds once.
bool is_result(const FieldInfo& info) {
    const std::vector<std::string>& results = result_columns();
    return std::find(results.begin(), results.end(), info.name) != results.end();
}

/// A header with a column for every field of the model.
std::string header() {
    std::string line = "op,gpu";
    for (const FieldInfo& info : model::field_table()) line += "," + std::string(info.name);
    return line;
}

/// `left_out`: fields without a cell; null: none.
std::string row_of(const Question& question, bool (*left_out)(const FieldInfo&) = nullptr) {
    std::string line = std::string(model::info_of(question.kind).name) + "," + question.gpu;
    for (const FieldInfo& info : model::field_table()) {
        if (left_out != nullptr && left_out(info)) continue;
        line += ',';
        if (!question.parameters.has(info.field)) continue;
        const std::string text = question.parameters.text(info.field);
        // A table of results is written anew: it quotes only what must be quoted.
        const bool bare = left_out != nullptr && text.find_first_of(",\"") == std::string::npos;
        line += bare ? text : quoted(text);
    }
    return line;
}

std::string table_of(const std::vector<Question>& questions) {
    std::string text = header() + "\n";
    for (const Question& question : questions) text += row_of(question) + "\n";
    return text;
}

/// `predict OP --field value ...`.
std::vector<std::string> arguments_of(const std::string& command, const Question& question) {
    std::vector<std::string> words{command, std::string(model::info_of(question.kind).name),
                                   "--gpu", question.gpu};
    for (const FieldInfo& info : model::field_table()) {
        if (!question.parameters.has(info.field)) continue;
        std::string name = "--" + std::string(info.name);
        std::replace(name.begin(), name.end(), '_', '-');
        const std::string text = question.parameters.text(info.field);
        if (info.kind == model::FieldKind::flag) {
            words.push_back(text == "1" ? name : name + "=" + text);
            continue;
        }
        words.push_back(std::move(name));
        words.push_back(text);
    }
    return words;
}

/// Whether the object holds the library's answer, to the last digit.
bool same_numbers(const json& object, const model::Outcome& outcome) {
    if (const auto* refused = std::get_if<model::NotModelled>(&outcome)) {
        return object.value("error", std::string()) == refused->reason;
    }
    const auto& p = std::get<model::Prediction>(outcome);
    return object.value("time_us", 0.0) == p.time.in(units::us) &&
           object.value("time_low_us", 0.0) == p.low.in(units::us) &&
           object.value("time_high_us", 0.0) == p.high.in(units::us) &&
           object.value("lower_bound_us", 0.0) == p.lower_bound.in(units::us) &&
           object.value("limiter", std::string()) == name_of(p.limiter) &&
           object.value("impl", std::string()) == name_of(p.implementation);
}

TEST_CASE("a table of rows gives the library's numbers as CSV", "[differential]") {
    const std::vector<Question> questions = random_questions(51, test::case_count(100000));
    const test::Transcript run =
        test::run_line("predict --from - --format csv", table_of(questions));
    std::string expected = "op,gpu";
    for (const FieldInfo& info : model::field_table()) {
        if (!is_result(info)) expected += "," + std::string(info.name);
    }
    for (const std::string& name : result_columns()) expected += "," + name;
    const std::vector<std::string> lines = test::lines_of(run.out);
    REQUIRE(lines.size() == questions.size() + 1);
    CHECK(lines.front() == expected);
    std::size_t modelled = 0;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        if (std::holds_alternative<model::Prediction>(questions[i].outcome)) ++modelled;
        if (lines.at(i + 1) != row_of(questions[i], is_result) + "," + questions[i].cells) {
            FAIL_CHECK(lines.at(i + 1) << "\nbut the library says " << questions[i].cells);
        }
    }
    CHECK(modelled > questions.size() / 2);
}

TEST_CASE("a table of rows gives the library's numbers as JSON", "[differential]") {
    const std::vector<Question> questions = random_questions(52, test::case_count(10000));
    const test::Transcript run =
        test::run_line("predict --from - --format json", table_of(questions));
    const json answers = json::parse(run.out);
    REQUIRE(answers.size() == questions.size());
    for (std::size_t i = 0; i < questions.size(); ++i) {
        if (!same_numbers(answers.at(i), questions[i].outcome)) {
            FAIL_CHECK(answers.at(i).dump() << "\nbut the library says " << questions[i].cells);
        }
    }
}

TEST_CASE("the command line gives the library's numbers", "[differential]") {
    for (const Question& question : random_questions(53, test::case_count(300))) {
        std::vector<std::string> words = arguments_of("predict", question);
        words.insert(words.end(), {"--format", "csv"});
        const test::Transcript run = test::run(words);
        const bool modelled = std::holds_alternative<model::Prediction>(question.outcome);
        INFO(row_of(question) << run.err);
        CHECK(run.code == (modelled ? 0 : 2));
        CHECK(run.out.ends_with("," + question.gpu + "," + question.cells + "\n"));
    }
}

TEST_CASE("operations in words give the library's numbers", "[differential]") {
    constexpr std::size_t together = 20;
    std::map<std::string, std::vector<Question>> by_gpu;
    for (const Question& question : random_questions(54, test::case_count(2000))) {
        by_gpu[question.gpu].push_back(question);
    }
    for (const auto& [gpu, questions] : by_gpu) {
        for (std::size_t first = 0; first < questions.size(); first += together) {
            std::vector<std::string> words{"predict", "--gpu", gpu, "--format", "json"};
            const std::size_t end = std::min(questions.size(), first + together);
            for (std::size_t i = first; i < end; ++i) {
                words.insert(words.end(),
                             {"--op", text_of(questions[i].kind, questions[i].parameters)});
            }
            const json read = json::parse(test::run(words).out);
            const json answers =
                read.contains("operations") ? read.at("operations") : json::array({read});
            REQUIRE(answers.size() == end - first);
            for (std::size_t i = first; i < end; ++i) {
                INFO(row_of(questions[i]) << " -> " << answers.at(i - first).dump());
                CHECK(same_numbers(answers.at(i - first), questions[i].outcome));
            }
        }
    }
}

TEST_CASE("a sweep gives the library's numbers at every point", "[differential]") {
    test::Random random(55);
    std::size_t swept = 0;
    for (std::size_t i = 0; i < test::case_count(200); ++i) {
        Question question = random_question(random);
        std::vector<Field> counts;
        for (const FieldInfo& info : model::field_table()) {
            const bool count = info.kind == model::FieldKind::count;
            if (count && question.parameters.has(info.field)) counts.push_back(info.field);
        }
        if (counts.empty()) continue;
        ++swept;
        const Field field = random.pick(counts);
        const std::int64_t at = question.parameters.count(field);
        const std::vector<std::int64_t> values{at, at + 1, 2 * at + 2};
        std::vector<std::string> words = arguments_of("sweep", question);
        std::string name = "--" + std::string(model::info_of(field).name);
        std::replace(name.begin(), name.end(), '_', '-');
        *(std::find(words.begin(), words.end(), name) + 1) = std::to_string(values[0]) + "," +
                                                             std::to_string(values[1]) + "," +
                                                             std::to_string(values[2]);
        words.insert(words.end(), {"--format", "csv"});
        const test::Transcript run = test::run(words);
        const std::vector<std::string> lines = test::lines_of(run.out);
        INFO(row_of(question) << " by " << name << run.err);
        REQUIRE(lines.size() == values.size() + 1);
        for (std::size_t point = 0; point < values.size(); ++point) {
            question.parameters.set_count(field, values[point]);
            ask_library(question);
            CHECK(lines[point + 1].ends_with("," + std::to_string(values[point]) + "," +
                                             question.cells));
        }
    }
    CHECK(swept > test::case_count(100));
}

}  // namespace
}  // namespace ridge::cli
