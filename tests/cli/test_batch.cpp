// `predict --from`: columns, defaults, broken rows, quoting, order and exit codes.
#include <nlohmann/json.hpp>
#include <string>

#include "measure/record/csv_reader.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/faulty_streams.h"
#include "tests/support/text.h"

using ridge::test::lines_of;
using ridge::test::run_line;
using ridge::test::Transcript;

TEST_CASE("the output repeats the input columns and adds the result") {
    const Transcript transcript =
        run_line("predict --from - --format csv",
                 "op,gpu,dtype,m,n,k,comment\nmatmul,h100-sxm,bf16,4096,4096,4096,\"a, b\"\n");
    REQUIRE(transcript.code == 0);
    const auto lines = lines_of(transcript.out);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0].rfind("op,gpu,dtype,m,n,k,comment,time_us,time_low_us,time_high_us,", 0) == 0);
    for (const char* name :
         {",bound,", ",flop,", ",dram_bytes,", ",algorithmic_intensity_flop_per_byte,",
          ",dram_intensity_flop_per_byte,", ",error"}) {
        CHECK(lines[0].find(name) != std::string::npos);
    }
    CHECK(lines[1].rfind("matmul,h100-sxm,bf16,4096,4096,4096,\"a, b\",", 0) == 0);
    CHECK(lines[1].find("137438953472") != std::string::npos);
}

TEST_CASE("a row that cannot be predicted gets its reason and the other rows are predicted") {
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

TEST_CASE("the command line fills in what rows leave out") {
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
    CHECK(run_line("predict --from -", "op,gpu,m,m\n").err.find("appears twice") !=
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

TEST_CASE("a broken row keeps its number of columns and does not affect later rows") {
    const Transcript transcript = run_line("predict --from - --gpu h100-sxm",
                                           "op,elements,note\n"
                                           "copy,\"1000,a\n"
                                           "copy,1000,b\n"
                                           "copy,1000,b,c,d\n"
                                           "copy,2000,\"c\"\n");
    CHECK(transcript.code == 2);
    CHECK_THAT(transcript.err, contains_text("2 of 4 rows"));
    std::istringstream stream(transcript.out);
    ridge::measure::CsvReader reader(stream, "out");
    std::vector<std::vector<std::string>> rows;
    while (reader.next()) {
        CHECK(reader.problem().empty());
        rows.emplace_back(reader.cells().begin(), reader.cells().end());
    }
    REQUIRE(rows.size() == 5);
    for (const auto& row : rows) CHECK(row.size() == rows.front().size());
    CHECK(rows[1][1] == "\"1000");
    CHECK_THAT(rows[1].back(), contains_text("text follows a closing quote"));
    CHECK(rows[2].back().empty());
    CHECK_THAT(rows[3].back(), contains_text("5 cells"));
    CHECK(rows[4][2] == "c");
}

TEST_CASE("an unknown column is an error unless it is kept") {
    const std::string rows = "op,heads,seq,head_dim,casual,dtipe\nattention,8,1024,64,1,bf16\n";
    const Transcript refused = run_line("predict --from - --gpu h100-sxm", rows);
    CHECK(refused.code == 2);
    CHECK(refused.out.empty());
    CHECK_THAT(refused.err, contains_text("'casual' is not known"));
    CHECK_THAT(refused.err, contains_text("did you mean 'causal'?"));
    CHECK_THAT(run_line("predict --from - --gpu h100-sxm --keep casual", rows).err,
               contains_text("did you mean 'dtype'?"));
    const Transcript kept = run_line("predict --from - --gpu h100-sxm --keep casual,dtipe", rows);
    CHECK(kept.code == 0);
    CHECK(lines_of(kept.out).at(0).rfind("op,heads,seq,head_dim,casual,dtipe,time_us,", 0) == 0);
    CHECK(kept.out == run_line("predict --from - --gpu h100-sxm --keep all", rows).out);
    CHECK_THAT(run_line("predict --from - --gpu h100-sxm --keep nope,casual,dtipe", rows).err,
               contains_text("no column 'nope'"));
    CHECK(run_line("predict copy --elements 10 --gpu h100-sxm --keep all").code == 1);
}

TEST_CASE("results that are fed back in are replaced by new ones") {
    const std::string rows = "op,elements,measured_us,source,note\ncopy,4096,3.5,x,y\n";
    const Transcript first = run_line("predict --from - --gpu h100-sxm", rows);
    REQUIRE(first.code == 0);
    CHECK(run_line("predict --from - --gpu h100-sxm", first.out).out == first.out);
    const Transcript other = run_line("predict --from - --gpu a100-sxm-80gb", first.out);
    CHECK(other.code == 0);
    CHECK(lines_of(other.out).at(0) == lines_of(first.out).at(0));
    CHECK(other.out != first.out);
}

TEST_CASE("errors in headers and inputs are named") {
    CHECK_THAT(run_line("predict --from - --gpu h100-sxm", "op,\"elements\ncopy,4\n").err,
               contains_text("the header: a quoted cell is never closed"));
    CHECK_THAT(run_line("predict --from /tmp --gpu h100-sxm").err, contains_text("is a folder"));
    CHECK_THAT(run_line("predict --from - --gpu h100-sxm --explain", "op\n").err,
               contains_text("--explain"));
    const Transcript both = ridge::test::run(
        {"predict", "--from", "-", "--gpu", "h100-sxm", "--op", "copy elements=4"}, "op\n");
    CHECK(both.code == 1);
    CHECK_THAT(both.err, contains_text("cannot be given together"));
}

TEST_CASE("rows before a read error are written, and an incomplete row is not read") {
    std::string text = "elements\n";
    while (text.size() <= 600000) text += "1000\n";
    ridge::test::FailingInput failing(text + "1");
    std::istream in(&failing);
    std::ostringstream out;
    std::ostringstream err;
    const ridge::cli::Context context{.in = in, .out = out, .err = err};
    const std::vector<std::string> arguments{"predict", "copy", "--from", "-", "--gpu", "h100-sxm"};
    CHECK(ridge::cli::run(arguments, context) == 2);
    CHECK_THAT(err.str(), contains_text("cannot read further"));
    const auto lines = lines_of(out.str());
    REQUIRE(lines.size() > 1000);
    for (std::size_t i = 1; i < lines.size(); ++i) REQUIRE(lines[i].rfind("1000,", 0) == 0);
}

TEST_CASE("a full disk stops the reading") {
    ridge::test::EndlessRows rows("4096", "4096");
    std::istream in(&rows);
    ridge::test::FullDisk disk(100000);
    std::ostream out(&disk);
    std::ostringstream err;
    const ridge::cli::Context context{.in = in, .out = out, .err = err};
    const std::vector<std::string> arguments{"predict", "copy",     "--from", "-",
                                             "--gpu",   "h100-sxm", "--keep", "all"};
    // Their header is a number, which --keep accepts, so every row lacks a field.
    CHECK(ridge::cli::run(arguments, context) == 2);
    CHECK_THAT(err.str(), contains_text("cannot write the output"));
    CHECK(rows.given < std::size_t{4} << 20U);
}
