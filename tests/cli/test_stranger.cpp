// Text and files from strangers: what they say cannot run, hang the program or end it unexplained.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <string>

#include "cli/console/screen.h"
#include "cli/console/table.h"
#include "tests/catch.h"
#include "tests/cli/run.h"
#include "tests/support/environment.h"
#include "tests/support/sample.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/whole_file.h"

namespace ridge::test {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

double seconds_of(const std::vector<std::string>& arguments, Transcript& transcript) {
    const auto start = std::chrono::steady_clock::now();
    transcript = run(arguments);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_CASE("Markdown holds no tag and no link of a stranger") {
    for (const std::string name : {"<script>alert(1)</script>", "[x](javascript:alert(1))",
                                   "\\[x](javascript:alert(1))", "a|b"}) {
        CAPTURE(name);
        std::ostringstream out;
        cli::write_markdown(out, {.columns = {{"name"}}, .rows = {{name}}});
        const std::string text = out.str();
        CHECK_FALSE(contains(text, "<"));
        const std::size_t cell = text.rfind("\n| ") + 3;
        for (std::size_t i = cell; i + 2 < text.size(); ++i) {
            if (text[i] != '[' && text[i] != '|') continue;
            // An odd number of backslashes before it.
            std::size_t before = 0;
            while (before < i - cell && text[i - 1 - before] == '\\') ++before;
            CHECK((before % 2 == 1 || i + 3 >= text.size()));
        }
    }
}

TEST_CASE("CSV holds no formula of a stranger, but its numbers as they are") {
    const auto cell = [](const std::string& text) {
        std::string line;
        cli::append_csv_cell(line, text);
        return line;
    };
    for (const std::string formula : {"=cmd|' /C calc'!A0", "@SUM(A1)", "+cmd", "-cmd", "-(1)"}) {
        CHECK(cell(formula).substr(cell(formula).front() == '"' ? 1 : 0, 1) == "'");
    }
    for (const std::string plain : {"-5", "+7.5", "-.5", "-", "-inf", "a=1", "", "-5 % +7 %"}) {
        CHECK(cell(plain) == plain);
    }
    const TemporaryFolder folder;
    const std::string rows = folder.write("rows.csv", "op,elements,name\ncopy,8,=cmd\ncopy,8,a\n");
    for (const std::string jobs : {"1", "2"}) {
        const Transcript answer =
            run({"predict", "--from", rows, "--gpu", "h100-sxm", "--keep", "all", "--jobs", jobs});
        CHECK(contains(answer.out, "copy,8,'=cmd,"));
        CHECK(contains(answer.out, "copy,8,a,"));
    }
}

TEST_CASE("a terminal gets no escape sequence of a stranger") {
    CHECK(cli::shown_on_screen("a\033]0;title\007b\033[2J\n") == "a ]0;title b [2J\n");
    CHECK(cli::shown_on_screen("\033[1mbold\033[0m") == "\033[1mbold\033[0m");
    CHECK(cli::shown_on_screen("\r\033[K12 rows") == "\r\033[K12 rows");
    CHECK(cli::shown_on_screen("a\rb") == "a b");
}

TEST_CASE("huge resources of a kernel are refused at once") {
    for (const char* option : {"--registers", "--threads", "--shared"}) {
        Transcript answer;
        const std::vector<std::string> arguments{"occupancy", "--gpu", "a100-sxm-80gb", "--threads",
                                                 "256",       option,  "1e18"};
        CHECK(seconds_of(arguments, answer) < 5.0);
        CHECK(answer.code == 1);
    }
}

TEST_CASE("a name of 20,000 characters in a page takes a moment") {
    const TemporaryFolder folder;
    for (const std::string& name : {std::string(20000, 'x'), std::string(20000, '<')}) {
        for (const std::string file : {"page.html", "chart.svg"}) {
            Transcript answer;
            const double taken = seconds_of(
                {"roofline", "--gpu", "h100-sxm", "--op", "matmul m=64 n=64 k=64 name=" + name,
                 "--op", "softmax rows=64 cols=64 name=b", "-o", folder.file(file)},
                answer);
            CAPTURE(answer.err.substr(0, 200));
            CHECK(taken < 10.0);
        }
    }
}

TEST_CASE("links that lead nowhere and endless names are errors of their file") {
    const TemporaryFolder folder;
    std::filesystem::create_symlink("b.jsonl", folder.file("a.jsonl"));
    std::filesystem::create_symlink("a.jsonl", folder.file("b.jsonl"));
    for (const std::string& path : {folder.file("a.jsonl"), folder.file(std::string(5000, 'n')),
                                    folder.file(std::string(300, 'n'))}) {
        for (const std::string command : {"validate", "trace", "model", "predict --from"}) {
            std::vector<std::string> arguments = words_of(command);
            arguments.push_back(path);
            arguments.insert(arguments.end(), {"--gpu", "h100-sxm"});
            const Transcript answer = run(arguments);
            CAPTURE(command, answer.err.substr(0, 300));
            CHECK((answer.code == 1 || answer.code == 2));
        }
        const Transcript drawn = run({"roofline", "--gpu", "h100-sxm", "-o", path + ".svg"});
        CHECK((drawn.code == 1 || drawn.code == 2 || path.find("nnn") == std::string::npos));
    }
}

TEST_CASE("a table ends with an error before the memory does") {
    if (one_in() > 1) return;  // under sanitizers a hundred thousand equal rows take minutes
    std::string rows = "op,elements\n";
    for (int i = 0; i < 100'001; ++i) rows += "copy,8\n";
    const TemporaryFolder folder;
    const Transcript answer = run({"predict", "--from", folder.write("rows.csv", rows), "--gpu",
                                   "h100-sxm", "--format", "table"});
    CHECK(answer.code == 2);
    CHECK(contains(answer.err, "at most 100000 rows"));
    CHECK(contains(answer.out, "so far"));
    CHECK_FALSE(contains(answer.out, "\ntotal"));
}

TEST_CASE("milliseconds in a column of microseconds are not fitted") {
    const TemporaryFolder folder;
    std::string table = "op,m,n,k,dtype,measured_us\n";
    for (int i = 1; i <= 40; ++i) {
        // About the time of such a product on an H100, in milliseconds.
        table += "matmul," + std::to_string(1024 * i) + ",4096,4096,bf16," +
                 std::to_string(0.052 * i) + "\n";
    }
    const std::string overlay = folder.file("mine.toml");
    const Transcript refused = run({"calibrate", "--rows", folder.write("times.csv", table),
                                    "--gpu", "h100-sxm", "-o", overlay});
    CAPTURE(refused.err, refused.out);
    CHECK(refused.code == 2);
    CHECK(contains(refused.err, "milliseconds"));
    CHECK_FALSE(std::filesystem::exists(overlay));
}

TEST_CASE("a calibration that changes nothing writes nothing and says so") {
    const TemporaryFolder folder;
    std::string table = "op,elements,measured_us\n";
    for (int i = 1; i <= 13; ++i) table += "copy," + std::to_string(100000 * i) + ",7\n";
    const std::string overlay = folder.file("mine.toml");
    const Transcript answer = run({"calibrate", "--rows", folder.write("times.csv", table), "--gpu",
                                   "h100-sxm", "-o", overlay});
    CAPTURE(answer.err, answer.out);
    if (contains(answer.err, "nothing was fitted")) {
        CHECK(answer.code == 2);
        CHECK_FALSE(std::filesystem::exists(overlay));
    } else {
        CHECK(contains(answer.err, "wrote "));
        CHECK(contains(answer.err, " parameter"));
    }
    CHECK_FALSE(contains(answer.out, "because\n\n"));
}

}  // namespace
}  // namespace ridge::test
