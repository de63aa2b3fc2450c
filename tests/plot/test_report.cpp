// Timelines and report pages: where things are placed, and that a page holds everything.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/error.h"
#include "plot/html.h"
#include "plot/report.h"
#include "plot/roofline.h"
#include "plot/span_layout.h"
#include "plot/svg.h"
#include "plot/timeline.h"
#include "tests/catch.h"
#include "tests/plot/markup.h"
#include "tests/plot/samples.h"

using namespace ridge::plot;

namespace {

Timeline two_lanes() {
    return {
        .title = "Timeline",
        .subtitle = "two streams",
        .unit = "ms",
        .lanes = {"stream 7", "stream <8>"},
        .sorts = {{.name = "gemm", .series = "products", .color = Color::blue, .terms = {}},
                  {.name = "</script>", .series = "copies", .color = Color::orange, .terms = {}}},
        .bars = {{.from = 2.0, .to = 3.0, .lane = 1, .sort = 1},
                 {.from = 0.0, .to = 1.0, .lane = 0, .sort = 0},
                 {.from = 1.0, .to = 1.5, .lane = 0, .sort = 0}},
        .notes = {}};
}

std::size_t count_of(std::string_view part, std::string_view in) {
    std::size_t count = 0;
    for (std::size_t at = in.find(part); at != in.npos; at = in.find(part, at + 1)) ++count;
    return count;
}

/// For each table of a page, the number of cells in each row, headings first.
std::vector<std::vector<std::size_t>> row_widths(const std::string& page) {
    std::vector<std::vector<std::size_t>> tables;
    for (std::size_t at = page.find("<tr"); at != page.npos; at = page.find("<tr", at + 1)) {
        const std::string_view row = std::string_view(page).substr(at, page.find("</tr>", at) - at);
        if (row.find("<th ") != row.npos) tables.emplace_back();
        tables.back().push_back(count_of("<td", row) + count_of("<th ", row));
    }
    return tables;
}

nlohmann::json data_of(const std::string& page) {
    const std::string start = "id=\"data\">";
    const std::size_t from = page.find(start) + start.size();
    return nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
}

}  // namespace

TEST_CASE("the first lane of a timeline is at the top, and bars are sorted by time", "[timeline]") {
    const Chart chart = timeline_chart(two_lanes());
    REQUIRE(chart.spans.size() == 3);
    CHECK(chart.spans[0].from == 0.0);
    CHECK(chart.spans[0].lane == 2.0);
    CHECK(chart.spans[2].lane == 1.0);
    CHECK(chart.y.names == std::vector<std::string>{"stream <8>", "stream 7"});
    CHECK(chart.x_range.low == 0.0);
    CHECK(chart.x_range.high == 3.0);
    REQUIRE(chart.samples.size() == 2);
    CHECK(chart.samples[0].name == "products");
}

TEST_CASE("bars that touch are drawn as one box, others are not", "[timeline]") {
    const Chart chart = timeline_chart(two_lanes());
    const std::vector<PlacedSpan> placed =
        place_spans(chart, {.left = 0.0, .top = 0.0, .right = 300.0, .bottom = 100.0});
    REQUIRE(placed.size() == 2);
    CHECK(placed[0].box.left == 0.0);
    CHECK(placed[0].box.right == Approx(150.0));
    CHECK(placed[0].box.top < placed[1].box.top);
    CHECK(placed[1].box.left == Approx(200.0));
    CHECK(page_of(chart).height < PageSize{}.height);
    CHECK(page_of(Chart{}).height == PageSize{}.height);
}

TEST_CASE("bars that cannot be drawn are errors", "[timeline]") {
    Timeline timeline = two_lanes();
    timeline.bars = {{.from = 0.0, .to = 1.0, .lane = 2, .sort = 0}};
    CHECK_THROWS_AS(timeline_chart(timeline), ridge::InputError);
    timeline.bars = {{.from = 0.0, .to = 1.0, .lane = 0, .sort = 2}};
    CHECK_THROWS_AS(timeline_chart(timeline), ridge::InputError);
    timeline.bars = {{.from = 1.0, .to = 0.5, .lane = 0, .sort = 0}};
    CHECK_THROWS_AS(timeline_chart(timeline), ridge::InputError);
    timeline.bars.clear();
    CHECK(timeline_chart(timeline).x_range.high > 0.0);
}

