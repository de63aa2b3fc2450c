#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "plot/layout.h"
#include "plot/roofline.h"
#include "plot/scatter.h"
#include "plot/sweep.h"
#include "tests/catch.h"
#include "tests/plot/samples.h"
#include "tests/support/sample.h"

using namespace ridge::plot;
using ridge::test::Sample;

namespace {

/// Points spread over a box, for checking overlaps without the code under test.
std::vector<Vec2> sampled(const Box& box) {
    const double radians = box.angle * std::numbers::pi / 180.0;
    const Vec2 along = {std::cos(radians), std::sin(radians)};
    const Vec2 across = {-along.y, along.x};
    std::vector<Vec2> out;
    for (int i = -12; i <= 12; ++i) {
        for (int k = -3; k <= 3; ++k) {
            out.push_back(box.center + (box.half_width * i / 12.0) * along +
                          (box.half_height * k / 3.0) * across);
        }
    }
    return out;
}

/// The distance from the centre of a box to its corners.
double reach_of(const Box& box) {
    return std::hypot(box.half_width, box.half_height);
}

bool holds(const Box& box, Vec2 p) {
    const Vec2 d = p - box.center;
    if (length(d) > reach_of(box)) return false;
    const double radians = -box.angle * std::numbers::pi / 180.0;
    const double u = d.x * std::cos(radians) - d.y * std::sin(radians);
    const double v = d.x * std::sin(radians) + d.y * std::cos(radians);
    return std::abs(u) < box.half_width && std::abs(v) < box.half_height;
}

bool share_a_point(const Box& a, const Box& b) {
    if (length(a.center - b.center) > reach_of(a) + reach_of(b)) return false;
    const std::vector<Vec2> points = sampled(a);
    const std::vector<Vec2> others = sampled(b);
    return std::any_of(points.begin(), points.end(), [&](Vec2 p) { return holds(b, p); }) ||
           std::any_of(others.begin(), others.end(), [&](Vec2 p) { return holds(a, p); });
}

/// Points every two pixels along the lines that are drawn.
std::vector<Vec2> drawn_points(const Layout& layout) {
    std::vector<Vec2> out;
    const auto add = [&out](Vec2 from, Vec2 to) {
        const int steps = std::max(1, static_cast<int>(length(to - from) / 2.0));
        for (int i = 0; i <= steps; ++i)
            out.push_back(from + (static_cast<double>(i) / steps) * (to - from));
    };
    for (const PlacedCurve& curve : layout.curves) {
        for (const auto& part : curve.parts) {
            for (std::size_t i = 1; i < part.size(); ++i) add(part[i - 1], part[i]);
        }
    }
    for (const PlacedMark& mark : layout.marks) {
        out.push_back(mark.at);
        if (mark.error) add(mark.error->from, mark.error->to);
    }
    out.insert(out.end(), layout.annotations.begin(), layout.annotations.end());
    return out;
}

/// Checks that no label covers another label, a line or a point, or leaves the frame.
void check_labels(const Layout& layout) {
    const std::vector<Vec2> drawn = drawn_points(layout);
    int covered = 0;
    int outside = 0;
    int collisions = 0;
    for (std::size_t i = 0; i < layout.labels.size(); ++i) {
        const Box& box = layout.labels[i].box;
        for (const Vec2& p : sampled(box)) outside += layout.frame.contains(p) ? 0 : 1;
        for (const Vec2& p : drawn) covered += holds(box, p) ? 1 : 0;
        for (std::size_t k = i + 1; k < layout.labels.size(); ++k) {
            collisions += share_a_point(box, layout.labels[k].box) ? 1 : 0;
        }
    }
    CHECK(collisions == 0);
    CHECK(covered == 0);
    CHECK(outside == 0);
}

/// Checks that every name is written beside its point or is in the key.
void check_names(const Chart& chart, const Layout& layout) {
    for (std::size_t i = 0; i < chart.marks.size(); ++i) {
        if (!chart.marks[i].labelled) continue;
        const bool beside =
            std::any_of(layout.labels.begin(), layout.labels.end(), [&](const PlacedLabel& l) {
                return l.owner == LabelOwner::mark && l.index == i && l.full == chart.marks[i].name;
            });
        std::string key;
        for (const PlacedText& line : layout.key) key += line.text;
        const bool in_key = key.find(clean_text(chart.marks[i].name)) != std::string::npos;
        INFO(chart.marks[i].name);
        CHECK((beside || in_key));
    }
}

Roofline random_roofline(unsigned seed, int points) {
    std::mt19937 random(seed);
    const auto uniform = [&random] { return static_cast<double>(random() % 100000) / 1e5; };
    Roofline out = seed % 2 == 0 ? samples::predictions() : samples::comparison();
    out.points.clear();
    for (int i = 0; i < points; ++i) {
        const double x = std::pow(10.0, 4.5 * uniform() - 1.0);
        const double roof = std::min(800.0, 3.0 * x);
        const std::string name = "op " + std::to_string(i) + std::string(random() % 26, 'n');
        out.points.push_back({.name = name, .x = x, .y = roof * std::pow(10.0, -1.2 * uniform())});
    }
    return out;
}

}  // namespace

