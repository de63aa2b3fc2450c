// `ridge kernel` reads machine code, `ridge predict kernel` takes a kernel's figures.
#include <algorithm>
#include <fstream>
#include <string>

#include "hardware/json.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/temporary_folder.h"

using ridge::Json;
using ridge::test::run;
using ridge::test::run_line;

namespace {

const std::string dropout = std::string(RIDGE_KERNEL_CODE) + "/dropout.sass";

double number(const Json& json, const std::string& name) {
    const Json* const found = json.find(name);
    REQUIRE(found != nullptr);
    return found->if_number().value();
}

}  // namespace

TEST_CASE("ridge kernel says what machine code costs, in every format") {
    const std::string line = "kernel " + dropout + " --gpu h100-sxm --grid 32768 --block 128 ";
    const auto text = run_line(line + "--dram-bytes 268MB");
    REQUIRE(text.code == 0);
    CHECK(text.out.find("dropout_kernel") != std::string::npos);
    CHECK(text.out.find("528 instructions") != std::string::npos);
    CHECK(text.out.find("limited by    DRAM") != std::string::npos);
    const auto json = Json::parse(run_line(line + "--dram-bytes 268MB --format json").out);
    REQUIRE(json);
    CHECK(number(*json, "global_bytes") == 268435456.0);
    CHECK(number(*json, "time_us") > 80.0);
    CHECK(number(*json, "time_us") < 130.0);
    CHECK(run_line(line + "--format csv").out.find("dropout_kernel,instructions_of_warp,528") !=
          std::string::npos);
}

TEST_CASE("without the bytes of DRAM a time is a lower bound") {
    const auto text = run_line("kernel " + dropout + " --gpu h100-sxm --grid 32768 --block 128");
    CHECK(text.out.find("at least") != std::string::npos);
}

TEST_CASE("ridge kernel refuses what it cannot read, and says why") {
    CHECK(run_line("kernel --gpu h100-sxm").code == 1);
    CHECK(run_line("kernel /does/not/exist --gpu h100-sxm").code != 0);
    CHECK(run({"kernel", "-", "--gpu", "h100-sxm", "--trips", "4"}).code != 0);
    const auto loop = run_line("kernel " + dropout + " --gpu h100-sxm --trips 4");
    CHECK(loop.code != 0);
    CHECK(loop.err.find("has no loop L1") != std::string::npos);
    CHECK(run_line("kernel " + dropout + " --gpu h100-sxm --function other")
              .err.find("dropout_kernel") != std::string::npos);
    CHECK(run_line("kernel " + dropout + " --gpu mi300x").code != 0);
    CHECK(run_line("kernel " + dropout + " --gpu h100-sxm --grid 4 --block 2048").code != 0);
}

TEST_CASE("ridge predict kernel takes a kernel's figures") {
    const std::string line =
        "predict kernel --flop 137e9 --dtype bf16 --pipe tensor --bytes 101MB --l2-bytes 1.6GB "
        "--grid 512 --block 256 --registers 168 --shared 200KiB --gpu h100-sxm ";
    const auto json = Json::parse(run_line(line + "--time 240us --format json").out);
    REQUIRE(json);
    CHECK(*json->find("bound")->if_text() == "compute");
    CHECK(number(*json, "time_us") > number(*json, "lower_bound_us"));
    double sum = 0.0;
    for (const Json& part : json->find("gap")->items()) sum += number(part, "time_us");
    CHECK(sum == Approx(240.0));
    const auto text = run_line(line + "--time 240us");
    CHECK(text.code == 0);
    CHECK(text.out.find("limited by") != std::string::npos);
    CHECK(text.out.find("measured 240 us, of which") != std::string::npos);
    CHECK(run_line("predict kernel --gpu h100-sxm").code != 0);
    // The word is an operation in its place only, not as a value of another option.
    CHECK(run_line("predict --from kernel --gpu h100-sxm").err.find("--from") == std::string::npos);
    CHECK(run_line("predict --gpu h100-sxm kernel --flop 137e9 --dtype bf16 --bytes 101MB").code ==
          0);
    CHECK(run_line("predict kernel --flop 1e9 --pipe warp --gpu h100-sxm").code != 0);
    CHECK(run_line("predict copy --elements 1Mi --time 5us --gpu h100-sxm").err.find("--time") !=
          std::string::npos);
}

TEST_CASE("kernel is an operation of sequences, tables, comparisons and rooflines") {
    const auto sequence =
        run({"predict", "--gpu", "h100-sxm", "--op",
             "kernel flop=137e9 pipe=tensor bytes=101MB count=3", "--op", "copy elements=1Mi"});
    CHECK(sequence.code == 0);
    CHECK(sequence.out.find("kernel") != std::string::npos);
    CHECK(run_line("compare kernel --bytes 537MB --grid 1056 --gpu h100-sxm,a100-sxm-80gb").code ==
          0);
    CHECK(run({"roofline", "--op", "kernel flop=1e9 bytes=101MB", "--gpu", "h100-sxm"}).code == 0);
    CHECK(run_line("measure kernel --flop 1e9").code != 0);
    const ridge::test::TemporaryFolder folder;
    const std::string file = folder.file("kernels.csv");
    std::ofstream(file) << "op,flop,bytes,l2_bytes,grid,block\n"
                           "kernel,1e9,101MB,,512,32x8\n"
                           "kernel,,537MB,,1056,256\n";
    const auto table = run_line("predict --gpu h100-sxm --from " + file);
    INFO(table.err);
    CHECK(table.code == 0);
    CHECK(std::count(table.out.begin(), table.out.end(), '\n') == 3);
}

TEST_CASE("ridge kernel follows code only where it knows the arguments' places") {
    const auto text =
        run_line("kernel " + dropout + " --gpu h100-sxm --grid 4 --block 128 --args _,_,4096");
    CHECK(text.code != 0);
    CHECK(text.err.find(".cubin") != std::string::npos);
    CHECK(run_line("kernel " + dropout + " --gpu h100-sxm --args 1").err.find("--grid") !=
          std::string::npos);
}
