// `ridge model --phase train` with stages, shared sequences, micro-batches and several numbers of GPUs.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

namespace ridge::test {
namespace {

using nlohmann::json;

const std::string step_of_llama =
    "model llama-3.2-1b --phase train --seq 1024 --gpu h200-sxm --launch \"1 us\"";

TEST_CASE("a pipeline's bubble shrinks with its micro-batches and its schedule") {
    const auto bubble = [](const std::string& options) {
        return json_of(step_of_llama + " --pp 4 " + options).at("bubble").get<double>();
    };
    const double few = bubble("--micro-batches 4");
    CHECK(few > 0.3);
    CHECK(bubble("--micro-batches 16") < 0.75 * few);
    CHECK(bubble("--micro-batches 8 --schedule interleaved") < bubble("--micro-batches 8"));
    const json gpipe = json_of(step_of_llama + " --pp 4 --micro-batches 8 --schedule gpipe");
    const json one = json_of(step_of_llama + " --pp 4 --micro-batches 8");
    CHECK(gpipe.at("memory_bytes")[1].get<double>() >
          1.3 * one.at("memory_bytes")[1].get<double>());
    CHECK(one.at("gpus").get<int>() == 4);
}

TEST_CASE("degrees multiply, and tokens are those of all GPUs") {
    const json step = json_of(step_of_llama + " --dp 2 --tp 2 --pp 2 --micro-batches 4 --zero 1");
    CHECK(step.at("gpus").get<int>() == 8);
    const double tokens = 2.0 * 4.0 * 1024.0;
    CHECK(step.at("tokens_per_s_of_all_gpus").get<double>() ==
          Approx(tokens / (1e-6 * step.at("wall_us").get<double>())));
    CHECK(step.at("exposed_us").get<double>() <= step.at("communication_us").get<double>());
    const json shared = json_of(step_of_llama + " --cp 4");
    CHECK(shared.at("memory_bytes")[0].get<double>() <
          json_of(step_of_llama).at("peak_extra_bytes").get<double>() +
              json_of(step_of_llama).at("resident_bytes").get<double>() + 4e9);
}

TEST_CASE("the MFU of a pipeline is that of all its ranks") {
    const json one = json_of(step_of_llama + " --micro-batches 4");
    const json two = json_of(step_of_llama + " --pp 2 --micro-batches 4");
    const auto work = [](const json& step) {  // of the peak, times the ranks' time
        return step.at("mfu_of_all_gpus").get<double>() * step.at("wall_us").get<double>() *
               step.at("gpus").get<double>();
    };
    CHECK(work(two) == Approx(work(one)).epsilon(0.02));
    CHECK(two.at("mfu_of_all_gpus").get<double>() < 1.0);
    CHECK(run_line(step_of_llama + " --pp 2 --micro-batches 4").out.find("MFU") !=
          std::string::npos);
}

TEST_CASE("several numbers of GPUs become a table and a chart") {
    const TemporaryFolder folder;
    const std::string file = folder.file("scaling.svg");
    const Transcript run =
        run_line("model smollm2-135m --phase train --gpus 1:8 --gpu h200-sxm -o " + file);
    REQUIRE(run.code == 0);
    for (const char* word : {"dp 2", "dp 4", "dp 8", "efficiency", "100.0 %"}) {
        CHECK(run.out.find(word) != std::string::npos);
    }
    CHECK(text_of(file).find("exposed communication") != std::string::npos);
    const Transcript beyond =
        run_line("model smollm2-135m --phase train --gpus 8:64 --gpu h200-sxm");
    CHECK(beyond.out.find("more than one node has") != std::string::npos);
}

TEST_CASE("what a layout cannot be is refused by its option") {
    const auto refused = [](const std::string& options, const std::string& why) {
        const Transcript run = run_line(step_of_llama + " " + options);
        CAPTURE(options);
        CHECK(run.code != 0);
        CHECK(run.err.find(why) != std::string::npos);
    };
    refused("--schedule gpipe", "schedule: one stage has none");
    refused("--pp 64", "pp: llama-3.2-1b has 16 layers");
    refused("--pp 4 --parts 2", "parts: only with");
    refused("--pp 4 --schedule interleaved --micro-batches 9", "multiple of the 2 rounds");
    // Prefill and decode list the stages.
    CHECK(run_line("model llama-3.2-1b --pp 4 --gpu h200-sxm").code == 0);
    const Transcript served = run_line("model llama-3.2-1b --serve --pp 2 --gpu h200-sxm");
    CHECK(served.code != 0);
    CHECK(served.err.find("not with --serve") != std::string::npos);
}

}  // namespace
}  // namespace ridge::test
