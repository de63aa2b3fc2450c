// Commands that print several answers: sequences, lists of GPUs and words, occupancy, GPUs.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/console/table.h"
#include "tests/catch.h"
#include "tests/cli/json_of.h"
#include "tests/cli/run.h"
#include "tests/support/sample.h"
#include "tests/support/temporary_folder.h"

using nlohmann::json;
using ridge::test::json_of;
using ridge::test::longest_line;
using ridge::test::run_line;
using ridge::test::Transcript;

namespace {

std::vector<std::vector<std::string>> csv_of(const std::string& line) {
    const Transcript transcript = run_line(line + " --format csv");
    CAPTURE(line, transcript.err);
    std::vector<std::vector<std::string>> rows;
    std::istringstream stream(transcript.out);
    for (std::string row; std::getline(stream, row);) {
        rows.emplace_back();
        std::istringstream cells(row);
        for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
        if (!row.empty() && row.back() == ',') rows.back().emplace_back();
    }
    return rows;
}

std::size_t column(const std::vector<std::vector<std::string>>& rows, const std::string& name) {
    const auto at = std::find(rows.front().begin(), rows.front().end(), name);
    REQUIRE(at != rows.front().end());
    return static_cast<std::size_t>(at - rows.front().begin());
}

}  // namespace

TEST_CASE("Markdown cells are not indented") {
    const std::string out = run_line("model gpt2 --gpu h100-sxm --seq 128 --format md").out;
    CHECK(out.find("| operation |") == 0);
    CHECK(out.find("|  ") == std::string::npos);
}

TEST_CASE("wrapped text uses the whole width after its label") {
    using ridge::cli::wrap;
    CHECK(wrap("one two three four five six", 16, 6, 6) ==
          "one two\n      three four\n      five six");
    CHECK(wrap("one two three four", 12, 2) == "one two\n  three four");
    CHECK(wrap("of 99.3 % at most", 8, 0) == "of\n99.3 %\nat most");
    CHECK(wrap("one two three", 12, 4, 8) == "one\n    two\n    three");
}

TEST_CASE("a sequence adds up its operations, each multiplied by its count") {
    const std::string one = "predict copy --elements 1048576 --gpu h100-sxm";
    const double time = json_of(one).at("time_us").get<double>();
    const json sequence = json_of(
        "predict --gpu h100-sxm --op \"copy elements=1048576 count=32 name=move\" "
        "--op \"softmax rows=64 cols=64\"");
    const json& steps = sequence.at("operations");
    REQUIRE(steps.size() == 2);
    CHECK(steps[0].at("count") == 32);
    CHECK(steps[0].at("name") == "move");
    CHECK(steps[1].at("count") == 1);
    CHECK_FALSE(steps[1].contains("name"));
    const double rest = steps[1].at("time_us").get<double>();
    const double total = sequence.at("total").at("time_us").get<double>();
    CHECK(total == Approx(32.0 * time + rest));
    CHECK(steps[0].at("share").get<double>() == Approx(32.0 * time / total));
    CHECK(sequence.at("total").at("kernels") == 33);

    // A single operation with a count is also a sequence. Its error applies 32 times.
    const json alone = json_of("predict --gpu h100-sxm --op \"copy elements=1048576 count=32\"");
    const double high = json_of(one).at("time_high_us").get<double>();
    CHECK(alone.at("total").at("time_high_us").get<double>() == Approx(32.0 * high));
}

TEST_CASE("the CSV of a sequence ends with the total") {
    const auto rows = csv_of(
        "predict --gpu h100-sxm --op \"copy elements=4096 count=5\" "
        "--op \"copy elements=8192\"");
    REQUIRE(rows.size() == 4);
    for (const auto& row : rows) CHECK(row.size() == rows.front().size());
    const std::size_t total = column(rows, "total_us");
    CHECK(rows[3][0] == "total");
    CHECK(std::stod(rows[3][total]) ==
          Approx(std::stod(rows[1][total]) + std::stod(rows[2][total])).epsilon(1e-5));
    CHECK(std::stod(rows[1][total]) ==
          Approx(5.0 * std::stod(rows[1][column(rows, "time_us")])).epsilon(1e-5));
}

