// Files in the user's folder: named by every answer that used them, removed by `ridge gpus forget`.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"

namespace ridge::test {
namespace {

const std::string overlay =
    "schema = 1\n"
    "kind = \"overlay\"\n"
    "name = \"h100-sxm.mine\"\n"
    "title = \"My H100\"\n"
    "vendor = \"NVIDIA\"\n"
    "overlay = \"h100-sxm\"\n"
    "[sources]\n"
    "RUN = { kind = \"measured\", text = \"a test\" }\n"
    "[latency]\n"
    "dram = { value = \"700 clk\", source = \"RUN\" }\n";

struct OwnFolder {
    TemporaryFolder folder;
    Variable variable{"XDG_CONFIG_HOME", folder.path()};
    std::string file = folder.path() + "/ridge/gpus/h100-sxm.mine.toml";

    OwnFolder() { folder.write("ridge/gpus/h100-sxm.mine.toml", overlay); }
};

const std::string product = "predict matmul --m 64 --n 64 --k 64";

}  // namespace

TEST_CASE("an answer that rests on a file of the user's names it first") {
    const OwnFolder own;
    const Transcript used = run_line(product + " --gpu h100");
    CHECK(used.code == 0);
    CHECK(used.out.starts_with("With " + own.file));
    CHECK(used.out.substr(0, used.out.find('\n')).find(own.file) != std::string::npos);
    CHECK(used.out.find("ridge gpus forget h100-sxm") != std::string::npos);
    const auto json = nlohmann::json::parse(run_line(product + " --gpu h100 --json").out);
    CHECK(json.at("gpu_files").at(0).at("gpu") == "h100-sxm");
    CHECK(json.at("gpu_files").at(0).at("files").get<std::string>().find(own.file) !=
          std::string::npos);
    CHECK(json.at("time_us") > 0.0);
    const Transcript plan = run_line("plan llama-3.2-1b --gpus 1 --gpu h100");
    CHECK(plan.out.starts_with("With "));
    // Formats that other programs read by column stay as they are.
    const Transcript csv = run_line(product + " --gpu h100 --format csv");
    CHECK(csv.out.find(own.file) == std::string::npos);
}

TEST_CASE("an answer about another GPU, or by the data sheet, names no file") {
    const OwnFolder own;
    CHECK(run_line(product + " --gpu a100").out.find("With ") != 0);
    CHECK(run_line(product + " --gpu h100 --datasheet").out.find("With ") != 0);
    const auto json = nlohmann::json::parse(run_line(product + " --gpu a100 --json").out);
    CHECK_FALSE(json.contains("gpu_files"));
}

TEST_CASE("gpus names a file of the user's, and forget removes it") {
    const OwnFolder own;
    CHECK(run_line("gpus").out.find("h100-sxm.mine.toml") != std::string::npos);
    const Transcript forgotten = run_line("gpus forget h100");
    CHECK(forgotten.code == 0);
    CHECK(forgotten.out == "removed " + own.file + "\n");
    CHECK_FALSE(std::filesystem::exists(own.file));
    CHECK(run_line(product + " --gpu h100").out.find("With ") != 0);
    const Transcript again = run_line("gpus forget h100");
    CHECK(again.code == 1);
    CHECK(again.err.find("no file of yours") != std::string::npos);
    CHECK(run_line("gpus forget h1000").err.find("unknown GPU") != std::string::npos);
}

TEST_CASE("an error tells a front end which field is wrong") {
    const auto field_after = [](const std::string& line) {
        std::istringstream in;
        std::ostringstream out;
        std::ostringstream err;
        std::string field;
        const cli::Context context{.in = in, .out = out, .err = err, .wrong_field = &field};
        CHECK(cli::run(words_of(line), context) != 0);
        return field;
    };
    CHECK(field_after("predict matmul --m 64 --n 64 --gpu h100") == "k");
    CHECK(field_after("predict matmul --m 0 --n 64 --k 64 --gpu h100") == "m");
    CHECK(field_after("predict matmul --m 64 --n 64 --k 64 --gpu h1000") == "gpu");
    CHECK(field_after("plan llama-3.1-8b --gpu h100 --gpus 0") == "gpus");
    CHECK(field_after("plan llama-3.1-8b --gpu h100 --price x") == "price");
}

TEST_CASE("a diagnosis of one row has a page") {
    TemporaryFolder folder;
    folder.write("one.csv", "op,m,n,k,time_us\nmatmul,4096,4096,4096,300\n");
    const Transcript page =
        run({"diagnose", folder.file("one.csv"), "--gpu", "h100", "-o", folder.file("one.html")});
    CHECK(page.code == 0);
    CHECK(std::filesystem::file_size(folder.file("one.html")) > 10000);
}

}  // namespace ridge::test
