#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "hardware/error.h"
#include "plot/roofline.h"
#include "plot/scatter.h"
#include "plot/sweep.h"
#include "tests/catch.h"
#include "tests/plot/samples.h"

using namespace ridge::plot;

TEST_CASE("ridge points stand where the roofs meet", "[roofline]") {
    const Chart chart = roofline_chart(samples::predictions());
    REQUIRE(chart.annotations.size() == 5);
    CHECK(chart.annotations[0].x == Approx(989.4 / 3.35));
    CHECK(chart.annotations[0].text == "ridge 295.3 FLOP/B");
    CHECK(chart.annotations[0].drop_line);
    CHECK(chart.annotations[1].x == Approx(989.4 / 7.6));
    CHECK(chart.annotations[3].x == Approx(66.9 / 3.35));
}

TEST_CASE("the envelope is the lower of the emphasised roofs", "[roofline]") {
    const Chart chart = roofline_chart(samples::predictions());
    const auto envelope =
        std::find_if(chart.curves.begin(), chart.curves.end(),
                     [](const Curve& c) { return c.role == CurveRole::envelope; });
    REQUIRE(envelope != chart.curves.end());
    for (const Vertex& vertex : envelope->vertices) {
        CHECK(vertex.y == Approx(std::min(989.4, 3.35 * vertex.x)));
    }
}

TEST_CASE("memory roofs end at the highest compute roof of their own evidence", "[roofline]") {
    const Chart chart = roofline_chart(samples::comparison());
    for (const Curve& curve : chart.curves) {
        if (curve.role != CurveRole::roof) continue;
        const bool slanted = curve.vertices[0].y < curve.vertices[1].y;
        const double top = curve.style.dash == Dash::solid ? 803.0 : 989.4;
        if (slanted) CHECK(curve.vertices[1].y == Approx(top));
    }
}

TEST_CASE("predicted and measured points of a name are joined and share a label", "[roofline]") {
    const Chart chart = roofline_chart(samples::comparison());
    REQUIRE(chart.marks.size() == 24);
    REQUIRE(chart.links.size() == 12);
    for (const Link& link : chart.links) {
        CHECK(chart.marks[link.from].name == chart.marks[link.to].name);
        CHECK(chart.marks[link.from].origin == Origin::predicted);
        CHECK(chart.marks[link.to].origin == Origin::measured);
        CHECK_FALSE(chart.marks[link.from].labelled);
        CHECK(chart.marks[link.to].labelled);
    }
}

TEST_CASE("what cannot be drawn is left out and said", "[roofline]") {
    Roofline roofline = samples::comparison();
    roofline.points[1].y = std::numeric_limits<double>::quiet_NaN();
    roofline.points[3].x = 0.0;
    roofline.points[4].y = std::numeric_limits<double>::infinity();
    const Chart chart = roofline_chart(roofline);
    CHECK(chart.marks.size() == 21);
    CHECK(chart.links.size() == 9);
    for (const Link& link : chart.links)
        CHECK(chart.marks[link.from].name == chart.marks[link.to].name);
    CHECK(chart.notes.back() == "3 points are not drawn: outside the axes.");
}

TEST_CASE("a roof must be a positive number", "[roofline]") {
    for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
        Roofline roofline = samples::predictions();
        roofline.memory[1].slope = bad;
        CHECK_THROWS_AS(roofline_chart(roofline), ridge::InputError);
    }
}

TEST_CASE("every point lies within the automatic axes", "[roofline][property]") {
    for (int exponent = -12; exponent <= 12; exponent += 2) {
        const double scale = std::pow(10.0, exponent);
        Roofline roofline = samples::predictions();
        for (OperationPoint& point : roofline.points) point.y *= scale;
        CHECK(roofline_chart(roofline).marks.size() == roofline.points.size());
    }
}

TEST_CASE("a sweep keeps its classes apart in colour, marker and dashes", "[sweep]") {
    const Chart chart = sweep_chart(samples::sawtooth());
    CHECK(chart.marks.size() == 450);
    REQUIRE(chart.side.size() == 4);
    for (std::size_t a = 0; a < 4; ++a) {
        for (std::size_t b = a + 1; b < 4; ++b) {
            CHECK(chart.side[a].style.color != chart.side[b].style.color);
            CHECK(chart.side[a].style.marker != chart.side[b].style.marker);
            CHECK(chart.side[a].style.dash != chart.side[b].style.dash);
        }
    }
    CHECK(chart.y_range.low == 0.0);
    CHECK(chart.y_range.high > 312.0);
}

TEST_CASE("steps turn at right angles", "[sweep]") {
    Sweep sweep = {.x = {.title = "n"}, .y = {.title = "t"}};
    sweep.series = {
        {.name = "s", .points = {{.x = 1, .y = 1}, {.x = 2, .y = 3}}, .drawing = Drawing::steps}};
    const Chart chart = sweep_chart(sweep);
    REQUIRE(chart.curves.size() == 1);
    REQUIRE(chart.curves[0].vertices.size() == 3);
    CHECK(chart.curves[0].vertices[1].x == 2);
    CHECK(chart.curves[0].vertices[1].y == 1);
}

TEST_CASE("scatter charts share one range and hold the bands", "[scatter]") {
    const Chart chart = scatter_chart(samples::accuracy());
    CHECK(chart.x_range.low == chart.y_range.low);
    CHECK(chart.x_range.high == chart.y_range.high);
    CHECK(chart.bands.size() == 2);
    CHECK(chart.curves.size() == 5);
    CHECK(chart.marks.size() == 301);
    Scatter bad = samples::accuracy();
    bad.tolerances = {1.5};
    CHECK_THROWS_AS(scatter_chart(bad), ridge::InputError);
}

TEST_CASE("charts without data have axes", "[charts]") {
    CHECK(roofline_chart({}).x_range.low < roofline_chart({}).x_range.high);
    CHECK(sweep_chart({}).y_range.low < sweep_chart({}).y_range.high);
    CHECK(scatter_chart({}).y_range.low < scatter_chart({}).y_range.high);
}