TEST_CASE("rows of a file give the same table, with the measured times") {
    const std::string file =
        "op,m,n,k,count,name,measured_us\n"
        "matmul,4096,4096,4096,32,out,180\n"
        "matmul,4096,4096,4096,,,500\n"
        "matmul,0,1,1,2,broken,\n"
        "matmul,8,8,8,none,,\n";
    const Transcript table = run_line("predict --from - --gpu h100-sxm --format table", file);
    CAPTURE(table.out);
    CHECK(table.code == 2);
    CHECK(table.out.find("4 operations in sequence on NVIDIA H100") != std::string::npos);
    CHECK(table.out.find("1 of 2") != std::string::npos);
    CHECK(table.out.find("broken: not modelled: m") != std::string::npos);
    CHECK(table.out.find("line 5: not modelled: count") != std::string::npos);
    CHECK(longest_line(table.out) <= 80);
    const Transcript csv = run_line("predict --from - --gpu h100-sxm --format csv", file);
    CHECK(csv.out.find("\nmatmul,4096,4096,4096,32,out,180,") != std::string::npos);
    const json rows =
        json::parse(run_line("predict --from - --gpu h100-sxm --format json", file).out);
    CHECK(rows[0]["name"] == "out");
    CHECK(rows[0]["count"] == 32);
    CHECK_FALSE(rows[1].contains("name"));
    CHECK_FALSE(rows[1].contains("count"));
}

TEST_CASE("an invalid count is refused") {
    for (const char* count : {"0", "-1", "x", "2000000000"}) {
        const Transcript refused = run_line(
            std::string("predict --gpu h100-sxm --op \"copy elements=4 count=") + count + "\"");
        CHECK(refused.code == 1);
        CHECK(refused.err.find("count: ") != std::string::npos);
    }
    const Transcript roofline =
        run_line("roofline --gpu h100-sxm --op \"copy elements=4 count=2\"");
    CHECK(roofline.code == 1);
    CHECK(roofline.err == "ridge: op: 'count' says nothing of a point\n");
}

TEST_CASE("sweep takes lists of GPUs and words") {
    const std::string line =
        "sweep attention --seq 1024:4096:*2 --heads 8,16 --head-dim 64 "
        "--gpu a100-sxm-80gb,h100-sxm --impl standard,flash2 --dtype fp16,bf16";
    const auto rows = csv_of(line);
    REQUIRE(rows.size() == 1 + 2 * 2 * 2 * 2 * 3);
    CHECK(rows[1][column(rows, "gpu")] == "a100-sxm-80gb");
    CHECK(rows.back()[column(rows, "gpu")] == "h100-sxm");
    for (const auto& row : rows) {
        if (&row == &rows.front()) continue;
        const json alone = json_of(
            "predict attention --head-dim 64 --gpu " + row[column(rows, "gpu")] + " --seq " +
            row[column(rows, "seq")] + " --heads " + row[column(rows, "heads")] + " --impl " +
            row[column(rows, "impl")] + " --dtype " + row[column(rows, "dtype")]);
        CHECK(std::stod(row[column(rows, "time_us")]) == Approx(alone.at("time_us").get<double>()));
    }
    CHECK(json::parse(run_line(line + " --format json").out).size() == rows.size() - 1);
    const Transcript table = run_line(line + " --format table");
    CHECK(longest_line(table.out) <= 80);
    CHECK(run_line(line + " --format md").out.rfind("| gpu | ", 0) == 0);
}

