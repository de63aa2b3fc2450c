// `ridge profile` without a GPU: what it reports as missing, and the signals and exit codes of the
// program that it runs.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "cli/console/child_process.h"
#include "programs/recording/activity_writer.h"
#include "programs/recording/recording_options.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

using namespace ridge;
using test::run;
using test::text_of;
using test::Variable;

namespace {

namespace fs = std::filesystem;

/// A folder with a stand-in for the library. The programs of these tests never load it.
struct Place {
    test::TemporaryFolder folder;
    Place() { folder.write("library.so", "library"); }
    [[nodiscard]] std::string file(const std::string& name) const { return folder.file(name); }
};

}  // namespace

TEST_CASE("A child's exit code, its signal, and a command that does not exist") {
    CHECK(cli::run_child({"sh", "-c", "exit 7"}, {}).code == 7);
    CHECK(cli::run_child({"sh", "-c", "kill -9 $$"}, {}).code == 128 + SIGKILL);
    CHECK(cli::run_child({"sh", "-c", "test \"$RIDGE_A\" = 'b c'"}, {{"RIDGE_A", "b c"}}).code ==
          0);
    const cli::ChildStatus missing = cli::run_child({"no-such-command-of-ridge"}, {});
    CHECK(missing.code == 127);
    CHECK(missing.failure == "no-such-command-of-ridge: No such file or directory");
    CHECK(cli::run_child({"/"}, {}).code == 126);
}

TEST_CASE("A signal to this program is passed on to the child, which may end in its own way") {
    const Place place;
    const std::string ready = place.file("ready");
    const auto child_with = [&](const std::string& script) {
        std::thread sender([&ready] {
            while (!fs::exists(ready)) std::this_thread::sleep_for(std::chrono::milliseconds(2));
            kill(getpid(), SIGINT);
        });
        const int code = cli::run_child({"sh", "-c", script}, {{"READY", ready}}).code;
        sender.join();
        fs::remove(ready);
        return code;
    };
    CHECK(child_with("echo >$READY; exec sleep 20") == 128 + SIGINT);
    CHECK(child_with("trap 'kill $!; exit 5' INT; sleep 20 & echo >$READY; wait") == 5);
}

TEST_CASE("ridge profile names what is missing") {
    const Place place;
    const Variable library("RIDGE_INJECT_PATH", place.file("library.so"));
    CHECK(run({"profile"}).code == cli::usage);
    CHECK_THAT(run({"profile"}).err, contains_text("COMMAND is missing"));
    {
        const Variable nowhere("RIDGE_INJECT_PATH", place.file("nowhere.so"));
        const auto answer = run({"profile", "--", "true"});
        CHECK(answer.code == cli::device_failure);
        CHECK_THAT(answer.err, contains_text("nowhere.so, which is not a file"));
    }
    {
        const Variable unset("RIDGE_INJECT_PATH", "");
        const auto answer = run({"profile", "--", "true"});
        CHECK(answer.code == cli::device_failure);
        CHECK_THAT(answer.err, contains_text("libridge_inject.so was not found"));
        CHECK_THAT(answer.err, contains_text("-DRIDGE_CUDA=ON"));
    }
    {
        const Variable other("CUDA_INJECTION64_PATH", "/opt/other.so");
        const auto answer = run({"profile", "--", "true"});
        CHECK(answer.code == cli::device_failure);
        CHECK_THAT(answer.err, contains_text("another profiler is attached"));
        CHECK_THAT(answer.err, contains_text("/opt/other.so"));
    }
    const auto folder = run({"profile", "-o", place.file("no/run"), "--", "true"});
    CHECK(folder.code == cli::bad_data);
    CHECK_THAT(folder.err, contains_text("no such folder"));
    const auto page = run({"profile", "-o", place.file("run"), "--page", place.file("no/x.html"),
                           "--", "touch", place.file("ran")});
    CHECK(page.code == cli::bad_data);
    CHECK_THAT(page.err, contains_text("no/x.html: cannot write the report"));
    CHECK_FALSE(fs::exists(place.file("ran")));
    const auto idle = run({"profile", "-o", place.file("run"), "--", "true"});
    CHECK(idle.code == cli::device_failure);
    CHECK_THAT(idle.err, contains_text("no process of the program used CUDA or NVTX"));
    CHECK(run({"profile", "-o", place.file("run"), "--", "sh", "-c", "exit 9"}).code == 9);
    CHECK(run({"profile", "-o", place.file("run"), "--", "no-such-command-of-ridge"}).code == 127);
    CHECK(run({"profile", "--launches", "0", "--", "true"}).code == cli::usage);
    CHECK(run({"profile", "--interval", "0", "--", "true"}).code == cli::usage);
}

TEST_CASE("The program gets its arguments unchanged, and the library gets its options") {
    const Place place;
    const Variable library("RIDGE_INJECT_PATH", place.file("library.so"));
    const std::string out = place.file("out");
    run({"profile", "-o", place.file("run"), "--wait-for-start", "--delay", "0.5", "--", "sh", "-c",
         "printf '%s|' \"$@\" >" + out + "; printf '%s' \"$RIDGE_RECORDING\" >" + out +
             ".options; printf '%s' \"$CUDA_INJECTION64_PATH\" >" + out + ".library",
         "sh", "--my_option=1_0", "--", "-x"});
    CHECK(text_of(out) == "--my_option=1_0|--|-x|");
    CHECK(text_of(out + ".library") == place.file("library.so"));
    const auto options = programs::recording_options_of(text_of(out + ".options"));
    REQUIRE(options);
    CHECK(options->prefix == place.file("run"));
    CHECK(options->wait_for_start);
    CHECK(options->delay_ms == 500);
    CHECK(options->run != 0);
}

