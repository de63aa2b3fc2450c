// What the commands print: formats agree with each other and with figures worked out by hand.
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run.h"

using nlohmann::json;
using ridge::test::json_of;
using ridge::test::longest_line;
using ridge::test::run_line;
using ridge::test::Transcript;

TEST_CASE("ridge points of the bf16 tensor peak on the datasheet's DRAM bandwidth") {
    const auto ridge_of = [](const std::string& gpu) {
        return json_of("predict matmul --m 64 --n 64 --k 64 --datasheet --gpu " + gpu)
            .at("ridge_flop_per_byte")
            .get<double>();
    };
    CHECK(ridge_of("a100-sxm-40gb") == Approx(200.6).margin(0.05));
    CHECK(ridge_of("a100-sxm-80gb") == Approx(153.0).margin(0.05));
    CHECK(ridge_of("h100-sxm") == Approx(295.3).margin(0.05));
    CHECK(ridge_of("h200-sxm") == Approx(206.1).margin(0.05));
}

TEST_CASE("each operation of a sequence is timed in its own launch mode") {
    const std::string call =
        "predict --gpu h100-sxm --op \"copy elements=1048576 launch=stream\" "
        "--op \"copy elements=1048576\"";
    const json sequence = json_of(call);
    const json& parts = sequence.at("operations");
    REQUIRE(parts.size() == 2);
    const double stream = parts[0].at("time_us").get<double>();
    const double kernel = parts[1].at("time_us").get<double>();
    REQUIRE(stream > 2.0 * kernel);
    const std::string text = run_line(call).out;
    const std::string total = "\n  time          ";
    const std::size_t at = text.find(total);
    REQUIRE(at != std::string::npos);
    CHECK(std::stod(text.substr(at + total.size())) == Approx(stream + kernel).epsilon(5e-3));
    CHECK(sequence.at("total").at("time_us").get<double>() == Approx(stream + kernel));

    const Transcript mixed = run_line(
        "predict --gpu h100-sxm --op \"matmul m=512 n=512 k=512 b_layout=column impl=wgmma\" "
        "--op \"softmax rows=512 cols=512 impl=fused\"");
    CHECK(mixed.code == 0);
    CHECK(mixed.out.find("not modelled") == std::string::npos);
}

TEST_CASE("JSON holds the documented keys with their units") {
    const json object =
        json_of("predict matmul --m 512 --n 256 --k 128 --dtype fp16 --gpu h100-sxm");
    for (const char* key :
         {"op", "gpu", "dtype", "flop", "dram_bytes", "algorithmic_intensity_flop_per_byte",
          "dram_intensity_flop_per_byte", "ridge_flop_per_byte", "bound", "time_us", "time_low_us",
          "time_high_us", "terms", "notes"}) {
        CAPTURE(key);
        CHECK(object.contains(key));
    }
    CHECK(object["op"] == "matmul");
    CHECK(object["dtype"] == "fp16");
    CHECK(object["flop"] == 2.0 * 512 * 256 * 128);
    CHECK(object["time_low_us"] <= object["time_us"]);
    CHECK(object["time_us"] <= object["time_high_us"]);
}

TEST_CASE("what the L2 serves has no intensity by DRAM bytes") {
    const std::string small = "matmul --m 1024 --n 1024 --k 1024 --gpu h100-sxm ";
    CHECK(json_of("predict " + small + "--l2 warm")["dram_intensity_flop_per_byte"].is_null());
    CHECK(json_of("predict " + small + "--l2 cold")["dram_intensity_flop_per_byte"] > 0.0);
    const std::string swept =
        "sweep matmul --m 512,1024 --n 1024 --k 1024 --gpu h100-sxm --l2 warm ";
    const Transcript csv = run_line(swept + "--format csv");
    CHECK(csv.out.find("341.3333333333333,,") != std::string::npos);
    const Transcript markdown = run_line(swept + "--format md");
    CHECK(markdown.out.find("| 341.333 |  |") != std::string::npos);
}

TEST_CASE("attention memory at 128K tokens, and the rule of thumb that omits the heads") {
    const std::string line = "vram attention --seq 131072 --heads 32 --head-dim 128 --dtype fp16 ";
    const json standard = json_of(line + "--impl standard");
    CHECK(standard["one_head_score_bytes"] == 34359738368.0);
    CHECK(standard["all_head_score_bytes"] == 1099511627776.0);
    const Transcript text = run_line(line + "--impl standard --gpu h100-sxm");
    CHECK(text.out.find("34.36 GB") != std::string::npos);
    CHECK(text.out.find("1099.5 GB") != std::string::npos);
    CHECK(text.out.find("omits heads and batch") != std::string::npos);
    CHECK(text.out.find("Does not fit") != std::string::npos);
    const json flash = json_of(line + "--impl flash2 --capacity 80GiB");
    CHECK(flash["fits"] == true);
    CHECK(flash["total_bytes"] < 5e9);
}

TEST_CASE("the help of every command stays within 80 columns") {
    std::vector<std::string> lines{"--help"};
    for (const ridge::cli::CommandInfo& command : ridge::cli::command_table()) {
        lines.push_back(std::string(command.name) + " --help");
    }
    for (const std::string& line : lines) {
        CAPTURE(line);
        const Transcript transcript = run_line(line);
        CHECK(transcript.code == 0);
        CHECK(longest_line(transcript.out) <= 80);
    }
}