TEST_CASE("the axis of a sweep is the first range given, or --x") {
    const auto title = [](const std::string& options) {
        const Transcript chart =
            run_line("sweep matmul --gpu h100-sxm " + options + " --height 8 --ascii");
        CAPTURE(chart.err);
        REQUIRE(chart.code == 0);
        return chart.out;
    };
    CHECK(title("--k 64:256:64 --m 1024,2048 --n 512").find(" k\n") != std::string::npos);
    CHECK(title("--k 64:256:64 --m 1024,2048 --n 512 --x m").find(" m\n") != std::string::npos);
    const Transcript none = run_line("sweep matmul --m 1:9 --n 5 --k 6 --x n --gpu h100-sxm");
    CHECK(none.code != 0);
    CHECK(none.err.find("'n' is not a range (one of m)") != std::string::npos);
    CHECK(run_line("sweep matmul --m 1:9 --n 5 --k 6 --dtype bf16,fp99 --gpu h100-sxm").code != 0);
}

TEST_CASE("compare takes lists and ranges and draws dots with bands") {
    const std::string line =
        "compare attention --seq 8192 --heads 32 --head-dim 128 --gpu a100-sxm-80gb,h100-sxm "
        "--impl standard,flash2";
    const auto rows = csv_of(line);
    REQUIRE(rows.size() == 5);
    CHECK(rows[0][2] == "impl");
    CHECK(rows[4][2] == "flash2");
    CHECK(std::stod(rows[4][column(rows, "time_low_us")]) <
          std::stod(rows[4][column(rows, "time_us")]));
    const Transcript text = run_line(line);
    CHECK(longest_line(text.out) <= 80);
    CHECK(text.out.find("1x") != std::string::npos);

    const ridge::test::TemporaryFolder folder;
    const std::string file = folder.file("compare.svg");
    const Transcript drawn = run_line(line + " -o " + file);
    CHECK(drawn.code == 0);
    CHECK(std::filesystem::file_size(file) > 1000);
    const Transcript chart = run_line(line + " --format chart");
    CHECK(chart.out.find("a100-sxm-80gb") != std::string::npos);
    CHECK(chart.out.find("flash2") != std::string::npos);

    // Each shape has its own baseline.
    const Transcript shapes =
        run_line("compare matmul --m 1024,2048 --n @m --k @m --dtype bf16,fp8 --gpu h100-sxm");
    CHECK(shapes.code == 0);
    std::size_t ones = 0;
    for (std::size_t at = shapes.out.find(" 1x "); at != std::string::npos;
         at = shapes.out.find(" 1x ", at + 1)) {
        ++ones;
    }
    CHECK(ones == 2);
    CHECK(run_line("compare matmul --m 1:2000 --n 1 --k 1 --gpu h100-sxm").code != 0);
}

TEST_CASE("occupancy gives the blocks, what limits them and the next step that fits more") {
    const json answer =
        json_of("occupancy --threads 256 --registers 64 --shared 48KiB --gpu a100-sxm-80gb");
    CHECK(answer.at("blocks_per_sm") == 3);
    CHECK(answer.at("limiter") == "shared memory");
    CHECK(answer.at("blocks_by_resource").at("registers") == 4);
    CHECK(answer.at("shared_bytes_for_more_blocks") == 40.0 * 1024);
    CHECK(answer.at("shared_carveout_bytes") == 164.0 * 1024);
    CHECK(answer.at("block_sizes").size() == 12);

    const json odd = json_of("occupancy --threads 200 --registers 72 --gpu h100-sxm");
    CHECK(odd.at("limiter") == "registers");
    // 7 warps of 2304 registers: 7 per partition, 28 per SM, so four blocks. Five blocks need 9
    // warps per partition, 1792 registers each.
    CHECK(odd.at("blocks_per_sm") == 4);
    CHECK(odd.at("registers_for_more_blocks") == 56);
    CHECK(odd.at("block_sizes").size() == 13);

    const Transcript text = run_line("occupancy --threads 200 --registers 72 --gpu h100-sxm");
    CHECK(text.out.find("one register fewer (71): no change; 56 or fewer: 5 blocks") !=
          std::string::npos);
    CHECK(longest_line(text.out) <= 80);
    const Transcript none = run_line("occupancy --threads 1024 --registers 128 --gpu h100-sxm");
    CHECK(none.out.find("none: a block may have at most 65536 registers") != std::string::npos);
    CHECK(run_line("occupancy --gpu h100-sxm").err.find("threads is missing") != std::string::npos);
    CHECK(run_line("occupancy --threads 0 --gpu h100-sxm").code != 0);
    CHECK(run_line("occupancy --threads 64 --shared 5s --gpu h100-sxm").code != 0);
    CHECK(run_line("occupancy --threads 64 --gpu tpu-v5p").code != 0);
}

