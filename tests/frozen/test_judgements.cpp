// What is said of single calls on machines whose parameters do not change (frozen_machine.h): what would be faster, why it
// takes so long, the verdict on measured times, what a correction by trees makes of them; and the gate's verdicts on
// pairs of runs, against data/judgements.txt (table.h).
//
// A question begins with its part: "said 3 h200-sxm -: matmul m=..." (measured times of the predicted),
// "corrected h200-sxm -: ...", "gate SEED". Bands are left out: they rest on measured rows.
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "answers/diagnose.h"
#include "answers/diagnose_text.h"
#include "answers/gate.h"
#include "model/advice.h"
#include "model/explain.h"
#include "model/machine/residual_parameters.h"
#include "model/predict.h"
#include "tests/frozen/frozen_machine.h"
#include "tests/frozen/table.h"
#include "tests/model/corners.h"
#include "tests/model/random_operation.h"

namespace ridge::answers {
namespace {

using model::Execution;
using model::Machine;
using model::Operation;
using model::Prediction;

struct JudgedCall {
    const Machine* machine = nullptr;
    Operation operation;
    Execution execution;
};

/// Of "GPU SOFTWARE: matmul m=..." with "-" for no software.
JudgedCall judged_call(const std::string& text) {
    const std::size_t blank = text.find(' ');
    const std::size_t colon = text.find(": ");
    const std::string software = text.substr(blank + 1, colon - blank - 1);
    const model::OperationText call = model::parse_operation(text.substr(colon + 2));
    return {
        .machine = &test::frozen_machine(text.substr(0, blank), software == "-" ? "" : software),
        .operation = make_operation(call.kind, call.parameters),
        .execution = make_execution(call.parameters)};
}

/// Sentences without what rests on measured rows.
std::string without_evidence(const std::string& text) {
    static const std::regex band(R"((\(80 % band[^)]*\))|((low|high|band)_\w+":[^,}]*,?))");
    return std::regex_replace(text, band, "");
}

std::string said_answer(double times, const JudgedCall& call) {
    const model::Outcome outcome = predict(call.operation, call.execution, *call.machine);
    if (const auto* const refused = std::get_if<model::NotModelled>(&outcome)) {
        return "refused: " + refused->reason;
    }
    const auto& p = std::get<Prediction>(outcome);
    std::string text;
    for (const std::string& line : explain(call.operation, p, *call.machine)) {
        if (line.find("band") == std::string::npos &&
            line.find("of this GPU") == std::string::npos) {
            text += line + " | ";
        }
    }
    for (const model::Advice& each : advise(call.operation, call.execution, p, *call.machine)) {
        text += fmt::format("{} {:.6g} {:.6g} {} | ", each.change, each.time.in(units::us),
                            each.speed_up, describe(each));
    }
    const std::array rows{
        TimedOperation{.name = "row",
                       .steps = {{.operation = call.operation, .execution = call.execution}},
                       .gpu = "frozen",
                       .measured = times * p.time,
                       .count = 3}};
    const Report report =
        diagnose(rows, [&call](std::string_view) -> const Machine& { return *call.machine; });
    for (const Case& one : report.cases) {
        text +=
            fmt::format("{} roof {:.6g} {} {} {:.6g} {} win {:.6g} {} {} ", name_of(one.verdict),
                        one.roof.in(units::us), one.roof_name, one.limiter, one.of_roof,
                        roof_text(one), one.to_win.in(units::us), one.why, one.advice);
    }
    return without_evidence(text + verdict_of(report));
}

