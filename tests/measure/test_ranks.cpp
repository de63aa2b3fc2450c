// Groups of ranks: what they answer, and that nothing is left when one dies, hangs or fails.
#include <signal.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "hardware/error.h"
#include "measure/ranks/combine.h"
#include "measure/ranks/library_log.h"
#include "measure/ranks/rank_group.h"
#include "measure/ranks/sources.h"
#include "measure/run/measure.h"
#include "measure/run/suite.h"
#include "tests/catch.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text.h"

using namespace ridge;
using namespace ridge::measure;
using model::Collective;
using model::CollectiveKind;
using test::holds;

namespace {

/// The processes that fake ranks have noted in a file, and whether one still runs.
class NotedProcesses {
  public:
    NotedProcesses() : path_(folder_.path() + "/ranks") {
        setenv("RIDGE_FAKE_RANKS", path_.c_str(), 1);
    }
    ~NotedProcesses() { unsetenv("RIDGE_FAKE_RANKS"); }
    NotedProcesses(const NotedProcesses&) = delete;
    NotedProcesses& operator=(const NotedProcesses&) = delete;

    [[nodiscard]] std::size_t count() const { return read().size(); }
    [[nodiscard]] bool all_gone() const {
        constexpr int tries = 400;
        for (int i = 0; i < tries; ++i) {
            bool running = false;
            for (const pid_t process : read()) running = running || kill(process, 0) == 0;
            if (!running) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        return false;
    }

  private:
    [[nodiscard]] std::vector<pid_t> read() const {
        std::vector<pid_t> processes;
        std::ifstream file(path_);
        for (pid_t process = 0; file >> process;) processes.push_back(process);
        return processes;
    }

    test::TemporaryFolder folder_;
    std::string path_;
};

std::unique_ptr<Device> group_with(const std::string& fault, double seconds = 20.0) {
    auto opened = open_group({.gpus = 2, .command = {RIDGE_FAKE_RANK, fault}, .seconds = seconds});
    REQUIRE(std::holds_alternative<std::unique_ptr<Device>>(opened));
    return std::move(std::get<std::unique_ptr<Device>>(opened));
}

Record measured(Device& device, const std::string& question) {
    MeasureOptions options;
    options.counters.clear();
    return *measure_one(device, parse_question(question), options);
}

}  // namespace

TEST_CASE("a group measures a collective: time without skew, the library's choice, every launch") {
    const NotedProcesses processes;
    {
        const std::unique_ptr<Device> group = group_with("none");
        CHECK(group->info().name == "NVIDIA H200");
        CHECK(group->info().feature("nccl")->works());
        CHECK(group->info().feature("nvml")->missing->remedy == "install it");
        const Record kernel = measured(*group, "all_reduce bytes=4096 gpus=2");
        REQUIRE(kernel.measured());
        CHECK(kernel.time().in(units::us) == Approx(9.5));
        CHECK(kernel.timing->method == Method::together);
        CHECK(kernel.timing->samples.front().skew->in(units::us) == Approx(0.5));
        CHECK(kernel.geometry->collective->algorithm == "ring");
        CHECK(kernel.geometry->collective->channels == 8);
        CHECK(kernel.verification->checked == 200);
        CHECK(kernel.before.power->in(units::W) == Approx(300.0));
        CHECK(kernel.before.clock_reasons == std::vector<std::string>{"sw_power_cap"});
        const Record graph = measured(*group, "all_reduce bytes=4096 gpus=2 launch=graph");
        CHECK(graph.timing->method == Method::graph);
        CHECK(graph.time().in(units::us) == Approx(12.0).epsilon(0.01));
        const Record calls = measured(*group, "all_reduce bytes=4096 gpus=2 launch=stream");
        CHECK(calls.timing->method == Method::calls);
        CHECK(calls.time().in(units::us) == Approx(20.0).epsilon(0.01));
        // A record with all of that reads back as it was written.
        CHECK(parse_record(to_json_line(kernel)).timing == kernel.timing);
        CHECK(parse_record(to_json_line(kernel)).geometry == kernel.geometry);
        CHECK(processes.count() == 2);
    }
    CHECK(processes.all_gone());
}

TEST_CASE("a group refuses what it cannot measure and goes on") {
    const std::unique_ptr<Device> group = group_with("none");
    CHECK(holds(*measured(*group, "all_reduce bytes=4096 gpus=4").failure, "2 GPUs"));
    const auto refused = [&](const model::Execution& execution) {
        return std::get<Unavailable>(group->prepare(Collective{.gpus = 2, .bytes = 4096}, execution,
                                                    DataPattern::normal))
            .reason;
    };
    CHECK(holds(
        refused({.implementation = model::Implementation::library, .l2 = model::L2State::cold}),
        "warm L2"));
    CHECK(holds(refused({.implementation = model::Implementation::copy_engine}), "copy_engine"));
    CHECK(holds(*measured(*group, "matmul m=1 n=1 k=1 impl=library").failure, "collectives"));
    CHECK(measured(*group, "broadcast bytes=4096 gpus=2").measured());
}

TEST_CASE("a rank that cannot open or prepare says why and what would help") {
    const auto opened = open_group({.gpus = 2, .command = {RIDGE_FAKE_RANK, "refuse:open:1"}});
    REQUIRE(std::holds_alternative<Unavailable>(opened));
    CHECK(std::get<Unavailable>(opened).reason == "NCCL was not found");
    const std::unique_ptr<Device> group = group_with("refuse:prepare:1");
    CHECK(*measured(*group, "all_reduce bytes=4096 gpus=2").failure == "too large (halve it)");
    CHECK(group->usable());
}

TEST_CASE("a wrong result on any rank is never timed") {
    const std::unique_ptr<Device> group = group_with("wrong:verify:1");
    const Record record = measured(*group, "all_reduce bytes=4096 gpus=2");
    CHECK_FALSE(record.measured());
    CHECK(holds(*record.failure, "wrong result"));
}

TEST_CASE("a rank that dies, leaves, fails or hangs ends all of them at once, by name") {
    struct Bad {
        const char* fault;
        const char* said;
        double seconds;
    };
    const auto bad =
        GENERATE(Bad{"die:verify:1", "rank 1 was ended by signal 9", 60.0},
                 Bad{"leave:sample:0", "rank 0 ended with exit code 9", 60.0},
                 Bad{"fail:sample:1", "rank 1: the GPU has fallen off the bus", 60.0},
                 Bad{"hang:sample:1", "rank 0 and rank 1 did not answer within 0.3 s", 0.3});
    CAPTURE(bad.fault);
    const NotedProcesses processes;
    const std::unique_ptr<Device> group = group_with(bad.fault, 20.0);
    // Opening takes longer than a hang should wait for, so the limit is set on a group of its own.
    if (bad.seconds < 1.0) {
        const auto quick = open_group(
            {.gpus = 2, .command = {RIDGE_FAKE_RANK, bad.fault}, .seconds = bad.seconds});
        REQUIRE(std::holds_alternative<std::unique_ptr<Device>>(quick));
        const Record record =
            measured(*std::get<std::unique_ptr<Device>>(quick), "all_reduce bytes=4096 gpus=2");
        CHECK(holds(*record.failure, bad.said));
        return;
    }
    const std::vector<Question> questions{parse_question("all_reduce bytes=4096 gpus=2"),
                                          parse_question("all_reduce bytes=8192 gpus=2")};
    const auto begun = std::chrono::steady_clock::now();
    const SuiteResult result = measure_suite(*group, questions, {});
    CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(15));
    REQUIRE(result.stopped);
    CAPTURE(*result.stopped);
    CHECK(holds(*result.stopped, bad.said));
    CHECK(result.remaining == 1);
    CHECK_FALSE(group->usable());
    CHECK(processes.count() == 2);
    CHECK(processes.all_gone());
}