TEST_CASE("memory of attention over lengths, standard and flash, with the largest that fits") {
    const std::string line = "vram attention --seq 1024:131072:*2 --heads 32 --head-dim 128";
    const auto rows = csv_of(line);
    REQUIRE(rows.size() == 1 + 2 * 8);
    CHECK(rows[1][1] == "standard");
    CHECK(rows[9][1] == "flash2");
    const json one = json_of("vram attention --seq 4096 --heads 32 --head-dim 128 --impl standard");
    CHECK(std::stod(rows[3][2]) == one.at("total_bytes").get<double>());
    CHECK(json_of(line).size() == 16);
    const Transcript text = run_line(line + " --gpu a100-sxm-80gb,h200-sxm");
    const std::string unbroken = std::regex_replace(text.out, std::regex("\\n +"), " ");
    CHECK_THAT(unbroken, contains_text("standard up to 16384, flash2 up to 131072"));
    CHECK_THAT(unbroken, contains_text("standard up to 32768, flash2 up to 131072"));
    CHECK(longest_line(text.out) <= 80);
    CHECK(run_line(line + " --format chart").out.find("139 GiB") != std::string::npos);
    CHECK(run_line(line + " --fit batch").code != 0);
    CHECK(run_line("vram attention --seq 1:4 --batch 1,2 --heads 4 --head-dim 64").code != 0);
}

TEST_CASE("charts are ASCII if the locale is not UTF-8") {
    std::istringstream in;
    std::ostringstream out;
    std::ostringstream err;
    const ridge::cli::Context context{.in = in, .out = out, .err = err, .utf8 = false};
    const std::vector<std::string> arguments{"gpus", "timeline"};
    REQUIRE(ridge::cli::run(arguments, context) == 0);
    const std::string drawn = out.str();
    CHECK(std::all_of(drawn.begin(), drawn.end(),
                      [](char c) { return static_cast<unsigned char>(c) < 0x80U; }));
}

TEST_CASE("gpus show fits one screen, with totals and latencies in both units") {
    const json h100 = json_of("gpus show h100-sxm");
    // 132 SMs with 256 KiB of registers and 256 KiB of L1, and 50 MiB of L2.
    CHECK(h100.at("sram_bytes") == (2.0 * 132 * 256 + 50 * 1024) * 1024);
    const json& dram = h100.at("memory").back();
    CHECK(dram.at("latency_ns").get<double>() ==
          Approx(dram.at("latency_clocks").get<double>() / 1.98));
    CHECK(h100.at("peaks").at("bf16").at("tensor_flop_per_s") == 989.4e12);
    CHECK(json_of("gpus show h100-sxm --all").at("fields").contains("dram.bandwidth_bytes_per_s"));
    CHECK_FALSE(json_of("gpus show h100-sxm --all").contains("corrections"));
    CHECK(json_of("gpus show gb200 --all").at("corrections") == "b200");
    CHECK(run_line("gpus show gb200 --all").out.find("  corrections of: b200\n") !=
          std::string::npos);
    ridge::test::Sample sample;
    for (const json& gpu : json_of("gpus")) {
        if (!sample.takes_next()) continue;
        const std::string name = gpu.at("name");
        CAPTURE(name);
        const Transcript screen = run_line("gpus show " + name);
        CHECK(screen.code == 0);
        CHECK(longest_line(screen.out) <= 80);
        CHECK(std::count(screen.out.begin(), screen.out.end(), '\n') <= 40);
        CHECK(run_line("gpus show " + name + " --all").out.size() > screen.out.size());
    }
}

TEST_CASE("gpus timeline is sorted by date") {
    const auto rows = csv_of("gpus timeline");
    CHECK(rows.size() > 30);
    std::string before;
    for (std::size_t i = 1; i < rows.size(); ++i) {
        CHECK(before <= rows[i][1]);
        before = rows[i][1];
    }
    const Transcript chart = run_line("gpus timeline");
    CHECK(chart.code == 0);
    CHECK(chart.out.find("every two years") != std::string::npos);
}

