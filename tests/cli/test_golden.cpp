// Command-line transcripts. Each file in golden/ starts with "$ ridge ..." and holds what the
// command prints at 80 columns. RIDGE_UPDATE_GOLDEN=1 rewrites the files; the change is then
// reviewed as a diff. The console blocks of README.md and docs/model.md are transcripts too.
// Commands run in the root of the repository.
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>

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

}  // namespace

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
    const std::filesystem::path path =
        GENERATE(as<std::string>(), RIDGE_README, RIDGE_GUIDE, RIDGE_MODEL_PAGE);
    CAPTURE(path.string());
    std::string readme = text_of(path);
    std::size_t commands = 0;
    for (const std::string& block : console_blocks(readme)) {
        if (block.rfind(prompt, 0) != 0) continue;
        const std::string actual = replayed(block);
        commands += prompts_in(block);
        if (std::getenv("RIDGE_UPDATE_GOLDEN") != nullptr) {
            readme.replace(readme.find(block), block.size(), actual);
        } else {
            CHECK(actual == block);
        }
    }
    if (std::getenv("RIDGE_UPDATE_GOLDEN") != nullptr) {
        write_text(path, readme);
    }
    // Every command is in a console block, which was compared above.
    CHECK(commands == prompts_in(readme));
    CHECK(commands >= 1);
}
