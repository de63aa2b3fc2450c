// Tables of times that somebody else measured, given in place of records to `validate` and the
// charts.
#include <nlohmann/json.hpp>
#include <string>

#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/temporary_folder.h"

using ridge::test::run_line;
using ridge::test::TemporaryFile;
using ridge::test::Transcript;

TEST_CASE("a table of measured times is compared row by row") {
    const TemporaryFile table(
        "gpu,op,dtype,m,n,k,launch,measured_us,source\n"
        "h100-sxm,matmul,bf16,4096,4096,4096,graph,250,mine\n"
        "a100-sxm-80gb,matmul,bf16,4096,4096,4096,graph,500,mine\n",
        ".csv");
    const Transcript run = run_line("validate " + table.path() + " --format json");
    REQUIRE(run.code == 0);
    const auto json = nlohmann::json::parse(run.out);
    REQUIRE(json["records"].size() == 2);
    CHECK(json["records"][0]["gpu"] == "h100-sxm");
    CHECK(json["records"][0]["measured_time_us"] == Approx(250.0));
    CHECK(json["records"][1]["gpu"] == "a100-sxm-80gb");
    const double predicted = json["records"][1]["predicted_time_us"];
    CHECK(json["records"][1]["error"] == Approx(predicted / 500.0 - 1.0));
    CHECK(json["overall"]["n"] == 2);

    const Transcript alone = run_line("validate " + table.path() + " --gpu h100-sxm --format json");
    CHECK(nlohmann::json::parse(alone.out)["records"].size() == 1);
}

TEST_CASE("rows of a measured table that cannot be read are named and the others are compared") {
    const TemporaryFile table(
        "gpu,op,dtype,m,n,k,measured_us\n"
        "h100-sxm,matmul,bf16,4096,4096,4096,0\n"
        "h100-sxm,matmul,bf16,4096,0,4096,10\n"
        "h100-sxm,matmul,bf16,4096,4096\n"
        ",matmul,bf16,4096,4096,4096,10\n"
        "h100-sxm,matmul,bf16,4096,4096,4096,250\n",
        ".csv");
    const Transcript run = run_line("validate " + table.path() + " --format csv");
    CHECK(run.code == 2);
    CHECK(run.err.find(":2: damaged record: measured: '0' is not above zero") != std::string::npos);
    CHECK(run.err.find(":3: damaged record: n") != std::string::npos);
    CHECK(run.err.find(":4: damaged record: the row has 5 cells") != std::string::npos);
    CHECK(run.err.find(":5: damaged record: gpu is missing") != std::string::npos);
    CHECK(run.out.find("m=4096 n=4096 k=4096") != std::string::npos);
}

TEST_CASE("an error names the column that a measured table lacks") {
    const TemporaryFile table("gpu,op,m,n,k\nh100-sxm,matmul,64,64,64\n", ".csv");
    const Transcript run = run_line("validate " + table.path());
    CHECK(run.code == 2);
    CHECK(run.err.find("no column 'measured_us'") != std::string::npos);
    CHECK(run_line("validate /nowhere/table.csv").err.find("cannot open the file") !=
          std::string::npos);
}

TEST_CASE("an unknown column of a measured table is refused unless it is kept") {
    const TemporaryFile table(
        "gpu,op,m,n,k,casual,place,measured_us\n"
        "h100-sxm,matmul,4096,4096,4096,1,here,250\n",
        ".csv");
    for (const char* command : {"validate ", "plot scatter ", "roofline --gpu h100-sxm --records ",
                                "sweep matmul --m 4096:8192:4096 --n 4096 --k 4096 --gpu h100-sxm "
                                "--records "}) {
        CAPTURE(command);
        const Transcript refused = run_line(command + table.path());
        CHECK(refused.code == 2);
        CHECK_THAT(refused.err, contains_text("column 'casual' is not known"));
        CHECK_THAT(refused.err, contains_text("did you mean 'causal'?"));
        CHECK(run_line(command + table.path() + " --keep casual,place").code == 0);
        CHECK(run_line(command + table.path() + " --keep all").code == 0);
        const Transcript absent = run_line(command + table.path() + " --keep casual,place,other");
        CHECK_THAT(absent.err, contains_text("keep: there is no column 'other'"));
    }
    CHECK_THAT(run_line("validate /tmp/records.jsonl --keep casual").err,
               contains_text("--keep goes with tables"));
}

