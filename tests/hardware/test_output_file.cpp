// A file is replaced whole or not at all, whoever else writes it and wherever links lead.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "hardware/output_file.h"
#include "tests/catch.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

namespace ridge::test {
namespace {

namespace fs = std::filesystem;

std::size_t files_in(const std::string& folder) {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_CASE("four writers of one file leave the whole content of one of them") {
    const TemporaryFolder folder;
    const std::string path = folder.file("chart.svg");
    REQUIRE(replace_file(path, "first").empty());
    constexpr int writers = 4;
    constexpr std::size_t size = std::size_t{1} << 18;
    std::atomic<bool> failed = false;
    std::atomic<int> at_work = writers;
    std::vector<std::thread> threads;
    for (int i = 0; i < writers; ++i) {
        threads.emplace_back([&, i] {
            const std::string bytes(size + static_cast<std::size_t>(i), static_cast<char>('a' + i));
            for (int turn = 0; turn < 20; ++turn) {
                if (!replace_file(path, bytes).empty()) failed = true;
            }
            --at_work;
        });
    }
    int seen = 0;
    do {
        const std::string now = text_of(path);
        ++seen;
        const bool whole =
            now == "first" ||
            (now.size() == size + static_cast<std::size_t>(now.front() - 'a') &&
             std::all_of(now.begin(), now.end(), [&](char c) { return c == now.front(); }));
        if (!whole) failed = true;
    } while (at_work > 0);
    for (std::thread& thread : threads) thread.join();
    CHECK_FALSE(failed);
    CHECK(seen > 0);
    CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("other files beside the target stay as they are") {
    const TemporaryFolder folder;
    const std::string path = folder.file("chart.svg");
    folder.write("chart.svg.part", "the user's own");
    folder.write("elsewhere", "not to be touched");
    REQUIRE(replace_file(path, "new").empty());
    CHECK(text_of(path) == "new");
    CHECK(text_of(folder.file("chart.svg.part")) == "the user's own");
    fs::remove(folder.file("chart.svg.part"));
    fs::create_symlink(folder.file("elsewhere"), folder.file("chart.svg.part"));
    REQUIRE(replace_file(path, "newer").empty());
    CHECK(text_of(path) == "newer");
    CHECK(text_of(folder.file("elsewhere")) == "not to be touched");
}

TEST_CASE("a link stays and its target is written, with the mode that it has") {
    const TemporaryFolder folder;
    fs::create_directory(folder.file("real"));
    const std::string target = folder.file("real/target.svg");
    folder.write("real/target.svg", "old");
    REQUIRE(::chmod(target.c_str(), 0640) == 0);
    const std::string link = folder.file("link.svg");
    fs::create_symlink("real/target.svg", link);
    REQUIRE(replace_file(link, "new").empty());
    CHECK(fs::is_symlink(link));
    CHECK(text_of(target) == "new");
    struct stat found {};
    REQUIRE(::stat(target.c_str(), &found) == 0);
    CHECK((found.st_mode & 0777) == 0640);
    const std::string dangling = folder.file("dangling.svg");
    fs::create_symlink("real/made.svg", dangling);
    REQUIRE(replace_file(dangling, "made").empty());
    CHECK(text_of(folder.file("real/made.svg")) == "made");
}

TEST_CASE("what cannot be written is said at once") {
    const TemporaryFolder folder;
    fs::create_symlink("b", folder.file("a"));
    fs::create_symlink("a", folder.file("b"));
    CHECK_FALSE(replace_file(folder.file("a"), "x").empty());
    CHECK_FALSE(replace_file(folder.path(), "x").empty());
    CHECK_FALSE(replace_file(folder.file("no/such/folder"), "x").empty());
    CHECK_FALSE(replace_file(folder.file(std::string(300, 'n')), "x").empty());
    const std::string longest(255, 'n');
    CHECK(replace_file(folder.file(longest), "x").empty());
    CHECK(text_of(folder.file(longest)) == "x");
    const std::string pipe = folder.file("pipe");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(replace_file(pipe, "x") == "nothing reads this pipe");
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK);
    REQUIRE(reader >= 0);
    CHECK(replace_file(pipe, "text").empty());
    std::string read(4, ' ');
    CHECK(::read(reader, read.data(), read.size()) == 4);
    CHECK(read == "text");
    ::close(reader);
    CHECK(replace_file("/dev/full", "x") == "No space left on device");
    CHECK(replace_file("/dev/null", "x").empty());
}

}  // namespace
}  // namespace ridge::test
