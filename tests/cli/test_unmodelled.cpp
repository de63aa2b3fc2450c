// What is not modelled is never added as zero: a sum or a ratio without it is not printed as a
// number, anywhere.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

namespace ridge::test {
namespace {

using nlohmann::json;

json answer_of(const std::string& line) {
    const Transcript run = run_line(line + " --format json");
    CAPTURE(line, run.err);
    return json::parse(run.out);
}

bool has_part(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

const std::string two =
    "predict --gpu v100-sxm --op \"copy elements=1000000 dtype=fp16\" "
    "--op \"matmul m=64 n=64 k=64 dtype=bf16\"";

TEST_CASE("a sequence with an operation that is not modelled has no sum") {
    const std::string text = run_line(two).out;
    CHECK(has_part(text, "at least "));
    CHECK(has_part(text, "1 operation not modelled"));
    CHECK_FALSE(has_part(text, "100 %"));
    const json total = answer_of(two).at("total");
    for (const char* name : {"time_us", "time_low_us", "time_high_us", "flop", "dram_bytes"}) {
        CHECK(total.at(name).is_null());
    }
    CHECK(total.at("at_least_us").get<double>() > 0.0);
    CHECK(total.at("not_modelled") == 1);
    CHECK(total.at("not_modelled_reasons").at(0).at("operations") == 1);
    const json answer = answer_of(two);
    for (const json& step : answer.at("operations")) CHECK_FALSE(step.contains("share"));
    const std::string csv = run_line(two + " --format csv").out;
    const std::string last = csv.substr(csv.rfind("total"));
    CHECK(last.starts_with("total,,,,,,"));
    CHECK(has_part(last, "at least"));
}

TEST_CASE("a step of a model that lacks operations has no time, no tokens/s and no MFU") {
    const std::string line = "model llama-3.2-1b --phase decode --seq 512 --gpu v100-sxm";
    const std::string text = run_line(line).out;
    CHECK(has_part(text, "at least "));
    CHECK(has_part(text, "not modelled"));
    CHECK_FALSE(has_part(text, "tokens/s"));
    CHECK_FALSE(has_part(text, "MFU"));
    CHECK_FALSE(has_part(text, "0 ns"));
    const json step = answer_of(line);
    for (const char* name : {"time_us", "time_low_us", "time_high_us", "wall_us", "tokens_per_s",
                             "tokens_per_s_of_all_gpus", "mfu", "mbu", "host_bound"}) {
        CAPTURE(name);
        CHECK(step.at(name).is_null());
    }
    CHECK(step.at("at_least_us").get<double>() > 0.0);
    CHECK(step.at("not_modelled").get<int>() > 1);
    const TemporaryFolder folder;
    const std::string chart = folder.file("step.svg");
    REQUIRE(run_line(line + " -o " + chart).code == 0);
    CHECK(has_part(text_of(chart), "at least "));
    CHECK(has_part(text_of(chart), "not modelled"));
    const Transcript served = run_line(line + " --serve");
    CHECK(served.code != 0);
    CHECK(has_part(served.err, "not modelled"));
    const Transcript advice = run_line(line + " --advise");
    CHECK(advice.code != 0);
    CHECK(has_part(advice.err, "not modelled"));
}

TEST_CASE("models are not compared by steps that lack operations") {
    const std::string line = "compare model gpt2 --seq 256 --gpu v100-sxm,h100-sxm";
    const std::string text = run_line(line).out;
    CHECK(has_part(text, "at least "));
    CHECK(has_part(text, "not modelled"));
    CHECK_FALSE(has_part(text, "x  "));  // no speed-up in any row
    const std::string csv = run_line(line + " --format csv").out;
    CHECK(has_part(csv, "v100-sxm,transformers,bf16,stored,1,1,256,,,,,"));
    const TemporaryFolder folder;
    const std::string chart = folder.file("models.svg");
    REQUIRE(run_line(line + " -o " + chart).code == 0);
    CHECK(has_part(text_of(chart), "Not drawn: v100-sxm"));
}

TEST_CASE("GPUs beyond one node are not modelled in a step") {
    const json step = answer_of(
        "model gpt2 --phase train --seq 128 --gpus 1024 --gpu h100-sxm --software transformers");
    CHECK(step.at("wall_us").is_null());
    CHECK(has_part(step.at("not_modelled_reasons").at(0).at("reason").get<std::string>(),
                   "1024 GPUs are more than one node has"));
    const json wide = answer_of("model llama-3.1-70b --seq 128 --tp 64 --gpu h100-sxm");
    CHECK(wide.at("wall_us").is_null());
}

TEST_CASE("tokens/s say whose they are") {
    const std::string one = run_line("model gpt2 --seq 128 --gpu h100-sxm").out;
    CHECK(has_part(one, "tokens/s, MFU"));
    const std::string many =
        run_line("model gpt2 --phase train --seq 128 --gpus 8 --zero 3 --gpu h100-sxm").out;
    CHECK(has_part(many, "tokens/s on each of 8 GPUs ("));
    CHECK(has_part(many, "together)"));
    CHECK(has_part(many, "of collectives, which run"));
    const std::string shared = run_line("model llama-3.2-1b --seq 128 --tp 2 --gpu h100-sxm").out;
    CHECK(has_part(shared, "tokens/s on 2 GPUs together"));
}

TEST_CASE("autocast takes fp32 weights with or without --dtype, and contradictions are refused") {
    const std::string line = "model gpt2 --phase train --seq 256 --gpu h100-sxm --amp bf16";
    CHECK(answer_of(line).at("wall_us") == answer_of(line + " --dtype fp32").at("wall_us"));
    for (const char* wrong :
         {"model gpt2 --phase train --amp bf16 --dtype fp16",
          "model gpt2 --phase decode --no-cache", "model gpt2 --phase train --kv-dtype fp8",
          "model gpt2 --phase train --logits last", "model gpt2 --no-cache --kv-dtype fp8",
          "model gpt2 --phase train --no-cache"}) {
        CAPTURE(wrong);
        CHECK(run_line(std::string(wrong) + " --gpu h100-sxm").code == 1);
    }
}

}  // namespace
}  // namespace ridge::test