TEST_CASE("labels of the sample charts cover nothing", "[layout]") {
    for (const Chart& chart :
         {roofline_chart(samples::predictions()), roofline_chart(samples::comparison()),
          sweep_chart(samples::sawtooth()), scatter_chart(samples::accuracy()),
          roofline_chart(samples::hostile()), roofline_chart(samples::crowd())}) {
        const Layout layout = lay_out(chart);
        check_labels(layout);
        check_names(chart, layout);
        for (const PlacedText& text : layout.key) {
            const double width =
                text_width(text.text, font_size(text.role), font_weight(text.role));
            const bool right = text.anchor == TextEnd::right;
            CHECK((right ? text.at.x - width : text.at.x) > 0.0);
            CHECK((right ? text.at.x : text.at.x + width) < layout.page.width);
            CHECK(text.at.y < layout.page.height);
            CHECK(text.text.find("…") == std::string::npos);
        }
    }
}

TEST_CASE("labels cover nothing in random charts", "[layout][property]") {
    Sample sample;
    for (unsigned seed = 0; seed < 60; ++seed) {
        if (!sample.takes_next()) continue;
        const Chart chart =
            roofline_chart(random_roofline(seed, 1 + static_cast<int>(seed * 7 % 40)));
        const Layout layout = lay_out(chart);
        INFO("seed " << seed);
        check_labels(layout);
        check_names(chart, layout);
    }
}

TEST_CASE("identical points, one point and no points have a layout", "[layout]") {
    for (const int count : {0, 1, 2, 40}) {
        Roofline roofline = samples::predictions();
        roofline.points.assign(static_cast<std::size_t>(count), roofline.points[0]);
        for (int i = 0; i < count; ++i) {
            roofline.points[static_cast<std::size_t>(i)].name = "same place " + std::to_string(i);
        }
        const Chart chart = roofline_chart(roofline);
        const Layout layout = lay_out(chart);
        CHECK(layout.marks.size() == static_cast<std::size_t>(count));
        check_labels(layout);
        check_names(chart, layout);
    }
}

TEST_CASE("extreme values keep every coordinate on the page", "[layout]") {
    Roofline roofline = samples::predictions();
    roofline.points.push_back({.name = "tiny", .x = 1e-100, .y = 1e-100});
    roofline.points.push_back({.name = "huge", .x = 1e100, .y = 1e100, .low = -1.0, .high = 1e119});
    const Layout layout = lay_out(roofline_chart(roofline));
    CHECK(layout.marks.size() == 14);
    for (const PlacedMark& mark : layout.marks) CHECK(layout.frame.contains(mark.at));
    for (const PlacedCurve& curve : layout.curves) {
        for (const auto& part : curve.parts) {
            for (const Vec2& p : part) {
                CHECK(p.x >= layout.frame.left - 1e-6);
                CHECK(p.x <= layout.frame.right + 1e-6);
                CHECK(p.y >= layout.frame.top - 1e-6);
                CHECK(p.y <= layout.frame.bottom + 1e-6);
            }
        }
    }
}

TEST_CASE("tick labels do not overlap", "[layout]") {
    for (const double high : {20.0, 260.0, 3.4e3, 4.4e4, 5.7e5, 7.4e6, 9.7e7}) {
        Roofline roofline = samples::predictions();
        roofline.x.low = 0.001;
        roofline.x.high = high;
        const Layout layout = lay_out(roofline_chart(roofline));
        double end = -1e9;
        for (const PlacedTick& tick : layout.x_ticks) {
            if (tick.text.empty()) continue;
            const double half = text_width(tick.text, font_size(FontRole::tick)) / 2;
            CHECK(tick.at - half > end);
            end = tick.at + half;
        }
    }
}

TEST_CASE("names along an axis are complete, and turned if they do not fit", "[layout]") {
    for (const int count : {1, 3, 5, 12, 40}) {
        const Layout layout = lay_out(sweep_chart(samples::named(count)));
        INFO(count);
        CHECK(layout.x_turned == (count >= 12));
        REQUIRE(layout.x_ticks.size() == static_cast<std::size_t>(count));
        for (int i = 0; i < count; ++i) {
            CHECK(layout.x_ticks[static_cast<std::size_t>(i)].text ==
                  "graphics card " + std::to_string(i + 1));
        }
        CHECK(layout.x_title < layout.page.height);
        CHECK(layout.x_title > layout.frame.bottom + 40.0);
    }
}

TEST_CASE("legend entries stay apart and on the page", "[layout]") {
    Sweep sweep = {.x = {.title = "n"}, .y = {.title = "rate"}};
    for (int i = 0; i < 40; ++i) {
        sweep.series.push_back({.name = "series " + std::to_string(i),
                                .points = {{.x = 1, .y = 5}, {.x = 2, .y = 5.0 + i * 0.01}}});
    }
    const Layout layout = lay_out(sweep_chart(sweep));
    CHECK(layout.legend.size() > 10);
    CHECK(layout.legend.size() + layout.samples.size() == 40);
    for (std::size_t i = 1; i < layout.legend.size(); ++i) {
        CHECK(layout.legend[i].at.y - layout.legend[i - 1].at.y > 15.0);
    }
    CHECK(layout.legend.back().at.y < 640.0);
    for (const PlacedEntry& entry : layout.samples) CHECK(entry.at.y < layout.page.height);
}

TEST_CASE("the layout is deterministic", "[layout]") {
    const Chart chart = roofline_chart(random_roofline(5, 35));
    const Layout first = lay_out(chart);
    const Layout second = lay_out(chart);
    REQUIRE(first.labels.size() == second.labels.size());
    for (std::size_t i = 0; i < first.labels.size(); ++i) {
        CHECK(first.labels[i].box.center == second.labels[i].box.center);
    }
}