/// Trees over each feature of each class, so that every size matters: some within the box, some beyond.
std::shared_ptr<const model::Residuals> invented_residuals(model::Implementation implementation) {
    auto all = std::make_shared<model::Residuals>();
    test::Random random = test::Random::of_table(20261130);
    for (std::size_t i = 0; i < model::residual_class_count; ++i) {
        const auto which = static_cast<model::ResidualClass>(i);
        const std::size_t features = residual_features(which).size();
        model::ResidualFit fit;
        if (!has_kernel_feature(which)) fit.implementation = implementation;
        std::vector<model::ResidualSplit> splits;
        std::vector<model::ResidualTree> trees;
        for (std::size_t feature = 0; feature < features; ++feature) {
            fit.range.least[feature] = -16.0;
            fit.range.most[feature] = 22.0;
            splits.push_back({static_cast<std::uint8_t>(feature), random.real(0.0, 10.0), 4.0});
        }
        for (std::size_t tree = 0; tree < features; ++tree) {
            model::ResidualTree made;
            for (std::size_t level = 0; level < model::residual_levels; ++level)
                made.splits[level] = static_cast<std::uint8_t>((tree + level) % features);
            for (double& value : made.values) value = random.real(-0.03, 0.03);
            trees.push_back(made);
        }
        fit.forest = model::ResidualForest(splits, trees);
        all->set(which, fit);
    }
    return all;
}

const Machine& corrected_machine(const std::string& gpu, model::Implementation implementation) {
    static std::map<std::pair<std::string, model::Implementation>, Machine> machines;
    const std::pair key(gpu, implementation);
    const auto found = machines.find(key);
    if (found != machines.end()) return found->second;
    Machine machine = test::frozen_machine(gpu, "");
    machine.residuals = invented_residuals(implementation);
    return machines.emplace(key, std::move(machine)).first->second;
}

std::string corrected_answer(const std::string& text) {
    const JudgedCall call = judged_call(text);
    const model::Outcome law = predict(call.operation, call.execution, *call.machine);
    const auto* const before = std::get_if<Prediction>(&law);
    if (before == nullptr) return "refused";
    const Machine& machine =
        corrected_machine(text.substr(0, text.find(' ')), before->implementation);
    const model::Outcome corrected = predict(call.operation, call.execution, machine);
    const auto* const after = std::get_if<Prediction>(&corrected);
    if (after == nullptr || after->time == before->time) return "refused: nothing is corrected";
    return fmt::format("time {:.6g} of {:.6g} limiter {} bound {} ", after->time.in(units::us),
                       before->time.in(units::us), name_of(after->limiter), name_of(after->bound));
}

TimedItem drawn_item(test::Random& random, std::size_t number) {
    TimedItem item{.name = fmt::format("op{}", number),
                   .count = random.whole(1, 50),
                   .code = fmt::format("kernel{}", random.whole(0, 1)),
                   .setting = random.coin() ? "clock 1.9 GHz" : "",
                   .waited = random.whole(0, 3) == 0 ? random.real(0.0, 5.0) * units::us : Time{},
                   .placed = random.whole(0, 3) == 0,
                   .kernels = static_cast<double>(random.whole(1, 3)),
                   .group = number % 3 == 0 ? "group" : ""};
    const double usual = random.real(1.0, 500.0);
    const std::int64_t samples = random.whole(1, 12);
    for (std::int64_t i = 0; i < samples; ++i) {
        item.samples.push_back(usual * random.real(0.99, 1.01) * units::us);
    }
    return item;
}

TimedRun drawn_run(test::Random& random, const std::vector<TimedItem>& items, double factor) {
    TimedRun run{.file = "run", .device = random.whole(0, 4) == 0 ? "other" : "gpu"};
    for (const TimedItem& usual : items) {
        if (random.whole(0, 14) == 0) continue;
        TimedItem item = usual;
        const bool changed = random.whole(0, 6) == 0;
        if (changed) item.code += "_other";
        for (Time& sample : item.samples) {
            sample = sample * random.real(0.99, 1.01) * (changed ? factor : 1.0);
        }
        run.items.push_back(item);
    }
    run.span = random.real(1.0, 2.0) * units::ms;
    return run;
}

