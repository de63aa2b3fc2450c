// `ridge model` and `ridge compare model`: formats, charts, what fits and what is refused.
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

namespace ridge::test {
namespace {

using nlohmann::json;

TEST_CASE("the largest batch fits and the next does not") {
    for (const std::string line :
         {"model llama-3.2-1b --gpu l4 --phase decode --seq 4096",
          "model gpt2 --gpu l4 --phase train --seq 1024", "model gemma-2-9b --gpu h100-sxm"}) {
        const json asked = json_of(line);
        const auto usable = asked.at("usable_bytes").get<double>();
        const auto reserved = [&](const char* option, std::int64_t size) {
            return json_of(line + " --" + option + " " + std::to_string(size))
                .at("reserved_bytes")
                .get<double>();
        };
        const auto batch = asked.at("largest_batch").get<std::int64_t>();
        REQUIRE(batch >= 1);
        CHECK(reserved("batch", batch) <= usable);
        CHECK(reserved("batch", batch + 1) > usable);
        const auto length = asked.at("largest_seq").get<std::int64_t>();
        if (line.find("gpt2") != std::string::npos) {
            CHECK(length == 1024);  // the end of its table of positions
            continue;
        }
        const std::string shorter = line.substr(0, line.find(" --seq"));
        const auto at = [&](std::int64_t seq) {
            return json_of(shorter + " --seq " + std::to_string(seq))
                .at("reserved_bytes")
                .get<double>();
        };
        CHECK(at(length) <= usable);
        CHECK(at(length + 1) > usable);
    }
}

TEST_CASE("weights, cache and memory of a step follow its options") {
    // 1,235,814,400 weights, 973,078,528 of them in the layers' products; each of 16 layers keeps 8
    // heads of 64 elements.
    const std::string prefill = "model llama-3.2-1b --gpu h200-sxm --seq 512 --batch 4 ";
    const auto value = [](const std::string& line, const char* name) {
        return json_of(line).at(name).get<double>();
    };
    constexpr double cache = 2.0 * 16 * 8 * 64 * 4 * 512;
    CHECK(value(prefill, "weights_bytes") == 2.0 * 1235814400);
    CHECK(value(prefill + "--quantise int4", "weights_bytes") ==
          2.0 * (1235814400 - 973078528) + 973078528 / 2.0 + 2.0 * 973078528 / 128);
    CHECK(value(prefill, "kv_cache_bytes") == 2.0 * cache);
    CHECK(value(prefill + "--kv-dtype fp8", "kv_cache_bytes") == cache);
    CHECK(value(prefill, "peak_extra_bytes") - value(prefill + "--no-cache", "peak_extra_bytes") ==
          2.0 * cache);
    // The logits of every token instead of those of the last token of each sequence.
    CHECK(value(prefill + "--logits all", "peak_extra_bytes") > 2048.0 * 128256 * 2);
    const std::string train = prefill + "--phase train ";
    const double weights = 1235814400.0;
    CHECK(value(train, "resident_bytes") == Approx(6.0 * weights).epsilon(1e-3));
    CHECK(value(train + "--amp bf16", "resident_bytes") == Approx(12.0 * weights).epsilon(1e-3));
    CHECK(value(train + "--optimizer none", "resident_bytes") ==
          Approx(2.0 * weights).epsilon(1e-3));
    CHECK(value(train + "--checkpoint full", "peak_extra_bytes") <
          value(train + "--checkpoint selective", "peak_extra_bytes"));
    CHECK(value(train + "--checkpoint selective", "peak_extra_bytes") <
          value(train, "peak_extra_bytes"));
}

TEST_CASE("the CSV of a step adds up to its JSON") {
    const std::string line = "model qwen3-0.6b --gpu h200-sxm --phase decode --seq 512";
    const Transcript csv = run_line(line + " --format csv");
    REQUIRE(csv.code == 0);
    std::istringstream rows(csv.out);
    std::string row;
    std::getline(rows, row);
    CHECK(row ==
          "name,module,pass,first_layer,operation,count,kernels,time_us,low_us,high_us,bound,"
          "limiter,evidence,not_modelled");
    std::int64_t kernels = 0;
    double time = 0.0;
    while (std::getline(rows, row)) {
        std::vector<std::string> cells;
        std::istringstream line_of(row);
        for (std::string cell; std::getline(line_of, cell, ',');) cells.push_back(cell);
        REQUIRE(cells.size() == 13);
        kernels += std::stoll(cells[6]);
        time += std::stod(cells[7]);
    }
    const json all = json_of(line);
    CHECK(kernels == all.at("kernels").get<std::int64_t>());
    CHECK(time == Approx(all.at("time_us").get<double>()).epsilon(1e-4));
    CHECK(run_line(line + " --format md").out.rfind("|", 0) == 0);
}

TEST_CASE("charts of a step") {
    const std::string line = "model llama-3.2-1b --gpu h100-sxm --seq 512 -o ";
    const TemporaryFolder folder;
    const std::string page = folder.file("all.html");
    REQUIRE(run_line(line + page).code == 0);
    for (const char* title : {"llama-3.2-1b, prefill of 1 x 512 on h100-sxm", "Roofline of",
                              "Latency of", "Memory of"}) {
        CHECK(text_of(page).find(title) != std::string::npos);
    }
    const std::string step = folder.file("step.svg");
    REQUIRE(run_line(line + step).code == 0);
    CHECK(text_of(step).find("gate_proj: ") != std::string::npos);  // name of a rectangle
    CHECK(text_of(step).find("16 layers") != std::string::npos);
    const std::string roofline = folder.file("roofline.svg");
    REQUIRE(run_line(line + roofline + " --chart roofline").code == 0);
    CHECK(text_of(roofline).find("down_proj") != std::string::npos);
    const std::string memory = folder.file("memory.svg");
    REQUIRE(run_line("model gpt2 --seq 128 -o " + memory).code == 0);  // without a GPU
    CHECK(text_of(memory).find("Memory of gpt2") != std::string::npos);
    const std::string front = folder.file("front.svg");
    REQUIRE(run_line("model llama-3.2-1b --gpu h100-sxm --serve --tp 1,2 --software serving -o " +
                     front)
                .code == 0);
    CHECK(text_of(front).find("Pareto front") != std::string::npos);
    CHECK(text_of(front).find("2 GPUs") != std::string::npos);
}

TEST_CASE("models are compared across GPUs, software and batches") {
    const json rows = json_of(
        "compare model gpt2 --gpu h100-sxm,a100-sxm-80gb --software transformers,serving --seq 256 "
        "--phase decode --batch 1,2,4");
    REQUIRE(rows.size() == 12);
    CHECK(rows[0].at("gpu") == "h100-sxm");
    CHECK(rows[3].at("software") == "serving");
    CHECK(rows[11].at("batch") == 4);
    const json alone = json_of(
        "model gpt2 --gpu a100-sxm-80gb --software serving --seq 256 --phase decode --batch 4");
    CHECK(rows[11].at("wall_us") == alone.at("wall_us"));
    const Transcript csv =
        run_line("compare model gpt2 --gpu h100-sxm --batch 1:4 --seq 64 --format csv");
    CHECK(std::count(csv.out.begin(), csv.out.end(), '\n') == 5);
    const TemporaryFolder folder;
    const std::string picture = folder.file("compare.svg");
    CHECK(run_line("compare model gpt2 --gpu h100-sxm,h200-sxm --seq 64 -o " + picture).code == 0);
    CHECK(text_of(picture).find("h200-sxm") != std::string::npos);
}

TEST_CASE("a program written by hand") {
    const TemporaryFolder folder;
    const std::string file =
        folder.write("block.toml",
                     "name = \"mine\"\n"
                     "[[operation]]\nop = \"matmul m=4096 n=4096 k=4096\"\ncount = 3\n"
                     "name = \"up\"\nmodule = \"mlp\"\nlayer = 0\n"
                     "[[operation]]\nop = \"softmax rows=4096 cols=4096 dtype=fp16\"\n");
    const json all = json_of("model " + file + " --gpu h100-sxm");
    CHECK(all.at("model") == "mine");
    CHECK(all.at("kernels") == 4);
    CHECK_FALSE(all.contains("parameters"));
    const json once = json_of("predict matmul --m 4096 --n 4096 --k 4096 --gpu h100-sxm");
    const auto& up = all.at("operations").at(0);
    CHECK(up.at("time_us").get<double>() == Approx(3.0 * once.at("time_us").get<double>()));
    CHECK(run_line("model " + file + " --gpu h100-sxm").out.rfind("mine: 2 operations", 0) == 0);
    const std::string step = folder.file("block.svg");
    CHECK(run_line("model " + file + " --gpu h100-sxm -o " + step).code == 0);
    const auto refused = [&](const std::string& text, const std::string& words) {
        write_text(file, text);
        const Transcript run = run_line("model " + file + " --gpu h100-sxm");
        CAPTURE(text, run.err);
        CHECK(run.code != 0);
        CHECK(run.err.find(words) != std::string::npos);
    };
    refused("[[operation]]\nop = \"matmul m=1 n=1 k=1\"\ncont = 3\n", "did you mean 'count'?");
    refused("[[operation]]\nop = \"matmul m=1 n=1\"\n", "k");
    refused("[[operation]]\nop = \"copy elements=8\"\nmodule = \"brain\"\n", "one of embedding");
    refused("[[operation]]\nop = \"copy elements=8\"\ncount = 0\n", "count must be 1 to");
}

TEST_CASE("a default GPU applies to models too") {
    const auto run = [] {
        const Variable gpu("RIDGE_GPU", "h200");
        return run_line("model gpt2 --seq 64 --format json");
    }();
    REQUIRE(run.code == 0);
    CHECK(json::parse(run.out).at("gpu") == "h200-sxm");
    CHECK_FALSE(json_of("model gpt2 --seq 64").contains("gpu"));
}

TEST_CASE("the default length fits the model's positions") {
    for (const auto& [line, tokens] : {std::pair{"model gpt2 --gpu h100-sxm", 1024},
                                       std::pair{"model llama-3.2-1b --gpu h100-sxm", 2048},
                                       std::pair{"model gpt2 --gpu h100-sxm --seq 64", 64}}) {
        const Transcript run = run_line(std::string(line) + " --format json");
        REQUIRE(run.code == 0);
        CHECK(json::parse(run.out)["seq"] == tokens);
    }
    CHECK(run_line("model gpt2 --gpu h100-sxm --seq 2048").code != 0);
}

TEST_CASE("ridge model refuses options that do not apply") {
    const auto refused = [](const std::string& line, const std::string& words) {
        const Transcript run = run_line(line);
        CAPTURE(line, run.err);
        CHECK(run.code != 0);
        CHECK(run.err.find(words) != std::string::npos);
        CHECK(run.out.empty());
    };
    refused("model gpt2 --gpu h100-sxm --batch 1,2 --chart step -o x.svg", "not of a list");
    refused("model gpt2 --gpu h100-sxm --batch 1,2 --advise", "batch: one value was expected");
    refused("model gpt2 --gpu h100-sxm --software eager", "software");
    refused("compare model gpt2 --gpu h100-sxm --software eager", "unknown software \"eager\"");
    refused("compare model --gpu h100-sxm", "CONFIG is missing");
    refused("compare model gpt2 --gpu h100-sxm --batch 1:1000 --seq 8", "at most 200 rows");
    refused("model gpt2 --serve", "gpu is missing");
    refused("model gpt2 --gpu h100-sxm --seq 64 --chart step", "add -o");
    refused("model gpt2 --gpu h100-sxm --seq 64 --chart pareto -o x.svg", "add --serve");
    refused("model gpt2 --gpu h100-sxm --seq 64 -o x.txt", "x.txt");
    refused("model gpt2 --seq 64 --chart roofline -o x.svg", "needs a GPU");
    refused("model gpt2 --gpu l40s --kv-dtype fp8 --serve --software serving --seq 64",
            "attention: kv_dtype");
    refused("model gpt2 --gpu h100-sxm --seq 64 --host abacus", "xeon-h200");
    // Options that would change nothing.
    const std::string step = "model gpt2 --gpu h100-sxm --seq 64 ";
    for (const char* option : {"ttft 5ms", "tpot 5ms", "price 2", "requests 9"}) {
        const std::string words(option);
        refused(step + "--" + words, words.substr(0, words.find(' ')) + ": only with --serve");
    }
    for (const char* option :
         {"amp bf16", "checkpoint full", "optimizer none", "zero 1", "gpus 2"}) {
        const std::string words(option);
        refused(step + "--" + words, words.substr(0, words.find(' ')) + ": only for --phase train");
    }
    refused(step + "--gpus 2", "--tp divides a step");
    refused(step + "--phase train --zero 2", "zero: ZeRO needs several GPUs");
    refused(step + "--ep 2", "ep: gpt2 has no experts");
    refused(step + "--dtype nvfp4", "dtype: not nvfp4");
    refused(step + "--kv-dtype nvfp4", "kv-dtype: not nvfp4");
}

TEST_CASE("`model --serve` is the steady answer of `serve`") {
    for (const char* more :
         {"", " --tp 2", " --quantise fp8", " --draft-model llama-3.2-1b --draft-tokens 2",
          " --adapters 40 --rank 8", " --prefix 0.5 --groups 500 --offload 20GiB",
          " --draft mtp --acceptance 0.5"}) {
        const std::string words = std::string(" llama-3.2-3b --gpu h100-sxm --answer 200") + more;
        CAPTURE(words);
        const json one = json_of("model --serve --seq 1500 --most 64" + words);
        const json other = json_of("serve --steady --prompt 1500 --concurrency 1:64:*2" + words);
        CHECK(one == other);
        CHECK(one["points"].size() == 7);
    }
    const json plain = json_of("model llama-3.1-8b --serve --gpu h100-sxm");
    const json drafts =
        json_of("model llama-3.1-8b --serve --gpu h100-sxm --draft ngram --acceptance 0.9");
    CHECK(drafts["points"][0]["tpot_us"] < plain["points"][0]["tpot_us"]);
    const json adapters =
        json_of("model llama-3.1-8b --serve --gpu h100-sxm --adapters 64 --rank 64");
    CHECK(adapters["points"][3]["tpot_us"] > plain["points"][3]["tpot_us"]);
    CHECK(adapters["points"][3]["bytes"] > plain["points"][3]["bytes"]);
    for (const char* refused :
         {"model gpt2 --gpu h100-sxm --adapters 4", "serve gpt2 --gpu h100-sxm --steady --rate 3",
          "model gpt2 --gpu h100-sxm --serve --software compiled --prefix 0.5",
          "serve gpt2 --gpu h100-sxm --steady --draft mtp,ngram",
          "serve gpt2 --gpu h100-sxm --steady --prefix 1"}) {
        CAPTURE(refused);
        CHECK(run_line(refused).code != 0);
    }
}

TEST_CASE("a load uses whole groups of GPUs") {
    const Transcript run = run_line(
        "model llama-3.1-8b --gpu h100-sxm --serve --software serving --tp 4 --requests 100");
    REQUIRE(run.code == 0);
    const std::size_t place = run.out.find("requests/s need");
    REQUIRE(place != std::string::npos);
    CHECK(std::stoi(run.out.substr(place + 16)) % 4 == 0);
}

}  // namespace
}  // namespace ridge::test
