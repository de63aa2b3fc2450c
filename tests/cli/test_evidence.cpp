// Every number says what it rests on, on every GPU, for every operation, wherever it appears; and
// nothing that is not modelled has a number.
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "model/catalogue/catalogue.h"
#include "model/predict.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/asked.h"
#include "tests/support/sample.h"

namespace ridge::test {
namespace {

using nlohmann::json;

const std::set<std::string> grades{"measured", "related", "distant", "datasheet"};

std::vector<std::string> all_gpus() {
    std::vector<std::string> names;
    for (const auto& entry : model::catalogue().entries()) names.push_back(entry.name);
    return names;
}

/// A prediction in JSON has a time and its evidence, or an error and neither.
void check_one(const json& answer, int& modelled) {
    if (answer.contains("error")) {
        CHECK_FALSE(answer.contains("time_us"));
        CHECK_FALSE(answer.contains("evidence"));
        return;
    }
    ++modelled;
    const json& evidence = answer.at("evidence");
    const std::string grade = evidence.at("grade");
    CHECK(grades.contains(grade));
    const double time = answer.at("time_us");
    const double width =
        answer.at("time_high_us").get<double>() / answer.at("time_low_us").get<double>();
    CHECK(time > 0.0);
    if (evidence.at("chip") == "foreign") {
        CHECK(answer.at("time_high_us").get<double>() > 1.03 * time);
    }
    if (grade == "datasheet") CHECK(width >= 2.0);
    CHECK((answer.at("confidence") == "calibrated") == (grade == "measured"));
    if (evidence.at("shape") == "outside") CHECK(grade != "measured");
    // The limiter is a listed term, the largest, and each resource has one term.
    double longest = 0.0;
    double limiter = -1.0;
    std::set<std::string> resources;
    for (const json& term : answer.at("terms")) {
        CHECK(resources.insert(term.at("resource")).second);
        longest = std::max(longest, term.at("time_us").get<double>());
        if (term.at("resource") == answer.at("limiter")) limiter = term.at("time_us");
    }
    if (!answer.at("terms").empty()) CHECK(limiter == longest);
}

TEST_CASE("every prediction on every GPU has its evidence, or no number") {
    int modelled = 0;
    int refused = 0;
    Sample sample;
    for (const std::string& gpu : all_gpus()) {
        for (const std::string& op : asked_operations()) {
            if (!sample.takes_next()) continue;
            const Transcript answer =
                run({"predict", "--gpu", gpu, "--op", op, "--format", "json"});
            CAPTURE(gpu, op, answer.err);
            if (answer.out.empty()) {
                ++refused;
                continue;
            }
            check_one(json::parse(answer.out), modelled);
        }
    }
    CHECK(static_cast<std::size_t>(modelled) > 900 / one_in());
}

TEST_CASE("tables, sweeps, comparisons and sequences carry the evidence") {
    const std::string gpus = "h200-sxm,h100-sxm,v100-sxm,k80,mi300x,l40s";
    const auto grade_cells = [](const std::string& csv) {
        std::istringstream lines(csv);
        std::string line;
        std::getline(lines, line);
        std::size_t at = 0;
        for (std::size_t end = 0; end < line.find("evidence"); ++end) at += line[end] == ',';
        std::vector<std::string> cells;
        while (std::getline(lines, line)) {
            std::istringstream row(line);
            std::string cell;
            for (std::size_t i = 0; i <= at; ++i) {
                // Texts of the first columns hold no commas here.
                std::getline(row, cell, ',');
            }
            cells.push_back(cell);
        }
        return cells;
    };
    for (const std::string& line :
         {"compare softmax --rows 1024 --cols 1024 --gpu " + gpus + " --format csv",
          "sweep copy --elements 1000:100000:*10 --gpu " + gpus + " --format csv",
          std::string("predict softmax --rows 64 --cols 64 --gpu t4 --format csv")}) {
        const Transcript answer = run_line(line);
        CAPTURE(line, answer.err);
        const auto cells = grade_cells(answer.out);
        REQUIRE_FALSE(cells.empty());
        for (const std::string& cell : cells) CHECK(grades.contains(cell));
    }
    const Transcript table =
        run_line("compare softmax --rows 1024 --cols 1024 --gpu h200-sxm,mi300x");
    CHECK(table.out.find("evidence") != std::string::npos);
    CHECK(table.out.find("datasheet") != std::string::npos);
    // The ratio to a GPU that nobody measured is a range.
    const std::string row = table.out.substr(table.out.find("mi300x"));
    CHECK(row.find(" - ") != std::string::npos);
    const json steps = json::parse(
        run_line("predict --gpu h200-sxm --op \"copy elements=1000000\" --op \"matmul m=64 n=64 "
                 "k=64 dtype=fp64\" --format json")
            .out);
    CHECK(grades.contains(steps.at("total").at("evidence").get<std::string>()));
}

TEST_CASE("a step of a model says how much of its time rests on what") {
    for (const std::string gpu : {"h200-sxm", "v100-sxm", "k80", "a10", "mi300x"}) {
        const Transcript answer =
            run_line("model gpt2 --seq 64 --dtype fp32 --gpu " + gpu + " --format json");
        const json step = json::parse(answer.out);
        CAPTURE(gpu);
        if (step.at("time_us").is_null()) {
            CHECK(step.at("evidence").is_null());
            continue;
        }
        double whole = 0.0;
        for (const auto& [grade, share] : step.at("evidence").at("shares").items()) {
            CHECK(grades.contains(grade));
            whole += share.get<double>();
        }
        CHECK(whole == Approx(1.0));
        CHECK(step.at("host_measured").get<bool>() == (gpu == "h200-sxm"));
        for (const json& each : step.at("operations")) {
            CHECK((each.contains("evidence") != each.contains("not_modelled")));
        }
        if (gpu != "h200-sxm") CHECK(step.at("evidence").at("grade") != "measured");
    }
    CHECK(run_line("model gpt2 --seq 64 --gpu a100-sxm-80gb").out.find("assumed") !=
          std::string::npos);
    CHECK(run_line("model gpt2 --seq 64 --gpu h200-sxm").out.find("assumed") == std::string::npos);
}

TEST_CASE("a kernel of PyTorch in the place of a bundled one is named") {
    const std::string line = "predict transpose --rows 512 --cols 512 --gpu h100 --batch ";
    const std::string words = "ridge has no kernels of its own for this operation";
    CHECK(run_line(line + "1").out.find(words) == std::string::npos);
    CHECK(run_line(line + "2").out.find(words) != std::string::npos);
    CHECK(run_line(line + "2 --impl torch").out.find(words) == std::string::npos);
}

}  // namespace
}  // namespace ridge::test