std::string gate_answer(std::uint64_t seed) {
    test::Random random = test::Random::of_table(seed);
    std::vector<TimedItem> items;
    for (std::size_t i = 0; i < 4 + seed % 9; ++i) items.push_back(drawn_item(random, i));
    std::vector<TimedRun> before;
    std::vector<TimedRun> now;
    for (std::uint64_t i = 0; i < 1 + seed % 3; ++i) {
        before.push_back(drawn_run(random, items, 1.0));
        now.push_back(drawn_run(random, items, seed % 2 == 0 ? 1.3 : 0.8));
    }
    if (seed % 5 == 4) now.front().items.push_back(drawn_item(random, 99));
    const GateReport report = compare(before, now, {.budget = seed % 4 == 3 ? 0.1 : 0.03});
    std::string text = fmt::format(
        "{} {} total {} {:.6g} {:.6g} {:.6g} {:.6g} counts {} spans {:.6g} {:.6g} runs {} {}",
        name_of(report.verdict), verdict_of(report), name_of(report.total.trend),
        report.total.before.in(units::us), report.total.now.in(units::us), report.total.ratio,
        report.total.error, fmt::join(report.counts, ","), report.span_before.in(units::us),
        report.span_now.in(units::us), report.runs_before, report.runs_now);
    for (const ItemChange& each : report.changes) {
        text += fmt::format(" {} {} {:.6g} {:.6g} {:.6g} {:.6g} {} {} {}", each.name,
                            name_of(each.trend), each.before.in(units::us), each.now.in(units::us),
                            each.ratio, each.error, each.calls_before, each.calls_now, each.why);
    }
    for (const std::string& note : report.notes) text += " | " + note;
    return text;
}

std::string judgement_answer(const std::string& question) {
    const std::size_t blank = question.find(' ');
    const std::string part = question.substr(0, blank);
    const std::string rest = question.substr(blank + 1);
    if (part == "gate") return gate_answer(std::stoull(rest));
    if (part == "corrected") return corrected_answer(rest);
    const std::size_t next = rest.find(' ');
    return said_answer(std::stod(rest.substr(0, next)), judged_call(rest.substr(next + 1)));
}

TEST_CASE("calls and runs are judged as they were", "[frozen]") {
    test::check_table("judgements", judgement_answer);
}

bool is_refused(const std::string& question) {
    const std::string answer = test::answer_or_refusal(judgement_answer, question);
    return answer.rfind("refused", 0) == 0 || answer.rfind("error", 0) == 0;
}

std::string drawn_judged(test::Random& random, model::OperationKind kind, std::string_view part,
                         const test::FrozenName& at) {
    std::string question;
    for (int tries = 0; tries < 15; ++tries) {
        Operation drawn = test::random_operation(random, kind);
        if (random.whole(0, 3) == 0) drawn = test::cornered(drawn, random);
        constexpr std::array endings{"", " l2=cold", " l2=dirty", " launch=stream",
                                     " launch=graph"};
        question =
            fmt::format("{} {} {}: {}{}", part, at.gpu, at.software.empty() ? "-" : at.software,
                        text_of(kind, parameters_of(drawn)), random.pick(endings));
        if (!at.software.empty()) question += " software=" + at.software;
        if (!is_refused(question)) break;
    }
    return question;
}

TEST_CASE("draws the questions of the table of judgements", "[.][frozen-draw]") {
    test::Random random(20261130);
    constexpr std::array times{"said 0.3", "said 0.97", "said 1.4", "said 5", "said 60"};
    std::vector<std::string> questions;
    const auto names = test::frozen_names();
    for (const model::OperationInfo& info : model::operation_table()) {
        for (std::size_t i = 0; i < 6; ++i) {
            questions.push_back(
                drawn_judged(random, info.kind, random.pick(times), names[i < 3 ? 0 : i]));
        }
        for (int i = 0; i < 16; ++i) {
            const std::string drawn = drawn_judged(random, info.kind, "corrected", names[0]);
            if (!is_refused(drawn)) questions.push_back(drawn);
        }
    }
    for (int seed = 1; seed <= 40; ++seed) questions.push_back(fmt::format("gate {}", seed));
    test::write_table("judgements", questions, judgement_answer);
}

}  // namespace
}  // namespace ridge::answers
