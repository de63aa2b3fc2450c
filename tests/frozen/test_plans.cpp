// What plans and searches answer for machines whose parameters do not change (frozen_machine.h): layouts, memory,
// times, verdicts, changes and the text of them, against data/plans.txt (table.h).
#include <array>
#include <functional>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "answers/deployments.h"
#include "answers/plan.h"
#include "answers/plan_text.h"
#include "programs/configs/presets.h"
#include "tests/frozen/drawn_for.h"
#include "tests/frozen/frozen_machine.h"
#include "tests/frozen/sums.h"
#include "tests/frozen/table.h"
#include "tests/model/random_operation.h"

namespace ridge::answers {
namespace {

constexpr std::int64_t frozen_gib = std::int64_t{1} << 30;

struct AskedPlan {
    std::string model;
    PlanQuestion question{.gpus = {1, 2, 4}, .reserve = 2 * frozen_gib};
    std::int64_t usable = 70;
};

AskedPlan asked_plan(const std::string& text) {
    using Number = std::int64_t;
    static const std::map<std::string, std::function<void(AskedPlan&, Number)>> options{
        {"purpose",
         [](AskedPlan& p, Number v) {
             p.question.purpose = static_cast<Purpose>(v);
             if (v != 0) p.question.software = programs::Software::transformers;
         }},
        {"seq", [](AskedPlan& p, Number v) { p.question.seq = v; }},
        {"answer", [](AskedPlan& p, Number v) { p.question.answer = v; }},
        {"batch", [](AskedPlan& p, Number v) { p.question.batch = v; }},
        {"gpus", [](AskedPlan& p, Number v) { p.question.gpus = {v}; }},
        {"fp8",
         [](AskedPlan& p, Number) { p.question.quantisation = programs::Quantisation::fp8; }},
        {"fp8_cache", [](AskedPlan& p, Number) { p.question.cache_type = model::DataType::fp8; }},
        {"states",
         [](AskedPlan& p, Number v) { p.question.optimizer = static_cast<Optimizer>(v); }},
        {"pure", [](AskedPlan& p, Number) { p.question.mixed = false; }},
        {"rank", [](AskedPlan& p, Number v) { p.question.lora_rank = v; }},
        {"tpot_ms", [](AskedPlan& p,
                       Number v) { p.question.targets.tpot = static_cast<double>(v) * units::ms; }},
        {"ttft_ms", [](AskedPlan& p,
                       Number v) { p.question.targets.ttft = static_cast<double>(v) * units::ms; }},
        {"pp", [](AskedPlan& p, Number v) { p.question.layouts.pipeline = {v}; }},
        {"cp", [](AskedPlan& p, Number v) { p.question.layouts.context_parallel = {v}; }},
        {"zero", [](AskedPlan& p, Number v) { p.question.layouts.zero = {v}; }},
        {"usable", [](AskedPlan& p, Number v) { p.usable = v; }}};
    std::istringstream words(text);
    AskedPlan asked;
    words >> asked.model;
    for (std::string word; words >> word;) {
        const std::size_t equals = word.find('=');
        options.at(word.substr(0, equals))(asked, std::stoll(word.substr(equals + 1)));
    }
    return asked;
}

Place frozen_place(std::int64_t usable) {
    return {.machine = &test::frozen_machine("h200-sxm", ""),
            .usable = usable * frozen_gib,
            .host = {.name = "frozen",
                     .processor = {},
                     .launch = 3.0 * units::us,
                     .slow = 1.3,
                     .slow_share = 0.2},
            .price = 2.5};
}

std::string plan_row(const PlanRow& row) {
    return fmt::format(
        "[ {} batch {} fits {} memory {} {} {} {} {} {} pace {:.6g} {:.6g} tokens {:.6g} meets {} "
        "host {} cost "
        "{:.6g} {} {} ]",
        text_of(row.layout), row.batch, row.fits, row.memory.weights, row.memory.cache,
        row.memory.gradients, row.memory.optimizer, row.memory.activations, row.memory.reserve,
        row.pace ? row.pace->time.in(units::us) : 0.0,
        row.first_token ? row.first_token->time.in(units::us) : 0.0, row.tokens_per_s,
        row.meets_targets, row.host_bound, row.per_million().value_or(0.0), row.reason,
        memory_text(row));
}

std::string searched(const AskedPlan& asked) {
    DeploymentQuestion question{.prompt = asked.question.seq,
                                .answer = asked.question.answer,
                                .targets = asked.question.targets,
                                .gpus = asked.question.gpus,
                                .chunks = {2048},
                                .most = 64};
    const std::array places{frozen_place(asked.usable)};
    const DeploymentSearch search =
        search_deployments(programs::find_model(asked.model), question, places);
    std::string text =
        fmt::format("candidates {} front {}", search.candidates, search.front.size());
    for (const DeploymentRow& row : search.front) text += " [ " + text_of(row) + " ]";
    return text + " | " + verdict_of(search) + " | " +
           (search.best ? why_second(search) + " | " + search.command : "");
}

/// Without bands, which rest on measured rows.
std::string without_bands(const std::string& text) {
    static const std::regex band(R"( \(80 % band [^)]*\))");
    return std::regex_replace(text, band, "");
}

Plan frozen_plan(const AskedPlan& asked) {
    const std::array places{frozen_place(asked.usable)};
    return plan(programs::find_model(asked.model), asked.question, places);
}

std::string text_of_plan(const Plan& answer) {
    std::string text = fmt::format("{} | {} | layouts {} ", question_of(answer), verdict_of(answer),
                                   answer.layouts);
    for (const PlanRow& row : answer.rows) text += plan_row(row) + " ";
    for (const Change& change : answer.changes) {
        text += fmt::format("change {} {} {} {} ", change.what, name_of(change.gives_up),
                            text_of(change, answer.question.purpose), plan_row(change.then));
    }
    for (const std::string& remark : remarks_on(answer)) text += "| " + remark + " ";
    return without_bands(text);
}

std::string plan_answer(const std::string& question) {
    const bool search = question.rfind("search ", 0) == 0;
    const AskedPlan asked = asked_plan(search ? question.substr(7) : question);
    return search ? searched(asked) : text_of_plan(frozen_plan(asked));
}

TEST_CASE("plans answer what they answered", "[frozen]") {
    test::check_table("plans", plan_answer);
}

std::string drawn_plan(test::Random& random, const std::string& model) {
    std::string text = model;
    const auto sometimes = [&](int one_in, const char* name, const auto& values) {
        if (random.whole(1, one_in) == 1)
            text += std::string(" ") + name + "=" + std::to_string(random.pick(values));
    };
    sometimes(1, "purpose", std::array{0, 0, 1, 1, 2, 3});
    sometimes(1, "gpus", std::array{1, 2, 4, 8});
    sometimes(1, "seq", std::array{200, 2000, 16000});
    sometimes(2, "answer", std::array{1, 100});
    sometimes(2, "batch", std::array{1, 8, 64});
    sometimes(4, "fp8", std::array{1});
    sometimes(4, "fp8_cache", std::array{1});
    sometimes(2, "states", std::array{0, 1});
    sometimes(3, "pure", std::array{1});
    sometimes(3, "rank", std::array{8, 64});
    sometimes(3, "tpot_ms", std::array{5, 15});
    sometimes(4, "ttft_ms", std::array{100, 1000});
    sometimes(4, "pp", std::array{2});
    sometimes(6, "cp", std::array{2});
    sometimes(4, "zero", std::array{1, 2, 3});
    sometimes(1, "usable", std::array{20, 70, 130});
    return text;
}

/// The JSON of a plan as words, without bands and evidence, which rest on measured rows.
std::string json_of_plan(const Plan& answer) {
    static const std::regex measured(
        R"re("(evidence_shares":\{[^}]*\}|[a-z_]*evidence":"[^"]*"|[a-z_]*_(low|high)_us":[^,}]*))re");
    static const std::regex signs(R"([{}\[\]:,"])");
    const std::string text = std::regex_replace(to_json(answer).text(), measured, "");
    return without_bands(std::regex_replace(text, signs, " "));
}