TEST_CASE(
    "A recorded process is reported, its exit code passed on, and an older recording removed") {
    const Place place;
    const Variable library("RIDGE_INJECT_PATH", place.file("library.so"));
    const std::string made = place.file("made");
    {
        programs::ActivityWriter writer;
        REQUIRE(writer.open(made));
        writer.write(programs::ProcessActivity{.pid = 5, .run = 1});
        const std::uint32_t shape =
            writer.shape({.name = writer.text("void copy<float>(float*)"), .grid_x = 8});
        writer.write(programs::DeviceActivity{.uuid_low = 1, .name = "NVIDIA H200"});
        writer.write(
            programs::KernelActivity{.start_ns = 1000, .duration_ns = 2000000, .shape = shape});
        writer.write(programs::NoteActivity{.text = "no counters: no permission"});
        writer.write(programs::FinishActivity{});
    }
    fs::copy(made, place.file("run.4.ridge"));
    place.folder.write("run.of.mine.ridge", "not ours");
    const auto answer = run({"profile", "-o", place.file("run"), "--", "sh", "-c",
                             "cp " + made + " " + place.file("run.5.ridge") + "; exit 3"});
    CHECK(answer.code == 3);
    CHECK_THAT(answer.err, contains_text("recorded 1 process"));
    CHECK_THAT(answer.err, contains_text("exit code 3"));
    CHECK_THAT(answer.out, contains_text("2 ms of kernels"));
    CHECK_THAT(answer.out, contains_text("void copy<float>(float*)"));
    CHECK_THAT(answer.out, contains_text("no counters: no permission"));
    CHECK_FALSE(fs::exists(place.file("run.4.ridge")));
    CHECK(fs::exists(place.file("run.5.ridge")));
    CHECK(fs::exists(place.file("run.of.mine.ridge")));
}

TEST_CASE("Launches that occur once may be repeated only in the first run that counts") {
    const Place place;
    const Variable library("RIDGE_INJECT_PATH", place.file("library.so"));
    using programs::RecordingMode;
    const auto write = [&place](const char* name, RecordingMode mode, auto record) {
        programs::ActivityWriter writer;
        REQUIRE(writer.open(place.file(name)));
        writer.write(programs::ProcessActivity{
            .mode = static_cast<std::uint32_t>(mode), .pid = 5, .run = 1});
        const std::uint32_t shape = writer.shape({.name = writer.text("copy"), .grid_x = 8});
        record(writer, shape);
    };
    write("free", RecordingMode::times, [](auto& writer, std::uint32_t shape) {
        writer.write(programs::DeviceActivity{.uuid_low = 1, .name = "NVIDIA H200"});
        writer.write(programs::KernelActivity{.duration_ns = 2000, .shape = shape});
    });
    const auto lacking = [](std::uint32_t missing) {
        return [missing](auto& writer, std::uint32_t shape) {
            writer.write(programs::CounterActivity{
                .shape = shape, .passes = 1, .dram_read_bytes = 64.0, .missing = missing});
        };
    };
    write("count1", RecordingMode::counters, lacking(0b10));
    for (const char* name : {"count2", "count3"}) write(name, RecordingMode::counters, lacking(0));
    // The options of each run are kept in asked.N; the first run is the free one.
    const std::string program =
        "cd " + place.folder.path() +
        "; n=$(ls asked.* 2>/dev/null | wc -l); printf '%s' \"$RIDGE_RECORDING\" >asked.$n"
        "; p=${RIDGE_RECORDING##*prefix=}"
        "; case $n in 0) cp free $p.5.ridge;; *) cp count$n $p.$n.ridge;; esac";
    const auto asked = [&place](int number) {
        const std::string file = place.file("asked." + std::to_string(number));
        const auto options = programs::recording_options_of(text_of(file));
        REQUIRE(options);
        fs::remove(file);
        return *options;
    };
    for (const bool repeats : {true, false}) {
        std::vector<std::string> words{"profile", "--counters", "-o", place.file("run")};
        if (!repeats) words.emplace_back("--no-repeats");
        words.insert(words.end(), {"--", "sh", "-c", program});
        const auto answer = run(words);
        INFO(answer.err);
        CHECK(answer.code == 0);
        CHECK_THAT(answer.err,
                   contains_text("running the program again, kernels without all counters: 1"));
        const auto free = asked(0);
        CHECK(free.counted == 0);
        CHECK_FALSE(free.once);
        const auto first = asked(1);
        CHECK(first.counted == 1);
        CHECK(first.once);
        CHECK(first.repeats == repeats);
        CHECK_FALSE(first.continued);
        const auto second = asked(2);
        CHECK(second.once);
        CHECK((second.continued && !second.repeats));
        CHECK(asked(3).stalls);
    }
}
