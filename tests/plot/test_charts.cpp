#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "hardware/error.h"
#include "plot/roofline.h"
#include "plot/scatter.h"
#include "plot/svg.h"
#include "plot/sweep.h"
#include "tests/catch.h"
#include "tests/plot/markup.h"
#include "tests/plot/samples.h"

using namespace ridge::plot;

TEST_CASE("ridge points are where the roofs meet", "[roofline]") {
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

TEST_CASE("points that cannot be drawn are left out, and a note says so", "[roofline]") {
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

TEST_CASE("the classes of a sweep differ in colour, marker and dashes", "[sweep]") {
    const Chart chart = sweep_chart(samples::sawtooth());
    CHECK(chart.marks.size() == 450);
    REQUIRE(chart.legend.size() == 4);
    for (std::size_t a = 0; a < 4; ++a) {
        for (std::size_t b = a + 1; b < 4; ++b) {
            CHECK(chart.legend[a].style.color != chart.legend[b].style.color);
            CHECK(chart.legend[a].style.marker != chart.legend[b].style.marker);
            CHECK(chart.legend[a].style.dash != chart.legend[b].style.dash);
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

TEST_CASE("lines join only points of the same run, never two with the same x", "[sweep]") {
    Sweep sweep = {.x = {.title = "n"}, .y = {.title = "t"}};
    sweep.series = {{.name = "s",
                     .points = {{.x = 1, .y = 1, .run = 0},
                                {.x = 1, .y = 9, .run = 1},
                                {.x = 2, .y = 2, .run = 0},
                                {.x = 2, .y = 3, .run = 0},
                                {.x = 4, .y = 5, .run = 2}}}};
    const Chart chart = sweep_chart(sweep);
    REQUIRE(chart.curves.size() == 1);
    REQUIRE(chart.curves[0].vertices.size() == 2);
    CHECK(chart.curves[0].vertices[1].y == 2);
    CHECK(chart.marks.size() == 5);
}

TEST_CASE("the predicted line and the measured points of a class share a legend entry", "[sweep]") {
    Sweep sweep = {.x = {.title = "n"}, .y = {.title = "t"}};
    sweep.series = {{.name = "wgmma",
                     .points = {{.x = 1, .y = 1}, {.x = 2, .y = 3}},
                     .markers = Markers::hidden},
                    {.name = "wgmma",
                     .points = {{.x = 1, .y = 1}},
                     .drawing = Drawing::scatter,
                     .origin = Origin::measured}};
    const Chart chart = sweep_chart(sweep);
    REQUIRE(chart.legend.size() == 1);
    CHECK(chart.legend[0].line);
    CHECK(chart.legend[0].marker == Origin::measured);
    CHECK(chart.samples.size() == 2);
    CHECK(chart.curves[0].style.color == chart.marks[0].style.color);
}

TEST_CASE("the fill of a mark says what it rests on, and the legend explains it", "[sweep]") {
    const auto point = [](double x, std::optional<Origin> origin) {
        return SeriesPoint{.x = x, .y = 1.0, .origin = origin};
    };
    const Sweep sweep{
        .series = {{.name = "predicted",
                    .points = {point(1, Origin::calibrated), point(2, Origin::predicted)},
                    .drawing = Drawing::scatter},
                   {.name = "measured",
                    .points = {point(3, std::nullopt)},
                    .drawing = Drawing::scatter,
                    .origin = Origin::measured}}};
    const Chart chart = sweep_chart(sweep);
    std::vector<std::string> samples;
    for (const LegendEntry& entry : chart.samples) samples.push_back(entry.name);
    CHECK(samples ==
          std::vector<std::string>{"measured", "calibrated", "predicted", calibrated_words});
    // One mark, and its sample in the legend.
    CHECK(markup::count_class(markup::elements_of(render_svg(chart)), "half") == 2);
    // The series takes the fill of its weakest point.
    CHECK(chart.legend.at(0).marker == Origin::predicted);
}

TEST_CASE("scatter charts hold lines at the tolerances, as errors of validate have their sign",
          "[scatter]") {
    const Chart chart = scatter_chart(samples::accuracy());
    CHECK(chart.y_range.low < 0.6);
    CHECK(chart.y_range.high > 1.2);
    CHECK(chart.bands.size() == 2);
    REQUIRE(chart.curves.size() == 5);
    CHECK(chart.curves[0].name == "+20 %");
    CHECK(chart.curves[0].vertices[0].y == Approx(1.2));
    CHECK(chart.curves[1].vertices[0].y == Approx(0.8));
    CHECK(chart.marks.size() == 301);
    Scatter bad = samples::accuracy();
    bad.tolerances = {1.5};
    CHECK_THROWS_AS(scatter_chart(bad), ridge::InputError);
}

TEST_CASE("a scatter of few points shows their bands", "[scatter]") {
    Scatter scatter;
    scatter.groups = {{.name = "g", .points = {{.x = 1, .y = 1.0, .low = 0.9, .high = 1.2}}}};
    CHECK(scatter_chart(scatter).marks[0].high == 1.2);
    scatter.groups[0].points.assign(100, scatter.groups[0].points[0]);
    CHECK_FALSE(scatter_chart(scatter).marks[0].high.has_value());
}

TEST_CASE("the colour of a roof shows its resource, the dashes its source", "[roofline]") {
    const Chart chart = roofline_chart(samples::comparison());
    std::size_t roofs = 0;
    for (const Curve& curve : chart.curves) {
        if (curve.role != CurveRole::roof) continue;
        ++roofs;
        const bool datasheet = curve.name.find("datasheet") != std::string::npos;
        CHECK((curve.style.dash == Dash::dashed) == datasheet);
        for (const Resource resource :
             {Resource::dram, Resource::l2, Resource::shared, Resource::tensor, Resource::fma}) {
            const bool named = curve.name.find(name_of(resource)) != std::string::npos;
            CHECK(named == (curve.style.color == color_of(resource)));
        }
        const auto in_legend = std::any_of(
            chart.samples.begin(), chart.samples.end(),
            [&curve](const LegendEntry& entry) { return entry.name == curve.name && entry.line; });
        CHECK(in_legend);
    }
    CHECK(roofs == 7);
}

TEST_CASE("types that share a roof share its line and its label", "[roofline]") {
    const Chart chart = roofline_chart(samples::comparison());
    const auto shared = std::find_if(chart.curves.begin(), chart.curves.end(), [](const Curve& c) {
        return c.name == "bf16, fp16 tensor 989 TFLOP/s, datasheet";
    });
    CHECK(shared != chart.curves.end());
}

TEST_CASE("many operations are numbered by time and listed in one key", "[roofline]") {
    const Chart chart = roofline_chart(samples::crowd());
    REQUIRE(chart.key.rows.size() == 150);
    CHECK(chart.key.columns == std::vector<std::string>{"operation", "time", "bound"});
    double last = 0.0;
    for (const Mark& mark : chart.marks) CHECK(mark.number > 0);
    for (const Key::Row& row : chart.key.rows) {
        const auto mark =
            std::find_if(chart.marks.begin(), chart.marks.end(),
                         [&row](const Mark& each) { return each.number == row.number; });
        REQUIRE(mark != chart.marks.end());
        CHECK(mark->name == row.cells[0]);
        CHECK(mark->order >= last);
        last = mark->order;
    }
    CHECK(roofline_chart(samples::comparison()).key.rows.empty());
}

TEST_CASE("charts without data have axes", "[charts]") {
    CHECK(roofline_chart({}).x_range.low < roofline_chart({}).x_range.high);
    CHECK(sweep_chart({}).y_range.low < sweep_chart({}).y_range.high);
    CHECK(scatter_chart({}).y_range.low < scatter_chart({}).y_range.high);
}
