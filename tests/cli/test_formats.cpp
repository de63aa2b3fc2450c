// Every command can print its answer as a table, JSON, CSV and Markdown.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/application.h"
#include "cli/commands/commands.h"
#include "cli/options/command_line.h"
#include "model/catalogue/catalogue.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/fake_device.h"
#include "tests/support/temporary_folder.h"

using nlohmann::json;
using namespace ridge;
using test::run_line;
using test::Transcript;

namespace {

const std::string records = std::string(RIDGE_RECORDS) + "/h200-sxm";
const std::string times = std::string(RIDGE_RECORDS) + "/../docs/examples/times.csv";

/// Checks that the command, or each of its subcommands, takes --format.
void require_format(const cli::CommandLine& line) {
    INFO(line.name());
    std::set<std::string> words;
    for (const cli::OptionInfo& option : line.options()) {
        if (option.names.back() != "--format") continue;
        words.insert(option.words.begin(), option.words.end());
    }
    const std::vector<cli::CommandLine> children = line.subcommands();
    if (words.empty()) {
        CHECK_FALSE(children.empty());
    } else {
        for (const char* const word : {"table", "json", "csv", "md"}) {
            CAPTURE(word);
            CHECK(words.contains(word));
        }
    }
    for (const cli::CommandLine& child : children) require_format(child);
}

bool close(double a, double b) {
    return std::abs(a - b) <= 1e-9 * std::abs(b);
}

/// With a pipe instead of a terminal as its output.
Transcript run_piped(const std::string& line) {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    const cli::Context context{.in = in, .out = out, .err = err, .piped = true};
    const int code = cli::run(test::words_of(line), context);
    return {code, out.str(), err.str()};
}

std::size_t line_count(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

TEST_CASE("every command takes --format, except those that print a script") {
    // `completions` prints a script for a shell, `explore` opens a page. The manual page is not a
    // command.
    const std::set<std::string> without{"completions", "explore"};
    std::size_t seen = 0;
    for (const cli::CommandInfo& command : cli::command_table()) {
        if (without.contains(std::string(command.name))) continue;
        cli::CommandLine line(command.name, command.help);
        static_cast<void>(command.build(line, {}));
        require_format(line);
        ++seen;
    }
    CHECK(seen + without.size() == cli::command_table().size());
}

TEST_CASE("an answer that is one table is CSV in a pipe; answers with sentences stay text") {
    for (const std::string& line : std::vector<std::string>{
             "compare matmul --m 512 --n 512 --k 512 --gpu h100,b200",
             "compare llama-3.1-8b --gpu h100,b200", "compare --from " + times + " --gpu h100",
             "predict softmax --rows 4096 --cols 1024 --dtype bf16,fp32 --gpu h100",
             "sweep softmax --rows 1024:4096:*2 --cols 512 --gpu h100",
             "sweep matmul --m 8192 --n 8192 --k 8192 --gpu h200 --power 500:700:100",
             "vram llama-3.1-8b --seq 1024,2048 --gpu h100", "gpus", "gpus timeline", "ops"}) {
        CAPTURE(line);
        const Transcript piped = run_piped(line);
        CHECK(piped.out == run_line(line + " --format csv").out);
        CHECK(piped.out != run_line(line).out);
        CHECK(run_piped(line + " --format table").out == run_line(line + " --format table").out);
    }
    for (const std::string& line : std::vector<std::string>{
             "predict softmax --rows 4096 --cols 1024 --gpu h100", "plan gpt2 --seq 512 --gpu h100",
             "diagnose " + times + " --gpu h100", "ops matmul", "gpus show h100",
             "model gpt2 --seq 512 --gpu h100", "roofline --gpu h100"}) {
        CAPTURE(line);
        CHECK(run_piped(line).out == run_line(line).out);
    }
}

TEST_CASE("roofs and points of a roofline as values") {
    const std::string line =
        "roofline --gpu h100-sxm --op \"matmul m=4096 n=4096 k=4096\" --op \"copy elements=1e6\" ";
    const Transcript run = run_line(line + "--format json");
    REQUIRE(run.code == 0);
    CHECK_THAT(run.err, contains_text("1 operation without arithmetic is not drawn: copy"));
    const json rows = json::parse(run.out);
    CHECK(rows[0]["kind"] == "roof");
    CHECK(rows[0]["name"] == "DRAM");
    CHECK(rows[0]["source"] == "datasheet");
    CHECK(rows[0]["bytes_per_s"] == 3.35e12);
    const json& point = rows.back();
    CHECK(point["kind"] == "point");
    CHECK(point["source"] == "predicted");
    CHECK_THAT(point["question"], contains_text("matmul dtype=bf16 m=4096 n=4096"));
    const json predicted =
        json::parse(run_line("predict matmul --m 4096 --n 4096 --k 4096 --gpu h100-sxm "
                             "--format json")
                        .out);
    const double flop_per_s = 2.0 * std::pow(4096.0, 3) / (1e-6 * double(predicted["time_us"]));
    CHECK(close(point["flop_per_s"], flop_per_s));
    CHECK(point["flop_per_s_low"] < point["flop_per_s"]);
    CHECK(point["flop_per_s"] < point["flop_per_s_high"]);
    CHECK(line_count(run_line(line + "--format csv").out) == rows.size() + 1);
    CHECK_THAT(run_line(line + "--format md").out, contains_text("| name |"));
    const std::string table = run_line(line + "--format table").out;
    CHECK_THAT(table, contains_text("3.35 TB/s") && contains_text("989 TFLOP/s"));
}

TEST_CASE("points of record charts as values") {
    const json scatter = json::parse(run_line("plot scatter " + records + " --format json").out);
    REQUIRE(scatter.size() > 100);
    for (const json& row : scatter) {
        CHECK(close(double(row["predicted_us"]) / double(row["measured_us"]), row["ratio"]));
    }
    const json copies =
        json::parse(run_line("plot scatter " + records + " --where op=copy --format json").out);
    REQUIRE_FALSE(copies.empty());
    CHECK(copies.size() < scatter.size());
    for (const json& row : copies) {
        CHECK(std::string(row["question"]).rfind("copy ", 0) == 0);
    }
    const std::string sweep = "plot sweep " + records + " --x m --where n=@m --where k=@m --y rate";
    const json points = json::parse(run_line(sweep + " --format json").out);
    REQUIRE(points.size() > 10);
    std::set<std::string> sources;
    for (const json& row : points) {
        sources.insert(row["source"]);
        CHECK(row["flop_per_s"] > 1e9);
        CHECK(row["m"] >= 1.0);
    }
    CHECK(sources == std::set<std::string>{"measured", "predicted"});
    CHECK(line_count(run_line(sweep + " --format csv").out) == points.size() + 1);
}

TEST_CASE("parameters of a fit, with their errors, as values") {
    const std::string line =
        "fit memory --gpu h200-sxm --records " + records + "/elementwise.jsonl.gz";
    const Transcript file = run_line(line);
    REQUIRE(file.code == 0);
    const json reports = json::parse(run_line(line + " --format json").out);
    REQUIRE_FALSE(reports.empty());
    std::size_t parameters = 0;
    for (const json& report : reports) {
        CHECK(report["usable"] == true);
        CHECK(report["fitted"].back()["class"] == "all");
        for (const json& parameter : report["parameters"]) {
            ++parameters;
            const std::string status = parameter["status"];
            CHECK(parameter.contains("standard_error") == (status == "fitted"));
            CHECK_THAT(file.out, contains_text(std::string(parameter["field"]) +
                                               (status == "fitted" ? " = { value = " : " keeps ") +
                                               std::string(parameter["value"])));
        }
    }
    CHECK(line_count(run_line(line + " --format csv").out) == parameters + 1);
}

TEST_CASE("ceilings of a calibration as values") {
    const model::Catalogue catalogue = model::catalogue();
    const measure::FakePlan plan = measure::fake_plan(catalogue.at("h200-sxm"));
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    const cli::Context context{.in = in, .out = out, .err = err, .open_device = [&](std::int32_t) {
                                   return std::make_unique<measure::FakeDevice>(plan);
                               }};
    REQUIRE(cli::run(test::words_of("calibrate --samples 5 --format json"), context) == 0);
    bool found = false;
    for (const json& row : json::parse(out.str())) {
        if (row["field"] == "measured.dram.read") found = true;
        CHECK_FALSE(std::string(row["value"]).empty());
    }
    CHECK(found);
}

TEST_CASE("problems in a description as values") {
    const ridge::test::TemporaryFile file("name = \"x\"\nnonsense = 1\n", ".toml");
    const Transcript run = run_line("gpus check --format json " + file.path());
    CHECK(run.code == 2);
    const json rows = json::parse(run.out);
    REQUIRE_FALSE(rows.empty());
    CHECK(rows[0]["file"] == file.path());
    CHECK(rows[0]["line"].is_number());
}
