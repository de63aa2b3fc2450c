// `ridge occupancy` takes what ptxas prints, and sizes as programs write them.
#include "cli/input/ptxas_output.h"
#include "tests/catch.h"
#include "tests/cli/run.h"

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

TEST_CASE("shared memory in the units that programs use") {
    const std::string line = "occupancy --threads 256 --registers 32 --gpu h100-sxm --format csv ";
    const std::string bytes = run_line(line + "--shared 49152").out;
    CHECK(run_line(line + "--shared 48KiB").out == bytes);
    CHECK(run_line(line + "--shared 48kib").out == bytes);
    CHECK(run_line(line + "--shared 100KB").code == 0);
    CHECK(run_line(line + "--shared many").code != 0);
}
