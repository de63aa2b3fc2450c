// Counters of a program that are counted one set per launch: which set runs when, what is left for
// the next run, and what all sets give together.

#include <initializer_list>
#include <vector>

#include "hardware/packed_fma.h"
#include "measure/cuda/inject/set_turns.h"
#include "programs/recording/activity_writer.h"
#include "programs/recording/counted_launches.h"
#include "programs/traces/activity_trace.h"
#include "programs/traces/counter_sums.h"
#include "tests/catch.h"
#include "tests/support/temporary_folder.h"

using namespace ridge;
using namespace ridge::programs;
using ridge::measure::cuda::SetTurns;

namespace {

/// The outcome of a program of `kernels` kernels, launched in turn `rounds` times, and three sets.
struct Played {
    std::vector<std::uint32_t> missing;
    int starts = 0;
    int counted = 0;
};

Played play(std::size_t kernels, int rounds) {
    Played played{.missing = std::vector<std::uint32_t>(kernels, 0b111U)};
    SetTurns turns;
    for (int round = 0; round < rounds; ++round) {
        for (std::uint32_t& missing : played.missing) {
            const SetTurns::Turn turn = turns.next(missing);
            if (turn.start) ++played.starts;
            if (!turn.counted) continue;
            REQUIRE(turns.running());
            REQUIRE((missing >> *turns.running() & 1U) != 0);
            missing &= ~(1U << *turns.running());
            ++played.counted;
        }
    }
    return played;
}

}  // namespace

TEST_CASE("Each launch is counted with a set that its kernel lacks, and sets change rarely") {
    const Played once = play(200, 1);
    CHECK(once.counted == 200);
    CHECK(once.starts == 2);  // the second starts when the first reading is full
    for (const std::uint32_t missing : once.missing) CHECK(missing == 0b110U);

    const Played often = play(100, 10);
    CHECK(often.counted == 300);
    CHECK(often.starts < 20);
    for (const std::uint32_t missing : often.missing) CHECK(missing == 0);

    const Played alone = play(1, 60);
    CHECK(alone.counted == 3);
    CHECK(alone.starts == 3);
}

TEST_CASE("If nothing is missing the program runs freely") {
    SetTurns turns;
    CHECK_FALSE(turns.next(0).start);
    CHECK(turns.next(0b100U).start == 2U);
    std::size_t launches = 0;
    while (!turns.next(0).stop) ++launches;
    CHECK(launches + 1 == SetTurns::patience);
    CHECK_FALSE(turns.running());
    CHECK_FALSE(turns.next(0).stop);
    CHECK(turns.next(0b1U).counted);
    turns.stopped();
    CHECK(turns.next(0b1U).start == 0U);
}

TEST_CASE("What a run left to count is passed on as text") {
    const LaunchedKernel kernel{"void copy<float>(float*, int)", {132, 2, 1}, {256, 1, 1}};
    const LaunchedKernel other{"scale", {1, 1, 1}, {32, 1, 1}};
    const MissingSets missing{{kernel, 0b1100U}, {other, 0U}, {{"two\nlines", {}, {}}, 1U}};
    const MissingSets back = missing_sets_of(to_text(missing));
    REQUIRE(back.size() == 2);
    CHECK(back.at(kernel) == 0b1100U);
    CHECK(back.at(other) == 0U);
    CHECK(missing_sets_of("").empty());
    CHECK(missing_sets_of("1 2 3\nx 1 1 1 1 1 1 name\n-1 1 1 1 1 1 1 name\n").empty());
    CHECK(missing_sets_of("1 2 3 4 5 6 7 no line break").size() == 1);
}

TEST_CASE("Counter sets add up to the counters of a kernel") {
    CounterSums sums;
    sums.add(0, {.passes = 1,
                 .dram_read_bytes = 100.0,
                 .dram_write_bytes = 20.0,
                 .tensor_flop = 0.0,
                 .packed_on_tensor_pipe = 40.0,
                 .set = 0,
                 .missing = 0b110U});
    CHECK(sums.missing() == 0b110U);
    CHECK(sums.mean().dram_bytes() == 120.0);
    CHECK(sums.mean().flop() < 0.0);
    // From another process of the same run, or from another run.
    sums.add(
        1, {.passes = 1, .vector_flop = 8.0, .packed_fma_flop = 80.0, .set = 1, .missing = 0b100U});
    sums.add(
        1,
        {.passes = 1, .vector_flop = 10.0, .packed_fma_flop = 80.0, .set = 1, .missing = 0b100U});
    CHECK(sums.missing() == 0b100U);
    const KernelCounters mean = sums.mean();
    CHECK(mean.launches == 2);
    CHECK(mean.passes == 2);
    CHECK(mean.vector_flop == 9.0 + packed_arithmetic(80.0, 40.0));
    CHECK(mean.vector_flop == 89.0);
    CHECK(mean.flop() == 89.0);
    // Once tensor work is counted by type, that count is used.
    sums.add(2, {.passes = 1, .tensor_type_flop = 5000.0, .set = 3});
    CHECK(sums.mean().flop() == 5089.0);
    CHECK(sums.missing() == 0);
}