TEST_CASE("ranks do not outlive the process that leads them, even when it is killed") {
    const NotedProcesses processes;
    const int status = std::system(RIDGE_FAKE_RANK " lead");
    CHECK(status != 0);
    CHECK(processes.count() == 2);
    CHECK(processes.all_gone());
}

TEST_CASE("a program that is not there cannot be a rank") {
    CHECK_THROWS_AS(open_group({.gpus = 2, .command = {"/nonexistent/ridge"}}), DeviceError);
}

TEST_CASE("the time of a collective is from the last start to the last end") {
    // Rank 1 starts 1 us late; rank 0 has waited for it, and ends last.
    const std::vector<RankSample> ranks{{.start = Time{}, .duration = 9.0 * units::us},
                                        {.start = 1.0 * units::us, .duration = 7.5 * units::us}};
    const Sample sample = combine(ranks, {});
    CHECK(sample.time.in(units::us) == Approx(8.0));
    CHECK(sample.skew->in(units::us) == Approx(1.0));
    CHECK(combine(ranks, {.repetitions = 4}).time.in(units::us) == Approx(2.0));
    CHECK_FALSE(combine({ranks.data(), 1}, {}).skew);
}

TEST_CASE("every element of a result is traced to the inputs that make it") {
    const auto of = [](CollectiveKind kind, std::int32_t rank) {
        return std::get<CollectiveLayout>(layout_of(
            {.kind = kind, .gpus = 4, .bytes = 64, .type = model::DataType::fp32}, rank, 4));
    };
    const CollectiveLayout gathered = of(CollectiveKind::all_gather, 2);
    CHECK(gathered.input == 4);
    CHECK(gathered.output == 16);
    CHECK(source_index(CollectiveKind::all_gather, gathered, 3, 13) == 1);
    CHECK_FALSE(source_index(CollectiveKind::all_gather, gathered, 2, 13));
    const CollectiveLayout scattered = of(CollectiveKind::reduce_scatter, 2);
    CHECK(scattered.output == 4);
    CHECK(source_index(CollectiveKind::reduce_scatter, scattered, 0, 3) == 11);
    const CollectiveLayout exchanged = of(CollectiveKind::all_to_all, 2);
    CHECK(source_index(CollectiveKind::all_to_all, exchanged, 1, 5) == 9);
    CHECK_FALSE(source_index(CollectiveKind::all_to_all, exchanged, 0, 5));
    CHECK(source_index(CollectiveKind::all_reduce, of(CollectiveKind::all_reduce, 1), 3, 7) == 7);
    CHECK(source_index(CollectiveKind::broadcast, of(CollectiveKind::broadcast, 1), 0, 7) == 7);
    CHECK_FALSE(source_index(CollectiveKind::broadcast, of(CollectiveKind::broadcast, 1), 1, 7));
    CHECK(of(CollectiveKind::send, 0).output == 0);
    CHECK(of(CollectiveKind::send, 1).output == 16);
    const auto odd = layout_of(
        {.kind = CollectiveKind::all_gather, .gpus = 3, .bytes = 64, .type = model::DataType::fp32},
        0, 4);
    REQUIRE(std::holds_alternative<Unavailable>(odd));
    CHECK(std::get<Unavailable>(odd).remedy == "use bytes=72");
}