TEST_CASE("a scatter of several GPUs has a class for each GPU") {
    const TemporaryFile table(
        "gpu,op,dtype,m,n,k,measured_us\n"
        "h100-sxm,matmul,bf16,4096,4096,4096,250\n"
        "a100-sxm-80gb,matmul,bf16,4096,4096,4096,500\n",
        ".csv");
    const Transcript run = run_line("plot scatter " + table.path());
    REQUIRE(run.code == 0);
    CHECK(run.out.find("matmul library h100-sxm") != std::string::npos);
    CHECK(run.out.find("matmul library a100-sxm-80gb") != std::string::npos);
}

TEST_CASE("measured times that lie on a sweep are drawn over it") {
    const TemporaryFile table(
        "gpu,op,dtype,m,n,k,launch,measured_us\n"
        "h100-sxm,matmul,bf16,4096,4096,4096,kernel,250\n"
        "h100-sxm,matmul,bf16,3001,3001,3001,kernel,900\n"
        "h100-sxm,matmul,bf16,4096,4096,2048,kernel,111\n"
        "h100-sxm,matmul,bf16,9000,9000,9000,kernel,222\n"
        "h100-sxm,matmul,bf16,2048,2048,2048,graph,333\n",
        ".csv");
    const std::string command =
        "sweep matmul --m 1024:8192:1024 --n @m --k @m --gpu h100-sxm --records ";
    const Transcript run = run_line(command + table.path());
    REQUIRE(run.code == 0);
    CHECK(run.out.find("rows aligned to 16 B") != std::string::npos);
    CHECK(run.out.find("rows aligned to 2 B") != std::string::npos);
    CHECK(run.out.find("upper case: measured") != std::string::npos);
    const Transcript aligned =
        run_line("sweep matmul --m 1024:8192:8 --n @m --k @m --gpu h100-sxm");
    CHECK(aligned.out.find("aligned") == std::string::npos);

    const TemporaryFile elsewhere(
        "gpu,op,dtype,m,n,k,measured_us\nh100-sxm,matmul,bf16,64,128,64,5\n", ".csv");
    const Transcript none = run_line(command + elsewhere.path());
    CHECK(none.code == 2);
    CHECK(none.err.find("none of 1 records lies on the sweep") != std::string::npos);
}

TEST_CASE("column names may be in capitals, and a header without commas is explained") {
    const TemporaryFile table(
        "OP,M,N,K,DType,Measured_US,Name\ngemm,4096,4096,4096,bf16,180,mine\n", ".csv");
    const Transcript run = run_line("validate " + table.path() + " --gpu h100 --format csv");
    CAPTURE(run.err);
    CHECK(run.code == 0);
    CHECK(run.out.find("matmul") != std::string::npos);
    const TemporaryFile twice("op,m,M,n,k,measured_us\n", ".csv");
    CHECK(run_line("validate " + twice.path() + " --gpu h100").err.find("appears twice") !=
          std::string::npos);
    const TemporaryFile semicolons("op;m;n;k;measured_us\n", ".csv");
    CHECK(run_line("validate " + semicolons.path() + " --gpu h100")
              .err.find("cells are separated by commas") != std::string::npos);
}

TEST_CASE("--gpu fills a missing column and empty cells, and times may be in other units") {
    const TemporaryFile table("op,m,n,k,measured_ms\nmatmul,4096,4096,4096,0.25\n", ".csv");
    const Transcript run = run_line("validate " + table.path() + " --gpu h100 --format json");
    REQUIRE(run.code == 0);
    const auto json = nlohmann::json::parse(run.out);
    CHECK(json["records"][0]["gpu"] == "h100-sxm");
    CHECK(json["records"][0]["measured_time_us"] == Approx(250.0));
    CHECK_THAT(run_line("validate " + table.path()).err, contains_text("no column 'gpu'"));

    const TemporaryFile cells(
        "op,gpu,m,n,k,measured_s,name\nmatmul,,4096,4096,4096,250e-6,mine\n"
        "matmul,a100,4096,4096,4096,500e-6,other\n",
        ".csv");
    const Transcript filled = run_line("validate " + cells.path() + " --gpu h100 --format json");
    CHECK(nlohmann::json::parse(filled.out)["records"].size() == 1);
    const TemporaryFile both("op,gpu,elements,measured_s,measured_us\n", ".csv");
    CHECK_THAT(run_line("validate " + both.path()).err,
               contains_text("two columns hold measured times"));

    const TemporaryFile spelled("operation,m,n,k,measured_ms\nmatmul,4096,4096,4096,0.25\n",
                                ".csv");
    CHECK(run_line("validate " + spelled.path() + " --gpu h100").code == 0);
    const TemporaryFile named_twice("op,operation,gpu,elements,measured_s\n", ".csv");
    CHECK_THAT(run_line("validate " + named_twice.path()).err,
               contains_text("two columns name the operation"));
}