TEST_CASE("text output stays within 80 columns") {
    for (const char* line :
         {"predict matmul --m 4096 --n 4096 --k 4096 --gpu h100-sxm --explain",
          "predict attention --heads 32 --kv-heads 8 --seq 4096 --head-dim 128 --causal --impl "
          "flash2 --gpu a100-sxm-80gb --explain",
          "predict elementwise --expr \"sin(x)^2 + cos(x)^2\" --elements 16777216 --dtype fp32 "
          "--unfused --gpu h200-sxm --explain",
          "vram attention --seq 131072 --heads 32 --head-dim 128 --impl standard --gpu h100-sxm",
          "vram attention --help", "vram kv-cache --help", "gpus", "gpus show h200-sxm",
          "gpus show a100-sxm-40gb", "roofline --gpu h100-sxm --op \"matmul m=4096 n=4096 k=4096\"",
          "sweep matmul --m 256:4096:256 --n @m --k @m --gpu a100-sxm-80gb",
          "compare matmul --m 4096 --n 4096 --k 4096 --gpu a100-sxm-80gb,h100-sxm,h200-sxm",
          "predict --help", "predict matmul --help", "vram --help", "sweep --help",
          "roofline --help", "gpus --help"}) {
        CAPTURE(line);
        const Transcript transcript = run_line(line);
        CHECK(transcript.code == 0);
        CHECK(longest_line(transcript.out) <= 80);
        CHECK(transcript.out.find('\033') == std::string::npos);
    }
}

TEST_CASE("gpus lists the catalogue, and gpus show finds a GPU by its driver's name") {
    const Transcript transcript = run_line("gpus");
    CHECK(transcript.code == 0);
    for (const char* name :
         {"a100-sxm-80gb", "h100-sxm", "h200-sxm", "b300", "mi300x", "tpu-v5p"}) {
        CHECK(transcript.out.find(name) != std::string::npos);
    }
    CHECK(run_line("gpus show \"NVIDIA H100 80GB HBM3\"").out.find("(h100-sxm)") !=
          std::string::npos);
}

TEST_CASE("a sequence of operations adds up") {
    const Transcript transcript = run_line(
        "predict --op \"matmul m=4096 n=4096 k=4096\" --op \"softmax rows=4096 cols=4096\" --gpu "
        "h100-sxm");
    CHECK(transcript.code == 0);
    CHECK(transcript.out.find("2 operations in sequence") != std::string::npos);
    const double copy =
        json_of("predict copy --elements 1024 --gpu h100-sxm").at("time_us").get<double>();
    const double softmax =
        json_of("predict softmax --rows 64 --cols 64 --gpu h100-sxm").at("time_us").get<double>();
    const json sequence = json_of(
        "predict --op \"copy elements=1024\" --op \"softmax rows=64 cols=64\" --gpu h100-sxm");
    REQUIRE(sequence.at("operations").size() == 2);
    CHECK(sequence["operations"][0].at("time_us") == copy);
    CHECK(sequence["operations"][1].at("time_us") == softmax);
    CHECK(sequence.at("total").at("time_us").get<double>() == Approx(copy + softmax));
}

TEST_CASE("a sweep has one row per point, and a field can follow another") {
    const Transcript transcript = run_line(
        "sweep matmul --m 1024:8192:1024 --n @m --k 128,256 --gpu a100-sxm-80gb --format csv");
    CHECK(transcript.code == 0);
    std::size_t rows = 0;
    std::istringstream stream(transcript.out);
    for (std::string row; std::getline(stream, row);) ++rows;
    CHECK(rows == 1 + 8 * 2);
    CHECK(transcript.out.find("\nmatmul,a100-sxm-80gb,2048,2048,256,") != std::string::npos);
}

TEST_CASE("kernels and passes of the course's example, unfused and fused") {
    const json unfused = json_of(
        "predict elementwise --expr \"sin(x)^2 + cos(x)^2\" --elements 1000 --dtype fp32 --unfused "
        "--gpu h100-sxm");
    CHECK(unfused["kernels"] == 5);
    CHECK(unfused["l2_bytes"] == 11 * 4000.0);
    const json fused = json_of(
        "predict elementwise --expr \"sin(x)^2 + cos(x)^2\" --elements 1000 --dtype fp32 --gpu "
        "h100-sxm");
    CHECK(fused["kernels"] == 1);
    CHECK(fused["l2_bytes"] == 2 * 4000.0);
}

TEST_CASE("the help of a command is in groups, and has an example") {
    for (const ridge::cli::CommandInfo& command : ridge::cli::command_table()) {
        INFO(command.name);
        const std::string help = ridge::test::run({std::string(command.name), "--help"}).out;
        CHECK(help.find("Example") != std::string::npos);
        std::istringstream lines(help);
        int alone = 0;
        bool within = false;
        for (std::string line; std::getline(lines, line);) {
            if (line == "Options:") within = true;
            if (line.empty()) within = false;
            if (within && line.rfind("  -", 0) == 0) ++alone;
        }
        CHECK(alone <= 13);
    }
}