TEST_CASE("an output that cannot be written is reported by name before any work") {
    const std::string missing = "/nonexistent/folder";
    // The data are missing too, but the output is checked first.
    for (const auto& [line, message] : std::vector<std::pair<std::string, std::string>>{
             {"fit residual --data /nonexistent/data -o " + missing,
              missing + ": cannot write the overlays: "},
             {"calibrate --rows /nonexistent.csv --gpu h100-sxm -o /dev/null/x.toml",
              "/dev/null: cannot be created: "},
             {"effect fusion --gpu h100-sxm --records /nonexistent -o " + missing + "/x.svg",
              missing + "/x.svg: cannot write the chart: "},
             {"effect all --gpu h100-sxm --records /nonexistent -o /dev/null/pages",
              "/dev/null/pages: cannot be created: "},
             {"sweep matmul --m 64:4096 --n 64 --k 64 --gpu h100-sxm --records /nonexistent -o " +
                  missing + "/x.svg",
              missing + "/x.svg: cannot write the chart: "},
             {"trace /nonexistent.json -o " + missing + "/x.html",
              missing + "/x.html: cannot write the report: "}}) {
        const Transcript refused = run_line(line);
        CAPTURE(line, refused.err);
        CHECK(refused.code == 2);
        CHECK(refused.err.starts_with("ridge: " + message));
    }
    const Transcript bands = run_line("fit bands --data /nonexistent/data -o " + missing);
    CHECK(bands.code == 1);
    CHECK(bands.err == "ridge: output: --output goes with residual and widths\n");
}

TEST_CASE("points of a roofline have their user's names and none is above its roofs") {
    const std::string operations =
        " --op \"matmul m=4096 n=4096 k=4096 name=qkv\" --op \"matmul m=16 n=4096 k=4096\""
        " --op \"attention heads=32 seq=4096 head_dim=128 dtype=fp16\""
        " --op \"attention heads=32 kv_heads=8 seq_q=1 seq_kv=8192 head_dim=128 batch=16\""
        " --op \"softmax rows=8192 cols=8192\" --op \"rmsnorm rows=64 cols=4096 name=norm\""
        " --op \"elementwise expr=gelu(x) elements=4194304 dtype=fp32\"";
    std::size_t points = 0;
    for (const char* const gpu : {"h100-sxm", "h200-sxm", "b200", "a100-sxm-80gb", "rtx-4090",
                                  "v100-sxm", "l4", "mi300x", "tpu-v5p"}) {
        const auto rows = csv_of(std::string("roofline --gpu ") + gpu + operations);
        double compute = 0.0;
        std::map<std::string, double> memory;
        std::set<std::string> names;
        for (const auto& row : rows) {
            if (row.at(0) != "roof") continue;
            if (!row.at(5).empty()) {
                double& best = memory[row.at(2)];
                best = std::max(best, std::stod(row.at(5)));
            }
            if (!row.at(6).empty()) compute = std::max(compute, std::stod(row.at(6)));
        }
        for (const auto& row : rows) {
            if (row.at(0) != "point") continue;
            CAPTURE(gpu, row);
            const double rate = std::stod(row.at(6));
            CHECK(rate <= compute * 1.000001);
            // A level without a measured rate has no roof.
            const auto roof = memory.find(row.at(2));
            if (roof != memory.end()) {
                CHECK(rate <= std::stod(row.at(4)) * roof->second * 1.000001);
            }
            names.insert(row.at(1));
            ++points;
        }
        CHECK(names.count("norm") + names.count("norm (from L2)") == 1);
    }
    CHECK(points > 40);
    CHECK(
        run_line("roofline matmul --m 4096 --n 4096 --k 4096 --gpu h100-sxm --format csv").out ==
        run_line("roofline --op \"matmul m=4096 n=4096 k=4096\" --gpu h100-sxm --format csv").out);
}