/// "MODEL SEED": a drawn plan and its JSON.
std::string sums_of_plans(const std::string& question) {
    auto [model, random] = test::drawn_for(question);
    test::Sums sums;
    sums.add_text(test::answer_or_refusal(
        [](const std::string& text) {
            const Plan answer = frozen_plan(asked_plan(text));
            return text_of_plan(answer) + " " + json_of_plan(answer);
        },
        drawn_plan(random, model)));
    return sums.text();
}

TEST_CASE("many plans answer what they answered", "[frozen]") {
    test::check_table("plan_draws", sums_of_plans);
}

TEST_CASE("draws the questions of the table of many plans", "[.][frozen-draw]") {
    std::vector<std::string> questions;
    std::uint64_t seed = 5'000'000;
    for (const char* model : {"llama-3.1-8b", "gemma-3-4b"}) {
        for (int i = 0; i < 12; ++i) questions.push_back(fmt::format("{} {}", model, ++seed));
    }
    test::write_table("plan_draws", questions, sums_of_plans);
}

TEST_CASE("draws the questions of the table of plans", "[.][frozen-draw]") {
    test::Random random(20261129);
    std::vector<std::string> questions;
    for (const char* model :
         {"llama-3.1-8b", "qwen3-30b-a3b", "gemma-3-4b", "llama-3.1-70b", "mixtral-8x7b"}) {
        for (int i = 0; i < 7; ++i) {
            std::string question;
            for (int tries = 0; tries < 20; ++tries) {
                question = drawn_plan(random, model);
                if (test::answer_or_refusal(plan_answer, question).rfind("error", 0) != 0) break;
            }
            questions.push_back(question);
        }
    }
    questions.emplace_back("search llama-3.1-8b gpus=2 seq=1000 answer=200 tpot_ms=15 usable=130");
    questions.emplace_back(
        "search qwen3-30b-a3b gpus=4 seq=1000 answer=200 ttft_ms=100 usable=130");
    questions.emplace_back("search llama-3.1-70b gpus=2 seq=500 answer=50 tpot_ms=1 usable=130");
    test::write_table("plans", questions, plan_answer);
}

}  // namespace
}  // namespace ridge::answers