TEST_CASE("a page of several charts has the data of each chart", "[report]") {
    const std::vector<Chart> charts{timeline_chart(two_lanes()),
                                    roofline_chart(samples::predictions()),
                                    timeline_chart(two_lanes())};
    const nlohmann::json data = data_of(render_html(charts));
    REQUIRE(data["charts"].size() == 3);
    CHECK(data["charts"][0]["spans"].size() == 3);
    CHECK(data["charts"][0]["sorts"][1]["name"] == "</script>");
    CHECK(data["charts"][1]["marks"].size() == charts[1].marks.size());
    CHECK_FALSE(data["charts"][1].contains("spans"));
}

TEST_CASE("charts with the same axes share a table, whose rows are as wide as its headings",
          "[report]") {
    Roofline many = samples::predictions();
    for (int i = 0; i < 20; ++i) {
        many.points.front().terms.push_back(
            {.name = fmt::format("term {}", i), .value = std::to_string(i)});
    }
    Chart other = roofline_chart(samples::predictions());
    other.y.title = "Time";
    const std::vector<Chart> charts{roofline_chart(many), roofline_chart(samples::predictions()),
                                    other};
    const std::vector<std::vector<std::size_t>> tables = row_widths(render_html(charts));
    REQUIRE(tables.size() == 4);  // points and roofs of two kinds of axes
    for (const std::vector<std::size_t>& widths : tables) {
        REQUIRE(widths.size() > 1);
        for (const std::size_t width : widths) CHECK(width == widths.front());
    }
    CHECK(tables[0].front() > tables[2].front());
    CHECK(tables[0].size() > tables[2].size());
    CHECK(render_html(charts).find("term 19: 19</td>") != std::string::npos);
}

TEST_CASE("a report leaves out empty columns", "[report]") {
    Report report{.title = "A step"};
    ReportTable table{
        .caption = "Savings", .note = {}, .columns = {"what", "then", "saves"}, .rows = {}};
    table.rows.push_back(
        {.cells = {{.text = "idle"}, {}, {.text = "69.8 us", .number = 69.8}}, .mark = {}});
    table.rows.push_back({.cells = {{.text = "copies"}, {}, {}}, .mark = {}});
    report.blocks.emplace_back(table);
    const std::string page = render_report(report);
    CHECK(row_widths(page) == std::vector<std::vector<std::size_t>>{{2, 2, 2}});
    CHECK(page.find(">then<") == std::string::npos);
    report.blocks = {
        ReportTable{.caption = "None", .note = {}, .columns = {"what", "then"}, .rows = {}}};
    CHECK(row_widths(render_report(report)) == std::vector<std::vector<std::size_t>>{{2}});
}

TEST_CASE("a report holds figures, tables and charts, and rows find their marks", "[report]") {
    const Chart chart = roofline_chart(samples::comparison());
    Report report{.title = "A <step>",
                  .subtitle = "of training",
                  .figures = {{.name = "kernel time", .value = "1 ms", .number = {}}},
                  .blocks = {}};
    ReportTable table{
        .caption = "Operators", .note = "sorted", .columns = {"operator", "share"}, .rows = {}};
    table.rows.push_back({.cells = {{.text = "<mm>", .number = {}, .share = {}},
                                    {.text = "25 %", .number = 0.25, .share = 0.25}},
                          .mark = chart.marks.front().name});
    table.rows.push_back(
        {.cells = {{.text = "none", .number = {}, .share = {}}, {}}, .mark = "no such mark"});
    report.blocks.emplace_back(timeline_chart(two_lanes()));
    report.blocks.emplace_back(table);
    report.blocks.emplace_back(chart);
    report.blocks.emplace_back(ReportText{.heading = "Damage", .sentences = {"cut & broken"}});
    const std::string page = render_report(report);
    for (const char* part :
         {"<h1>A &lt;step&gt;</h1>", "<dt>kernel time</dt><dd>1 ms</dd>", "<caption>Operators",
          "&lt;mm&gt;</td>", "style=\"--share:25.0%\" data-v=\"0.25\"",
          "<p>cut &amp; broken</p>"}) {
        INFO(part);
        CHECK(page.find(part) != std::string::npos);
    }
    CHECK(page.find("<mm>") == std::string::npos);
    // The index of the measured mark of this name, over the marks of all charts.
    std::size_t item = chart.marks.size();
    for (std::size_t i = 0; i < chart.marks.size(); ++i) {
        if (chart.marks[i].name == chart.marks.front().name &&
            chart.marks[i].origin == Origin::measured) {
            item = i;
        }
    }
    CHECK(page.find("<tr data-i=\"" + std::to_string(item) + "\">") != std::string::npos);
    CHECK(page.find("<tr><td class=\"name\">none") != std::string::npos);
    CHECK(data_of(page)["charts"].size() == 2);
}