TEST_CASE("the library's choice is read from its log") {
    const std::string log =
        "h:1:2 [0] NCCL INFO AllReduce: 512 Bytes -> Algo TREE proto LL128 channel{Lo..Hi}={0..3}\n"
        "h:1:2 [0] NCCL INFO AllReduce: 1024 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..7}\n"
        "h:1:2 [0] NCCL INFO something else\n";
    const auto choice = last_choice(log);
    REQUIRE(choice);
    CHECK(choice->algorithm == "ring");
    CHECK(choice->protocol == "ll");
    CHECK(choice->channels == 8);
    CHECK_FALSE(last_choice("nothing of the kind"));
    CHECK_FALSE(last_choice("-> Algo "));
    CHECK_FALSE(last_choice("-> Algo RING proto LL channel{Lo..Hi}={x..7}")->channels);
    CHECK_FALSE(last_choice("-> Algo RING proto LL channel{Lo..Hi}={7..0}")->channels);
}

TEST_CASE("questions of collectives are valid, fit the GPUs and follow from the seed") {
    for (const Question& question : collective_suite(4)) {
        CHECK(ranks_of(question.operation) == 4);
    }
    const auto drawn = random_collectives(7, 60, 3);
    const auto again = random_collectives(7, 60, 3);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        CHECK(canonical_text(drawn[i]) == canonical_text(again[i]));
        const auto& op = std::get<Collective>(drawn[i].operation);
        for (std::int32_t rank = 0; rank < 3; ++rank) {
            CHECK(std::holds_alternative<CollectiveLayout>(layout_of(op, rank, 4)));
        }
    }
    CHECK(canonical_text(random_collectives(8, 1, 2).front()) !=
          canonical_text(random_collectives(9, 1, 2).front()));
}
