#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "plot/html.h"
#include "plot/process.h"
#include "plot/roofline.h"
#include "plot/scatter.h"
#include "plot/svg.h"
#include "plot/sweep.h"
#include "tests/catch.h"
#include "tests/plot/markup.h"
#include "tests/plot/samples.h"

using namespace ridge::plot;

TEST_CASE("every chart is well-formed and draws each point, roof and ridge", "[svg]") {
    for (const Chart& chart : samples::all_charts()) {
        const auto elements = markup::elements_of(render_svg(chart));
        CHECK(markup::count_class(elements, "point") == static_cast<int>(chart.marks.size()));
        CHECK(markup::count_class(elements, "ridge") == static_cast<int>(chart.annotations.size()));
        CHECK(markup::count_class(elements, "link") == static_cast<int>(chart.links.size()));
        CHECK(markup::count_class(elements, "side") ==
              static_cast<int>(std::min<std::size_t>(chart.legend.size(), 16)));
        int roofs = 0;
        for (const Curve& curve : chart.curves) roofs += curve.role == CurveRole::roof ? 1 : 0;
        CHECK(markup::count_class(elements, "roof") == roofs);
    }
}

// Hidden, because ctest runs it as a test of its own, which it can report as skipped.
TEST_CASE("xmllint accepts every chart", "[.][xmllint]") {
    for (const Chart& chart : samples::all_charts()) {
        const ProcessResult result = run_process({"xmllint", "--noout", "-"}, render_svg(chart));
        if (!result.started || result.exit_code == 127) {
            WARN("skipped: xmllint is not installed; the tests' own reader stands in");
            return;
        }
        INFO(result.errors);
        CHECK(result.exit_code == 0);
    }
}

TEST_CASE("a chart refers to nothing outside itself and has a title", "[svg]") {
    for (const Chart& chart : samples::all_charts()) {
        std::string svg = render_svg(chart);
        const std::string allowed = "http://www.w3.org/2000/svg";
        svg.erase(svg.find(allowed), allowed.size());
        for (const char* needle :
             {"http:", "https:", "url(", "@import", "href=", "<image", "<script"}) {
            INFO(needle);
            CHECK(svg.find(needle) == std::string::npos);
        }
        const auto elements = markup::elements_of(render_svg(chart));
        REQUIRE(elements.size() > 3);
        CHECK(elements[1].name == "title");
        CHECK(elements[2].name == "desc");
    }
}

TEST_CASE("names are text, whatever they contain", "[svg]") {
    const auto elements = markup::elements_of(render_svg(roofline_chart(samples::hostile())));
    CHECK(markup::has_text(elements, "<script>alert(1)</script>"));
    CHECK(markup::has_text(elements, "a & b \"quoted\" 'single'"));
    CHECK(markup::has_text(elements, "größe 矩阵乘法 🚀"));
    for (const markup::Element& element : elements) CHECK(element.name != "script");
}

TEST_CASE("a name too long for a label is numbered, and complete in the key", "[svg]") {
    const std::string svg = render_svg(roofline_chart(samples::hostile()));
    CHECK(svg.find(std::string(300, 'W')) != std::string::npos);
    CHECK(svg.find("…") == std::string::npos);
}

TEST_CASE("several charts share one page", "[svg]") {
    Roofline roofline = samples::predictions();
    roofline.points.resize(2);
    const std::vector<Chart> few(2, roofline_chart(roofline));
    const std::vector<Chart> many(5, few.front());
    const auto width = [](const std::vector<Chart>& charts) {
        return markup::elements_of(render_svg(charts)).at(0).attributes.at("width");
    };
    CHECK(width(few) == "960");
    CHECK(width(many) == "1920");
    // A page of many charts is about as wide as it is high.
    const auto poster =
        markup::elements_of(render_svg(std::vector<Chart>(30, few.front()))).at(0).attributes;
    const double shape = std::stod(poster.at("height")) / std::stod(poster.at("width"));
    CHECK(shape > 0.5);
    CHECK(shape < 2.0);
    CHECK(markup::count_class(markup::elements_of(render_svg(many)), "point") == 10);
}

TEST_CASE("coordinates have at most two decimals, and the output is repeatable", "[svg]") {
    const Chart chart = roofline_chart(samples::comparison());
    const std::string svg = render_svg(chart);
    CHECK(svg == render_svg(chart));
    for (const markup::Element& element : markup::elements_of(svg)) {
        const auto path = element.attributes.find("d");
        if (path == element.attributes.end()) continue;
        std::size_t decimals = 0;
        bool after_point = false;
        for (const char c : path->second) {
            const bool digit = c >= '0' && c <= '9';
            decimals = digit && after_point ? decimals + 1 : 0;
            after_point = c == '.' || (digit && after_point);
            CHECK(decimals <= 2);
            CHECK(c != 'n');  // as in nan or inf
        }
    }
}

TEST_CASE("the page's data are JSON that matches the chart", "[html]") {
    const Chart chart = roofline_chart(samples::hostile());
    const std::string html = render_html(std::span(&chart, 1));
    const std::string begin = "<script type=\"application/json\" id=\"data\">";
    const std::size_t from = html.find(begin) + begin.size();
    const auto data = nlohmann::json::parse(html.substr(from, html.find("</script>", from) - from));
    const auto& items = data["items"];
    REQUIRE(items.size() == items_of(chart).size());
    REQUIRE(data["charts"].size() == 1);
    CHECK(data["charts"][0]["marks"].size() == chart.marks.size());
    CHECK(data["charts"][0]["curves"].size() == chart.curves.size());
    CHECK(items[0]["name"] == "<script>alert(1)</script>");
    CHECK(items[0]["terms"][3][1] == "</script><b>");
    CHECK(html.find("<script>alert") == std::string::npos);
    CHECK(html.find("Content-Security-Policy") != std::string::npos);
}

TEST_CASE("items list their coordinates first", "[html]") {
    const auto items = items_of(roofline_chart(samples::comparison()));
    CHECK(items[1].kind == "measured");
    CHECK(items[1].terms[0].name == "Arithmetic intensity");
    CHECK(items[1].terms[2].name == "Range");
    CHECK(items.back().kind == "ridge");
}
