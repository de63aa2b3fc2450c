// Command-line transcripts. Each file in golden/ starts with "$ ridge ..." and holds what the
// command prints at 80 columns. RIDGE_UPDATE_GOLDEN=1 rewrites the files; the change is then
// reviewed as a diff. The console blocks of README.md and docs/model.md are transcripts too.
// Commands run in the root of the repository.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/whole_file.h"

using ridge::test::text_of;
using ridge::test::write_text;

namespace {

constexpr std::string_view prompt = "$ ridge ";

/// The transcript, with what the program prints now below each prompt.
std::string replayed(const std::string& transcript) {
    std::filesystem::current_path(RIDGE_ROOT);
    std::istringstream stream(transcript);
    std::string result;
    std::string command;
    const auto finish = [&result, &command] {
        if (command.empty()) return;
        const auto run = ridge::test::run_line(command);
        result += run.out + run.err;
        command.clear();
    };
    for (std::string line; std::getline(stream, line);) {
        if (line.rfind(prompt, 0) != 0) continue;
        finish();
        if (!result.empty()) result += '\n';
        result += line + '\n';
        command = line.substr(prompt.size());
        while (!command.empty() && command.back() == '\\' && std::getline(stream, line)) {
            result += line + '\n';
            command.back() = ' ';
            command += line;
        }
    }
    finish();
    return result;
}

/// The number of lines that begin with a prompt.
std::size_t prompts_in(const std::string& text) {
    std::size_t prompts = 0;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) prompts += line.rfind(prompt, 0) == 0;
    return prompts;
}

/// Console blocks of a Markdown file, with their prompts.
std::vector<std::string> console_blocks(const std::string& markdown) {
    std::vector<std::string> blocks;
    std::istringstream stream(markdown);
    bool inside = false;
    for (std::string line; std::getline(stream, line);) {
        if (line == "```console") {
            inside = true;
            blocks.emplace_back();
        } else if (line == "```") {
            inside = false;
        } else if (inside) {
            blocks.back() += line + '\n';
        }
    }
    return blocks;
}

/// Whether the program's output is what a block shows. A line "..." stands for any lines left out; what is shown
/// are whole lines, in their order.
bool shows(const std::string& block, const std::string& actual) {
    constexpr std::string_view left_out = "...\n";
    std::size_t place = 0;
    bool gap = false;
    std::string part;
    const auto found = [&](bool last) {
        if (part.empty()) return gap || !last || place == actual.size();
        const std::size_t at = gap ? actual.find('\n' + part, place > 0 ? place - 1 : 0) : place;
        if (at == std::string::npos || actual.compare(gap ? at + 1 : at, part.size(), part) != 0) {
            return false;
        }
        place = (gap ? at + 1 : at) + part.size();
        part.clear();
        return !last || place == actual.size();
    };
    std::istringstream stream(block);
    for (std::string line; std::getline(stream, line);) {
        if (line + '\n' != left_out) {
            part += line + '\n';
            continue;
        }
        if (!found(false)) return false;
        gap = true;
    }
    return found(true);
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

/// The block with today's output. Where it leaves out lines, each part shows as many as before, from the line that
/// begins most like its first.
std::string updated(const std::string& block, const std::string& actual) {
    const std::vector<std::string> shown = lines_of(block);
    if (std::find(shown.begin(), shown.end(), "...") == shown.end()) return actual;
    const std::vector<std::string> lines = lines_of(actual);
    const auto alike = [](const std::string& a, const std::string& b) {
        return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
    };
    std::string result;
    std::size_t next = 0;
    bool inside = false;
    for (const std::string& line : shown) {
        if (!inside && line != "...") {
            const auto best = std::max_element(
                lines.begin() + static_cast<std::ptrdiff_t>(std::min(next, lines.size())),
                lines.end(), [&](const std::string& a, const std::string& b) {
                    return alike(a, line) < alike(b, line);
                });
            next = static_cast<std::size_t>(best - lines.begin());
        }
        inside = line != "...";
        result += (!inside               ? std::string("...")
                   : next < lines.size() ? lines[next++]
                                         : std::string()) +
                  '\n';
    }
    return result;
}

}  // namespace

TEST_CASE("a block that leaves out lines shows the others as they are") {
    const std::string actual = "a\nb\nc\nd\n";
    CHECK(shows("a\nb\nc\nd\n", actual));
    CHECK(shows("a\n...\nc\n...\n", actual));
    CHECK(shows("a\n...\n", actual));
    CHECK(shows("a\n...\nd\n", actual));
    CHECK_FALSE(shows("a\nb\n", actual));
    CHECK_FALSE(shows("a\n...\nc\n", actual));
    CHECK_FALSE(shows("b\n...\n", actual));
    CHECK_FALSE(shows("a\n...\nx\n...\n", actual));
    CHECK_FALSE(shows("a\n...\nc\n...\nb\n...\n", actual));
    CHECK(updated("a 1\n...\nc 2\n...\n", "a 3\nb 1\nc 4\nd\n") == "a 3\n...\nc 4\n...\n");
}

TEST_CASE("the program prints the golden transcripts") {
    const std::filesystem::path folder = RIDGE_GOLDEN_FOLDER;
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        CAPTURE(entry.path().filename().string());
        const std::string expected = text_of(entry.path());
        CHECK(expected.rfind(prompt, 0) == 0);
        const std::string actual = replayed(expected);
        if (std::getenv("RIDGE_UPDATE_GOLDEN") != nullptr) {
            write_text(entry.path(), actual);
        } else {
            CHECK(actual == expected);
        }
        ++count;
    }
    CHECK(count == 36);
}

TEST_CASE("README and docs show what the program prints") {
    const std::filesystem::path path = GENERATE(
        as<std::string>(), RIDGE_README, RIDGE_GUIDE, RIDGE_MODEL_PAGE, RIDGE_ROOT "/docs/plan.md",
        RIDGE_ROOT "/docs/diagnose.md", RIDGE_ROOT "/docs/kernel.md");
    CAPTURE(path.string());
    std::string readme = text_of(path);
    std::size_t commands = 0;
    for (const std::string& block : console_blocks(readme)) {
        if (block.rfind(prompt, 0) != 0) continue;
        const std::string actual = replayed(block);
        commands += prompts_in(block);
        if (shows(block, actual)) continue;
        if (std::getenv("RIDGE_UPDATE_GOLDEN") != nullptr) {
            readme.replace(readme.find(block), block.size(), updated(block, actual));
        } else {
            CHECK(actual == block);  // says where they differ
        }
    }
    if (std::getenv("RIDGE_UPDATE_GOLDEN") != nullptr) {
        write_text(path, readme);
    }
    // Every command is in a console block, which was compared above.
    CHECK(commands == prompts_in(readme));
    CHECK(commands >= 1);
}
