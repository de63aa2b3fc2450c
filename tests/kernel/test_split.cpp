// The cause split on counters worked out by hand.
#include "kernel/causes/split.h"

#include "hardware/units.h"
#include "model/catalogue/catalogue.h"
#include "tests/catch.h"

using namespace ridge;
using namespace ridge::kernel;

namespace {

const Roofs& h100() {
    static const Roofs roofs = *roofs_of(model::make_machine(model::catalogue().at("h100-sxm")));
    return roofs;
}

/// A copy of 256 MiB at 90 % of the rate that a good copy reaches.
Counted copy() {
    constexpr double bytes = 268435456.0;
    const double good = h100().dram_seconds(bytes, bytes);
    return {.grid = {1056, 1, 1},
            .block = {256, 1, 1},
            .registers = 32,
            .measured = Time::from_base(good / 0.95),
            .metrics = {{"dram__bytes_read.sum", bytes},
                        {"dram__bytes_write.sum", bytes},
                        {"lts__t_sectors_srcunit_tex.sum", 2.0 * bytes / 32.0},
                        {"smsp__sass_data_bytes_mem_global_op_ld.sum", bytes},
                        {"smsp__sass_data_bytes_mem_global_op_st.sum", bytes},
                        {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_ld.sum", bytes / 32.0},
                        {"smsp__sass_l1tex_t_sectors_pipe_lsu_mem_global_op_st.sum", bytes / 32.0},
                        {"smsp__sass_inst_executed_op_global_ld.sum", bytes / 512.0},
                        {"smsp__sass_inst_executed_op_global_st.sum", bytes / 512.0}}};
}

double sum_of(const Split& split) {
    double sum = split.ideal + split.unexplained;
    for (const Part& part : split.parts) sum += part.seconds;
    return sum;
}

}  // namespace

TEST_CASE("a copy near its roof has no cause, and what is left is unexplained", "[causes]") {
    const auto split = split_causes(copy(), h100());
    REQUIRE(split);
    CHECK(split->roof == Resource::dram);
    CHECK(split->ideal == Approx(0.95 * split->measured).epsilon(0.001));
    CHECK(sum_of(*split) == Approx(split->measured));
    CHECK(sentences_of(*split).empty());
    CHECK(split->bound.empty());  // no FLOP were counted
}

TEST_CASE("a memory-bound kernel is called so only if its FLOP were counted", "[causes]") {
    Counted counted = copy();
    counted.metrics["smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"] = 1000.0;
    CHECK(split_causes(counted, h100())->bound == "memory");
}

TEST_CASE("bytes that nobody asked for are uncoalesced access", "[causes]") {
    Counted counted = copy();
    // Each thread reads one word of a sector: an eighth of the bytes.
    counted.metrics["smsp__sass_data_bytes_mem_global_op_ld.sum"] /= 8.0;
    counted.metrics["smsp__sass_inst_executed_op_global_ld.sum"] *= 0.5;
    const auto split = split_causes(counted, h100());
    REQUIRE(split);
    REQUIRE(!split->parts.empty());
    CHECK(split->parts.front().cause == Cause::uncoalesced);
    CHECK(sum_of(*split) == Approx(split->measured));
    // 7/8 of the read bytes are waste, which are half of all.
    CHECK(split->parts.front().saves > 0.35 * split->measured);
}

TEST_CASE("fewer blocks than multiprocessors are a cause of their own", "[causes]") {
    Counted counted = copy();
    counted.grid = {24, 1, 1};
    counted.measured = counted.measured * 5.0;
    counted.metrics["sm__cycles_active.avg"] = 24.0e3;
    counted.metrics["sm__cycles_active.max"] = 132.0e3;
    const auto split = split_causes(counted, h100());
    REQUIRE(split);
    CHECK(split->parts.front().cause == Cause::too_few_blocks);
    CHECK(split->parts.front().detail == "24 blocks on 132 multiprocessors");
    CHECK(sum_of(*split) == Approx(split->measured));
    // The copy at its rate takes 19 % of this time.
    CHECK(split->measured - split->parts.front().saves ==
          Approx(0.19 * split->measured + h100().kernel_floor));
}

TEST_CASE("waiting is shared out by stall reasons, and never beyond them", "[causes]") {
    Counted counted = copy();
    counted.measured = counted.measured * 2.0;
    const auto without = split_causes(counted, h100());
    REQUIRE(without);
    CHECK(without->unexplained == Approx(without->measured - without->ideal).margin(3e-6));
    counted.metrics["smsp__warps_issue_stalled_barrier.sum"] = 300.0;
    counted.metrics["smsp__warps_issue_stalled_misc.sum"] = 100.0;
    const auto with = split_causes(counted, h100());
    REQUIRE(with);
    CHECK(with->parts.front().cause == Cause::barriers);
    const double gap = with->parts.front().seconds + with->unexplained;
    CHECK(with->parts.front().seconds == Approx(0.75 * gap));
    CHECK(sum_of(*with) == Approx(with->measured));
}

TEST_CASE("nothing counted, or no time: no split", "[causes]") {
    Counted counted = copy();
    counted.measured = Time{};
    CHECK(!split_causes(counted, h100()));
    CHECK(!split_causes(Counted{.measured = 1.0 * units::us}, h100()));
    CHECK(!roofs_of(model::make_machine(model::catalogue().at("tpu-v4"))));
}

TEST_CASE("the names of causes are complete and differ", "[causes]") {
    for (const Cause a : all_causes()) {
        CHECK(!name_of(a).empty());
        CHECK(!remedy_of(a).empty());
        for (const Cause b : all_causes()) CHECK((a == b || key_of(a) != key_of(b)));
    }
}
