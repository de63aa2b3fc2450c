// The library of `ridge profile` in a program without a GPU: NVTX loads the library, and the
// program's ranges are recorded, however the program ends.
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "programs/recording/recording_options.h"
#include "programs/traces/activity_trace.h"
#include "tests/catch.h"
#include "tests/support/environment.h"
#include "tests/support/temporary_folder.h"

using namespace ridge::programs;
using ridge::test::TemporaryFolder;
using ridge::test::Variable;

namespace {

namespace fs = std::filesystem;

struct Ended {
    int status = 0;
    Trace trace{};
};

/// Runs the program with the library. With `signal` 0 the program returns normally.
Ended run_with_library(int signal) {
    const TemporaryFolder folder;
    const Variable recording(recording_variable, to_text({.prefix = folder.file("run"), .run = 9}));
    const Variable library("NVTX_INJECTION64_PATH", RIDGE_INJECT_LIBRARY);
    const Variable rank("RANK", "2");
    std::string command = RIDGE_NVTX_PROGRAM;
    if (signal != 0) command = "exec " + command + " " + std::to_string(signal);
    Ended ended{.status = std::system(command.c_str())};
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(folder.path())) files.push_back(entry.path());
    REQUIRE(files.size() == 1);
    CHECK(fs::path(files[0]).filename().string().rfind("run.rank2.", 0) == 0);
    CHECK(run_of(files[0]) == 9);
    ended.trace = read_activity_files(files);
    return ended;
}

std::set<std::string> ranges_of(const Trace& trace) {
    std::set<std::string> names;
    for (const Operator& op : trace.operators) names.insert(trace.text(op.name));
    return names;
}

}  // namespace

TEST_CASE("NVTX ranges of every kind are recorded, and the exit code is the program's") {
    const Ended ended = run_with_library(0);
    CHECK(WEXITSTATUS(ended.status) == 3);
    CHECK(ended.trace.notes.empty());
    CHECK(ended.trace.read.damage.empty());
    CHECK(ranges_of(ended.trace) ==
          std::set<std::string>{"outer", "inn\u00e9r", "registered", "started"});
    REQUIRE(ended.trace.operators.size() == 4);
    CHECK(ended.trace.text(ended.trace.operators[0].name) == "outer");
    CHECK(ended.trace.operators[1].parent == 0);
    CHECK(ended.trace.header.rank == 2);
}

TEST_CASE("A signal that ends the program keeps everything recorded so far") {
    for (const int signal : {SIGINT, SIGTERM, SIGABRT, SIGSEGV}) {
        const Ended ended = run_with_library(signal);
        CHECK(WIFSIGNALED(ended.status));
        CHECK(WTERMSIG(ended.status) == signal);
        CHECK(ranges_of(ended.trace).count("outer") == 1);
        CHECK(ranges_of(ended.trace).size() == 4);
        REQUIRE(ended.trace.notes.size() == 1);
        CHECK_THAT(ended.trace.notes[0], contains_text("rank 2: did not end normally"));
    }
}

TEST_CASE("SIGKILL leaves a file that can be read") {
    const Ended ended = run_with_library(SIGKILL);
    CHECK(WTERMSIG(ended.status) == SIGKILL);
    CHECK(ended.trace.read.damage.empty());
}
