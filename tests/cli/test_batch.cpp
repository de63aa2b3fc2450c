// `predict --from`: columns, defaults, broken rows, quoting, order and exit codes.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run.h"

using ridge::test::run_line;
using ridge::test::Transcript;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

}  // namespace

TEST_CASE("rows repeat their columns and add the result") {
    const Transcript transcript =
        run_line("predict --from - --format csv",
                 "op,gpu,dtype,m,n,k,comment\nmatmul,h100-sxm,bf16,4096,4096,4096,\"a, b\"\n");
    REQUIRE(transcript.code == 0);
    const auto lines = lines_of(transcript.out);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].rfind("op,gpu,dtype,m,n,k,comment,time_us,time_low_us,time_high_us,", 0) == 0);
    for (const char* name :
         {",bound,", ",flop,", ",dram_bytes,", ",intensity_flop_per_byte,", ",error"}) {
        CHECK(lines[0].find(name) != std::string::npos);
    }
    CHECK(lines[1].rfind("matmul,h100-sxm,bf16,4096,4096,4096,\"a, b\",", 0) == 0);
    CHECK(lines[1].find("137438953472") != std::string::npos);
}

TEST_CASE("a row that cannot be predicted has its reason and the rest go on") {
    const Transcript transcript = run_line("predict --from -",
                                           "op,gpu,m,n,k,heads,seq_q,head_dim\n"
                                           "matmul,h100-sxm,-4,4,4,,,\n"
                                           "matmul,h100-sxm,4,4,4,,,\n"
                                           "attention,h100-sxm,,,,8,64,64\n"
                                           "matmul,nope,4,4,4,,,\n"
                                           "matmul,h100-sxm,4,4,4\n"
                                           "\"matmul\"x,h100-sxm,4,4,4,,,\n"
                                           "fly,h100-sxm,4,4,4,,,\n");
    CHECK(transcript.code == 2);
    CHECK(transcript.err.find("5 of 7 rows") != std::string::npos);
    const auto lines = lines_of(transcript.out);
    REQUIRE(lines.size() == 8);
    CHECK(lines[1].find("m: ") != std::string::npos);
    CHECK(lines[2].back() == ',');
    CHECK(lines[3].back() == ',');
    CHECK(lines[4].find("nope") != std::string::npos);
    CHECK(lines[5].find("5 cells") != std::string::npos);
    CHECK(lines[6].find("closing quote") != std::string::npos);
    CHECK(lines[7].find("unknown operation") != std::string::npos);
}

TEST_CASE("the command line gives what rows leave out") {
    const Transcript transcript =
        run_line("predict matmul --k 64 --dtype fp16 --gpu a100-sxm-80gb --from - --format json",
                 "m,n\n128,256\r\n");
    REQUIRE(transcript.code == 0);
    const auto json = nlohmann::json::parse(transcript.out);
    REQUIRE(json.size() == 1);
    CHECK(json[0]["dtype"] == "fp16");
    CHECK(json[0]["gpu"] == "a100-sxm-80gb");
    CHECK(json[0]["flop"] == 2.0 * 128 * 256 * 64);
}

TEST_CASE("a broken header is an error of the file") {
    CHECK(run_line("predict --from - --gpu h100-sxm", "").code == 2);
    CHECK(
        run_line("predict --from - --gpu h100-sxm", "m,n,k\n1,1,1\n").err.find("no column 'op'") !=
        std::string::npos);
    CHECK(run_line("predict --from -", "op,m,n,k\nmatmul,1,1,1\n").err.find("no column 'gpu'") !=
          std::string::npos);
    CHECK(run_line("predict --from -", "op,gpu,m,m\n").err.find("stands twice") !=
          std::string::npos);
    CHECK(run_line("predict --from /nonexistent/shapes.csv").code == 2);
}

TEST_CASE("a quoted cell may hold commas, quotes and line breaks") {
    const Transcript transcript =
        run_line("predict --from - --gpu h100-sxm",
                 "op,elements,comment,expr\nelementwise,1024,,\"pow(x, 3)\"\n"
                 "elementwise,1024,\"two\nlines\",x\nelementwise,1024,,\"x \"\"+ y\"\n");
    const auto lines = lines_of(transcript.out);
    REQUIRE(lines.size() == 5);
    CHECK(lines[1].back() == ',');
    CHECK(lines[3].back() == ',');
    CHECK(lines[4].find("expression") != std::string::npos);
    CHECK(transcript.code == 2);
}

TEST_CASE("a byte-order mark and empty lines are skipped") {
    const Transcript transcript = run_line("predict --from - --gpu h100-sxm --format md",
                                           "\xEF\xBB\xBFop,m,n,k\n\nmatmul,16,16,16\n\n");
    CHECK(transcript.code == 0);
    CHECK(lines_of(transcript.out).size() == 3);
}
