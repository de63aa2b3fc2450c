// The CSV reader alone: quoting, line breaks, limits and arbitrary bytes.
#include <algorithm>
#include <random>
#include <sstream>
#include <string>

#include "cli/console/table.h"
#include "cli/options/sweep_range.h"
#include "hardware/error.h"
#include "hardware/input_file.h"
#include "measure/record/csv_reader.h"
#include "tests/catch.h"
#include "tests/support/faulty_streams.h"
#include "tests/support/text.h"

using ridge::measure::CsvReader;

namespace {

std::vector<std::vector<std::string>> read_all(const std::string& text) {
    std::istringstream stream(text);
    CsvReader reader(stream, "test");
    std::vector<std::vector<std::string>> rows;
    while (reader.next()) rows.emplace_back(reader.cells().begin(), reader.cells().end());
    return rows;
}

}  // namespace

TEST_CASE("cells follow RFC 4180") {
    CHECK(read_all("a,b\n1,2\n") == std::vector<std::vector<std::string>>{{"a", "b"}, {"1", "2"}});
    CHECK(read_all("a,b\r\n1,\r\n") ==
          std::vector<std::vector<std::string>>{{"a", "b"}, {"1", ""}});
    CHECK(read_all("\"a,\"\"x\"\"\",\"\"\n") ==
          std::vector<std::vector<std::string>>{{"a,\"x\"", ""}});
    CHECK(read_all("\"a\nb\",c") == std::vector<std::vector<std::string>>{{"a\nb", "c"}});
    CHECK(read_all("").empty());
    CHECK(read_all("\n\n\r\n").empty());
}

TEST_CASE("line numbers count quoted line breaks") {
    std::istringstream stream("h\n\"a\nb\"\nc\n");
    CsvReader reader(stream, "test");
    REQUIRE(reader.next());
    CHECK(reader.line() == 1);
    REQUIRE(reader.next());
    CHECK(reader.line() == 2);
    REQUIRE(reader.next());
    CHECK(reader.line() == 4);
}

namespace {

struct Row {
    std::int64_t line;
    std::vector<std::string> cells;
    std::string problem;
};

std::vector<Row> rows_of(const std::string& text) {
    std::istringstream stream(text);
    CsvReader reader(stream, "test");
    std::vector<Row> rows;
    while (reader.next()) {
        rows.push_back(
            {reader.line(), {reader.cells().begin(), reader.cells().end()}, reader.problem()});
    }
    return rows;
}

}  // namespace

TEST_CASE("a broken row does not affect other rows") {
    for (const char* broken : {"1,\"2", "\"1\"x,2", "1,2\"", "1,a\"b\"c", "\"", "1,\"\"\"",
                               "\"a\" ,b", "\"a\"\r,b", " \"a\",b"}) {
        CAPTURE(broken);
        const auto rows = rows_of("a,b\n" + std::string(broken) + "\n3,4\r\n5,6");
        REQUIRE(rows.size() == 4);
        CHECK(rows[1].problem != "");
        CHECK(rows[1].line == 2);
        CHECK(rows[2].problem.empty());
        CHECK(rows[2].line == 3);
        CHECK(rows[2].cells == std::vector<std::string>{"3", "4"});
        CHECK(rows[3].line == 4);
        CHECK(rows[3].cells == std::vector<std::string>{"5", "6"});
    }
}

TEST_CASE("a quote that is never closed breaks only its own row") {
    const auto rows = rows_of("\"1,2\n3,4\n\"5\",6\n\"7\n8\",9\n");
    REQUIRE(rows.size() == 4);
    CHECK(rows[0].problem == "text follows a closing quote");
    CHECK(rows[1].cells == std::vector<std::string>{"3", "4"});
    CHECK(rows[2].cells == std::vector<std::string>{"5", "6"});
    CHECK(rows[3].cells == std::vector<std::string>{"7\n8", "9"});
    CHECK(rows[3].line == 4);
}

TEST_CASE("quoted cells of every kind") {
    using Cells = std::vector<std::string>;
    const std::vector<std::pair<std::string, Cells>> cases{
        {"\"\"", {""}},
        {"\"\",\"\"", {"", ""}},
        {"\"\"\"\"", {"\""}},
        {"\"a\"\"\",b", {"a\"", "b"}},
        {"\",\n\r\n\",x", {",\n\r\n", "x"}},
        {"a,\"b\"\r", {"a", "b"}},
        {"\"a\"\r\n", {"a"}},
        {"a,", {"a", ""}},
        {",", {"", ""}},
        {"a\rb,c", {"a\rb", "c"}},
        {std::string("a\0b,\"c\0\"", 8), {std::string("a\0b", 3), std::string("c\0", 2)}},
        {"\xFF\xFF,\"\xC3\"", {"\xFF\xFF", "\xC3"}}};
    for (const auto& [text, cells] : cases) {
        CAPTURE(text);
        const auto rows = rows_of(text);
        REQUIRE(rows.size() == 1);
        CHECK(rows[0].problem.empty());
        CHECK(rows[0].cells == cells);
    }
}

