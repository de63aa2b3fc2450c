#include "hardware/consistency.h"

#include "hardware/loader.h"
#include "tests/catch.h"
#include "tests/hardware/toy_header.h"

using namespace ridge;
using namespace ridge::hardware;

namespace {

const std::string toy_header = ridge::test::toy_header("S");

std::vector<std::string> disagreements(const std::string& lines) {
    const Loaded loaded = load_text(toy_header + lines, "toy.toml", device_schema());
    REQUIRE(loaded.problems.empty());
    std::vector<std::string> texts;
    for (const Problem& problem : check_consistency(loaded.description)) {
        texts.push_back(to_string(problem));
    }
    return texts;
}

std::string peak(const std::string& tflops, const std::string& more = "") {
    return "sm.count = { value = 100, source = \"S\" }\n"
           "clock.boost = { value = \"2 GHz\", source = \"S\" }\n"
           "clock.tensor = { value = \"1 GHz\", source = \"S\" }\n"
           "rate.tensor.bf16 = { value = \"1000 FLOP/clk\", source = \"S\" }\n"
           "peak.tensor.bf16 = { value = \"" +
           tflops + " TFLOP/s\", source = \"S\" }\n" + more;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("a tensor peak follows from multiprocessors, rate and tensor clock") {
    CHECK(disagreements(peak("100")).empty());
    CHECK(disagreements(peak("102.9")).empty());
    CHECK(disagreements(peak("200")) ==
          Texts{"toy.toml:10:30: peak.tensor.bf16: 200 TFLOP/s differs by 100 % from 100 "
                "multiprocessors x 1000 FLOP/clk x 1000 MHz = 100 TFLOP/s; the tolerance is 3 %"});
}

TEST_CASE("a stated tolerance replaces the default one") {
    const std::string wide =
        "[[tolerance]]\ncheck = \"peak.tensor.bf16\"\npercent = 5\nreason = \"r\"\n";
    CHECK(disagreements(peak("104")).size() == 1);
    CHECK(disagreements(peak("104", wide)).empty());
    CHECK(disagreements(peak("106", wide)).size() == 1);
}

TEST_CASE("fp64 tensor and FMA peaks use the boost clock") {
    const std::string fp64 =
        "sm.count = { value = 100, source = \"S\" }\n"
        "clock.boost = { value = \"2 GHz\", source = \"S\" }\n"
        "clock.tensor = { value = \"1 GHz\", source = \"S\" }\n"
        "rate.tensor.fp64 = { value = \"100 FLOP/clk\", source = \"S\" }\n"
        "peak.tensor.fp64 = { value = \"20 TFLOP/s\", source = \"S\" }\n"
        "rate.fma.fp32 = { value = \"100 FLOP/clk\", source = \"S\" }\n"
        "peak.fma.fp32 = { value = \"20 TFLOP/s\", source = \"S\" }\n";
    CHECK(disagreements(fp64).empty());
}

TEST_CASE("bandwidth follows from the bus") {
    const auto memory = [](const std::string& bandwidth) {
        return "[dram]\nbandwidth = { value = \"" + bandwidth +
               "\", source = \"S\" }\nbus_width = { value = 6016, source = \"S\" }\n"
               "clock = { value = \"3201 MHz\", source = \"S\" }\n";
    };
    CHECK(disagreements(memory("4.8 TB/s")).empty());
    REQUIRE(disagreements(memory("4.9 TB/s")).size() == 1);
    CHECK_THAT(disagreements(memory("4.9 TB/s"))[0], contains_text("6016 bits x 6.402 GT/s"));
}

TEST_CASE("links, lanes and slices add up") {
    CHECK(disagreements("[link]\nlinks = { value = 18, source = \"S\" }\n"
                        "per_link_per_direction = { value = \"25 GB/s\", source = \"S\" }\n"
                        "per_direction = { value = \"900 GB/s\", source = \"S\" }\n"
                        "total = { value = \"900 GB/s\", source = \"S\" }\n")
              .size() == 2);
    CHECK(disagreements("[pcie]\ngeneration = { value = 5, source = \"S\" }\n"
                        "lanes = { value = 16, source = \"S\" }\n"
                        "per_direction = { value = \"128 GB/s\", source = \"S\" }\n")
              .size() == 1);
    CHECK(disagreements("[l2]\nsize = { value = \"40 MiB\", source = \"S\" }\n"
                        "slices = { value = 80, source = \"S\" }\n"
                        "slice_size = { value = \"1 MiB\", source = \"S\" }\n")
              .size() == 1);
}

TEST_CASE("limits are consistent with each other") {
    CHECK(disagreements("[limits]\nwarps_per_sm = { value = 64, source = \"S\" }\n"
                        "warp_size = { value = 32, source = \"S\" }\n"
                        "threads_per_sm = { value = 1024, source = \"S\" }\n")
              .size() == 1);
    CHECK(disagreements("[sm]\ncount = { value = 132, source = \"S\" }\n"
                        "full_die = { value = 128, source = \"S\" }\n") ==
          Texts{"toy.toml:7:19: sm.count: is more than sm.full_die"});
    CHECK(disagreements("[limits]\nwarps_per_sm = { value = 9007199254740992, source = \"S\" }\n"
                        "warp_size = { value = 9007199254740992, source = \"S\" }\n"
                        "threads_per_sm = { value = 1, source = \"S\" }\n")
              .size() == 1);
}
