// `ridge occupancy` takes what ptxas prints, and sizes as programs write them.
#include <fstream>
#include <iterator>

#include "cli/input/ptxas_output.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/temporary_folder.h"

using ridge::cli::compiled_kernels;
using ridge::test::run_line;

TEST_CASE("kernels of the output of ptxas") {
    const auto all = compiled_kernels(
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function '_Z4copyPf' for 'sm_90'\n"
        "ptxas info    : Function properties for _Z4copyPf\n"
        "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
        "ptxas info    : Used 32 registers, used 1 barriers, 49152 bytes smem, 376 bytes cmem[0]\n"
        "ptxas info    : Compiling entry function '_Z3sumPf' for 'sm_90'\n"
        "ptxas info    : Used 168 registers\n");
    REQUIRE(all.size() == 2);
    CHECK(all[0].name == "_Z4copyPf");
    CHECK(all[0].registers == 32);
    CHECK(all[0].shared_bytes == 49152);
    CHECK(all[0].spilled_bytes == 4);
    CHECK(all[1].registers == 168);
    CHECK(all[1].shared_bytes == 0);
    CHECK(compiled_kernels("nothing").empty());
}

TEST_CASE("a CUDA binary says its kernel's registers") {
    const std::string binary = std::string(RIDGE_KERNEL_CODE) + "/row_sums.cubin";
    const auto answer =
        run_line("occupancy --threads 128 --ptxas " + binary + " --gpu h100-sxm --format json");
    REQUIRE(answer.code == 0);
    CHECK(answer.out.find("\"registers\": 14") != std::string::npos);
    CHECK(run_line("occupancy --threads 128 --ptxas " + binary + " --function other").code != 0);
}

TEST_CASE("occupancy is drawn over registers, shared memory and threads") {
    const ridge::test::TemporaryFolder folder;
    const std::string file = folder.file("occupancy.svg");
    const auto answer =
        run_line("occupancy --threads 256 --registers 64 --gpu h100-sxm -o " + file);
    CHECK(answer.code == 0);
    std::ifstream stream(file);
    const std::string svg{std::istreambuf_iterator<char>(stream), {}};
    for (const char* const text : {"Registers of a thread", "Threads of a block", "this kernel"}) {
        CHECK(svg.find(text) != std::string::npos);
    }
}

TEST_CASE("shared memory in the units that programs use") {
    const std::string line = "occupancy --threads 256 --registers 32 --gpu h100-sxm --format csv ";
    const std::string bytes = run_line(line + "--shared 49152").out;
    CHECK(run_line(line + "--shared 48KiB").out == bytes);
    CHECK(run_line(line + "--shared 48kib").out == bytes);
    CHECK(run_line(line + "--shared 100KB").code == 0);
    CHECK(run_line(line + "--shared many").code != 0);
}
