#include <vector>

#include "plot/geometry.h"
#include "tests/catch.h"

using namespace ridge::plot;

TEST_CASE("rotated boxes overlap where they do", "[geometry]") {
    const Box flat = {.center = {0, 0}, .half_width = 10, .half_height = 2};
    CHECK(overlap(flat, {.center = {15, 0}, .half_width = 6, .half_height = 2}));
    CHECK_FALSE(overlap(flat, {.center = {17, 0}, .half_width = 6, .half_height = 2}));
    // The bounding rectangles overlap, but the boxes do not.
    const Box slanted = {.center = {12, -8}, .half_width = 10, .half_height = 1, .angle = 45};
    CHECK_FALSE(overlap(flat, slanted));
    CHECK(overlap(flat, {.center = {8, -2}, .half_width = 10, .half_height = 1, .angle = 45}));
}

TEST_CASE("segments cross boxes and each other", "[geometry]") {
    const Box box = {.center = {0, 0}, .half_width = 10, .half_height = 2};
    CHECK(overlap(box, Segment{.from = {-20, -20}, .to = {20, 20}}));
    CHECK_FALSE(overlap(box, Segment{.from = {-20, 3}, .to = {20, 3}}));
    CHECK(cross({.from = {0, 0}, .to = {2, 2}}, {.from = {0, 2}, .to = {2, 0}}));
    CHECK_FALSE(cross({.from = {0, 0}, .to = {1, 1}}, {.from = {5, 0}, .to = {6, 0}}));
    const Vec2 near = nearest_point(box, {20, 0});
    CHECK(near.x == Approx(10));
}

TEST_CASE("lines and polygons are cut at the frame", "[geometry]") {
    const Rect frame = {.left = 0, .top = 0, .right = 10, .bottom = 10};
    const auto parts = clip_line({{-5, 5}, {5, 5}, {5, 20}, {8, 20}, {8, 5}}, frame);
    REQUIRE(parts.size() == 2);
    CHECK(parts[0].front() == Vec2{0, 5});
    CHECK(parts[0].back() == Vec2{5, 10});
    CHECK(parts[1].back() == Vec2{8, 5});
    const auto polygon = clip_polygon({{-5, -5}, {15, -5}, {15, 5}, {-5, 5}}, frame);
    REQUIRE(polygon.size() == 4);
    for (const Vec2& corner : polygon) CHECK(frame.contains(corner));
    CHECK(clip_polygon({{20, 20}, {30, 20}, {30, 30}}, frame).empty());
}
