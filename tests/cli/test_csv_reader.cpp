// The CSV reader on its own: quoting, line breaks, limits, and any bytes.
#include <random>
#include <sstream>
#include <string>

#include "cli/input/csv_reader.h"
#include "cli/options/sweep_range.h"
#include "cli/views/table.h"
#include "hardware/error.h"
#include "tests/catch.h"

using ridge::cli::CsvReader;

namespace {

std::vector<std::vector<std::string>> read_all(const std::string& text) {
    std::istringstream stream(text);
    CsvReader reader(stream, "test");
    std::vector<std::vector<std::string>> rows;
    while (reader.next()) rows.emplace_back(reader.cells().begin(), reader.cells().end());
    return rows;
}

}  // namespace

TEST_CASE("cells by RFC 4180") {
    CHECK(read_all("a,b\n1,2\n") == std::vector<std::vector<std::string>>{{"a", "b"}, {"1", "2"}});
    CHECK(read_all("a,b\r\n1,\r\n") ==
          std::vector<std::vector<std::string>>{{"a", "b"}, {"1", ""}});
    CHECK(read_all("\"a,\"\"x\"\"\",\"\"\n") ==
          std::vector<std::vector<std::string>>{{"a,\"x\"", ""}});
    CHECK(read_all("\"a\nb\",c") == std::vector<std::vector<std::string>>{{"a\nb", "c"}});
    CHECK(read_all("").empty());
    CHECK(read_all("\n\n\r\n").empty());
}

TEST_CASE("lines are counted through quoted line breaks") {
    std::istringstream stream("h\n\"a\nb\"\nc\n");
    CsvReader reader(stream, "test");
    REQUIRE(reader.next());
    CHECK(reader.line() == 1);
    REQUIRE(reader.next());
    CHECK(reader.line() == 2);
    REQUIRE(reader.next());
    CHECK(reader.line() == 4);
}

TEST_CASE("a row over 1 MiB is refused with its line") {
    std::istringstream stream("a\n\"" + std::string(3U << 20U, 'x'));
    CsvReader reader(stream, "big.csv");
    REQUIRE(reader.next());
    CHECK_THROWS_WITH(static_cast<void>(reader.next()), contains_text("big.csv:2"));
}

TEST_CASE("what is written is read back, whatever the cells hold") {
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
    CHECK(parse_range("m", "7,5").values == std::vector<std::int64_t>{7, 5});
    CHECK(parse_range("m", "@k").follows == "k");
    CHECK(parse_range("m", "9223372036854775806:9223372036854775807").values.size() == 2);
    for (const char* text : {"", "1:", ":5", "1:2:3:4", "1:5:-1", "0:5:*2", "1:5:*1", "a:b",
                             "1:9223372036854775807"}) {
        CAPTURE(text);
        CHECK_THROWS_AS(parse_range("m", text), ridge::InputError);
    }
}