TEST_CASE("a time below the lower bound is reported") {
    const TemporaryFile table(
        "gpu,op,m,n,k,measured_us\nh100,matmul,4096,4096,4096,0.25\n"
        "h100,matmul,4096,4096,4096,250\n",
        ".csv");
    const Transcript run = run_line("validate " + table.path());
    CHECK_THAT(run.err, contains_text(":2: 250 ns is faster than the GPU can be (") &&
                            contains_text("at least): milliseconds?"));
    CHECK(run.err.find(":3:") == std::string::npos);
}

TEST_CASE("a time that seems to be in another unit than its column's is reported") {
    const std::string rows =
        "h100,matmul,4096,4096,4096,0.00025\nh100,matmul,4096,4096,4096,0.25\n"
        "h100,matmul,4096,4096,4096,250\n";
    const TemporaryFile table("gpu,op,m,n,k,measured_ms\n" + rows, ".csv");
    for (const char* const command : {"validate ", "predict --format table --from "}) {
        CAPTURE(command);
        const Transcript run = run_line(command + table.path());
        CHECK_THAT(run.err, contains_text(":2: 250 ns is faster than the GPU can be (") &&
                                contains_text("at least): seconds?"));
        CHECK(run.err.find(":3:") == std::string::npos);
        CHECK_THAT(run.err, contains_text(":4: 250 ms is 1") &&
                                contains_text(" times what is predicted (") &&
                                contains_text("): microseconds?"));
    }
    CHECK_THAT(run_line("predict --format table --from " + table.path()).out,
               contains_text("250 us"));
}

TEST_CASE("an implementation that the model does not know is drawn but not predicted") {
    const TemporaryFile table(
        "gpu,op,m,n,k,impl,measured_us,name\n"
        "h100,matmul,4096,4096,4096,library,250,\n"
        "h100,matmul,4096,4096,4096,my_kernel,300,mine\n"
        "h100,matmul,2048,2048,2048,my_kernel,60,\n"
        "h100,copy,,,,,60,no arithmetic\n",
        ".csv");
    const Transcript validated = run_line("validate " + table.path() + " --format json");
    CHECK(nlohmann::json::parse(validated.out)["records"].size() == 1);

    const Transcript roofline = run_line("roofline --records " + table.path());
    CHECK(roofline.code == 0);
    CHECK_THAT(roofline.out, contains_text("mine"));
    CHECK_THAT(roofline.err, contains_text(":5: damaged record: elements"));

    const Transcript sweep = run_line("plot sweep " + table.path() + " --x m");
    CHECK(sweep.code == 0);
    CHECK_THAT(sweep.out, contains_text("matmul bf16 my_kernel"));

    const Transcript scatter = run_line("plot scatter " + table.path());
    CHECK_THAT(scatter.err, contains_text("2 of 3 records are not drawn:") &&
                                contains_text("mine") && contains_text("my_kernel"));
}

TEST_CASE("a roofline counts and names what it leaves out") {
    const TemporaryFile table(
        "gpu,op,dtype,m,n,k,elements,measured_us\n"
        "h100,matmul,bf16,4096,4096,4096,,250\n"
        "h100,matmul,fp16,4096,4096,4096,,250\n"
        "h100,copy,bf16,,,,16777216,30\n",
        ".csv");
    const Transcript run = run_line("roofline --dtype bf16 --records " + table.path());
    CHECK(run.code == 0);
    CHECK_THAT(run.err, contains_text("2 of 3 records are not drawn:") &&
                            contains_text("not of type bf16") &&
                            contains_text("without arithmetic"));
}
