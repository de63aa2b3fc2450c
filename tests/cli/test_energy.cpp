// Power and energy on the command line: conditions, sweeps over limits, prices, the roofline.
#include <algorithm>
#include <cstddef>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/temporary_folder.h"

namespace ridge::test {
namespace {

using nlohmann::json;

const std::vector<std::string> product{"matmul", "--m", "8192", "--n", "8192", "--k", "8192"};

std::vector<std::string> words(std::vector<std::string> first, std::vector<std::string> more) {
    first.insert(first.end(), more.begin(), more.end());
    return first;
}

json predicted(const std::vector<std::string>& more) {
    const Transcript answer = run(
        words(words({"predict"}, product), words({"--gpu", "h200-sxm", "--format", "json"}, more)));
    REQUIRE(answer.code == 0);
    return json::parse(answer.out);
}

}  // namespace

TEST_CASE("a prediction has power, energy and FLOP per joule that agree") {
    const json p = predicted({});
    const double power = p.at("power_w");
    const double energy = p.at("energy_j");
    const json& steady = p.at("steady");
    CHECK(energy == Approx(power * steady.at("period_us").get<double>() * 1e-6));
    CHECK(p.at("flop_per_j").get<double>() == Approx(p.at("flop").get<double>() / energy));
    CHECK(p.at("power_low_w") <= p.at("power_w"));
    CHECK(p.at("energy_high_j") >= p.at("energy_j"));
    CHECK(steady.at("limited_by") == "power");
    CHECK(steady.at("evidence") == "measured");
}

TEST_CASE("conditions change power, and say that they were not measured") {
    const json own = predicted({});
    const json zeros = predicted({"--data", "zeros"});
    CHECK(zeros.at("power_w") < own.at("power_w"));
    CHECK(zeros.at("time_us") == own.at("time_us"));
    const json capped = predicted({"--power", "400"});
    CHECK(capped.at("power_w").get<double>() <= 400.0);
    CHECK(capped.at("steady").at("period_us") > own.at("steady").at("period_us"));
    CHECK(capped.at("steady").at("evidence") == "not measured at this limit or clock");
    const json slow = predicted({"--clock", "1 GHz"});
    CHECK(slow.at("steady").at("clock_mhz").get<double>() == Approx(1000.0));
    CHECK(slow.at("steady").at("limited_by") == "asked");
}

TEST_CASE("a power that is none is refused by name") {
    const Transcript answer =
        run(words(words({"predict"}, product), {"--gpu", "h200-sxm", "--power", "hot"}));
    CHECK(answer.code == 1);
    CHECK_THAT(answer.err, contains_text("power: 'hot' is not understood"));
}

TEST_CASE("a sweep over limits finds the one of least energy") {
    const Transcript answer =
        run(words(words({"sweep"}, product),
                  {"--gpu", "h200-sxm", "--power", "200:700:100", "--format", "json"}));
    REQUIRE(answer.code == 0);
    const json found = json::parse(answer.out);
    CHECK(found.at("schema") == "ridge/power-sweep/1");
    REQUIRE(found.at("points").size() == 6);
    double least = 1e9;
    int best = 0;
    double before = 1e9;
    for (const json& point : found.at("points")) {
        const double energy = point.at("energy_j");
        if (energy < least) {
            least = energy;
            best = point.at("power_limit_w");
        }
        const double period = point.at("steady").at("period_us");
        CHECK(period <= before);
        before = period;
    }
    CHECK(found.at("least_energy") == best);
    const Transcript both =
        run(words(words({"sweep"}, product),
                  {"--gpu", "h200-sxm", "--power", "200:700:100", "--clock", "1000:1500:100"}));
    CHECK(both.code == 1);
}

TEST_CASE("the energy roofline is a chart") {
    const Transcript answer =
        run({"roofline", "--energy", "--gpu", "b200", "--op", "matmul m=4096 n=4096 k=4096"});
    CHECK(answer.code == 0);
    CHECK_THAT(answer.out, contains_text("GFLOP/J"));
    CHECK(run({"roofline", "--energy", "--gpu", "tpu-v5e"}).code == 1);
}

TEST_CASE("serving states joules per token, and what a million cost") {
    const Transcript answer =
        run({"model", "llama-3.1-8b", "--serve", "--most", "2", "--gpu", "h200-sxm", "--software",
             "serving", "--price-kwh", "0.5", "--grid-intensity", "400", "--format", "json"});
    REQUIRE(answer.code == 0);
    const json found = json::parse(answer.out);
    for (const json& point : found.at("points")) {
        const double joules = point.at("joules_per_token");
        CHECK(joules > 0.0);
        CHECK(point.at("kwh").get<double>() == Approx(joules / 3.6));
        CHECK(point.at("energy_cost").get<double>() == Approx(0.5 * joules / 3.6));
        CHECK(point.at("co2_g").get<double>() == Approx(400.0 * joules / 3.6));
    }
}

TEST_CASE("the front of energy against latency is a chart") {
    const TemporaryFolder folder;
    const std::string file = folder.file("front.json");
    const Transcript answer =
        run({"model", "llama-3.1-8b", "--serve", "--most", "16", "--gpu", "h200-sxm", "--software",
             "serving", "--chart", "energy", "-o", file});
    REQUIRE(answer.code == 0);
    std::ifstream stream(file);
    CHECK(json::parse(stream).dump().find("Joules a token") != std::string::npos);
    CHECK(run({"model", "llama-3.1-8b", "--gpu", "h200-sxm", "--chart", "energy"}).code == 1);
}

TEST_CASE("experts on the GPUs of tp take about what experts cut among them take") {
    const auto joules = [](const std::vector<std::string>& layout) {
        std::vector<std::string> words{"serve", "qwen3-30b-a3b", "--steady", "--concurrency",
                                       "32",    "--gpu",         "h100-sxm", "--format",
                                       "csv"};
        words.insert(words.end(), layout.begin(), layout.end());
        const Transcript answer = run(words);
        REQUIRE(answer.code == 0);
        std::istringstream lines(answer.out);
        std::string names;
        std::string values;
        std::getline(lines, names);
        std::getline(lines, values);
        const auto place = std::count(
            names.begin(),
            names.begin() + static_cast<std::ptrdiff_t>(names.find("joules_per_token")), ',');
        std::istringstream cells(values);
        std::string cell;
        for (std::ptrdiff_t i = 0; i <= place; ++i) std::getline(cells, cell, ',');
        return cell;
    };
    const std::string cut = joules({"--tp", "4"});
    const std::string spread = joules({"--tp", "4", "--ep", "4"});
    REQUIRE_FALSE(cut.empty());
    REQUIRE_FALSE(spread.empty());
    CHECK(std::stod(spread) == Approx(std::stod(cut)).epsilon(0.2));
}

TEST_CASE("a step of a model has power and joules per token") {
    const Transcript answer =
        run({"model", "llama-3.1-8b", "--phase", "decode", "--batch", "8", "--gpu", "h200-sxm",
             "--software", "serving", "--format", "json"});
    REQUIRE(answer.code == 0);
    const json step = json::parse(answer.out);
    CHECK(step.at("power_w").get<double>() > 124.0);
    CHECK(step.at("power_w").get<double>() <= 700.0);
    CHECK(step.at("joules_per_token").get<double>() ==
          Approx(step.at("energy_j").get<double>() / 8.0));
}

TEST_CASE("an image takes its encoder's energy and that of its tokens") {
    const auto step_with = [](const char* seq) {
        const Transcript answer =
            run({"model", "qwen3-vl-8b-instruct", "--image", "1024x768", "--images", "2", "--seq",
                 seq, "--batch", "2", "--gpu", "h200-sxm", "--format", "json"});
        REQUIRE(answer.code == 0);
        return json::parse(answer.out);
    };
    // Prompts of images alone: four of them take all of the step.
    const json images = step_with("1536");
    REQUIRE(images.at("tokens_of_an_image").get<int>() == 768);
    CHECK(4.0 * images.at("joules_per_image").get<double>() ==
          Approx(images.at("energy_j").get<double>()));
    const json text = step_with("4096");
    const double image = text.at("joules_per_image").get<double>();
    CHECK(4.0 * image < text.at("energy_j").get<double>());
    CHECK(image > 768.0 * 0.8 * text.at("joules_per_token").get<double>());
    const Transcript shown =
        run({"model", "qwen3-vl-8b-instruct", "--image", "1024x768", "--gpu", "h200-sxm"});
    CHECK(shown.out.find(" an image.") != std::string::npos);
}

}  // namespace ridge::test