TEST_CASE("a row over 1 MiB is broken and later rows are read") {
    const std::string filler(3U << 20U, 'x');
    const auto plain = rows_of("a\n" + filler + "\nb\n");
    REQUIRE(plain.size() == 3);
    CHECK_THAT(plain[1].problem, contains_text("1 MiB"));
    CHECK(plain[1].cells.empty());
    CHECK(plain[2].cells == std::vector<std::string>{"b"});
    CHECK(plain[2].line == 3);
    const auto quoted = rows_of("a\n\"\n" + filler + "\nb\n");
    REQUIRE(quoted.size() == 4);
    CHECK_THAT(quoted[1].problem, contains_text("1 MiB"));
    CHECK(quoted[3].cells == std::vector<std::string>{"b"});
    CHECK(rows_of(filler).size() == 1);
}

TEST_CASE("a quoted cell may cross the chunks in which a file is read") {
    for (const std::size_t length : {262140U, 262143U, 262144U, 262145U, 600000U}) {
        CAPTURE(length);
        const std::string inside(length, 'y');
        const auto rows = rows_of("1,\"" + inside + "\"\"\n\"\r\n2,3\n");
        REQUIRE(rows.size() == 2);
        CHECK(rows[0].cells == std::vector<std::string>{"1", inside + "\"\n"});
        CHECK(rows[1].cells == std::vector<std::string>{"2", "3"});
        CHECK(rows[1].line == 3);
    }
}

TEST_CASE("a read error is not taken for the end of the file") {
    ridge::test::FailingInput buffer("op,elements\ncopy,1000\ncopy,1");
    std::istream stream(&buffer);
    CHECK_THROWS_WITH(CsvReader(stream, "disk.csv"),
                      contains_text("disk.csv:1: cannot read further"));

    const std::string row = "copy,1000\n";
    std::string rows;
    while (rows.size() <= 600000) rows += row;
    ridge::test::FailingInput longer(rows + "copy,1");
    std::istream later(&longer);
    CsvReader reader(later, "disk.csv");
    std::size_t count = 0;
    const auto read_all_rows = [&] {
        while (reader.next()) {
            REQUIRE(reader.raw() == "copy,1000");
            ++count;
        }
    };
    CHECK_THROWS_WITH(read_all_rows(), contains_text("cannot read further"));
    CHECK(count >= 26214);
}

TEST_CASE("errors name a folder, a missing file and UTF-16 as such") {
    CHECK_THROWS_WITH(ridge::open_input("/tmp"), contains_text("is a folder"));
    CHECK_THROWS_WITH(ridge::open_input("/nonexistent/x.csv"), contains_text("No such file"));
    std::istringstream wide(
        std::string("\xFF\xFE"
                    "o\0p\0",
                    6));
    CHECK_THROWS_WITH(CsvReader(wide, "wide.csv"), contains_text("UTF-16"));
}

TEST_CASE("any bytes: every line belongs to a row, and each row begins at the line it states") {
    std::mt19937 random(11);
    const std::string alphabet = "a,\"\n\r";
    for (int round = 0; round < 20000; ++round) {
        std::string text;
        for (std::size_t n = random() % 24; n > 0; --n) {
            text += alphabet[random() % alphabet.size()];
        }
        CAPTURE(text);
        const std::vector<std::string> lines = ridge::test::lines_of(text);
        std::int64_t last = 0;
        for (const Row& row : rows_of(text)) {
            // Lines between two rows are empty, so nothing is skipped.
            if (row.line <= last) FAIL("rows overlap");
            REQUIRE(static_cast<std::size_t>(row.line) <= lines.size());
            for (std::int64_t line = last; line + 1 < row.line; ++line) {
                const std::string& between = lines[static_cast<std::size_t>(line)];
                REQUIRE((between.empty() || between == "\r"));
            }
            last = row.line;
            for (const std::string& cell : row.cells) {
                if (row.problem.empty()) last += std::count(cell.begin(), cell.end(), '\n');
            }
        }
    }
}

TEST_CASE("cells are read back as they were written, whatever they hold") {
    std::mt19937 random(7);
    const std::string alphabet = "ab,\"\n\r x";
    for (int round = 0; round < 500; ++round) {
        std::vector<std::string> cells(1 + random() % 5);
        for (std::string& cell : cells) {
            for (std::size_t n = random() % 6; n > 0; --n) {
                cell += alphabet[random() % alphabet.size()];
            }
        }
        cells.front() = "first" + cells.front();
        std::string line;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (i > 0) line += ',';
            ridge::cli::append_csv_cell(line, cells[i]);
        }
        const auto rows = read_all(line + "\n");
        REQUIRE(rows.size() == 1);
        CHECK(rows.front() == cells);
    }
}

TEST_CASE("ranges of a sweep") {
    using ridge::cli::parse_range;
    CHECK(parse_range("m", "2:8:3").values == std::vector<std::int64_t>{2, 5, 8});
    CHECK(parse_range("m", "1:3").values == std::vector<std::int64_t>{1, 2, 3});
    CHECK(parse_range("m", "1:9:*2").values == std::vector<std::int64_t>{1, 2, 4, 8});
    CHECK(parse_range("m", "1:9:x2").values == std::vector<std::int64_t>{1, 2, 4, 8});
    CHECK(parse_range("m", "7,5").values == std::vector<std::int64_t>{7, 5});
    CHECK(parse_range("m", "@k").follows == "k");
    CHECK(parse_range("m", "9223372036854775806:9223372036854775807").values.size() == 2);
    for (const char* text : {"", "1:", ":5", "1:2:3:4", "1:5:-1", "0:5:*2", "1:5:*1", "a:b",
                             "1:9223372036854775807"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_range("m", text), ridge::InputError);
    }
}