TEST_CASE("Tensor work is what the set of its type counted, and unknown if none did") {
    CounterSums sums;
    sums.add(0, {.passes = 1, .tensor_flop = 0.0, .vector_flop = 8.0, .tensor_active = 0.3});
    CHECK(sums.mean().tensor_flop < 0.0);
    sums.add(0, {.passes = 1, .tensor_type_flop = 0.0, .set = 2});
    CHECK(sums.mean().tensor_flop < 0.0);
    sums.add(0, {.passes = 1, .tensor_type_flop = 5000.0, .set = 3});
    sums.add(0, {.passes = 1, .tensor_type_flop = 0.0, .set = 4});
    CHECK(sums.mean().tensor_flop == 5000.0);
}

TEST_CASE("Packed FMA give no count if constants cannot be told from arithmetic") {
    CounterSums sums;
    sums.add(0, {.passes = 1, .tensor_flop = 0.0, .vector_flop = 8.0, .packed_fma_flop = 80.0});
    CHECK(sums.mean().vector_flop < 0.0);
    sums.add(0, {.passes = 1, .packed_on_tensor_pipe = 80.0, .set = 1});
    CHECK(sums.mean().vector_flop == 8.0);
}

TEST_CASE("The files of a run tell what it left to count") {
    const ridge::test::TemporaryFolder folder;
    const std::string file = folder.file("run.counters.1.ridge");
    {
        ActivityWriter writer;
        REQUIRE(writer.open(file));
        writer.write(ProcessActivity{.mode = static_cast<std::uint32_t>(RecordingMode::counters)});
        const std::uint32_t name = writer.text("copy");
        const std::uint32_t shape = writer.shape({.name = name, .grid_x = 4, .block_x = 32});
        writer.write(CounterActivity{.shape = shape, .passes = 1, .set = 0, .missing = 0b10U});
    }
    const MissingSets missing = missing_sets({file});
    CHECK(missing == MissingSets{{{"copy", {4, 0, 0}, {32, 0, 0}}, 0b10U}});
}

TEST_CASE("Samples of waiting warps come to the counters of their kernel") {
    const ridge::test::TemporaryFolder folder;
    const std::string free = folder.file("run.1.ridge");
    const std::string counted = folder.file("run.counters.2.ridge");
    const auto start = [](ActivityWriter& writer, const std::string& file, RecordingMode mode) {
        REQUIRE(writer.open(file));
        writer.write(ProcessActivity{.mode = static_cast<std::uint32_t>(mode)});
        return writer.shape({.name = writer.text("copy"), .grid_x = 4, .block_x = 32});
    };
    {
        ActivityWriter writer;
        const std::uint32_t shape = start(writer, free, RecordingMode::times);
        writer.write(KernelActivity{.start_ns = 5, .duration_ns = 700, .shape = shape});
    }
    {
        ActivityWriter writer;
        const std::uint32_t shape = start(writer, counted, RecordingMode::counters);
        writer.write(CounterActivity{.shape = shape, .passes = 1, .dram_read_bytes = 64.0});
        const std::array<double, 2> values{30.0, 10.0};
        writer.write(
            StallActivity{.address = 0x40,
                          .kernel = writer.text("copy"),
                          .file = writer.text("/src/copy.cu"),
                          .line = 12,
                          .names = writer.text("long_scoreboard wait"),
                          .values = {reinterpret_cast<const char*>(values.data()), sizeof values}});
    }
    const Trace trace = read_activity_files({free, counted});
    REQUIRE(trace.counters.size() == 1);
    REQUIRE(trace.counters[0].stalls.size() == 1);
    const StallSample& sample = trace.counters[0].stalls[0];
    CHECK(sample.file == "/src/copy.cu");
    CHECK(sample.line == 12);
    CHECK(sample.address == 0x40);
    CHECK(sample.samples ==
          std::map<std::string, double>{{"long_scoreboard", 30.0}, {"wait", 10.0}});
}

TEST_CASE("A program whose launches all differ is distinguished from one that repeats a launch") {
    const ridge::test::TemporaryFolder folder;
    const auto file_of = [&folder](const char* name, std::initializer_list<std::uint32_t> grids,
                                   std::uint64_t graph_node) {
        const std::string file = folder.file(name);
        ActivityWriter writer;
        REQUIRE(writer.open(file));
        const std::uint32_t kernel = writer.text("copy");
        for (const std::uint32_t grid : grids) {
            const std::uint32_t shape =
                writer.shape({.name = kernel, .grid_x = grid, .block_x = 32});
            writer.write(KernelActivity{.shape = shape, .graph_node = graph_node});
        }
        return file;
    };
    const std::string differ = file_of("a.1.ridge", {1, 2, 3}, 0);
    CHECK(launches_once({differ}));
    CHECK(launches_once({differ, file_of("a.2.ridge", {1, 2, 3}, 0)}));  // another process
    CHECK_FALSE(launches_once({differ, file_of("b.1.ridge", {1, 2, 1}, 0)}));
    CHECK(launches_once(
        {file_of("c.1.ridge", {1, 1}, 7)}));  // launches of a graph, which are not counted
}

TEST_CASE("If only one set is counted, a reading holds fewer launches") {
    SetTurns turns(SetTurns::launches_of_one_set);
    CHECK(turns.next(0b1U).start == 0U);
    for (std::size_t i = 1; i < SetTurns::launches_of_one_set; ++i) {
        REQUIRE_FALSE(turns.next(0b1U).stop);
    }
    const SetTurns::Turn turn = turns.next(0b1U);
    CHECK(turn.stop);
    CHECK(turn.start == 0U);
}
