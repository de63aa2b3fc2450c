#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>

#include "plot/roofline.h"
#include "plot/scatter.h"
#include "plot/sweep.h"
#include "plot/terminal.h"
#include "plot/text.h"
#include "tests/catch.h"
#include "tests/plot/samples.h"

using namespace ridge::plot;

namespace {

/// Compares with a file. RIDGE_UPDATE_GOLDEN=1 in the environment rewrites the file; the change is
/// then reviewed as a diff.
void check_golden(const std::string& name, const std::string& text) {
    const std::string path = std::string(RIDGE_GOLDEN_FOLDER) + "/" + name;
    if (std::getenv("RIDGE_UPDATE_GOLDEN") != nullptr) {  // NOLINT(concurrency-mt-unsafe)
        std::ofstream(path, std::ios::binary) << text;
    }
    std::ifstream file(path, std::ios::binary);
    REQUIRE(file);
    const std::string expected((std::istreambuf_iterator<char>(file)), {});
    CHECK(text == expected);
}

void check_width(const std::string& text, int columns) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        INFO(line);
        CHECK(text_columns(line) <= columns);
        CHECK((line.empty() || line.back() != ' '));
    }
}

}  // namespace

TEST_CASE("charts in 80 columns are as recorded", "[terminal][golden]") {
    check_golden("roofline.txt", render_terminal(roofline_chart(samples::predictions())));
    check_golden("comparison.txt", render_terminal(roofline_chart(samples::comparison())));
    check_golden("sweep.txt", render_terminal(sweep_chart(samples::sawtooth())));
    check_golden("scatter.txt", render_terminal(scatter_chart(samples::accuracy())));
    check_golden("roofline_ascii.txt", render_terminal(roofline_chart(samples::predictions()),
                                                       {.charset = Charset::ascii}));
}

TEST_CASE("no line is wider than requested", "[terminal][property]") {
    for (const Chart& chart : samples::all_charts()) {
        for (const int columns : {40, 61, 80, 100, 200}) {
            for (const int rows : {6, 22, 50}) {
                check_width(render_terminal(chart, {.columns = columns, .rows = rows}), columns);
            }
        }
    }
}

TEST_CASE("without Unicode the output is ASCII only", "[terminal]") {
    for (const Chart& chart : samples::all_charts()) {
        for (const char c : render_terminal(chart, {.charset = Charset::ascii})) {
            CHECK((c == '\n' || (c >= ' ' && c <= '~')));
        }
    }
}

TEST_CASE("colour adds escape sequences and nothing else", "[terminal]") {
    const Chart chart = roofline_chart(samples::comparison());
    const std::string plain = render_terminal(chart);
    std::string ansi = render_terminal(chart, {.ink = Ink::ansi});
    CHECK(ansi != plain);
    for (std::size_t at = ansi.find('\x1b'); at != std::string::npos; at = ansi.find('\x1b')) {
        ansi.erase(at, ansi.find('m', at) - at + 1);
    }
    CHECK(ansi == plain);
    CHECK(plain.find('\x1b') == std::string::npos);
}

TEST_CASE("names cannot smuggle escape sequences to the terminal", "[terminal]") {
    const std::string text = render_terminal(roofline_chart(samples::hostile()));
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find('\x01') == std::string::npos);
}

TEST_CASE("every operation is listed", "[terminal]") {
    const Roofline roofline = samples::predictions();
    const std::string text = render_terminal(roofline_chart(roofline));
    for (const OperationPoint& point : roofline.points) {
        CHECK(text.find(point.name) != std::string::npos);
    }
}
